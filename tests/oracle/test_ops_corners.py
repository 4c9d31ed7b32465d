"""Every declared operation where it is hard, against torch: special values, the ends of the integers, in place, out=."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.ops.cases import difference, flat, is_tensor, only_in_place, ours, outcome
from tests.ops.factory import Build, Call

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402
from tests.oracle.opcompare import (  # noqa: E402
    DIFFERENTIABLE,
    KEYS,
    PAIRS,
    POINTWISE,
    REDUCTIONS,
    SAID,
    UNINITIALISED,
    beyond,
    both,
    compare,
    forgiven,
    gradient_difference,
    gradients,
    report,
    samples_of,
)

pytestmark = pytest.mark.usefixtures("no_onednn")

# --- special values -------------------------------------------------------------------------------------------------

SPECIAL = numpy.array(
    [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, -1e-8, 88.0, 1e10, 0.5, -2.5, 3.5]
)


def _special(call: Call, values: numpy.ndarray = SPECIAL) -> list[Call]:
    """The call on special values: alike in all tensors, and against each other."""
    rolls = [0, 1, 4, 7]

    def with_roll(roll: int) -> Call:
        place = iter(range(100))

        def change(a: numpy.ndarray) -> numpy.ndarray:
            shift = next(place) * roll
            return numpy.resize(numpy.roll(values, shift), a.shape) if a.dtype.kind == "f" else a

        return call.map(change)

    return [with_roll(roll) for roll in rolls]


def _wide(call: Call) -> Call:
    """The call on longer rows, so that all special values and the vector loops are met."""
    return call.map(lambda a: numpy.resize(a, (*a.shape[:-1], 33)) if a.ndim and a.shape[-1] > 1 else a)


# --- elements at which torch's own answer is not the right one, told from both answers: all others are compared


def _nan_alone(mine: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    return numpy.isnan(other) & ~numpy.isnan(mine)


def _unwritten(mine: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    return numpy.isnan(mine)


def _near_zero(mine: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    return abs(mine) < 1e-6


def _small(mine: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    return abs(mine) < 0.2


def _single(mine: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    return numpy.full(mine.shape, mine.ndim == 0)


VALUES = {
    "remainder": _nan_alone,  # the quotient overflows, as in 1e10 % 1e-300
    "fmod": _nan_alone,
    "zeta": _nan_alone,  # of a huge exponent
    "airy_ai": _small,  # below -2 six digits are right, and far from 0 the phase is rounded to the dtype
    "bessel_j1": _small,
    "bessel_y1": _small,
}
GRADIENTS = {
    "zeta": _nan_alone,
    "log_ndtr": _nan_alone,  # at -inf
    "sinc": _near_zero,  # all digits cancel
    # At NaN torch's vectors say one thing, what is left over beside them another.
    **dict.fromkeys(("hardswish", "elu", "selu", "celu"), _single),
}
# Here claygrad says what torch says of single elements, its rule, and not what its vectors make of it: few are compared at a time.
BY_FEW = ("hardtanh", "hardshrink", "softshrink", "logit")
# Where x is NaN torch returns memory that nobody wrote.
UNWRITTEN = dict.fromkeys(
    (
        *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
        "laguerre_polynomial_l",
        "legendre_polynomial_p",
    ),
    _unwritten,
)


def _special_calls(key: str) -> list[Call]:
    plain = [call for call in samples_of(key) if not any(d._dtype for d in call.data())]
    return [special for call in plain for special in _special(_wide(call))]


def _few_calls(key: str) -> list[Call]:
    """The calls on three special values each, too few for torch's vectors."""
    plain = [call for call in samples_of(key) if not any(d._dtype for d in call.data())]
    some = [numpy.roll(SPECIAL, -k)[:3] for k in range(0, len(SPECIAL), 3)]
    return [call.map(lambda a, few=few: few) for call in plain if all(d._array.ndim for d in call.data()) for few in some]


def _at_special_values(key: str, forgive: Callable | None, dtype: str) -> list[str]:
    return compare(key, _special_calls(key), dtype=dtype, loose=2.0, forgive=forgive)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("key", POINTWISE + REDUCTIONS)
def test_special_values(key, dtype):
    report(_at_special_values(key, (VALUES | UNWRITTEN).get(key), dtype)[:6])


def _gradients_at_special_values(key: str, forgive: Callable | None) -> list[str]:
    said, problems = SAID[key], []
    for special in _few_calls(key) if key in BY_FEW else _special_calls(key):
        mine = gradients(claygrad, ours(claygrad, said), special, Build(claygrad, grad=True), 1)
        other = gradients(torch, PAIRS[key], special, Build(torch, grad=True), 1)
        if forgive is not None and not isinstance(mine, Exception) and not isinstance(other, Exception):
            other = [forgiven(a, b, forgive) for a, b in zip(mine, other, strict=True)]
        found = gradient_difference(mine, other)
        if found:
            problems.append(f"  {special}: {found}")
    return problems


