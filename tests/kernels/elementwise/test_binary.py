from __future__ import annotations

import math

import numpy as np
import pytest

from tests.kernels.kernel_api import SIZES, Kernels, guarded, same_bits, special, ulps, values

each_float = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: np.dtype(t).name)
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")

EXACT = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "tanh_backward": lambda g, out: g * (1 - out * out),
    "sigmoid_backward": lambda g, out: g * (1 - out) * out,
    "relu_backward": lambda g, out: np.where(out <= 0, g.dtype.type(0), g),
    "sqrt_backward": lambda g, out: g / (2 * out),
}

erf = np.vectorize(math.erf, otypes=[float])


def gelu_slope(x):
    return 0.5 * (1 + erf(x.astype(float) / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_tanh_slope(x):
    slope = math.sqrt(2 / math.pi)
    t = np.tanh(slope * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope * (1 + 3 * 0.044715 * x * x)


def silu_slope(x):
    s = 1 / (1 + np.exp(-x))
    return s * (1 + x * (1 - s))


def mish_slope(x):
    t = np.tanh(np.log1p(np.exp(x)))
    return t + x / (1 + np.exp(-x)) * (1 - t * t)


SLOPES = {
    "gelu_backward": gelu_slope,
    "gelu_tanh_backward": gelu_tanh_slope,
    "silu_backward": silu_slope,
    "mish_backward": mish_slope,
    "selu_backward": lambda x: 1.0507009873554804934 * np.where(x > 0, 1, 1.6732632423543772848 * np.exp(np.minimum(x, 0))),
    "log_sigmoid_backward": lambda x: 1 / (1 + np.exp(x)),
    "erf_backward": lambda x: np.exp(-x * x) * 2 / np.sqrt(np.longdouble(np.pi)),
    "hard_swish_backward": lambda x: np.where(x <= -3, 0, np.where(x >= 3, 1, x / 3 + 0.5)),
    "hard_sigmoid_backward": lambda x: np.where((x > -3) & (x < 3), np.longdouble(1) / 6, 0),
    "abs_backward": np.sign,
    "atan_backward": lambda x: 1 / (1 + x * x),
    "prelu_to_weight": lambda x: np.where(x > 0, 0, x),
}


def pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Every special value against every other."""
    x = special(dtype)
    return np.repeat(x, x.size), np.tile(x, x.size)


def modes(x: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Both operands full, then one of them a single element."""
    return [(x, y), (x, y[:1]), (x[:1], y)] if x.size else [(x, y)]


def assert_same(out: np.ndarray, want: np.ndarray, name: str) -> None:
    if name in ("maximum", "minimum"):           # which of two zeros is not promised
        out, want = out + 0.0, want + 0.0
    assert same_bits(out, want)


@quiet
@each_float
@pytest.mark.parametrize("name", EXACT)
def test_an_exact_kernel_gives_the_bits_of_numpy(kernels: Kernels, isa: str, name: str, dtype: type):
    for n in SIZES:
        for x, y in modes(values(dtype, n), values(dtype, n, seed=1)):
            assert_same(kernels.binary(name, x, y), EXACT[name](x, y), name)
    for x, y in modes(*pairs(dtype)):
        assert_same(kernels.binary(name, x, y), EXACT[name](x, y), name)


@quiet
@each_float
@pytest.mark.parametrize(("name", "reference"), [("pow", np.power), ("atan2", np.arctan2)])
def test_a_function_of_two_numbers_is_within_four_units(kernels: Kernels, isa: str, name: str, reference, dtype: type):
    for n in SIZES:
        for x, y in modes(values(dtype, n, 0.01, 10), values(dtype, n, -5, 5, seed=1)):
            want = reference(x.astype(np.longdouble), y.astype(np.longdouble))
            assert ulps(kernels.binary(name, x, y), want).max(initial=0) <= 4
    x, y = pairs(dtype)
    out, want = kernels.binary(name, x, y), reference(x.astype(np.longdouble), y.astype(np.longdouble)).astype(dtype)
    assert np.array_equal(np.isnan(out), np.isnan(want))
    assert np.array_equal(out[np.isinf(want)], want[np.isinf(want)])
    assert same_bits(out[want == 0], want[want == 0])
    assert ulps(out, want.astype(np.longdouble)).max() <= 4


@each_float
@pytest.mark.parametrize("name", SLOPES)
def test_the_slope_of_an_activation_is_close_to_its_formula(kernels: Kernels, isa: str, name: str, dtype: type):
    for n in SIZES:
        g, x = values(dtype, n), values(dtype, n, seed=1)
        want = g * SLOPES[name](x.astype(np.longdouble))
        error = np.abs(kernels.binary(name, g, x) - want)
        scale = np.abs(g) * (1 + x * x)          # 1 - t² loses what x² then magnifies
        assert (error <= 8 * np.finfo(dtype).eps * scale).all(), n


@quiet
@each_float
@pytest.mark.parametrize("name", SLOPES)
def test_the_slope_of_an_activation_at_special_values_is_the_scalar_one(kernels, isa: str, name: str, dtype: type):
    x = special(dtype)
    g = np.ones_like(x)
    out = kernels.binary(name, g, x)
    kernels.use_isa(b"base")
    twin = kernels.binary(name, g, x)
    np.testing.assert_allclose(out, twin, rtol=0, atol=8 * np.finfo(dtype).eps, equal_nan=True)


@quiet
@each_float
@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu"])
def test_the_slope_of_an_activation_from_its_result_is_that_from_its_input(kernels, isa: str, name: str, dtype: type):
    for n in SIZES:
        g, x = values(dtype, n), values(dtype, n, seed=1)
        want = g * SLOPES[f"{name}_backward"](x.astype(np.longdouble))
        error = np.abs(kernels.each(f"{name}_from", g, x, kernels.unary(name, x)) - want)
        assert (error <= 8 * np.finfo(dtype).eps * np.abs(g) * (1 + x * x)).all(), n
    tiny = np.finfo(dtype).smallest_subnormal * np.array([1, -1, 2, -3, 1000], dtype)
    x = np.concatenate([special(dtype), tiny])
    g = np.ones_like(x)
    out, twin = kernels.each(f"{name}_from", g, x, kernels.unary(name, x)), kernels.binary(f"{name}_backward", g, x)
    np.testing.assert_allclose(out, twin, rtol=0, atol=8 * np.finfo(dtype).eps, equal_nan=True)


@each_float
@pytest.mark.parametrize("name", ["add", "pow"])
def test_a_value_does_not_depend_on_where_it_lies(kernels: Kernels, isa: str, name: str, dtype: type):
    x, y = values(dtype, 100, 0.1, 5), values(dtype, 100, -2, 2, seed=1)
    whole = kernels.binary(name, x, y).copy()
    for offset in (1, 3):
        for n in (1, 5, 8, 17, 60):
            part = slice(offset, offset + n)
            assert np.array_equal(kernels.binary(name, x[part], y[part], out=guarded((n,), dtype, 1)), whole[part])


@each_float
@pytest.mark.parametrize("n", [1, 33, 300_001])
def test_the_result_may_overwrite_either_input(kernels: Kernels, isa: str, n: int, dtype: type):
    for name in ("sub", "atan2"):
        x, y = values(dtype, n), values(dtype, n, seed=1)
        want = kernels.binary(name, x, y).copy()
        assert np.array_equal(kernels.binary(name, x.copy(), y, out=None), want)
        a, b = x.copy(), y.copy()
        assert np.array_equal(kernels.binary(name, a, b, out=a), want)
        assert np.array_equal(kernels.binary(name, x, b, out=b), want)


INTEGERS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
            "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


@quiet
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_around(kernels: Kernels, isa: str, name: str):
    for n in SIZES:
        generator = np.random.default_rng(n)
        x, y = (generator.integers(-2**63, 2**63 - 1, n, np.int64, endpoint=True) for _ in range(2))
        for a, b in modes(x, y):
            assert np.array_equal(kernels.binary(name, a, b), INTEGERS[name](a, b))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_logic_of_bools(kernels: Kernels, isa: str, name: str):
    for n in SIZES:
        for x, y in modes(values(np.float32, n) > 0, values(np.float32, n, seed=1) > 0):
            assert np.array_equal(kernels.binary(name, x, y), INTEGERS[name](x, y))


COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
               "ge": np.greater_equal}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool], ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(kernels: Kernels, isa: str, name: str, dtype: type):
    for n in [*SIZES, 300_000]:
        for x, y in modes(values(float, n, -3, 3).astype(dtype), values(float, n, -3, 3, seed=1).astype(dtype)):
            out = kernels.binary(name, x, y, family="compare")
            assert np.array_equal(out, COMPARISONS[name](x, y))
            assert set(np.unique(out.view(np.uint8))) <= {0, 1}


@each_float
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_special_values(kernels: Kernels, isa: str, name: str, dtype: type):
    for x, y in modes(*pairs(dtype)):
        assert np.array_equal(kernels.binary(name, x, y, family="compare"), COMPARISONS[name](x, y))


@each_float
@pytest.mark.parametrize(("name", "reference"), [("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite),
                                                 ("logical_not", np.logical_not)])
def test_questions_about_one_number(kernels: Kernels, isa: str, name: str, reference, dtype: type):
    for x in (special(dtype), values(dtype, 33), values(dtype, 0)):
        assert np.array_equal(kernels.each(name, x, dtype=bool), reference(x))


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 7), (5, 7), (1000, 3), (4, 1000), (170_000, 3), (3, 170_000),
                                   (300, 1000)], ids=str)
@pytest.mark.parametrize("small_first", [False, True])
@pytest.mark.parametrize("family", ["binary", "compare"])
def test_rows_and_columns_broadcast(kernels: Kernels, isa: str, shape: tuple[int, int], small_first: bool, family: str):
    name, reference = ("sub", np.subtract) if family == "binary" else ("lt", np.less)
    rows, n = shape
    for dtype in (np.float32, np.float64, np.int64):
        x = values(float, rows * n).astype(dtype).reshape(shape)
        for small, call in ((values(float, n, seed=1).astype(dtype), kernels.binary_by_row),
                            (values(float, rows, seed=1).astype(dtype).reshape(rows, 1), kernels.binary_by_column)):
            want = reference(small, x) if small_first else reference(x, small)
            out = guarded(shape, want.dtype)
            call(kernels.address(family, name, dtype), x.ctypes.data, small.ctypes.data, out.ctypes.data, rows, n,
                 x.itemsize, out.itemsize, small_first)
            assert np.array_equal(out, want)
