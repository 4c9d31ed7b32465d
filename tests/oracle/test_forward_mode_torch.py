"""Forward mode: the tangent of every declared operation over its samples, against torch and against reverse mode."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ops.cases import difference, ours, tensors
from tests.ops.factory import Build, Call

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402
from tests.oracle.opcompare import (  # noqa: E402
    DIFFERENTIABLE,
    PAIRS,
    SAID,
    _weights,
    gradient_difference,
    only_in_place_name,
    report,
    samples_of,
)

pytestmark = pytest.mark.usefixtures("no_onednn")

# They read one triangle of a matrix and suppose the other: a direction that has both is outside of what they are defined on.
SYMMETRIC = {"cholesky", "cholesky_ex", "eigh", "eigvalsh"}
TRIANGULAR = {"triangular_solve"}


def direction(lib: Any, x: Any, key: str, upper: bool = True) -> Any:
    step = _weights(lib, x, "float64") * (1 + 0.5j if x.is_complex() else 1)
    if key in SYMMETRIC:
        step = (step + step.mH) / 2
    if key in TRIANGULAR and x.ndim > 1 and x.shape[-1] == x.shape[-2]:
        step = step.triu() if upper else step.tril()
    return step


def dual(lib: Any, value: Any, key: str, upper: bool = True) -> Any:
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([dual(lib, x, key) for x in value])
    if isinstance(value, lib.Tensor) and value.requires_grad:
        x = value.detach()
        return lib.autograd.forward_ad.make_dual(x, direction(lib, x, key, upper))
    return value


def slopes(key: str, function: Callable[..., Any], call: Call, how: Build, write: bool) -> Any:
    """The same derivative by finite differences in claygrad."""
    step = 1e-6
    found = []
    for sign in (1, -1):
        args, kwargs = call.build(how)
        upper = kwargs.get("upper", True)
        args = [moved(x, sign * step, key, upper) for x in args]
        kwargs = {name: moved(value, sign * step, key, upper) for name, value in kwargs.items()}
        claygrad.manual_seed(0)
        if write or only_in_place_name(function):
            args[0] = args[0] * 1
        found.append([out.detach() for out in tensors(function(*args, **kwargs)) if out.is_floating_point() or out.is_complex()])
    return [(a - b) / (2 * step) for a, b in zip(*found, strict=True)]


def moved(value: Any, by: float, key: str, upper: bool) -> Any:
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([moved(x, by, key, upper) for x in value])
    if isinstance(value, claygrad.Tensor) and value.requires_grad:
        x = value.detach()
        return x + by * direction(claygrad, x, key, upper)
    return value


def as_finite_differences(key: str, function: Callable[..., Any], call: Call, dtype: str, mine: Any, write: bool = False) -> bool:
    """Where torch differs: whether the derivative is right all the same."""
    if isinstance(mine, Exception):
        return False
    expected = slopes(key, function, call, Build(claygrad, dtype, grad=True), write)
    return all(claygrad.allclose(a.to(b.dtype), b, rtol=1e-5, atol=1e-7) for a, b in zip(mine, expected, strict=True))


def pushed(lib: Any, key: str, function: Callable[..., Any], call: Call, how: Build, write: bool = False) -> Any:
    """The tangents of the floating outputs of a sample, zeros where there is none; or the exception on the way.
    `write`: of the form in place, applied to a copy of the first argument."""
    try:
        with lib.autograd.forward_ad.dual_level():
            args, kwargs = call.build(how)
            upper = kwargs.get("upper", True)
            args = [dual(lib, x, key, upper) for x in args]
            kwargs = {name: dual(lib, value, key, upper) for name, value in kwargs.items()}
            lib.manual_seed(0)
            if write or only_in_place_name(function):
                args[0] = args[0] * 1
            found = []
            for out in tensors(function(*args, **kwargs)):
                if out.is_floating_point() or out.is_complex():
                    value, tangent = lib.autograd.forward_ad.unpack_dual(out)
                    found.append(lib.zeros_like(value) if tangent is None else tangent.to_dense().resolve_conj().resolve_neg())
            return found
    except Exception as error:
        return error


def lacking(other: Any) -> bool:
    """Whether torch has no forward mode for it, or no kernel for the dtype."""
    return isinstance(other, Exception) and any(words in str(other) for words in (
        "Trying to use forward AD with", "not implemented for", "does not support automatic differentiation",
        "forward AD", "forward-mode AD"))


def refused(mine: Any) -> bool:
    """Of complex products that are scattered torch says in reverse mode that there is no derivative, and in forward mode zero."""
    return isinstance(mine, Exception) and "does not support automatic differentiation for outputs with complex" in str(mine)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_tangents(key, dtype):
    problems = []
    for call in samples_of(key):
        mine = pushed(claygrad, key, ours(claygrad, SAID[key]), call, Build(claygrad, dtype, grad=True))
        other = pushed(torch, key, PAIRS[key], call, Build(torch, dtype, grad=True))
        if lacking(other) or refused(mine) or (isinstance(mine, Exception) and isinstance(other, Exception)):
            continue
        found = gradient_difference(mine, other)
        if found and not as_finite_differences(key, ours(claygrad, SAID[key]), call, dtype, mine):
            problems.append(f"  {call}: {found}")
    report(problems)


def written_name(key: str) -> str | None:
    """The method that is its form in place, if both libraries have it."""
    form = getattr(SAID[key].op, "in_place", None)
    return form.name if form is not None and all(hasattr(lib.Tensor, form.name) for lib in (claygrad, torch)) else None


@pytest.mark.parametrize("key", [key for key in DIFFERENTIABLE if written_name(key)])
def test_tangents_of_writes(key):
    name = str(written_name(key))
    problems = []
    for call in samples_of(key):
        mine = pushed(claygrad, key, getattr(claygrad.Tensor, name), call, Build(claygrad, grad=True), write=True)
        other = pushed(torch, key, getattr(torch.Tensor, name), call, Build(torch, grad=True), write=True)
        if lacking(other) or (isinstance(mine, Exception) and isinstance(other, Exception)):
            continue
        found = gradient_difference(mine, other)
        if found and not as_finite_differences(key, getattr(claygrad.Tensor, name), call, "float64", mine, write=True):
            problems.append(f"  {call}: {found}")
    report(problems)


@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_tangents_and_gradients_are_transposes(key):
    """<u, J t> by forward mode is <Jᵀ u, t> by reverse mode, also where torch has no forward mode."""
    problems = []
    function = ours(claygrad, SAID[key])
    for call in samples_of(key):
        how = Build(claygrad, grad=True)
        forward = pushed(claygrad, key, function, call, how)
        if isinstance(forward, Exception):
            continue
        args, kwargs = call.build(how)
        inputs = [t for t in tensors([args, list(kwargs.values())]) if t.requires_grad]
        claygrad.manual_seed(0)
        if only_in_place_name(function):
            args[0] = args[0] * 1
        outputs = [t for t in tensors(function(*args, **kwargs)) if t.is_floating_point() or t.is_complex()]
        pairs = [(out, tangent) for out, tangent in zip(outputs, forward, strict=True) if out.requires_grad]
        if not pairs or not inputs:
            continue
        seeds = [_weights(claygrad, out, "float64") for out, _ in pairs]
        pulled = claygrad.autograd.grad([out for out, _ in pairs], inputs, seeds, allow_unused=True)
        left = sum((seed.conj() * tangent).real.sum() for seed, (_, tangent) in zip(seeds, pairs, strict=True))
        right = sum((g.conj() * direction(claygrad, x.detach(), key, kwargs.get("upper", True))).real.sum()
                    for g, x in zip(pulled, inputs, strict=True) if g is not None)
        found = difference(claygrad.as_tensor(left), claygrad.as_tensor(right), loose=64.0) if claygrad.is_tensor(right) else None
        if found:
            problems.append(f"  {call}: forward {left}, reverse {right}")
    report(problems)
