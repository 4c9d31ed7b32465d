"""Medians and ranks of few distinct values, and histograms: the native ways against sorted arrays and the declared forward."""

from __future__ import annotations

import numpy
import pytest

import claygrad
from claygrad.ops.histogram import counted

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


@DTYPES
@pytest.mark.parametrize("distinct", [1, 2, 3, 50, 5000])
def test_ranks_of_few_values(dtype: str, distinct: int):
    draw = numpy.random.default_rng(distinct)
    values = draw.standard_normal(distinct).astype(dtype)
    for n in (2049, 5000, 20_000):
        x = draw.choice(values, n)
        given, line = claygrad.tensor(x), numpy.sort(x)
        assert given.median().item() == line[(n - 1) // 2]
        for k in (1, 2, n // 3, n):
            found = given.kthvalue(k)
            assert found.values.item() == line[k - 1]
            assert x[found.indices.item()] == line[k - 1]
        found = given.reshape(1, -1).median(1)
        assert x[found.indices.item()] == found.values.item() == line[(n - 1) // 2]
        x[7] = numpy.nan
        assert numpy.isnan(claygrad.tensor(x).median().item())
        assert claygrad.tensor(x).nanmedian().item() == numpy.sort(x[~numpy.isnan(x)])[(n - 2) // 2]


@DTYPES
@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_histograms_against_the_declared_forward(dtype: str, axes: int, even: bool):
    draw = numpy.random.default_rng(axes)
    x = draw.standard_normal((500, axes)).astype(dtype)
    x[:9] = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0, -0.0, 1, -1, 1.5, -1.5])[:, None]
    edges = [numpy.linspace(-1.5, 1.5, 4 + k).astype(dtype) if even else numpy.sort(draw.uniform(-2, 2, 5 + k)).astype(dtype)
             for k in range(axes)]
    weight = draw.random(500).astype(dtype)
    for given in (None, weight):
        wanted = counted.forward(numpy, x, edges, given, even)
        for points in (x, numpy.asfortranarray(x)):
            made = counted(claygrad.tensor(x) if points is x else claygrad.tensor(x.T.copy()).t(),
                           [claygrad.tensor(edge) for edge in edges], None if given is None else claygrad.tensor(given), even)
            assert made.shape == wanted.shape
            numpy.testing.assert_allclose(made.numpy(), wanted, rtol=1e-6)


def test_a_histogram_of_nothing_is_zero():
    assert counted(claygrad.empty(0, 1), [claygrad.tensor([0.0, 1.0, 2.0])]).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "uint8"])
def test_stretched_elements_are_in_order_as_they_are(dtype: str):
    column = claygrad.tensor([[3.0], [1.0], [2.0], [250.0]]).to(getattr(claygrad, dtype))
    for x, dim in ((column.expand(4, 50), 1), (column.expand(4, 1), 1), (column[:, 0].expand(30, 4), 0), (column[1:, None].expand(3, 5, 7), -1)):
        for descending in (False, True):
            made, wanted = x.sort(dim, descending, stable=True), x.clone(memory_format=claygrad.contiguous_format).sort(dim, descending, stable=True)
            assert claygrad.equal(made.values, wanted.values)
            assert claygrad.equal(made.indices, wanted.indices)
            assert made.values.stride() == wanted.values.stride()
        made, wanted = x.topk(min(3, x.shape[dim]), dim), x.clone(memory_format=claygrad.contiguous_format).topk(min(3, x.shape[dim]), dim)
        assert claygrad.equal(made.values, wanted.values)
        assert claygrad.equal(made.indices, wanted.indices)
