"""Functions of elements and operators: values, dtypes and shapes for arrays of every rank, special values, numbers as operands."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import claygrad
from claygrad import array_api as xp
from tests.array_api.support import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATING,
    LIMITED,
    NUMERIC,
    ORDERED,
    REAL,
    WHOLE,
    arrays,
    ask,
    equal,
    pairs,
    same,
)

ONE = {**dict.fromkeys("""acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh sqrt tan
    tanh""".split(), FLOATING), **dict.fromkeys(("abs", "negative", "positive", "square", "sign", "isfinite", "isinf", "isnan", "round"), NUMERIC),
    **dict.fromkeys(("ceil", "floor", "trunc"), ORDERED), "signbit": REAL, "logical_not": BOOL, "bitwise_invert": BOOL + WHOLE,
    "conj": NUMERIC, "real": NUMERIC, "imag": COMPLEX}
TWO = {**dict.fromkeys(("add", "subtract", "multiply", "pow"), NUMERIC), "divide": FLOATING, "equal": ALL, "not_equal": ALL,
       **dict.fromkeys(("floor_divide", "remainder", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum"), ORDERED),
       **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter"), REAL),
       **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), BOOL + WHOLE),
       **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), WHOLE),
       **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), BOOL)}
OPERATORS = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
             "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow, "bitwise_and": operator.and_,
             "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "bitwise_left_shift": operator.lshift,
             "bitwise_right_shift": operator.rshift, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
             "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge}
IN_PLACE = {name: getattr(operator, f"i{call.__name__.strip('_')}") for name, call in OPERATORS.items()
            if hasattr(operator, f"i{call.__name__.strip('_')}")}
ROUGH = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-11, "complex128": 1e-11}


def _near(kind: Any) -> float:
    return ROUGH.get(kind.name, 0)


@pytest.mark.parametrize("name", ONE)
@given(data=st.data())
@LIMITED
def test_functions_of_one_array(name: str, data: Any) -> None:
    x = data.draw(arrays(ONE[name], tame=data.draw(st.booleans())))
    if x.dtype.name in COMPLEX:
        assume(bool(xp.all(xp.isfinite(x))) and bool(xp.all(abs(x) < 1e3)) and bool(xp.all((abs(x) > 1e-3) | (x == 0))))
        assume(name != "tan" or bool(xp.all(abs(xp.imag(x)) < 20)))
    if x.dtype.name in FLOATING and name in ("sin", "cos", "tan"):
        assume(bool(xp.all(~xp.isfinite(x) | (abs(x) < 1e4))))       # beyond, libraries differ in how they reduce
    same(name, x, near=_near(x.dtype))


def _allowed(name: str, x: Any, y: Any) -> bool:
    """Whether the standard says what comes out."""
    kind = xp.result_type(x, y)
    if name in ("floor_divide", "remainder") and kind.name in WHOLE:
        return bool(xp.all(y != 0)) and bool(xp.all(x > xp.iinfo(x.dtype).min))
    if name in ("floor_divide", "remainder"):
        return bool(xp.all(xp.isfinite(x) & xp.isfinite(y) & (y != 0) & (abs(x) < 1e6) & (abs(y) > 1e-3)))
    if name == "pow" and kind.name in WHOLE:
        return bool(xp.all(y >= 0)) and bool(xp.all(y < 64))
    if name in ("bitwise_left_shift", "bitwise_right_shift"):
        return bool(xp.all(y >= 0)) and bool(xp.all(y < xp.iinfo(kind).bits))
    if kind.name in COMPLEX and name in ("multiply", "divide", "pow"):
        return all(bool(xp.all(xp.isfinite(one) & (abs(one) < 1e3) & (abs(one) > 1e-3))) for one in (x, y))
    return True


@pytest.mark.parametrize("name", TWO)
@given(data=st.data())
@LIMITED
def test_functions_and_operators_of_two_arrays(name: str, data: Any) -> None:
    x, y = data.draw(pairs(TWO[name], tame=data.draw(st.booleans()) or name == "pow"))
    assume(_allowed(name, x, y))
    near = _near(xp.result_type(x, y))
    same(name, x, y, near=near)
    if name not in OPERATORS:
        return
    _, want = ask(name, x, y)
    equal(OPERATORS[name](x, y), want, f"{x!r} {name} {y!r}", near)
    if name in IN_PLACE and xp.result_type(x, y) == x.dtype and xp.broadcast_shapes(x.shape, y.shape) == x.shape:
        z = other = xp.asarray(x, copy=True)
        z = IN_PLACE[name](z, y)
        assert z is other
        equal(z, want, f"{x!r} {name} {y!r}, in place", near)


@pytest.mark.parametrize("name", TWO)
@given(data=st.data())
@LIMITED
def test_python_numbers_take_the_dtype_of_the_array(name: str, data: Any) -> None:
    x = data.draw(arrays(TWO[name], tame=True))
    kind = x.dtype.name
    number: Any = data.draw({"b": st.booleans(), "f": st.integers(-8, 8).map(lambda n: n / 4) | st.integers(1, 3), "c": st.integers(1, 3).map(
        lambda n: n - 0.5j), "i": st.integers(0, 5), "u": st.integers(0, 5)}[kind[0]])
    y = xp.full((), number, dtype=x.dtype)
    for a, b, first, second in ((x, number, x, y), (number, x, y, x)):
        if not _allowed(name, first, second):
            continue
        _, want = ask(name, first, second)
        equal(getattr(xp, name)(a, b), want, f"{name}({a!r}, {b!r})", _near(x.dtype))
        if name in OPERATORS:
            equal(OPERATORS[name](a, b), want, f"{a!r} {name} {b!r}", _near(x.dtype))


def test_arrays_of_every_rank_promote_alike() -> None:
    for a, b in itertools.product(ALL, ALL):
        for first, second in (((), (2,)), ((2,), ()), ((), ()), ((2, 1), (2,))):
            x, y = xp.ones(first, dtype=getattr(xp, a)), xp.ones(second, dtype=getattr(xp, b))
            got, want = ask("add" if "bool" not in (a, b) else "logical_and", x, y)
            if not isinstance(want, Exception):
                equal(got, want, f"{x!r} and {y!r}")
                if "bool" not in (a, b):
                    equal(x + y, want, f"{x!r} + {y!r}")
                    equal(x + claygrad.ones(second, dtype=y.dtype), want, "with an ordinary tensor on the right")
                    equal(claygrad.ones(first, dtype=x.dtype) + y, want, "with an ordinary tensor on the left")


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 2.5, 3.0, -3.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 1e38, -1e38,
           math.pi, math.pi / 2, 100.0, -100.0]


def _specials(name: str) -> Any:
    return xp.asarray(SPECIAL, dtype=getattr(xp, name))


def _signs_agree(got: Any, want: Any, said: str) -> None:
    a, b = got.detach().numpy(), want._array
    if a.dtype.kind == "f":
        zero = b == 0
        assert (numpy.signbit(a[zero]) == numpy.signbit(b[zero])).all(), f"{said}: the sign of a zero"


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("name", [name for name, kinds in ONE.items() if "float32" in kinds])
def test_special_values_of_one_array(name: str, kind: str) -> None:
    x = _specials(kind)
    got, want = ask(name, x)
    equal(got, want, f"{name} of special values", ROUGH[kind] if name == "tan" else 1e-6)
    _signs_agree(got, want, name)


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("name", [name for name, kinds in TWO.items() if "float32" in kinds])
def test_special_values_of_two_arrays(name: str, kind: str) -> None:
    x = _specials(kind)
    y = x[None, :]
    x = x[:, None]
    got, want = ask(name, x, y)
    equal(got, want, f"{name} of special values", 1e-6)
    _signs_agree(got, want, name)
    if name in IN_PLACE:
        x = xp.asarray(xp.broadcast_to(x, got.shape), copy=True)
        x = IN_PLACE[name](x, y)
        equal(x, want, f"{name} of special values, in place", 1e-6)
        _signs_agree(x, want, name)


@pytest.mark.parametrize("kind", COMPLEX)
@pytest.mark.parametrize("name", "exp log sqrt cos cosh sin sinh tanh acos acosh asin asinh atan atanh abs conj negative".split())
def test_special_values_of_complex_numbers(name: str, kind: str) -> None:
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan]
    x = xp.asarray([complex(a, b) for a in parts for b in parts], dtype=getattr(xp, kind))
    got, want = ask(name, x)
    for part in (xp.real, xp.imag) if got.dtype == x.dtype else (xp.positive,):
        a, b = part(got).numpy(), getattr(numpy, {"positive": "positive", "real": "real", "imag": "imag"}[part.__name__])(want._array)
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=f"{name} of {x.tolist()}")


@given(data=st.data())
@LIMITED
def test_clip(data: Any) -> None:
    x = data.draw(arrays(ORDERED, tame=data.draw(st.booleans())))
    low, high = (data.draw(st.none() | st.integers(0, 4) | arrays([x.dtype.name], st.just(()), tame=True)) for _ in range(2))
    if low is not None and high is not None:
        assume(bool(xp.all(xp.asarray(low, dtype=x.dtype) <= xp.asarray(high, dtype=x.dtype))))
    same("clip", x, low, high)


def test_gradients_pass_through_operators() -> None:
    leaf = claygrad.tensor([1.0, 2.0, 3.0], dtype=claygrad.float64, requires_grad=True)

    def program(t: claygrad.Tensor) -> claygrad.Tensor:
        x = xp.asarray(t)
        y = x[::-1] * xp.asarray(2.0) + 1 / x
        y += x ** 2
        y[1:] = y[1:] * x[:2]
        y[::-1] = y % 2.5
        return xp.sum(xp.sqrt(y @ y + abs(-x)))

    assert claygrad.autograd.gradcheck(program, (leaf,))
    assert claygrad.autograd.gradgradcheck(program, (leaf,))
