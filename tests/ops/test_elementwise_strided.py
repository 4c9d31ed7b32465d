"""Elementwise kernels for operands of any layout and dtype, against the reference: values, dtypes and strides."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import numpy
import pytest

import claygrad
from claygrad import Tensor
from claygrad.core.dispatch import reference_only

SPECIAL = [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, -3.5]
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "int8", "bool", "float16", "bfloat16", "complex64",
          "complex128", "complex32"]

UNARY = ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit", "logical_not", "bitwise_not", "frac", "sgn",
         "angle", "deg2rad", "rad2deg", "nan_to_num", "sinc", "logit", "lgamma", "digamma", "erfinv", "i0", "asin", "acos", "asinh",
         "acosh", "atanh", "sinh", "cosh", "floor", "ceil", "trunc", "round", "neg", "abs", "exp", "sqrt", "conj_physical", "square",
         "log", "sin", "cos", "tan", "atan", "tanh", "reciprocal", "rsqrt", "sign"]
IN_SPECIAL = ["erfcx", "ndtri", "log_ndtr", "entr", "i0e", "i1", "i1e", "modified_bessel_k0", "modified_bessel_k1", "bessel_j0",
              "bessel_j1", "bessel_y0", "bessel_y1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
              "spherical_bessel_j0", "airy_ai"]
BINARY = ["add", "sub", "mul", "div", "remainder", "fmod", "floor_divide", "rsub", "hypot", "copysign", "fmax", "fmin", "maximum",
          "minimum", "heaviside", "logaddexp", "logaddexp2", "xlogy", "nextafter", "ldexp", "logical_and", "logical_or",
          "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "eq", "ne", "lt", "ge", "complex", "polar", "clamp_min", "clamp_max",
          "atan2", "pow", "igamma", "igammac"]
# Of 0 and -0 NumPy's loops take one or the other; sinc of a whole number is a tiny number there, rounded.
EITHER_ZERO = ["fmax", "fmin", "maximum", "minimum", "sinc"]
ONES = {name: getattr(claygrad, name) for name in UNARY} | {name: getattr(claygrad.special, name) for name in IN_SPECIAL}
ONES |= {"round to decimals": lambda x: claygrad.round(x, decimals=2), "round to tens": lambda x: claygrad.round(x, decimals=-1),
         "polygamma": lambda x: claygrad.polygamma(1, x.abs()), "polygamma of order 3": lambda x: claygrad.polygamma(3, x),
         "mvlgamma": lambda x: claygrad.mvlgamma(x.abs() + 1.25, 2), "logit within": lambda x: claygrad.logit(x, 0.1),
         "nan_to_num by number": lambda x: claygrad.nan_to_num(x, nan=1.5, neginf=-2.0)}
PAIRS = {name: getattr(claygrad, name) for name in BINARY}
PAIRS |= {"xlog1py": claygrad.special.xlog1py, "zeta": claygrad.special.zeta,
          "div cut": lambda x, y: claygrad.div(x, y, rounding_mode="trunc"),
          "div down": lambda x, y: claygrad.div(x, y, rounding_mode="floor"),
          "add by half": lambda x, y: claygrad.add(x, y, alpha=0.5), "sub by half": lambda x, y: claygrad.sub(x, y, alpha=0.5),
         "rsub by half": lambda x, y: claygrad.rsub(x, y, alpha=0.5), "rsub by 3": lambda x, y: claygrad.rsub(x, y, alpha=3)}
TRIPLES = {"lerp": claygrad.lerp, "addcmul": claygrad.addcmul, "clamp": claygrad.clamp,
           "addcmul by half": lambda x, y, z: claygrad.addcmul(x, y, z, value=0.5),
           "addcdiv": lambda x, y, z: claygrad.addcdiv(x, y, z, value=2)}


def made(shape: tuple[int, ...], dtype: str, seed: int) -> Tensor:
    draw = numpy.random.default_rng(seed)
    if dtype in ("float32", "float64", "float16", "bfloat16"):
        flat = numpy.where(draw.random(shape) < 0.3, draw.choice(SPECIAL, shape), draw.uniform(-4, 4, shape))
        return claygrad.tensor(flat).to(getattr(claygrad, dtype))
    if dtype.startswith("complex"):
        flat = numpy.empty(shape, "complex128" if dtype == "complex128" else "complex64")
        for part in (flat.real, flat.imag):
            part[...] = numpy.where(draw.random(shape) < 0.1, draw.choice(SPECIAL, shape), draw.uniform(-4, 4, shape))
        return claygrad.tensor(flat).to(getattr(claygrad, dtype))
    return claygrad.tensor(draw.integers(0 if dtype in ("uint8", "bool") else -5, 6, shape)).to(getattr(claygrad, dtype))


def outcome(call: Callable, *args: object) -> Tensor | str:
    try:
        return call(*args)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def rounded_then_cut(x: Tensor, y: Tensor) -> Tensor:
    return (x / y).trunc()


def agree(call: Callable, *args: object) -> None:
    native = outcome(call, *args)
    halves = isinstance(args[-1], claygrad.Tensor) and args[-1].dtype in (claygrad.float16, claygrad.bfloat16)
    if call is PAIRS["div cut"] and halves and args[-1].numel() > 1:
        call = rounded_then_cut                 # the reference computes in float32, where nothing is rounded in between
    with reference_only():
        wanted = outcome(call, *args)
    assert isinstance(native, str) == isinstance(wanted, str), (native, wanted)
    if isinstance(native, str):
        assert native == wanted
        return
    assert (native.dtype, native.shape, native.stride()) == (wanted.dtype, wanted.shape, wanted.stride())
    rough = {"float16": 2e-3, "complex32": 2e-3, "bfloat16": 1e-2, "float32": 4e-6, "complex64": 4e-6}.get(native.dtype.name, 1e-10)
    x, y = (t.detach().to(claygrad.complex128 if t.is_complex() else claygrad.float64).numpy() for t in (native, wanted))
    numpy.testing.assert_allclose(x, y, rtol=rough, atol=rough, equal_nan=True)
    if native.dtype.is_floating_point and getattr(call, "__name__", "") not in EITHER_ZERO:
        zero = (x == 0) & (y == 0)
        assert (numpy.signbit(x) == numpy.signbit(y))[zero].all()


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.t().contiguous().t(),
    "every other row": lambda x: x.repeat_interleave(2, 0)[::2],
    "every other column": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "one row": lambda x: x[:1].expand_as(x),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONES)
def test_one_operand(name: str, dtype: str):
    for layout in LAYOUTS.values():
        agree(ONES[name], layout(made((7, 30), dtype, 0)))
    agree(ONES[name], made((), dtype, 1))
    agree(ONES[name], made((0, 3), dtype, 1))
    agree(ONES[name], made((2000,), dtype, 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PAIRS)
def test_two_operands(name: str, dtype: str):
    call, x, y = PAIRS[name], made((7, 30), dtype, 0), made((7, 30), dtype, 1)
    for first, second in itertools.product(LAYOUTS.values(), repeat=2):
        agree(call, first(x), second(y))
    for shape in ((30,), (7, 1), (1, 30), (), (1,), (2, 1, 1)):
        small = made(shape, dtype, 2)
        agree(call, x, small)
        agree(call, small, x)
    agree(call, made((300, 7), dtype, 3), made((300, 1), dtype, 4))


@pytest.mark.parametrize("other", ["float32", "int64", "bool", "uint8", "float64"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
@pytest.mark.parametrize("name", PAIRS)
def test_two_dtypes(name: str, dtype: str, other: str):
    agree(PAIRS[name], made((5, 9), dtype, 0), made((5, 9), other, 1))
    agree(PAIRS[name], made((5, 9), dtype, 0), made((), other, 1))


@pytest.mark.parametrize("number", [2, -3, 0.5, 0.1, 300, True, 1 + 2j, float("nan")])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "mul", "remainder", "fmod", "floor_divide", "rsub", "copysign", "xlogy", "eq", "lt", "clamp_min",
                                  "xlog1py", "div cut", "bitwise_and", "sub", "div", "pow", "bitwise_left_shift", "bitwise_right_shift"])
def test_a_number(name: str, dtype: str, number: complex):
    agree(PAIRS[name], made((7, 30), dtype, 0), number)
    agree(PAIRS[name], made((30, 7), dtype, 0).t(), number)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TRIPLES)
def test_three_operands(name: str, dtype: str):
    call, x, y, z = TRIPLES[name], *(made((7, 30), dtype, k) for k in range(3))
    for layouts in itertools.product(list(LAYOUTS.values())[:3], repeat=3):
        agree(call, *(layout(t) for layout, t in zip(layouts, (x, y, z))))
    agree(call, x, made((30,), dtype, 4), made((7, 1), dtype, 5))
    agree(call, x, made((), dtype, 4), z)


@pytest.mark.parametrize("n", [1, 15, 16, 33, 130, 1025, 5000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_one_element_for_many(dtype: str, n: int):
    x, y, z = (made((3, n), dtype, k) for k in range(3))
    for given in itertools.product((x, x[:, :1]), (y, y[1:2, :1]), (z, z[:, :1], z[0, 0])):
        agree(claygrad.addcmul, *given)
    for weight in (0.3, 0.7, z[:, :1], z[0, 0]):
        agree(claygrad.lerp, x, y, weight)
    for low, high in ((-1, 1.5), (None, 2), (-0.1, None)):
        agree(claygrad.clamp, x, low, high)
    for power in (made((), dtype, 3), made((3, 1), dtype, 4), claygrad.tensor(2.5).to(x.dtype), claygrad.tensor(-2)):
        agree(claygrad.ldexp, x, power)
    for call in (claygrad.add, claygrad.mul, claygrad.div, claygrad.rsub, claygrad.maximum):
        agree(call, x, y[:, :1])
        agree(call, x.t(), y[:, :1].t())
        agree(call, y[0, 0], x)
    agree(lambda x: (x + 0.1, x * 0.1, 0.1 - x)[2], x)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_bounds_of_every_kind(dtype: str):
    x, low, high = (made((5, 9), dtype, k) for k in range(3))
    for bounds in ((-1, 2), (None, 2), (1, None), (2, 1), (low, high), (low, None), (None, high), (None, None), (low, 2), (0.5, 1.5)):
        agree(claygrad.clamp, x, *bounds)


def test_in_place_and_out():
    for name in ("fmod_", "remainder_", "xlogy_", "clamp_min_", "copysign_", "hypot_", "lerp_"):
        x, y = made((5, 9), "float32", 0), made((5, 9), "float32", 1)
        rest = (0.3,) if name == "lerp_" else ()
        agree(lambda x, y, name=name, rest=rest: getattr(x.clone(), name)(y, *rest), x, y)
        agree(lambda x, y, name=name, rest=rest: getattr(x.clone(), name)(y[0], *rest), x, y)
        agree(lambda x, name=name, rest=rest: getattr(x.clone(), name)(x, *rest), x)
    x = made((9,), "float32", 0)
    y = x.clone()
    y[:-1].fmod_(y.clone()[1:])
    assert claygrad.equal(y[:-1].nan_to_num(), x[:-1].fmod(x[1:]).nan_to_num())
    out = claygrad.empty(3)
    assert claygrad.fmod(claygrad.tensor([5.0, -5.0, 7.5]), 3, out=out) is out
    assert out.tolist() == [2.0, -2.0, 1.5]


def test_trigamma_has_its_poles_where_a_sine_in_single_precision_has_its_zeros():
    x = claygrad.tensor([-30.0, -11.0, -5.0, -2.0, -1.0])
    agree(lambda x: claygrad.polygamma(1, x), x)


def test_mvlgamma_has_its_poles_where_single_precision_has_them():
    assert claygrad.mvlgamma(claygrad.tensor([-1e-8]), 4).item() == math.inf


@pytest.mark.parametrize("call", [claygrad.minimum, claygrad.maximum, claygrad.lt, claygrad.remainder])
def test_a_number_of_another_sign_or_size_is_wrapped_before_it_is_compared(call):
    for number in (claygrad.tensor(-1, dtype=claygrad.int8), claygrad.tensor(300), claygrad.tensor(-5)):
        agree(call, number, claygrad.tensor([1, 200, 44, 3], dtype=claygrad.uint8))
    agree(call, claygrad.tensor(200, dtype=claygrad.uint8), claygrad.tensor([1, -100, 44], dtype=claygrad.int8))


def test_division_of_integers_by_zero_is_refused():
    for call in (claygrad.remainder, claygrad.fmod, claygrad.floor_divide):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call(claygrad.tensor([1, 2]), claygrad.tensor([1, 0]))


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide", "div_floor", "div_trunc"])
def test_nothing_is_divided_by_zero_where_nothing_is_divided(name):
    name, _, rounding = name.partition("_") if name.startswith("div_") else (name, "", "")
    call = functools.partial(getattr(claygrad, name), **({"rounding_mode": rounding} if rounding else {}))
    nothing = claygrad.empty(0, 1, dtype=claygrad.int64)
    for divisor, shape in ((claygrad.tensor([0, 2]), (0, 2)), (claygrad.tensor(0), (0, 1)), (0, (0, 1))):
        assert call(nothing, divisor).shape == shape
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call(claygrad.ones(1, 1, dtype=claygrad.int64), divisor)


def test_integers_at_the_edge_of_their_range():
    least = claygrad.tensor([-(2**63)])
    assert (least // -1).tolist() == [-(2**63)]
    assert (least % -1).tolist() == [0]
    assert claygrad.tensor([200], dtype=claygrad.uint8).add(100).tolist() == [44]
    assert (claygrad.tensor([-128], dtype=claygrad.int8).abs()).tolist() == [-128]


@pytest.mark.parametrize("shape", [(40_000,), (500, 300), (3, 70_001)])
def test_long_operands_in_blocks_and_threads(shape: tuple[int, ...]):
    x, y, z = (made(shape, dtype, k) for k, dtype in enumerate(("float32", "float32", "float64")))
    agree(claygrad.logaddexp, x, y)
    agree(claygrad.addcmul, x, y[..., :1], z)
    agree(claygrad.remainder, x, 0.75)
    agree(claygrad.hypot, x, z.to(claygrad.int32).clamp(-9, 9))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_division_of_integers_of_every_size(dtype: str):
    least, most = claygrad.iinfo(getattr(claygrad, dtype)).min, claygrad.iinfo(getattr(claygrad, dtype)).max
    numbers = [least, least + 1, most, most - 1, most // 2, most // 2 + 1, most // 3, 0, 1, 2, 3, 7, 100]
    numbers += [-1, -2, -7] if least else []
    x = claygrad.tensor(numbers, dtype=getattr(claygrad, dtype)).reshape(-1, 1).expand(-1, len(numbers)).contiguous()
    y = x.t().clone()
    y[y == 0] = 5
    for call in (claygrad.floor_divide, claygrad.remainder, claygrad.fmod, PAIRS["div cut"]):
        agree(call, x, y)
        agree(call, x // 5, y)                           # none of them far from 0


def test_ldexp_next_to_the_ends_of_its_range():
    for dtype in ("float32", "float64"):
        x = claygrad.tensor([1.0, -1.5, 1e-30, 1e30, 5e-324, 1e-300, 1e300, 0.0, -0.0, math.inf, math.nan]).to(getattr(claygrad, dtype))
        for power in (-2200, -1074, -1022, -150, -127, 0, 3, 127, 128, 1023, 1024, 2098, 0.5, -3.25, math.inf, -math.inf, math.nan):
            agree(claygrad.ldexp, x, claygrad.full_like(x, power))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mantissas_and_exponents_of_every_size(dtype: str):
    info = numpy.finfo(dtype)
    ends = [info.max, info.tiny, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny - info.smallest_subnormal]
    x = numpy.array([*SPECIAL, *ends, *(-v for v in ends), *numpy.random.default_rng(0).standard_normal(150_000)], dtype)
    mantissa, exponent = claygrad.frexp(claygrad.tensor(x))
    wanted, power = numpy.frexp(x)
    assert mantissa.numpy().tobytes() == wanted.astype(dtype).tobytes()
    assert exponent.tolist() == numpy.where(numpy.isfinite(x), power, 0).tolist()


def test_powers_of_complex_numbers():
    x = made((50,), "complex128", 0)
    for power in (0, 1, 2, 3, -1, -2, 0.5, 2.5, 1j, 120):
        agree(claygrad.pow, x, power)
        agree(claygrad.pow, x, claygrad.full_like(x, power))


POLYNOMIALS = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_one_degree_and_of_many(name: str):
    call, x = getattr(claygrad.special, name), made((3, 40), "float64", 0)
    x[0, :4] = claygrad.tensor([0.0, 1.0, -1.0, 0.5], dtype=claygrad.float64)
    for degree in (-1, 0, 1, 2, 3, 6, 8, 9, 20):
        agree(call, x, degree)
    agree(call, x, claygrad.arange(120.0, dtype=claygrad.float64).reshape(3, 40) % 9)


@pytest.mark.parametrize("name", ["igamma_", "igammac_", "remainder_", "floor_divide_"])
def test_a_kernel_that_gives_up_halfway_has_not_written_to_the_operand(name: str):
    whole = name in ("remainder_", "floor_divide_")
    a = claygrad.randint(1, 50, (200_000,)) if whole else claygrad.rand(200_000) + 0.5
    x = claygrad.randint(1, 9, (200_000,)) if whole else claygrad.rand(200_000) + 0.5
    if whole:
        x[-1], before = 0, a.clone()
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            getattr(a, name)(x)
        assert claygrad.equal(a, before)
    else:
        a[-1] = 3e4                                             # left to the general path
        expected = getattr(claygrad, name[:-1])(a, x)
        assert claygrad.equal(getattr(a, name)(x), expected)
