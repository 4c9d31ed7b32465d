from __future__ import annotations

import math

import numpy as np
import pytest

from tests.kernels.kernel_api import SIZES, Kernels, guarded, values

each_float = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: np.dtype(t).name)
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SHAPES = [(outer, n, inner) for n in SIZES for outer, inner in ((1, 1), (3, 1), (1, 5), (2, 17), (1, 600))]
SHAPES += [(1, 200_000, 1), (3, 100_000, 1), (1, 70_000, 3), (2, 3, 90_000), (500, 300, 1), (40, 70, 60),
           (0, 4, 3), (2, 4, 0)]


@quiet
@each_float
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_are_as_good_as_pairwise(kernels: Kernels, isa: str, name: str, dtype: type):
    for shape in SHAPES:
        x = values(dtype, math.prod(shape)).reshape(shape)
        out, want = kernels.reduce(name, x), getattr(np, name)(x, axis=1, dtype=np.longdouble)
        scale = getattr(np, name)(np.abs(x), axis=1, dtype=np.longdouble)
        steps = max(4, math.log2(shape[1] + 1)) + 40          # additions in a row, within a block
        assert np.array_equal(np.isnan(out), np.isnan(want)), shape
        ok = ~np.isnan(out)
        assert (np.abs(out - want)[ok] <= steps * np.finfo(dtype).eps / 2 * scale[ok]).all(), shape


