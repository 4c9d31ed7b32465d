"""Every declared operation over its samples, against torch: values, dtypes, shapes, views, gradients, refusals."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy
import pytest

from tests.ops.cases import (
    declared,
    difference,
    first_line,
    flat,
    is_tensor,
    only_in_place,
    ours,
    outcome,
    samples,
    tensors,
    theirs,
)
from tests.ops.factory import DTYPES, LAYOUTS, Build, Call, Factory
from tests.oracle.agreed import AGREED

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

torch.set_num_threads(1)
torch.backends.mkldnn.set_flags(False)  # its transposed convolution of bfloat16 dies of an illegal instruction
SAID = declared()
PAIRS = {
    key: found
    for key, said in SAID.items()
    if (found := theirs(torch, said)) is not None and (said.public or said.method or only_in_place(said))
}
KEYS = list(PAIRS)
DIFFERENTIABLE = [key for key in KEYS if SAID[key].differentiable]
POINTWISE = [key for key in KEYS if SAID[key].kind == "pointwise"]
REDUCTIONS = [key for key in KEYS if SAID[key].kind == "reduction"]
VIEWS = [key for key in KEYS if SAID[key].kind in ("view", "multi_view", "composite")]
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]

# Names of claygrad's own, which torch has in another place or not at all.
OWN: set[str] = set()
# Where torch's own answer at special values is not the right one: not compared there.
INEXACT = {
    "remainder": "nan when the quotient overflows, as in 1e10 % 1e-300",
    "fmod": "nan when the quotient overflows",
    "polygamma": "misses the poles at negative integers by rounding",
    "digamma": "its derivative is polygamma",
    "mvlgamma": "its derivative is digamma",
    "zeta": "nan instead of 0 for huge exponents",
    "i0": "nan at infinity",
    "i1": "nan at infinity",
    "i1e": "its derivative at NaN is a number",
    "log_ndtr": "the derivative at -inf is nan instead of inf",
    "sinc": "the derivative loses all digits near 0",
    "airy_ai": "far from 0 the phase is rounded to the dtype",
    "bessel_j1": "far from 0 the phase is rounded to the dtype",
    "bessel_y1": "far from 0 the phase is rounded to the dtype",
    **dict.fromkeys(
        (
            *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
            "laguerre_polynomial_l",
            "legendre_polynomial_p",
        ),
        "memory that nobody wrote where x is NaN",
    ),
}
# Uninitialised memory is not compared by value.
UNINITIALISED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted", "resize_"}


@cache
def _samples(key: str, seed: int = 0) -> list[Call]:
    return samples(key, SAID[key], seed)


def _both(key: str, call: Call, **how: Any) -> tuple[Any, Any]:
    said = SAID[key]
    return (
        outcome(claygrad, ours(claygrad, said), call, Build(claygrad, **how)),
        outcome(torch, PAIRS[key], call, Build(torch, **how)),
    )


def _report(problems: list[str]) -> None:
    said = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].split(" ")[0]
    if said in AGREED:
        assert problems, f"{said} agrees by now: strike it from AGREED"
        return
    if problems:
        pytest.fail(f"{len(problems)} samples:\n" + "\n".join(problems), pytrace=False)


def _compare(key: str, calls: list[Call], texts: bool = True, loose: float = 1.0, **how: Any) -> list[str]:
    if key in UNINITIALISED:
        calls = []
    problems = []
    for call in calls:
        mine, other = _both(key, call, **how)
        if _beyond(mine, other, "" if texts else SAID[key].name):
            continue
        found = difference(mine, other, loose, texts)
        if found:
            problems.append(f"  {call}: {found}")
    return problems


def _beyond(mine: Any, other: Any, name: str = "") -> bool:
    """torch lacks a kernel for this dtype where claygrad has one; or it answers in complex32, which claygrad does not have."""
    if isinstance(other, Exception) and not isinstance(mine, Exception) and name.endswith("_loss"):
        return True  # a loss of integers
    if isinstance(other, Exception):
        words = (
            "not implemented for '",
            "does not support automatic differentiation for outputs with complex",
            "_backward is not implemented",
            "_backward' is not implemented",
        )
        return any(w in str(other) for w in words) and not isinstance(mine, Exception)
    return any(t.dtype is torch.complex32 for t in tensors(other))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("key", KEYS)
def test_values(key, dtype, seed):
    _report(_compare(key, _samples(key, seed), dtype=dtype, grad=True))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("float32", "float64")])
@pytest.mark.parametrize("key", KEYS)
def test_other_dtypes(key, dtype):
    _report(_compare(key, _samples(key), dtype=dtype, texts=False, loose=2.0))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", KEYS)
def test_refusals_of_dtypes_have_the_same_text(key, dtype):
    problems = []
    for call in _samples(key):
        mine, other = _both(key, call, dtype=dtype)
        if not (isinstance(mine, Exception) and isinstance(other, Exception)):
            continue
        # The name of a kernel is torch's own affair: mvlgamma refuses as "arange_cpu".
        texts = [re.sub('^"[a-z0-9_]+" not', "not", first_line(error)) for error in (mine, other)]
        if texts[0] != texts[1]:
            problems.append(f"  {call}: {first_line(mine)}\n    torch: {first_line(other)}")
    _report(problems)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("key", KEYS)
def test_layouts(key, layout):
    _report(_compare(key, _samples(key), layout=layout, grad=True))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("key", VIEWS)
def test_views_are_views_of_the_same_memory(key, layout):
    problems = []
    for call in _samples(key):
        for mine, other in _tensor_pairs(*_both(key, call, layout=layout)):
            if other.is_conj():
                continue  # torch conjugates later, when it must; claygrad at once
            facts = [(t._is_view(), t._is_view() and (tuple(t.stride()), t.storage_offset())) for t in (mine, other)]
            if facts[0] != facts[1]:
                problems.append(f"  {call}: view, stride, offset {facts[0]}, torch {facts[1]}")
    _report(problems)


def _tensor_pairs(mine: Any, other: Any) -> list[tuple[Any, Any]]:
    if isinstance(mine, Exception) or isinstance(other, Exception):
        return []
    return [(a, b) for a, b in zip(flat(mine), flat(other), strict=False) if is_tensor(a) and is_tensor(b)]


@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_nodes_have_the_same_names(key):
    problems = []
    for call in _samples(key):
        for mine, other in _tensor_pairs(*_both(key, call, grad=True)):
            names = [None if t.grad_fn is None else t.grad_fn.name() for t in (mine, other)]
            if names[0] != names[1]:
                problems.append(f"  {call}: {names[0]}, torch {names[1]}")
    _report(problems)


@pytest.mark.parametrize("key", [key for key in DIFFERENTIABLE if SAID[key].kind != "composite"])
def test_nodes_have_edges_to_the_same_inputs(key):
    problems = []
    for call in _samples(key):
        for mine, other in _tensor_pairs(*_both(key, call, grad=True)):
            if mine.grad_fn is None or other.grad_fn is None:
                continue
            edges = [[node.name() for node, _ in t.grad_fn.next_functions if node] for t in (mine, other)]
            if edges[0] != edges[1]:
                problems.append(f"  {call}: {edges[0]}, torch {edges[1]}")
    _report(problems)


# --- gradients ------------------------------------------------------------------------------------------------------


def _weights(lib: Any, t: Any) -> Any:
    """A seed that is the same in both libraries."""
    line = numpy.linspace(0.5, 1.5, max(t.numel(), 1))[: t.numel()].reshape(tuple(t.shape))
    return lib.tensor(line).to(t.dtype)


def _gradients(lib: Any, function: Callable, call: Call, how: Build, order: int) -> Any:
    """The gradients of a sample, of the given order, or the exception on the way."""
    try:
        args, kwargs = call.build(how)
        inputs = [t for t in tensors([args, list(kwargs.values())]) if t.requires_grad]
        lib.manual_seed(0)
        if only_in_place_name(function):
            args[0] = args[0] * 1
        outputs = [t for t in tensors(function(*args, **kwargs)) if t.requires_grad]
        if not outputs or not inputs:
            return []
        seeds = [_weights(lib, t).requires_grad_(order > 1) for t in outputs]
        found = lib.autograd.grad(outputs, inputs, seeds, create_graph=order > 1, allow_unused=True)
        if order == 1:
            return found
        again = [g for g in found if g is not None and g.requires_grad]
        if not again:
            return []
        return lib.autograd.grad(again, inputs + seeds, [_weights(lib, g) for g in again], allow_unused=True)
    except Exception as error:
        return error


def only_in_place_name(function: Callable) -> bool:
    name = getattr(function, "__name__", "")
    return name.endswith("_") and not name.endswith("__")


def _gradient_difference(mine: Any, other: Any) -> str | None:
    if isinstance(mine, Exception) or isinstance(other, Exception):
        return difference(mine, other)
    if len(mine) != len(other):
        return f"{len(mine)} gradients, torch {len(other)}"
    for a, b in zip(mine, other, strict=True):
        if a is None or b is None:
            present = b if a is None else a
            if a is not b and (present.abs() != 0).any().item():
                return f"claygrad {a}, torch {b}"
        elif found := difference(a.detach(), b.detach(), loose=4.0):
            return found
    return None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", [1, 2], ids=["first", "second"])
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_gradients(key, order, seed):
    said, problems = SAID[key], []
    for call in _samples(key, seed):
        mine = _gradients(claygrad, ours(claygrad, said), call, Build(claygrad, grad=True), order)
        other = _gradients(torch, PAIRS[key], call, Build(torch, grad=True), order)
        found = None if _beyond(mine, other) else _gradient_difference(mine, other)
        if found:
            problems.append(f"  {call}: {found}")
    _report(problems)


@pytest.mark.parametrize("dtype", ["float32", "complex64", pytest.param("bfloat16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_gradients_of_other_dtypes(key, dtype):
    said, problems = SAID[key], []
    for call in _samples(key):
        mine = _gradients(claygrad, ours(claygrad, said), call, Build(claygrad, dtype, grad=True), 1)
        other = _gradients(torch, PAIRS[key], call, Build(torch, dtype, grad=True), 1)
        if _beyond(mine, other) or (isinstance(mine, Exception) and isinstance(other, Exception)):
            continue
        found = _gradient_difference(mine, other)
        if found:
            problems.append(f"  {call}: {found}")
    _report(problems)


# --- shapes at the edge ---------------------------------------------------------------------------------------------


def _emptied(array: numpy.ndarray) -> numpy.ndarray:
    """The same without elements along the last axis; an axis of one broadcasts against that."""
    return array[..., :0] if array.ndim and array.shape[-1] != 1 else array


@pytest.mark.parametrize("key", POINTWISE + REDUCTIONS)
def test_empty(key):
    _report(_compare(key, [call.map(_emptied) for call in _samples(key)], grad=True))


@pytest.mark.parametrize("key", POINTWISE)
def test_zero_dimensional(key):
    calls = [
        call.map(lambda a: a.ravel()[:1].reshape(()))
        for call in _samples(key)
        if all(d._array.size for d in call.data())
    ]
    _report(_compare(key, calls, grad=True) + _compare(key, calls, dtype="int64", texts=False))


def _mixed(call: Call) -> list[Call]:
    """The call with its first tensor made zero-dimensional, and with each tensor given leading axes."""
    count = len(list(call.data()))
    if count < 2 or not all(d._array.size for d in call.data()):
        return []

    def at(place: int, change: Callable) -> Call:
        numbers = iter(range(count))
        return call.map(lambda a: change(a) if next(numbers) == place else a)

    return [
        at(0, lambda a: a.ravel()[:1].reshape(())),
        at(1, lambda a: a.ravel()[:1].reshape(())),
        at(0, lambda a: numpy.stack([a, a])[:, None]),
        at(1, lambda a: numpy.stack([a, a, a])[:, None]),
    ]


@pytest.mark.parametrize("key", POINTWISE)
def test_broadcasting(key):
    calls = [mixed for call in _samples(key) for mixed in _mixed(call)]
    _report(_compare(key, calls, grad=True))


@pytest.mark.parametrize(
    "pair",
    [("int64", "float32"), ("uint8", "int8"), ("float16", "float32"), ("bool", "int32"), ("float32", "complex64")],
    ids="-".join,
)
@pytest.mark.parametrize("key", POINTWISE)
def test_mixed_dtypes(key, pair):
    """Two tensors of different dtypes, with dimensions and without."""
    said, problems = SAID[key], []
    for call in _samples(key)[:3]:
        if len(list(call.data())) < 2 or any(d._dtype for d in call.data()):
            continue
        for first, second in (pair, pair[::-1]):
            mixed = _given(call, first, second)
            found = difference(*_both(key, mixed), loose=2.0, texts=False)
            if found:
                problems.append(f"  {mixed}: {found}")
    assert said is not None
    _report(problems)


def _given(call: Call, first: str, second: str) -> Call:
    from tests.ops.factory import Data

    left = iter([first, second])

    def fix(value: Any) -> Any:
        if isinstance(value, Data):
            return Data(value._array, next(left, second), value._requires_grad, value._steps)
        return type(value)(fix(v) for v in value) if isinstance(value, list | tuple) else value

    return Call(tuple(fix(a) for a in call.args), {k: fix(v) for k, v in call.kwargs.items()})


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


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("key", [k for k in POINTWISE + REDUCTIONS if k not in INEXACT])
def test_special_values(key, dtype):
    calls = [
        special for call in _samples(key) if not any(d._dtype for d in call.data()) for special in _special(_wide(call))
    ]
    _report(_compare(key, calls, dtype=dtype, loose=2.0)[:6])


@pytest.mark.parametrize("key", [k for k in POINTWISE if k in DIFFERENTIABLE and k not in INEXACT])
def test_gradients_at_special_values(key):
    """Without NaN: what torch's gradient is there depends on whether the element falls into a vector or the rest."""
    said, problems = SAID[key], []
    for call in _samples(key):
        if any(d._dtype for d in call.data()):
            continue
        for special in _special(_wide(call), SPECIAL[1:])[:2]:
            mine = _gradients(claygrad, ours(claygrad, said), special, Build(claygrad, grad=True), 1)
            other = _gradients(torch, PAIRS[key], special, Build(torch, grad=True), 1)
            found = _gradient_difference(mine, other)
            if found:
                problems.append(f"  {special}: {found}")
    _report(problems[:4])