@pytest.mark.parametrize("key", [k for k in POINTWISE if k in DIFFERENTIABLE])
def test_gradients_at_special_values(key):
    report(_gradients_at_special_values(key, GRADIENTS.get(key))[:4])


INTEGERS = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


# Division by the ends of the range is left open by C++.
OPEN = ("div", "floor_divide", "gcd", "lcm", "pow", "float_power")


def _at_the_ends(key: str, forgive: Callable | None, dtype: str) -> list[str]:
    low, high = INTEGERS[dtype]
    ends = numpy.array([low, high, low + 1, high - 1, 0, 1, high // 2, 2], dtype=object)
    calls = [_ends(call, ends, dtype) for call in samples_of(key) if not any(d._dtype for d in call.data())]
    return compare(key, calls, dtype=dtype, texts=False, loose=2.0, forgive=forgive)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("key", [k for k in POINTWISE + REDUCTIONS if SAID[k].name not in OPEN])
def test_extreme_integers(key, dtype):
    """Values at the ends of the range wrap as torch's do."""
    report(_at_the_ends(key, (VALUES | UNWRITTEN).get(key), dtype))


@pytest.mark.parametrize("key", VALUES)
def test_values_that_are_forgiven_differ_still(key):
    assert _at_special_values(key, None, "float64") or any(_at_the_ends(key, None, dtype) for dtype in INTEGERS)


@pytest.mark.parametrize("key", GRADIENTS)
def test_gradients_that_are_forgiven_differ_still(key):
    assert _gradients_at_special_values(key, None)


def _ends(call: Call, ends: numpy.ndarray, dtype: str) -> Call:
    place = iter(range(100))
    return call.map(
        lambda a: numpy.resize(numpy.roll(ends, next(place)), a.shape).astype(dtype) if a.dtype.kind == "f" else a
    )


# --- in-place and out= ----------------------------------------------------------------------------------------------

IN_PLACE = [
    key
    for key in KEYS
    if SAID[key].inplace
    and not only_in_place(SAID[key])
    and hasattr(torch.Tensor, SAID[key].name + "_")
    and SAID[key].method
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("key", IN_PLACE)
def test_in_place(key, dtype):
    name, problems = SAID[key].name + "_", []

    def write(x: Any, *args: Any, **kwargs: Any) -> Any:
        result = getattr(x, name)(*args, **kwargs)
        return result, x, x._version, result is x

    for call in samples_of(key):
        if not call.args or not is_tensor(call.build(Build(torch))[0][0]):
            continue
        mine, other = (outcome(lib, write, call, Build(lib, dtype)) for lib in (claygrad, torch))
        refused = isinstance(mine, Exception) and isinstance(other, Exception)
        if beyond(mine, other) or (refused and dtype not in ("float64", "int32")):
            continue  # of two reasons for a refusal either may come first
        found = difference(mine, other, loose=2.0, texts=False)
        if found:
            problems.append(f"  {call}: {found}")
    report(problems)


OUT = [
    key
    for key in KEYS
    if SAID[key].out and SAID[key].public and SAID[key].name not in UNINITIALISED and "settled" not in SAID[key].options
]  # free in sign: out= is compared with claygrad's own result alone


@pytest.mark.parametrize("dtype", ["same", "float32", "int64"])
@pytest.mark.parametrize("key", OUT)
def test_out(key, dtype):
    """Into tensors of the right size, of another dtype, and empty ones that grow."""
    problems = []
    for call in samples_of(key):
        mine, other = both(key, call)
        if isinstance(other, Exception) or isinstance(mine, Exception) or not all(map(is_tensor, flat(other))):
            continue

        def write(lib: Any, function: Callable, plain: Any, grow: bool, call: Call = call) -> Any:
            def make(t: Any) -> Any:
                kind = t.dtype if dtype == "same" else getattr(lib, dtype)
                return lib.zeros([0] if grow else t.shape, dtype=kind)

            targets = tuple(make(t) for t in flat(plain))
            out = targets if isinstance(plain, tuple) else targets[0]
            done = outcome(lib, lambda *a, **k: function(*a, out=out, **k), call, Build(lib))
            return done if isinstance(done, Exception) else (targets, [max(1, t._version) for t in targets])

        for grow in (False, True):
            expected = write(torch, PAIRS[key], other, grow)
            if isinstance(expected, TypeError):
                continue  # torch has no out= here; that claygrad has it does no harm
            found = difference(write(claygrad, ours(claygrad, SAID[key]), mine, grow), expected, texts=dtype == "same")
            if found:
                problems.append(f"  {call}, out of {dtype}{', growing' if grow else ''}: {found}")
    report(problems)