@each_float
def test_a_sum_of_many_equal_numbers_does_not_drift(kernels: Kernels, isa: str, dtype: type):
    n = 4_000_000
    x = np.full(n, 0.1, dtype)
    for shape in ((1, n, 1), (1, n // 4, 4)):
        out = kernels.reduce("sum", x.reshape(shape))
        np.testing.assert_allclose(out, np.full_like(out, float(x[0]) * shape[1], float), rtol=8 * np.finfo(dtype).eps)


@each_float
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes(kernels: Kernels, isa: str, name: str, dtype: type):
    for shape in SHAPES:
        if shape[1]:
            x = values(dtype, math.prod(shape)).reshape(shape)
            assert np.array_equal(kernels.reduce(name, x), getattr(np, name)(x, axis=1)), shape


@each_float
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin"])
def test_one_nan_anywhere_makes_the_result_nan(kernels: Kernels, isa: str, name: str, dtype: type):
    for n in (1, 7, 8, 33, 1000):
        for at in {0, n // 2, n - 1}:
            x = values(dtype, 3 * n).reshape(1, n, 3)
            x[0, at, 1] = np.nan
            assert np.isnan(kernels.reduce(name, x)).tolist() == [[False, True, False]], (n, at)
            row = np.ascontiguousarray(x[:, :, 1:2])
            assert np.isnan(kernels.reduce(name, row)).all(), (n, at)


@each_float
def test_infinities(kernels: Kernels, isa: str, dtype: type):
    x = np.array([1, np.inf, -np.inf, 2], dtype)
    assert kernels.reduce("amax", x.reshape(1, 4, 1)) == np.inf
    assert kernels.reduce("amin", x.reshape(1, 4, 1)) == -np.inf
    assert np.isnan(kernels.reduce("sum", x.reshape(1, 4, 1)))
    assert kernels.reduce("amax", np.full((1, 9, 1), -np.inf, dtype)) == -np.inf


@each_float
def test_products(kernels: Kernels, isa: str, dtype: type):
    for shape in SHAPES:
        x = (1 + values(dtype, math.prod(shape)) / 1000).reshape(shape)
        want = np.prod(x, axis=1, dtype=np.longdouble)
        bound = (8 + shape[1]) * np.finfo(dtype).eps
        np.testing.assert_allclose(kernels.reduce("prod", x), want.astype(float), rtol=bound)


@each_float
def test_the_result_does_not_depend_on_the_number_of_threads(kernels: Kernels, isa: str, dtype: type):
    before = kernels.max_threads()
    for shape in ((1, 1_000_003, 1), (1, 100_003, 7), (3, 400_000, 1), (2, 3, 200_000)):
        x = values(dtype, math.prod(shape)).reshape(shape)
        results = []
        for threads in (1, 2, 5):
            kernels.set_max_threads(threads)
            results.append(kernels.reduce("sum", x).copy())
        kernels.set_max_threads(before)
        assert all(np.array_equal(results[0], other) for other in results), shape


@quiet
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_integers(kernels: Kernels, isa: str, name: str):
    for shape in SHAPES:
        if shape[1] or name in ("sum", "prod"):
            x = np.random.default_rng(1).integers(-2**62, 2**62, shape, np.int64)
            assert np.array_equal(kernels.reduce(name, x), getattr(np, name)(x, axis=1)), shape


@pytest.mark.parametrize(("name", "out"), [("sum", np.int64), ("any", bool), ("all", bool)])
def test_bools(kernels: Kernels, isa: str, name: str, out: type):
    for shape in SHAPES:
        for density in (-9.9, 0, 9.9):
            x = (values(float, math.prod(shape)) > density).reshape(shape)
            assert np.array_equal(kernels.reduce(name, x, out), getattr(np, name)(x, axis=1)), shape


# The softmax family

def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.longdouble) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ROWS = [(0, 3), (1, 1), (3, 7), (2, 8), (5, 10), (4, 17), (32, 33), (3, 1000), (2, 5000), (3000, 17)]


@each_float
def test_softmax_and_its_derivative(kernels: Kernels, isa: str, dtype: type):
    eps = np.finfo(dtype).eps
    for shape in ROWS:
        x, g = values(dtype, math.prod(shape)).reshape(shape), values(dtype, math.prod(shape), seed=3).reshape(shape)
        out, log_out, dx = (guarded(shape, dtype) for _ in range(3))
        want = softmax(x)
        kernels.get("rows", "softmax", dtype)(x.ctypes.data, out.ctypes.data, *shape)
        np.testing.assert_allclose(out, want.astype(float), rtol=20 * eps, atol=0)
        kernels.get("rows", "log_softmax", dtype)(x.ctypes.data, log_out.ctypes.data, *shape)
        np.testing.assert_allclose(log_out, np.log(want).astype(float), rtol=8 * eps, atol=20 * eps)

        kernels.get("rows2", "softmax_backward", dtype)(g.ctypes.data, out.ctypes.data, dx.ctypes.data, *shape)
        want_dx = (g - (g * want).sum(-1, keepdims=True)) * want
        np.testing.assert_allclose(dx, want_dx.astype(float), rtol=0, atol=200 * eps)
        kernels.get("rows2", "log_softmax_backward", dtype)(g.ctypes.data, log_out.ctypes.data, dx.ctypes.data, *shape)
        want_dx = g - want * g.sum(-1, dtype=np.longdouble, keepdims=True)
        np.testing.assert_allclose(dx, want_dx.astype(float), rtol=0, atol=200 * eps * max(1, shape[1] ** 0.5))


@each_float
def test_softmax_of_special_rows(kernels: Kernels, isa: str, dtype: type):
    rows = np.array([[0, 0, 0], [1e30, 0, 0], [-np.inf, 0, 0], [-np.inf] * 3, [np.inf, 0, 0], [np.nan, 0, 0]], dtype)
    out = np.empty_like(rows)
    kernels.get("rows", "softmax", dtype)(rows.ctypes.data, out.ctypes.data, *rows.shape)
    np.testing.assert_allclose(out[:3], [[1 / 3] * 3, [1, 0, 0], [0, 0.5, 0.5]], rtol=1e-6)
    assert np.isnan(out[3]).all()
    assert np.isnan(out[4][0])
    assert np.isnan(out[5]).all()
    kernels.get("rows", "log_softmax", dtype)(rows.ctypes.data, out.ctypes.data, *rows.shape)
    want = [[-math.log(3)] * 3, [0, -1e30, -1e30], [-np.inf, -math.log(2), -math.log(2)]]
    np.testing.assert_allclose(out[:3], want, rtol=1e-6)


@each_float
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_may_overwrite_its_input(kernels: Kernels, isa: str, name: str, dtype: type):
    for n in (5, 3000):
        x = values(dtype, 4 * n).reshape(4, n)
        out = np.empty_like(x)
        kernels.get("rows", name, dtype)(x.ctypes.data, out.ctypes.data, 4, n)
        kernels.get("rows", name, dtype)(x.ctypes.data, x.ctypes.data, 4, n)
        assert np.array_equal(x, out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", ["sum", "amax"])
def test_elements_that_lie_apart(kernels: Kernels, isa: str, name: str, dtype: type):
    """Rows with gaps, rows that overlap, one row over and over, several axes before the reduced one."""
    x = np.random.default_rng(5).integers(-9, 10, (3, 4, 50, 70)).astype(dtype)
    windows = np.lib.stride_tricks.sliding_window_view(x[0, 0], 3, 1).swapaxes(1, 2)
    for view in (x[..., 1:], x[:, 1:, 5:-1, :7], x[:, :, ::3, :1], windows, np.broadcast_to(x[:, :, :1], x.shape), x[0, :, :, :1],
                 np.broadcast_to(x[:1], x.shape), np.lib.stride_tricks.sliding_window_view(x[0, 0], 9, 1)[..., None]):
        want = (np.add if name == "sum" else np.maximum).reduce(view, -2)
        assert np.array_equal(kernels.reduce(name, view), want)
