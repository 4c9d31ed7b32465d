"""Every operation that writes, into memory that something else sees: results in parts of a buffer, and inputs that are the target.

The lists are generated from the declarations: whatever has `out=`, an in-place form or a `dtype` is here.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

from tests.ops.cases import difference, flat, is_tensor, ours
from tests.ops.factory import DTYPES, Build, Call, Data

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402
from tests.oracle.opcompare import KEYS, PAIRS, SAID, UNINITIALISED, beyond, report, samples_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("no_onednn")


def _tried(lib: Any, call: Any) -> Any:
    lib.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:
        return error


def _buffer(lib: Any, shape: tuple, dtype: Any) -> tuple[Any, Any]:
    """A buffer of sevens, and a part of it in this shape that lies apart, in every other place behind an offset."""
    whole = lib.full((3, *(2 * n + 1 for n in shape)), 7, dtype=dtype)
    return whole, whole[(1, *(slice(1, None, 2) for _ in shape))]


def _into_parts(lib: Any, function: Any, call: Call, found: list[tuple]) -> Any:
    args, kwargs = call.build(Build(lib))
    made = [_buffer(lib, shape, getattr(lib, dtype)) for shape, dtype in found]
    parts = tuple(part for _, part in made)
    function(*args, **kwargs, out=parts if len(parts) > 1 else parts[0])
    return [whole for whole, _ in made]


def _placed(results: Any) -> list:
    """What the buffers must hold."""
    wholes = []
    for result in results:
        whole, part = _buffer(torch, tuple(result.shape), result.dtype)
        part.copy_(result)
        wholes.append(whole)
    return wholes


WITH_OUT = [key for key in KEYS if SAID[key].out and SAID[key].public and key not in UNINITIALISED and "out" in (PAIRS[key].__doc__ or "")]


@pytest.mark.parametrize("key", WITH_OUT)
def test_out_may_be_a_part_of_a_buffer(key):
    problems = []
    for call in samples_of(key):
        if "out" in call.kwargs:
            continue
        expected = _tried(torch, lambda call=call: PAIRS[key](*call.build(Build(torch))[0], **call.build(Build(torch))[1]))
        if isinstance(expected, Exception) or not all(is_tensor(x) for x in flat(expected)):
            continue
        found = [(tuple(x.shape), str(x.dtype).rpartition(".")[2]) for x in flat(expected)]
        other = _tried(torch, lambda call=call, found=found: _into_parts(torch, PAIRS[key], call, found))
        mine = _tried(claygrad, lambda call=call, found=found: _into_parts(claygrad, ours(claygrad, SAID[key]), call, found))
        if isinstance(other, TypeError) or (isinstance(other, Exception) and isinstance(mine, Exception)):
            continue                       # this form of the call has none, or will not write there
        said = difference(mine, _placed(flat(expected)), texts=False)     # torch's matmul and pools write beside such a part
        if said:
            problems.append(f"  {call}: {said}")
    report(problems)


def _first(call: Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], Data) and not call.args[0]._steps


def _twins(call: Call) -> list[Call]:
    """The call with its first tensor in the place of each other one of that shape."""
    same = [i for i, a in enumerate(call.args[1:], 1) if isinstance(a, Data) and not a._steps
            and a._array.shape == call.args[0]._array.shape and a._dtype == call.args[0]._dtype]
    return [Call(tuple("self" if i in chosen else a for i, a in enumerate(call.args)), call.kwargs)
            for chosen in [*([i] for i in same), *([same] if len(same) > 1 else [])]]


def _with_itself(lib: Any, name: str, call: Call, seen_as: Any, in_place: bool, grad: bool) -> Any:
    target = call.args[0].build(Build(lib, grad=grad))
    leaf, target = target, target * 1 if grad else target
    other = seen_as(target)
    other = other if in_place else other.clone()
    args = [other if isinstance(a, str) and a == "self" else a.build(Build(lib)) if isinstance(a, Data) else a for a in call.args[1:]]
    kwargs = call.build(Build(lib))[1]
    result = getattr(target, name + "_" if in_place else name)(*args, **kwargs)
    if in_place:
        assert result is target
    else:
        result = result.to(target.dtype)
    if grad:
        return [result.detach(), *lib.autograd.grad((result * result.detach().cos()).sum(), [leaf], allow_unused=True)]
    return result


IN_PLACE = [key for key in KEYS if SAID[key].inplace and SAID[key].method and any(_first(c) and _twins(c) for c in samples_of(key))]


@pytest.mark.parametrize("grad", [False, True], ids=["plain", "recorded"])
@pytest.mark.parametrize("key", IN_PLACE)
def test_in_place_with_the_target_among_the_inputs(key, grad):
    """Where torch takes it, the result is that of the operation on copies; where torch refuses, so do we."""
    problems, name = [], SAID[key].name
    views = [lambda t: t, lambda t: t.view(t.shape), lambda t: t.mT if t.dim() > 1 and t.shape[-1] == t.shape[-2] else t[...]]
    for call in samples_of(key):
        if not _first(call):
            continue
        for twin in _twins(call):
            for number, view in enumerate(views):
                args = (name, twin, view)
                refusal = _tried(torch, lambda args=args: _with_itself(torch, *args, True, False))
                mine = _tried(claygrad, lambda args=args: _with_itself(claygrad, *args, True, grad))
                other = refusal if isinstance(refusal, Exception) else _tried(torch, lambda args=args: _with_itself(torch, *args, False, grad))
                said = None if beyond(mine, other, name) else difference(mine, other, texts=False)
                if said:
                    problems.append(f"  {twin} (view {number}): {said}")
    report(problems)


def _takes_dtype(key: str) -> bool:
    try:
        return "dtype" in inspect.signature(ours(claygrad, SAID[key], raw=True)).parameters
    except (TypeError, ValueError):
        return False


TYPED = [key for key in KEYS if _takes_dtype(key) and SAID[key].kind != "random" and key not in UNINITIALISED]


@pytest.mark.parametrize("key", TYPED)
def test_every_pair_of_an_input_and_a_dtype(key):
    problems = []
    call = next((c for c in samples_of(key) if "dtype" not in c.kwargs), None)
    for source in DTYPES if call is not None else ():
        for wanted in DTYPES:
            def ask(lib: Any, function: Any, call: Call = call, source: str = source, wanted: str = wanted) -> Any:
                args, kwargs = call.build(Build(lib, dtype=source))
                return function(*args, **kwargs, dtype=getattr(lib, wanted))

            mine, other = _tried(claygrad, lambda: ask(claygrad, ours(claygrad, SAID[key]))), _tried(torch, lambda: ask(torch, PAIRS[key]))
            said = None if beyond(mine, other, SAID[key].name) else difference(mine, other, 4.0, texts=False)
            if said:
                problems.append(f"  {source} to {wanted}: {call}: {said}")
    report(problems)
