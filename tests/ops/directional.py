"""Derivatives checked in one random direction, so that the cost does not grow with the size of the input."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.ops.cases import tensors

STEP = 1e-6


def _random_like(lib: ModuleType, t: Any) -> Any:
    d = lib.rand(t.shape, dtype=lib.float64) + 0.5
    if t.dtype.is_complex:
        d = lib.complex(d, lib.rand(t.shape, dtype=lib.float64) - 0.5)
    return d.to(t.dtype)


def _inner(a: Any, b: Any) -> float:
    """The real inner product, which is what the gradient of a complex function is defined by."""
    total = (a.conj() * b).sum() if a.dtype.is_complex or b.dtype.is_complex else (a * b).sum()
    return complex(total.item()).real


def recorded(function: Callable, inputs: list[Any]) -> list[Any]:
    """The outputs that carry a gradient."""
    return [out for out in tensors(function(*inputs)) if out.requires_grad]


def check(lib: ModuleType, function: Callable, inputs: list[Any], rtol: float = 1e-5) -> str | None:
    """Compares the derivative by backward with the one by differences; what is wrong, or None."""
    outputs = recorded(function, inputs)
    if not outputs or any(out.dtype not in (lib.float64, lib.complex128) for out in outputs):
        return None  # a cast to fewer digits has no differences to speak of; its gradient is compared with torch's
    lib.manual_seed(12345)
    seeds = [_random_like(lib, out) for out in outputs]
    direction = [_random_like(lib, x) for x in inputs]
    gradients = lib.autograd.grad(outputs, inputs, seeds, allow_unused=True)
    for x, g in zip(inputs, gradients, strict=True):
        if g is not None and (g.shape != x.shape or g.dtype is not x.dtype):
            return f"gradient {g.dtype} {tuple(g.shape)} for {x.dtype} {tuple(x.shape)}"
    analytic = sum(_inner(g.detach(), d) for g, d in zip(gradients, direction, strict=True) if g is not None)

    def moved(step: float) -> list[Any]:
        points = [(x.detach() + step * d).requires_grad_() for x, d in zip(inputs, direction, strict=True)]
        return [out.detach() for out in recorded(function, points)]

    numeric = sum(_inner(s, (p - m) / (2 * STEP)) for s, p, m in zip(seeds, moved(STEP), moved(-STEP), strict=True))
    if math.isnan(analytic) and math.isnan(numeric):
        return None
    scale = max(
        1.0,
        abs(numeric),
        *(abs(s * o.detach()).max().item() if o.numel() else 0.0 for s, o in zip(seeds, outputs, strict=True)),
    )
    return None if abs(analytic - numeric) <= rtol * scale else f"backward {analytic!r}, differences {numeric!r}"


def gradient_function(lib: ModuleType, function: Callable, inputs: list[Any]) -> tuple[Callable, list[Any]]:
    """The gradient as a function of inputs and seeds, itself differentiable."""
    outputs = recorded(function, inputs)
    lib.manual_seed(54321)
    seeds = [_random_like(lib, out).requires_grad_() for out in outputs]
    count = len(inputs)

    def gradient(*values: Any) -> list[Any]:
        outs = recorded(function, list(values[:count]))
        found = lib.autograd.grad(
            outs, list(values[:count]), list(values[count:]), create_graph=True, allow_unused=True
        )
        return [g for g in found if g is not None]

    return gradient, inputs + seeds