INTEGERS = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("key", POINTWISE + REDUCTIONS)
def test_extreme_integers(key, dtype):
    """Values at the ends of the range wrap as torch's do. Left out: division by them, which C++ leaves open."""
    if key in INEXACT or SAID[key].name in ("div", "floor_divide", "gcd", "lcm", "pow", "float_power"):
        calls = []
    else:
        low, high = INTEGERS[dtype]
        ends = numpy.array([low, high, low + 1, high - 1, 0, 1, high // 2, 2], dtype=object)
        calls = [_ends(call, ends, dtype) for call in _samples(key) if not any(d._dtype for d in call.data())]
    _report(_compare(key, calls, dtype=dtype, texts=False, loose=2.0))


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

    for call in _samples(key):
        if not call.args or not is_tensor(call.build(Build(torch))[0][0]):
            continue
        mine, other = (outcome(lib, write, call, Build(lib, dtype)) for lib in (claygrad, torch))
        refused = isinstance(mine, Exception) and isinstance(other, Exception)
        if _beyond(mine, other) or (refused and dtype not in ("float64", "int32")):
            continue  # of two reasons for a refusal either may come first
        found = difference(mine, other, loose=2.0, texts=False)
        if found:
            problems.append(f"  {call}: {found}")
    _report(problems)


OUT = [key for key in KEYS if SAID[key].out and SAID[key].public and SAID[key].name not in UNINITIALISED
       and "settled" not in SAID[key].options]      # free in sign: out= is compared with claygrad's own result alone


@pytest.mark.parametrize("dtype", ["same", "float32", "int64"])
@pytest.mark.parametrize("key", OUT)
def test_out(key, dtype):
    """Into tensors of the right size, of another dtype, and empty ones that grow."""
    problems = []
    for call in _samples(key):
        mine, other = _both(key, call)
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
            if isinstance(expected, TypeError) or (isinstance(expected, Exception) and dtype != "same"):
                continue  # torch has no out= here, or not of this dtype; that claygrad has it does no harm
            found = difference(write(claygrad, ours(claygrad, SAID[key]), mine, grow), expected)
            if found:
                problems.append(f"  {call}, out of {dtype}{', growing' if grow else ''}: {found}")
    _report(problems)


# --- refusals and names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [key for key in KEYS if SAID[key].errors is not None])
def test_refusals(key):
    problems = []
    for call, _, _ in SAID[key].errors(Factory(key)):
        found = difference(*_both(key, call, dtype="float32"))
        if found:
            problems.append(f"  {call}: {found}")
    _report(problems)


def test_every_public_operation_exists_in_torch_under_its_name():
    known = [key for key, said in SAID.items() if said.public or said.method]
    assert [key for key in known if key not in PAIRS and key not in OWN] == []


@pytest.mark.parametrize("key", [key for key in KEYS if SAID[key].aliases])
def test_aliases_exist_in_torch(key):
    said = SAID[key]
    for alias in said.aliases:
        space, _, name = alias.rpartition(".")
        place = torch
        for part in (space or said.namespaces[0]).split(".") if (space or said.namespaces[0]) != "torch" else ():
            place = getattr(place, part)
        assert hasattr(place, name) or hasattr(torch.Tensor, name), alias
