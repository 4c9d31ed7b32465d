"""Arrays drawn in claygrad, and the answers that array-api-strict, which does only what the standard says, gives for them."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import array_api_strict as strict
import numpy
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import claygrad
from claygrad import array_api as xp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    draws = make_strategies_namespace(xp, api_version="2024.12")

BOOL, SIGNED, UNSIGNED = ["bool"], ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
WHOLE, REAL, COMPLEX = SIGNED + UNSIGNED, ["float32", "float64"], ["complex64", "complex128"]
FLOATING = REAL + COMPLEX
ORDERED, NUMERIC = WHOLE + REAL, WHOLE + REAL + COMPLEX
ALL = BOOL + NUMERIC
LIMITED = settings(max_examples=25, deadline=None, derandomize=True, database=None,
                   suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])


def shapes(least: int = 0, most: int = 3, side: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(side, 4), min_size=least, max_size=most).map(tuple)


def elements(name: str, tame: bool = False) -> Any:
    """Any value of a dtype; tame ones stay small, so that nothing overflows and no order of sums matters."""
    if not tame or name == "bool":
        return None
    if name in WHOLE:
        return st.integers(0 if name[0] == "u" else -5, 5)
    parts = st.integers(-12, 12).map(lambda n: n / 4)
    return parts if name in REAL else st.builds(complex, parts, parts)


def arrays(names: list[str], shape: Any = None, tame: bool = False) -> st.SearchStrategy[Any]:
    """Arrays of claygrad of any of these dtypes."""
    return st.sampled_from(names).flatmap(
        lambda name: draws.arrays(dtype=getattr(xp, name), shape=shapes() if shape is None else shape, elements=elements(name, tame)))


@st.composite
def pairs(draw: Any, names: list[str], tame: bool = False, least: int = 0) -> tuple[Any, Any]:
    """Two arrays that are broadcast, of dtypes that have a common one."""
    first = draw(st.sampled_from(names))
    second = draw(st.sampled_from([name for name in names if _common(first, name)]))
    many = draw(draws.mutually_broadcastable_shapes(2, min_dims=least, max_dims=3, max_side=3))
    return tuple(draw(arrays([name], st.just(shape), tame)) for name, shape in zip((first, second), many.input_shapes))


def _common(first: str, second: str) -> bool:
    try:
        strict.result_type(getattr(strict, first), getattr(strict, second))
    except TypeError:
        return False
    return True


def reference(value: Any) -> Any:
    """What claygrad has, as array-api-strict has it."""
    if isinstance(value, claygrad.Tensor):
        return strict.asarray(value.detach().numpy().copy())
    if isinstance(value, claygrad.dtype):
        return getattr(strict, value.name)
    if isinstance(value, (list, tuple)):
        return type(value)(map(reference, value))
    return value


def ask(name: str, *args: Any, **named: Any) -> tuple[Any, Any]:
    """The answer to a call, and the one that is wanted; exceptions are answers too."""
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = operator.attrgetter(name)(strict)(*map(reference, args), **{key: reference(value) for key, value in named.items()})
        except Exception as error:
            want = error
    try:
        got = operator.attrgetter(name)(xp)(*args, **named)
    except Exception as error:
        got = error
    return got, want


def same(name: str, *args: Any, near: float = 0, **named: Any) -> None:
    """A call gives what the standard says, with its dtype and shape; `near`: as a share of the largest element."""
    got, want = ask(name, *args, **named)
    said = f"{name}({', '.join(map(repr, args))}, {named})"
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{said} gave {got}, and is to raise {want!r}"
        return
    equal(got, want, said, near)


def equal(got: Any, want: Any, said: str, near: float = 0) -> None:
    if isinstance(got, Exception):
        raise AssertionError(f"{said} raised {type(got).__name__}: {got}") from got
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), said
        for x, y in zip(got, want):
            equal(x, y, said, near)
        return
    if not hasattr(want, "_array"):
        assert got == want, said
        return
    assert type(got) is xp.Array, f"{said} gave a {type(got).__name__}"
    value, wanted = got.detach().resolve_conj().numpy(), want._array
    assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape), f"{said} gave {got!r}, not {want!r}"
    if wanted.dtype.kind in "fc":
        numpy.testing.assert_allclose(value, wanted, rtol=near, atol=near * _largest(wanted), err_msg=said)
    else:
        numpy.testing.assert_array_equal(value, wanted, err_msg=said)


def _largest(array: numpy.ndarray) -> float:
    finite = numpy.abs(array[numpy.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0
