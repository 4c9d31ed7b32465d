"""Every operation that has a native form: over all samples, dtypes and layouts it gives what its reference gives, forward and backward."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import claygrad
from claygrad.core import Op
from claygrad.core.dispatch import reference_only
from claygrad.core.dispatch.registry import has_native_form
from tests.ops.cases import declared, difference, only_in_place, ours, samples, tensors
from tests.ops.factory import Build, Call

SAID = {key: said for key, said in declared().items() if isinstance(said.op, Op) and has_native_form(said.op)}
DTYPES = ["float32", "float64", "bfloat16", "float16", "complex64", "int64", "int16", "uint8", "bool"]
LAYOUTS = ["contiguous", "transposed"]
# Sums in another order, and of halves that are rounded at other places
LOOSE = {"float32": 20, "bfloat16": 4, "float16": 8, "complex64": 20}


def results(said: Any, call: Call, how: Build) -> Any:
    """What a sample gives, with the gradients of its inputs; or the exception."""
    claygrad.manual_seed(0)
    try:
        with warnings.catch_warnings(action="ignore"):
            args, kwargs = call.build(how)
            inputs = [t for t in tensors([args, list(kwargs.values())]) if t.requires_grad]
            if only_in_place(said):
                args = [args[0] * 1, *args[1:]]
            made = ours(claygrad, said)(*args, **kwargs)
            out = [t for t in tensors(made) if t.requires_grad and t.numel()]
            if not out or not inputs:
                return [made]
            grads = claygrad.autograd.grad(out, inputs, [_direction(t) for t in out], allow_unused=True)
            return [made, *[t for t in grads if t is not None]]
    except Exception as error:
        return error


def _direction(t: Any) -> Any:
    return claygrad.arange(t.numel(), dtype=claygrad.float64).cos().reshape(t.shape).to(t.dtype)


@pytest.mark.parametrize("key", SAID)
def test_the_native_form_is_the_reference(key):
    said = SAID[key]
    calls = [(call, Build(claygrad, dtype, grad, layout)) for call in samples(key, said) for dtype in DTYPES for layout in LAYOUTS
             for grad in ((True,) if dtype[0] in "bfc" and dtype != "bool" else (False,))]
    native = [results(said, *call) for call in calls]
    with reference_only():
        reference = [results(said, *call) for call in calls]
    problems = []
    for (call, how), a, b in zip(calls, native, reference, strict=True):
        found = difference(a, b, LOOSE.get(how.dtype, 1))
        if found:
            problems.append(f"  {call} {how.dtype} {how.layout}: {found.replace('torch   ', 'reference')}")
    if problems:
        pytest.fail(f"{len(problems)} of {len(calls)}:\n" + "\n".join(problems[:6]), pytrace=False)


def test_a_wrong_kernel_would_be_found():
    """The reference is another computation: the two differ in the last digits somewhere."""
    x = claygrad.linspace(-3, 3, 1001)
    native = x.exp()
    with reference_only():
        assert not native.equal(x.exp())


def test_native_forms_are_back_afterwards():
    before = [has_native_form(said.op) for said in SAID.values()]
    with pytest.raises(ZeroDivisionError), reference_only():
        assert not any(has_native_form(said.op) for said in SAID.values())
        raise ZeroDivisionError
    assert [has_native_form(said.op) for said in SAID.values()] == before
