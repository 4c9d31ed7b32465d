from __future__ import annotations

import math

import numpy as np
import pytest

from tests.kernels.kernel_api import SIZES, Kernels, guarded, same_bits, special, ulps, values

FLOATS = [np.float32, np.float64]
each_float = pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: np.dtype(t).name)

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


def wide(function):
    """The reference, in long double where NumPy has it: an answer better than any float64."""
    return lambda x: function(x.astype(np.longdouble))


# Correctly rounded by IEEE: every set gives the same bits. name: (reference in the dtype itself, p, q)
EXACT = {
    "neg": (np.negative, 0, 0),
    "abs": (np.abs, 0, 0),
    "square": (np.square, 0, 0),
    "sqrt": (np.sqrt, 0, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0, 0),
    "reciprocal": (lambda x: 1 / x, 0, 0),
    "floor": (np.floor, 0, 0),
    "ceil": (np.ceil, 0, 0),
    "round": (np.rint, 0, 0),
    "trunc": (np.trunc, 0, 0),
    "sign": (lambda x: np.nan_to_num(np.sign(x)) + 0.0, 0, 0),
    "relu": (lambda x: np.where(x < 0, x.dtype.type(0), x), 0, 0),
    "leaky_relu": (lambda x: np.where(x > 0, x, x * x.dtype.type(0.01)), 0.01, 0),
    "hard_sigmoid": (lambda x: np.minimum(np.maximum(x + x.dtype.type(3), 0), 6) / x.dtype.type(6), 0, 0),
    "hard_swish": (lambda x: x * np.minimum(np.maximum(x + x.dtype.type(3), 0), 6) / x.dtype.type(6), 0, 0),
    "hard_shrink": (lambda x: np.where((x >= -0.5) & (x <= 0.5), x.dtype.type(0), x), 0.5, 0),
    "soft_shrink": (lambda x: np.where(x > 0.5, x - x.dtype.type(0.5), np.where(x < -0.5, x + x.dtype.type(0.5), x * 0)),
                    0.5, 0),
    "threshold": (lambda x: np.where(x <= 0.5, x.dtype.type(7), x), 0.5, 7),
    "add_scalar": (lambda x: x + x.dtype.type(0.1), 0.1, 0),
    "mul_scalar": (lambda x: x * x.dtype.type(0.1), 0.1, 0),
    "clamp": (lambda x: np.clip(x, x.dtype.type(-0.5), x.dtype.type(0.7)), -0.5, 0.7),
}

# Through the C library: within some units in the last place. name: (reference, low, high)
MATHS = {
    "exp": (wide(np.exp), -100, 100),
    "exp2": (wide(np.exp2), -160, 130),
    "expm1": (wide(np.expm1), -20, 20),
    "log": (wide(np.log), 0, 100),
    "log2": (wide(np.log2), 0, 100),
    "log10": (wide(np.log10), 0, 100),
    "log1p": (wide(np.log1p), -1, 100),
    "sin": (wide(np.sin), -100, 100),
    "cos": (wide(np.cos), -100, 100),
    "tan": (wide(np.tan), -100, 100),
    "asin": (wide(np.arcsin), -1, 1),
    "acos": (wide(np.arccos), -1, 1),
    "atan": (wide(np.arctan), -100, 100),
    "sinh": (wide(np.sinh), -80, 80),
    "cosh": (wide(np.cosh), -80, 80),
    "tanh": (wide(np.tanh), -10, 10),
    "asinh": (wide(np.arcsinh), -100, 100),
    "acosh": (wide(np.arccosh), 1, 100),
    "atanh": (wide(np.arctanh), -1, 1),
    "erf": (lambda x: erf(x.astype(float)), -5, 5),
    "erfc": (lambda x: erfc(x.astype(float)), -5, 9),
    "sigmoid": (wide(lambda x: 1 / (1 + np.exp(-x))), -30, 30),
    "silu": (wide(lambda x: x / (1 + np.exp(-x))), -30, 30),
}


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.longdouble(np.pi)) * (x + 0.044715 * x**3)))


