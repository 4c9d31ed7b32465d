"""Extremes with their places, and what reductions make of truth, sizes and NaN, on every instruction set."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.kernels.kernel_api import Kernels, checked, guarded, values

each_number = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64], ids=lambda t: np.dtype(t).name)
each_float = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: np.dtype(t).name)
SHAPES = [(outer, n, inner) for n in (1, 7, 16, 24, 25, 64, 65, 1000, 2049)
          for outer, inner in ((1, 1), (3, 1), (1, 5), (2, 17), (1, 300))]
SHAPES += [(1, 400_000, 1), (2, 100_000, 1), (1, 30_000, 3), (2, 3, 90_000), (500, 300, 1), (40, 70, 60)]


def drawn(dtype: type, shape: tuple, seed: int) -> np.ndarray:
    """Few different numbers: the first of equal ones counts; and now and then NaN."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-50, 50, shape).astype(dtype)
    if np.dtype(dtype).kind == "f" and seed % 2:
        x[rng.random(shape) < 0.3 / shape[1]] = np.nan
        x[rng.random(shape) < 0.1] = -0.0
    return x


@each_number
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_and_their_first_places(kernels: Kernels, isa: str, name: str, dtype: type):
    for seed, shape in enumerate(SHAPES * 2):
        x = drawn(dtype, shape, seed)
        outer, n, inner = shape
        best, places = guarded((outer * inner,), dtype), guarded((outer * inner,), np.int64)
        kernels.get("extreme", name, dtype)(x.ctypes.data, best.ctypes.data, places.ctypes.data, outer, n, inner)
        wanted = getattr(np, "arg" + name)(x, axis=1)
        assert np.array_equal(checked(places).reshape(outer, inner), wanted), shape
        picked = np.take_along_axis(x, wanted[:, None], 1)[:, 0]
        assert np.array_equal(checked(best).reshape(outer, inner), picked, equal_nan=np.dtype(dtype).kind == "f"), shape
        kernels.get("extreme", name, dtype)(x.ctypes.data, None, places.ctypes.data, outer, n, inner)
        assert np.array_equal(checked(places).reshape(outer, inner), wanted), shape


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_], ids=lambda t: np.dtype(t).name)
def test_truth_and_counts(kernels: Kernels, isa: str, dtype: type):
    for seed, shape in enumerate(SHAPES):
        for share in (0, 1 / shape[1], 1 - 1 / shape[1], 1):
            x = (np.random.default_rng(seed).random(shape) < share).astype(dtype)
            assert np.array_equal(kernels.reduce("any", x, np.bool_), x.any(1)), shape
            assert np.array_equal(kernels.reduce("all", x, np.bool_), x.all(1)), shape
            assert np.array_equal(kernels.reduce("count", x, np.int64), np.count_nonzero(x, 1)), shape
    if np.dtype(dtype).kind == "f":
        x = np.array([[[np.nan], [-0.0]], [[-0.0], [0.0]]], dtype)
        assert kernels.reduce("any", x, np.bool_).tolist() == [[True], [False]]


@each_float
def test_sizes(kernels: Kernels, isa: str, dtype: type):
    for shape in SHAPES:
        x = values(dtype, math.prod(shape)).reshape(shape)
        size = np.abs(x)
        assert np.array_equal(kernels.reduce("size_max", x), size.max(1)), shape
        assert np.array_equal(kernels.reduce("size_min", x), size.min(1)), shape
        assert np.array_equal(kernels.reduce("size_count", x), np.count_nonzero(x, 1).astype(dtype)), shape
        limit = 100 * np.finfo(dtype).eps
        np.testing.assert_allclose(kernels.reduce("size_sum", x), size.sum(1, dtype=np.longdouble), rtol=limit)
        x[:, ::3] = np.nan
        np.testing.assert_allclose(kernels.reduce("nansum", x), np.nansum(x, 1, dtype=np.longdouble), rtol=limit, atol=limit * 10 * shape[1])
        assert np.isnan(kernels.reduce("size_max", x)).all(), shape
        assert np.isnan(kernels.reduce("size_min", x)).all(), shape
