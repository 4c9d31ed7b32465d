"""What the comparisons of operations with torch's share: the pairs of functions, their samples, and how results are compared."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy
import pytest

from tests.ops.cases import (
    declared,
    difference,
    flat,
    is_tensor,
    only_in_place,
    ours,
    outcome,
    samples,
    tensors,
    theirs,
)
from tests.ops.factory import Build, Call
from tests.oracle.agreed import AGREED

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

torch.set_num_threads(1)
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
HALVES = ("bfloat16", "float16")
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]

# Uninitialised memory is not compared by value.
UNINITIALISED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted", "resize_"}


@cache
def samples_of(key: str, seed: int = 0) -> list[Call]:
    return samples(key, SAID[key], seed)


def both(key: str, call: Call, **how: Any) -> tuple[Any, Any]:
    said = SAID[key]
    return (
        outcome(claygrad, ours(claygrad, said), call, Build(claygrad, **how)),
        outcome(torch, PAIRS[key], call, Build(torch, **how)),
    )


def report(problems: list[str]) -> None:
    said = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].split(" ")[0]
    if said in AGREED:
        assert problems, f"{said} agrees by now: strike it from AGREED"
        return
    if problems:
        pytest.fail(f"{len(problems)} samples:\n" + "\n".join(problems), pytrace=False)


def compare(
    key: str, calls: list[Call], texts: bool = True, loose: float = 1.0, forgive: Callable | None = None, **how: Any
) -> list[str]:
    """The samples in which the libraries differ; elements that `forgive` excuses, given both answers, are not compared."""
    if key in UNINITIALISED:
        calls = []
    problems = []
    for call in calls:
        mine, other = both(key, call, **how)
        if beyond(mine, other, "" if texts else SAID[key].name):
            continue
        if forgive is not None and is_tensor(mine) and is_tensor(other):
            other = forgiven(mine, other, forgive)
        found = difference(mine, other, loose, texts)
        if found and how.get("dtype") in HALVES:      # few bits; what is as near to the right number as torch's is no worse
            found = None if as_near(*(list(flat(x)) for x in (mine, other, in_double(key, call, **how)))) else found
        if found:
            problems.append(f"  {call}: {found}")
    return problems


def in_double(key: str, call: Call, **how: Any) -> Any:
    """torch's answer to the same numbers in double precision, or the exception."""
    def function(*args: Any, **kwargs: Any) -> Any:
        return PAIRS[key](*_doubled(args), **{name: _doubled(value) for name, value in kwargs.items()})
    return outcome(torch, function, call, Build(torch, **how))


def forgiven(mine: Any, other: Any, forgive: Callable) -> Any:
    """torch's tensor with claygrad's elements where torch is excused."""
    if mine is None or other is None:
        return other
    a, b = (numpy.array(t.detach().tolist(), dtype=float) for t in (mine, other))
    if a.shape != b.shape:
        return other
    return torch.where(torch.tensor(forgive(a, b)), torch.tensor(a).to(other.dtype), other.detach())


def beyond(mine: Any, other: Any, name: str = "") -> bool:
    """torch lacks a kernel for this dtype where claygrad has one."""
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
    return False


def tensor_pairs(mine: Any, other: Any) -> list[tuple[Any, Any]]:
    if isinstance(mine, Exception) or isinstance(other, Exception):
        return []
    return [(a, b) for a, b in zip(flat(mine), flat(other), strict=False) if is_tensor(a) and is_tensor(b)]


# --- gradients ------------------------------------------------------------------------------------------------------


def _weights(lib: Any, t: Any, dtype: str) -> Any:
    """A seed that is the same in both libraries, whatever the precision in which it is used."""
    line = numpy.linspace(0.5, 1.5, max(t.numel(), 1))[: t.numel()].reshape(tuple(t.shape))
    seed = lib.tensor(line)
    return (seed.to(getattr(lib, dtype)) if dtype == "bfloat16" else seed).to(t.dtype)


def _doubled(value: Any) -> Any:
    """The same arguments, every tensor of floats in double precision."""
    if isinstance(value, list | tuple):
        return type(value)(map(_doubled, value))
    if not is_tensor(value) or not value.dtype.is_floating_point:
        return value
    return value.detach().double().requires_grad_(value.requires_grad)


def gradients(lib: Any, function: Callable, call: Call, how: Build, order: int, exact: bool = False) -> Any:
    """The gradients of a sample, of the given order, or the exception on the way; `exact`: computed in double precision."""
    try:
        args, kwargs = call.build(how)
        if exact:
            args, kwargs = _doubled(args), {name: _doubled(value) for name, value in kwargs.items()}
        inputs = [t for t in tensors([args, list(kwargs.values())]) if t.requires_grad]
        lib.manual_seed(0)
        if only_in_place_name(function):
            args[0] = args[0] * 1
        outputs = [t for t in tensors(function(*args, **kwargs)) if t.requires_grad]
        if not outputs or not inputs:
            return []
        seeds = [_weights(lib, t, how.dtype).requires_grad_(order > 1) for t in outputs]
        found = lib.autograd.grad(outputs, inputs, seeds, create_graph=order > 1, allow_unused=True)
        if order == 1:
            return found
        again = [g for g in found if g is not None and g.requires_grad]
        if not again:
            return []
        seeds_again = [_weights(lib, g, how.dtype) for g in again]
        return lib.autograd.grad(again, inputs + seeds, seeds_again, allow_unused=True)
    except Exception as error:
        return error


def only_in_place_name(function: Callable) -> bool:
    name = getattr(function, "__name__", "")
    return name.endswith("_") and not name.endswith("__")


def gradient_difference(mine: Any, other: Any) -> str | None:
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


def as_near(mine: Any, other: Any, exact: Any) -> bool:
    """Whether no tensor is farther from the exact one, at its worst place, than torch's and one unit of rounding."""
    if any(isinstance(part, Exception) for result in (mine, other, exact) for part in flat(result)):
        return False
    for a, b, c in zip(mine, other, exact, strict=True):
        if a is None or b is None or c is None:
            continue
        if not is_tensor(a) or difference(a.new_zeros(a.shape), b.new_zeros(b.shape)):       # another dtype or shape
            return False
        x, y, z = (numpy.array(t.detach().tolist(), dtype=complex) for t in (a, b, c))
        unit = numpy.abs(z).max(initial=0) * torch.finfo(b.dtype).eps
        if not _worst(x - z) <= _worst(y - z) + unit:
            return False
    return True


def _worst(errors: numpy.ndarray) -> float:
    """The largest, NaN being as wrong as can be."""
    return float(numpy.nan_to_num(numpy.abs(errors), nan=numpy.inf, posinf=numpy.inf).max(initial=0))