# Sums that cancel: a small error against the size of x. name: (reference, p, q)
SHAPES = {
    "gelu": (lambda x: 0.5 * x * (1 + erf(x.astype(float) / math.sqrt(2))), 0, 0),
    "gelu_tanh": (wide(gelu_tanh), 0, 0),
    "elu": (wide(lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))), 1.5, 0),
    "selu": (wide(lambda x: 1.0507009873554804934 * np.where(x > 0, x, 1.6732632423543772848 * np.expm1(np.minimum(x, 0)))),
             0, 0),
    "celu": (wide(lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0) / 1.5))), 1.5, 0),
    "mish": (wide(lambda x: x * np.tanh(np.log1p(np.exp(np.minimum(x, 50))))), 0, 0),
    "log_sigmoid": (wide(lambda x: -np.log1p(np.exp(np.minimum(-x, 50)))), 0, 0),
    "softplus": (wide(lambda x: np.where(2 * x > 10, x, np.log1p(np.exp(np.minimum(2 * x, 20))) / 2)), 2, 10),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each_float
@pytest.mark.parametrize("name", EXACT)
def test_an_exact_kernel_gives_the_bits_of_numpy(kernels: Kernels, isa: str, name: str, dtype: type):
    reference, p, q = EXACT[name]
    for n in SIZES:
        x = values(dtype, n)
        assert same_bits(kernels.unary(name, x, p, q), reference(x)), n
    x = special(dtype)
    assert same_bits(kernels.unary(name, x, p, q), reference(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_square_root_is_the_nearest_float(kernels: Kernels, isa: str):
    x = np.concatenate([np.arange(0, 1 << 32, 4099, dtype=np.uint32), np.arange(0x3F800000, 0x40800000, 7, dtype=np.uint32)])
    assert same_bits(kernels.unary("sqrt", x.view(np.float32), 0, 0), np.sqrt(x.view(np.float32)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each_float
@pytest.mark.parametrize("name", MATHS)
def test_a_function_is_within_four_units_of_the_true_value(kernels: Kernels, isa: str, name: str, dtype: type):
    reference, low, high = MATHS[name]
    bound = 4.5 if name in ("sigmoid", "silu", "erf") else 4.0
    for n in [*SIZES, 4096]:
        x = values(dtype, n, low, high)
        assert ulps(kernels.unary(name, x), reference(x)).max(initial=0) <= bound, n


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each_float
@pytest.mark.parametrize("name", [*MATHS, *SHAPES])
def test_special_values_are_those_of_the_scalar_kernel(kernels: Kernels, isa: str, name: str, dtype: type):
    p, q = SHAPES[name][1:] if name in SHAPES else (0, 0)
    x = special(dtype)
    out = kernels.unary(name, x, p, q)
    kernels.use_isa(b"base")
    twin = kernels.unary(name, x, p, q)
    assert np.array_equal(np.isnan(out), np.isnan(twin))
    assert np.array_equal(out[np.isinf(twin)], twin[np.isinf(twin)])
    finite = np.isfinite(twin)
    if name in SHAPES:
        finite_x, error = x[finite], np.abs(out[finite] - twin[finite])
        assert (error <= 4 * np.finfo(dtype).eps * np.abs(finite_x)).all()
        assert same_bits(out[x == 0], twin[x == 0])
    else:
        assert same_bits(out[twin == 0], twin[twin == 0])
        assert ulps(out, twin.astype(np.longdouble)).max() <= 5


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each_float
@pytest.mark.parametrize("name", MATHS)
def test_special_values_of_the_scalar_kernel_are_those_of_numpy(kernels: Kernels, name: str, dtype: type):
    before = kernels.isa()
    kernels.use_isa(b"base")
    x = special(dtype)
    if name in ("sigmoid", "silu"):
        x = x[~(x < -80)]                        # exp(-x) overflows there, as in torch
    out, want = kernels.unary(name, x), MATHS[name][0](x).astype(dtype)
    kernels.use_isa(before)
    assert np.array_equal(np.isnan(out), np.isnan(want))
    assert np.array_equal(out[np.isinf(want)], want[np.isinf(want)])
    assert ulps(out, want.astype(np.longdouble)).max() <= 4


@each_float
@pytest.mark.parametrize("name", SHAPES)
def test_an_activation_is_close_to_its_formula(kernels: Kernels, isa: str, name: str, dtype: type):
    reference, p, q = SHAPES[name]
    eps = np.finfo(dtype).eps
    for n in SIZES:
        x = values(dtype, n)
        want = reference(x)
        error = np.abs(kernels.unary(name, x, p, q) - want)
        assert (error <= 4 * eps * (np.abs(want) + np.abs(x))).all(), n


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each_float
@pytest.mark.parametrize("p", [2, 3, 0.5, -1, -0.5, -2, 2.5, -3, 0, 1, 1 / 3])
def test_pow_takes_the_shortcuts_of_torch(kernels: Kernels, isa: str, p: float, dtype: type):
    shortcut = {2: lambda x: x * x, 3: lambda x: x * x * x, 0.5: np.sqrt, -1: lambda x: 1 / x,
                -0.5: lambda x: 1 / np.sqrt(x), -2: lambda x: 1 / (x * x)}
    x = np.concatenate([values(dtype, 100), special(dtype)])
    out = kernels.unary("pow", x, p)
    if p in shortcut:
        assert same_bits(out, shortcut[p](x))
    else:
        want = np.power(x.astype(np.longdouble), np.longdouble(dtype(p)))
        assert ulps(out, want).max() <= 4
    assert np.isnan(out[-1]) == (p != 0)


@each_float
def test_clamp_with_a_bound_that_is_nan_gives_nan(kernels: Kernels, isa: str, dtype: type):
    x = values(dtype, 33)
    assert np.isnan(kernels.unary("clamp", x, np.nan, 1)).all()
    assert np.isnan(kernels.unary("clamp", x, -1, np.nan)).all()
    assert same_bits(kernels.unary("clamp", x, 2, 1), np.full_like(x, 1))


@each_float
@pytest.mark.parametrize("name", ["neg", "exp", "tanh", "log", "relu"])
def test_a_value_does_not_depend_on_where_it_lies(kernels: Kernels, isa: str, name: str, dtype: type):
    x = values(dtype, 100, 0.1, 5)
    whole = kernels.unary(name, x).copy()
    for offset in (1, 3, 7):
        for n in (1, 5, 8, 17, 60):
            part = x[offset:offset + n]          # misaligned by `offset` elements
            assert np.array_equal(kernels.unary(name, part, out=guarded((n,), dtype, 1)), whole[offset:offset + n])


@each_float
@pytest.mark.parametrize("name", ["neg", "exp", "erf", "clamp"])
@pytest.mark.parametrize("n", [1, 33, 100_000, 300_001])
def test_the_result_may_overwrite_the_input(kernels: Kernels, isa: str, name: str, n: int, dtype: type):
    x = values(dtype, n)
    want = kernels.unary(name, x, -1, 1).copy()
    assert np.array_equal(kernels.unary(name, x, -1, 1, out=x), want)


def test_integers_wrap_around(kernels: Kernels, isa: str):
    x = np.array([0, 1, -1, 5, -7, 2**63 - 1, -2**63] * 3, np.int64)
    with np.errstate(all="ignore"):
        assert np.array_equal(kernels.unary("neg", x), -x)
        assert np.array_equal(kernels.unary("abs", x), np.abs(x))
        assert np.array_equal(kernels.unary("sign", x), np.sign(x))
        assert np.array_equal(kernels.unary("square", x), x * x)


def test_logical_not_of_bools(kernels: Kernels, isa: str):
    for n in SIZES:
        x = values(np.float32, n) > 0
        assert np.array_equal(kernels.unary("logical_not", x), ~x)


def test_an_unknown_kernel_is_nobody(kernels: Kernels):
    assert kernels.find(b"unary", b"frobnicate", 6) is None
    assert kernels.find(b"sorcery", b"exp", 6) is None
    assert kernels.find(b"unary", b"exp", 4) is None
