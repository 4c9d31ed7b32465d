"""Gradients of tables, by whichever way the rows are added."""

from __future__ import annotations

import numpy
import pytest

import claygrad
from claygrad.core.op import op_named
from claygrad.nn import functional as f


@pytest.mark.parametrize("rows", [1, 3, 40, 5000])
@pytest.mark.parametrize("count", [0, 1, 50, 900])
def test_the_gradient_of_a_row_is_the_sum_over_its_copies(rows, count):
    claygrad.manual_seed(rows + count)
    table = claygrad.randn(rows, 8, dtype=claygrad.float64, requires_grad=True)
    indices = (claygrad.rand(count).pow(3) * rows).long()           # a few rows come often, most of them seldom
    weights = claygrad.randn(count, 8, dtype=claygrad.float64)
    (f.embedding(indices, table) * weights).sum().backward()
    expected = claygrad.zeros(rows, 8, dtype=claygrad.float64).index_add(0, indices, weights)
    assert claygrad.allclose(table.grad, expected)


def test_a_sparse_gradient_has_an_entry_for_each_lookup():
    indices, table = claygrad.tensor([1, 2, 1]), claygrad.ones(4, 3)
    assert f.embedding(indices, table, sparse=True).shape == (3, 3)
    for lookup in (f.embedding, lambda i, w, sparse: f.embedding_bag(i, w, claygrad.tensor([0]), mode="sum",
                                                                     sparse=sparse)):
        weight = table.clone().requires_grad_()
        lookup(indices, weight, sparse=True).sum().backward()
        assert weight.grad.is_sparse
        assert weight.grad._nnz() == 3
        assert weight.grad.to_dense()[:, 0].tolist() == [0.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool", "complex64"])
def test_rows_of_the_native_form_are_those_of_the_reference(dtype):
    forward = claygrad.embedding
    generator = numpy.random.default_rng(5)
    table = claygrad.tensor(generator.integers(0, 9, (7, 6))).to(getattr(claygrad, dtype))
    numbers = claygrad.tensor(generator.integers(0, 7, (4, 6)))
    for weight in (table, table.t()[:5], table[::2], table[:, ::2], table[:, :1]):
        for places in (numbers, numbers.t(), numbers[:, ::2], numbers[0, 0], numbers[:0], numbers.int()):
            places = places % weight.shape[0]
            made = forward(weight, places)
            expected = forward.forward(numpy, weight.numpy(), places.numpy())
            assert (made.dtype, tuple(made.shape)) == (weight.dtype, expected.shape)
            assert made.is_contiguous()
            numpy.testing.assert_array_equal(made.numpy(), expected)
    for wrong in (7, -1):
        with pytest.raises(IndexError, match="index out of range in self"):
            forward(table, claygrad.tensor([0, wrong]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_sums_of_the_native_form_are_those_of_the_reference(dtype):
    backward = op_named("embedding_dense_backward")
    generator = numpy.random.default_rng(6)
    for shape in ((5,), (2, 3), ()):
        g = claygrad.tensor(generator.integers(-4, 5, (*shape, 6))).to(getattr(claygrad, dtype))
        numbers = claygrad.tensor(generator.integers(0, 7, shape))
        for grad in (g, g.repeat_interleave(2, -1)[..., ::2], g[..., :1].expand(*shape, 6)):
            for padding in (-1, 0, 3, 6, 9):
                for by_count in (False, True):
                    made = backward(grad, numbers, 7, padding, by_count)
                    expected = backward.forward(numpy, grad.numpy(), numbers.numpy(), 7, padding, by_count)
                    numpy.testing.assert_allclose(made.numpy(), expected, rtol=1e-3 if dtype == "float16" else 1e-6)
