"""Native loops against the general path, at the sizes where vectors, tails, blocks and threads begin.

Contiguous memory takes the native loops; every other element of twice as much memory holds the same numbers and does not.
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy
import pytest

import claygrad
from tests.ops.cases import declared, difference, only_in_place, ours, outcome, samples
from tests.ops.directional import recorded
from tests.ops.factory import Build, Call

SAID = declared()
KERNELS = [key for key, said in SAID.items() if said.options.get("kernel") and not only_in_place(said)]
POINTWISE = [key for key in KERNELS if SAID[key].kind == "pointwise"]
REDUCTIONS = [key for key in KERNELS if SAID[key].kind == "reduction"]
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 127, 130, 1000, 70_001]


@cache
def _calls(key: str) -> list[Call]:
    return [call for call in samples(key, SAID[key]) if all(d._array.size and not d._steps for d in call.data())]


def _filled(array: numpy.ndarray, shape: tuple) -> numpy.ndarray:
    """Numbers drawn from a sample's own, so that they stay where the operation is defined."""
    draw = numpy.random.RandomState(zlib.crc32(repr(shape).encode()) % 2**32)
    return draw.choice(array.ravel(), size=shape)


def _differences(key: str, calls: list[Call], dtype: str, loose: float) -> list[str]:
    problems = []
    for call in calls:
        native, general = (
            outcome(claygrad, ours(claygrad, SAID[key]), call, Build(claygrad, dtype, layout=layout))
            for layout in ("contiguous", "strided")
        )
        found = difference(native, general, loose)
        if found:
            problems.append(f"  {call}: {found.replace('claygrad', 'native').replace('torch', 'general')}"[:600])
    return problems


def _report(problems: list[str]) -> None:
    if problems:
        pytest.fail(f"{len(problems)} cases:\n" + "\n".join(problems[:8]), pytrace=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "float16", "complex64"])
@pytest.mark.parametrize("key", POINTWISE)
def test_every_length(key, dtype):
    calls = [call.map(lambda a, n=n: _filled(a, (n,))) for call in _calls(key)[:2] for n in SIZES]
    _report(_differences(key, calls, dtype, 2.0))


BROADCASTS = [
    ((5, 33), (33,)),
    ((5, 33), (5, 1)),
    ((33, 5), (1, 5)),
    ((5, 1), (33,)),
    ((4, 3, 9), (3, 1)),
    ((), (33,)),
    ((33,), ()),
    ((300, 400), (400,)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("key", [key for key in POINTWISE if len(SAID[key].op.tensor_params) > 1])
def test_every_kind_of_broadcasting(key, dtype):
    calls = []
    for call in _calls(key)[:2]:
        if len(list(call.data())) == 2:
            for first, second in BROADCASTS:
                shapes = iter((first, second))
                calls.append(call.map(lambda a, shapes=shapes: _filled(a, next(shapes))))
    _report(_differences(key, calls, dtype, 2.0))


ROWS = [(1, 1), (3, 1), (1, 3), (3, 33), (33, 3), (17, 16), (64, 65), (2, 3, 40), (40, 3, 2), (7, 1, 9), (300, 400)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "float16"])
@pytest.mark.parametrize("key", REDUCTIONS)
def test_every_shape_of_a_reduction(key, dtype):
    calls = [
        call.map(lambda a, shape=shape: _filled(a, shape))
        for call in _calls(key)
        for shape in [(n,) for n in SIZES] + ROWS
        if len(shape) >= max(d._array.ndim for d in call.data())
    ]
    _report(_differences(key, calls, dtype, 200.0))


@pytest.mark.parametrize("key", [key for key in POINTWISE if SAID[key].differentiable])
def test_gradients_by_native_rules(key):
    problems = []
    for call in _calls(key)[:2]:
        for n in (3, 17, 1000):
            found = []
            for layout in ("contiguous", "strided"):
                args, kwargs = call.map(lambda a, n=n: _filled(a, (n,))).build(Build(claygrad, "float32", True, layout))
                inputs = [t for t in args if getattr(t, "requires_grad", False)]
                outputs = recorded(lambda *_, a=args, k=kwargs: ours(claygrad, SAID[key])(*a, **k), [])
                if inputs and outputs:
                    try:
                        seeds = [claygrad.ones_like(out) for out in outputs]
                        found.append(claygrad.autograd.grad(outputs, inputs, seeds, allow_unused=True))
                    except (RuntimeError, NotImplementedError) as error:
                        assert "not implemented" in str(error), error
            if len(found) == 2:
                pairs = [(a, b) for a, b in zip(*found, strict=True) if a is not None and b is not None]
                problems += [f"  {call} of {n}: {d}" for a, b in pairs if (d := difference(a, b, 4.0))]
    _report(problems)
