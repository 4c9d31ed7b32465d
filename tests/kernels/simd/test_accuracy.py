"""Single precision within two units in the last place, against float64; bounds, exact values and order kept, in every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.kernel_api import Kernels, special, ulps

F32, F64 = np.float32, np.float64
COUNT = 20000

# name: (reference, ranges)
FUNCTIONS = {
    "exp": (np.exp, [(-80, 80), (-1, 1)]),
    "expm1": (np.expm1, [(-10, 10), (-0.5, 0.5)]),
    "log": (np.log, [(0, 10), (0.5, 2), (0.9, 1.1), (1e20, 1e30)]),
    "log10": (np.log10, [(0, 10), (0.5, 2), (0.9, 1.1), (1e20, 1e30)]),
    "log1p": (np.log1p, [(-0.99, 10), (-0.1, 0.1)]),
    "sin": (np.sin, [(-10, 10), (-1e4, 1e4), (1.57, 1.5715), (3.14, 3.143), (1e6, 1e7)]),
    "cos": (np.cos, [(-10, 10), (-1e4, 1e4), (1.57, 1.5715), (-1e-3, 1e-3), (1e6, 1e7)]),
    "tan": (np.tan, [(-10, 10), (-1e4, 1e4), (1.57, 1.5715), (3.14, 3.143), (1e6, 1e7)]),
    "asin": (np.arcsin, [(-1, 1), (0.49, 0.51), (0.999, 1)]),
    "acos": (np.arccos, [(-1, 1), (0.49, 0.51), (0.999, 1)]),
    "atan": (np.arctan, [(-10, 10), (-1, 1), (1e3, 1e6)]),
    "tanh": (np.tanh, [(-10, 10), (-1, 1), (0.59, 0.61), (-1e-3, 1e-3)]),
    "cosh": (np.cosh, [(-80, 80), (-1, 1), (87, 89.4)]),
}


def spread(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(11).uniform(low, high, COUNT).astype(F32)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision_is_within_two_units(kernels: Kernels, isa: str, name: str):
    reference, ranges = FUNCTIONS[name]
    for low, high in ranges:
        x = spread(low, high)
        assert ulps(kernels.unary(name, x), reference(x.astype(F64))).max() <= 2, (low, high)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_small_arguments_of_tanh_come_back(kernels: Kernels, isa: str, dtype: type):
    tiny = 0.5 * np.sqrt(np.finfo(dtype).eps) * np.random.default_rng(3).uniform(-1, 1, COUNT)
    found = kernels.unary("tanh", tiny.astype(dtype))
    if dtype is F32 or isa == "base":
        assert (found == tiny.astype(dtype)).all()
    else:
        assert ulps(found, tiny).max() <= 2


def test_sigmoid_stays_close_where_it_is_small(kernels: Kernels, isa: str):
    x = spread(-80, 20)
    assert ulps(kernels.unary("sigmoid", x), 1 / (1 + np.exp(-x.astype(F64)))).max() <= 2.8


@pytest.mark.parametrize("dtype", [F32, F64])
def test_sines_and_cosines_stay_within_one(kernels: Kernels, isa: str, dtype: type):
    turns = (np.arange(1, 3000) * np.pi / 2).astype(dtype)
    x = np.concatenate([turns, np.nextafter(turns, dtype(0)), np.linspace(1.57, 1.5716, 4000).astype(dtype)])
    for name in ("sin", "cos"):
        assert np.abs(kernels.unary(name, x)).max() <= 1
    tiny = np.concatenate([[0.0], 10.0 ** np.arange(-300, -8.0)]).astype(dtype)
    tiny = tiny[tiny < np.sqrt(np.finfo(dtype).eps) / 2]
    assert (kernels.unary("cos", tiny) == 1).all()
    assert (kernels.unary("sin", tiny) == tiny).all()


@pytest.mark.parametrize("dtype", [F32, F64])
def test_logarithms_of_powers_are_whole(kernels: Kernels, isa: str, dtype: type):
    tens = np.arange(0, 11 if dtype is F32 else 23)
    found = kernels.unary("log10", (10.0**tens).astype(dtype))
    assert (found == tens).all() if dtype is F32 else (np.abs(found - tens) <= np.spacing(tens.astype(F64))).all()
    twos = np.arange(-149 if dtype is F32 else -1074, 128 if dtype is F32 else 1024)
    assert (kernels.unary("log2", np.ldexp(1.0, twos).astype(dtype)) == twos).all()


def test_arc_tangents_are_exact_in_the_quadrants(kernels: Kernels, isa: str):
    inf = np.inf
    y = np.array([1, 1, -1, -1, 0.0, -0.0, 0.0, -0.0, 1, -1, inf, inf, -inf, 1, 0.0, 2, 1e-40, 1e38], F32)
    x = np.array([1, -1, 1, -1, 1, 1, -1, -1, 0, -0.0, inf, -inf, inf, inf, -0.0, 2, 1e-40, -1e38], F32)
    out = kernels.binary("atan2", y, x)
    want = np.arctan2(y.astype(F64), x.astype(F64)).astype(F32)
    assert (out == want).all()
    assert (np.signbit(out) == np.signbit(want)).all()
    y, x = spread(-3, 3), np.random.default_rng(12).uniform(-3, 3, COUNT).astype(F32)
    assert ulps(kernels.binary("atan2", y, x), np.arctan2(y.astype(F64), x.astype(F64))).max() <= 2
    assert np.isnan(kernels.binary("atan2", np.array([np.nan, 1], F32), np.array([1, np.nan], F32))).all()


@pytest.mark.parametrize("name", ["erf", "expm1", "exp", "log", "atan"])
def test_a_rising_function_does_not_fall(kernels: Kernels, isa: str, name: str):
    for first in (0x3C23D70A, 0x3F000000, 0x3F800000, 0x40400000):             # 0.01, 0.5, 1, 3
        x = (first + 16 * np.arange(20000, dtype=np.int64)).astype(np.uint32).view(F32)
        assert (np.diff(kernels.unary(name, x)) >= 0).all()
        if name not in ("log",):
            assert (np.diff(kernels.unary(name, -x)) <= 0).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["log", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "cosh", "tanh"])
def test_special_values_are_those_of_numpy(kernels: Kernels, isa: str, name: str):
    x = np.concatenate([special(F32), np.array([1e-40, -1e-40, 1e-45, 1.0, -1.0], F32)])
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
    want = getattr(np, names.get(name, name))(x.astype(F64)).astype(F32)
    out = kernels.unary(name, x)
    assert np.array_equal(np.isnan(out), np.isnan(want))
    assert np.array_equal(out[np.isinf(want)], want[np.isinf(want)])
    zero = want == 0
    assert np.array_equal(np.signbit(out[zero]), np.signbit(want[zero]))
    assert (out[zero] == 0).all()
