"""Padding, distances, counts and added entries in native loops against the references, on every instruction set."""

from __future__ import annotations

import numpy
import pytest

import claygrad
from claygrad.core.dispatch import reference_only
from claygrad.ops import pad, products
from tests.kernels.conftest import isa, kernels  # noqa: F401
from tests.support.forms import native

F = claygrad.nn.functional
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def plainly(function, *args):
    """The result by references alone."""
    with reference_only():
        return function(*args)


def agrees(operation, x, *how) -> None:
    """The native form of an operation, and its reference."""
    found, wanted = operation(x, *how), operation.forward(numpy, x.numpy(), *how)
    assert tuple(found.shape) == wanted.shape
    assert found.is_contiguous()
    numpy.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding(mode: str):
    rng = numpy.random.default_rng(0)
    for dtype in ("float32", "float64", "float16", "complex128", "int64", "int16", "uint8"):
        for trial in range(30):
            count = int(rng.integers(1, 4))
            shape = (*rng.integers(1, 4, 2), *rng.integers(2, 9 if trial else 60, count))
            x = claygrad.from_numpy((rng.standard_normal(shape) * 9).astype(dtype))
            low = -1 if mode == "constant" or trial % 3 == 0 else 0
            pads = [int(rng.integers(low, n)) for n in shape[:1:-1] for _ in range(2)]
            if mode == "constant":
                agrees(pad.constant_pad_nd, x, pads, 2)
                continue
            agrees(pad.pad_by_elements, x, pads, mode)
            if dtype in ("float32", "float64"):
                g = rng.integers(-9, 9, pad.padded_shape(x, pads)).astype(dtype)
                agrees(pad.pad_backward, claygrad.from_numpy(g), pads, mode, shape)


def test_padding_that_cuts_all_and_turned_inputs():
    x = claygrad.arange(24.0).reshape(2, 3, 4)
    for pads in ([-4, 6], [6, -4], [-2, -2], [-3, 1, 2, -2]):
        agrees(pad.constant_pad_nd, x, pads, 0.5)
    assert F.pad(x.mT, (1, 1), "reflect").equal(F.pad(x.mT.contiguous(), (1, 1), "reflect"))
    image = x.reshape(1, 2, 3, 4).to(memory_format=claygrad.channels_last)
    assert F.pad(image, (1, 1, 1, 1), "reflect").is_contiguous(memory_format=claygrad.channels_last)


@DTYPES
@pytest.mark.usefixtures("isa")
def test_distances(dtype: str):
    rng = numpy.random.default_rng(1)
    limit = 3e-5 if dtype == "float32" else 1e-13
    for m, n, k in [(2, 2, 1), (3, 70, 2), (65, 300, 3), (130, 9, 24), (70, 40, 25), (100, 257, 128)]:
        x, y = (rng.standard_normal((2, rows, k)).astype(dtype) for rows in (m, n))
        y[:, 0] = x[:, 0]                                      # no distance at all
        y[:, -1] = x[:, -1] * (1 + limit)                      # next to none
        found = native("_euclidean_dist", x, y)
        gap = x.astype("float64")[:, :, None] - y.astype("float64")[:, None]
        wanted = numpy.sqrt((gap * gap).sum(-1))
        numpy.testing.assert_allclose(found, wanted, rtol=200 * limit, atol=limit * k ** 0.5)
        assert (found[:, 0, 0] == 0).all()
        plain = plainly(claygrad.cdist, claygrad.from_numpy(x), claygrad.from_numpy(y))
        numpy.testing.assert_allclose(found, plain.numpy(), rtol=500 * limit, atol=limit * k ** 0.5)
    x[0, 1, 2], x[1, 1, 3] = numpy.nan, numpy.inf
    found = native("_euclidean_dist", x, y)
    assert numpy.isnan(found[0, 1]).all()
    assert not numpy.isfinite(found[1, 1]).any()
    assert numpy.isfinite(found[:, 0]).all()


def test_distances_of_rows_that_are_stretched_or_turned():
    x, y = claygrad.randn(2, 1, 30, 4), claygrad.randn(3, 4, 40).mT
    whole = products.euclidean(x.expand(2, 3, 30, 4).contiguous(), y.expand(2, 3, 40, 4).contiguous())
    assert claygrad.allclose(claygrad.cdist(x, y), whole, atol=1e-6)


@DTYPES
def test_added_entries(dtype: str):
    rng = numpy.random.default_rng(2)
    for _ in range(40):
        shape = tuple(rng.integers(1, 7, int(rng.integers(1, 4))))
        dim = int(rng.integers(-len(shape), len(shape)))
        index = claygrad.from_numpy(rng.integers(0, shape[dim], 5))
        x = claygrad.from_numpy(rng.integers(-9, 9, shape).astype(dtype))
        sizes = list(shape)
        sizes[dim] = 5
        source = claygrad.from_numpy(rng.integers(-9, 9, sizes).astype(dtype))
        before = x.clone()
        assert x.index_add(dim, index, source).equal(plainly(x.index_add, dim, index, source))
        assert x.equal(before)
        assert x.clone().index_add_(dim, index, source).equal(x.index_add(dim, index, source))
    for wrong in (-1, shape[dim]):
        with pytest.raises((IndexError, RuntimeError)):
            x.index_add(dim, claygrad.full((5,), int(wrong)), source)


def test_counts():
    rng = numpy.random.default_rng(3)
    for n in (1, 5, 1000):
        x = claygrad.from_numpy(rng.integers(0, 50, n))
        for weights in (None, claygrad.rand(n), claygrad.rand(n, dtype=claygrad.float64)):
            for least in (0, 70):
                found, wanted = x.bincount(weights, least), plainly(x.bincount, weights, least)
                assert found.dtype == wanted.dtype
                assert found.equal(wanted)
    with pytest.raises(RuntimeError, match="bincount only supports 1-d non-negative integral inputs"):
        claygrad.tensor([1, -1]).bincount()
    with pytest.raises(RuntimeError, match="weights should be 1-d and have the same length as input"):
        x.bincount(claygrad.rand(3))
