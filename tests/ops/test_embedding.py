"""Gradients of tables, by whichever way the rows are added."""

from __future__ import annotations

import pytest

import claygrad
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


def test_a_sparse_gradient_is_refused_where_one_would_be_made():
    indices, table = claygrad.tensor([1, 2]), claygrad.ones(4, 3)
    assert f.embedding(indices, table, sparse=True).shape == (2, 3)
    for lookup in (f.embedding, lambda i, w, sparse: f.embedding_bag(i, w, claygrad.tensor([0]), sparse=sparse)):
        with pytest.raises(NotImplementedError, match="sparse=True asks for a sparse gradient"):
            lookup(indices, table.requires_grad_(), sparse=True)
