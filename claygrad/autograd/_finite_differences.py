"""Jacobians by finite differences, and the small change of tuples and tensors that `gradcheck` deals in."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from claygrad.core import Tensor, complex64, complex128, float32, float64
from claygrad.native.random import Generator
from claygrad.ops.fill import eye, zeros
from claygrad.ops.random import rand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_PARTS = {complex128: float64, complex64: float32}


def numerical(func: Callable, args: tuple, x: Tensor, outputs: tuple, eps: float) -> list[Tensor]:
    """The Jacobian of each floating output by x, one input element at a time."""
    ends = floating(outputs)
    jacobians = [zeros(x.numel(), out.numel(), dtype=x.dtype if x.is_complex() else out.dtype) for out in ends]
    steps = [1.0] * (1 + x.is_complex())
    for row, index in enumerate(product(*map(range, x.shape))):
        for jacobian, slope in zip(jacobians, slopes(func, args, x.data[index], steps, eps, index), strict=True):
            jacobian[row] = slope
    return jacobians


def slopes(func: Callable, args: tuple, spot: Tensor, steps: Sequence, eps: float, index: Any = None) -> list[Tensor]:
    """The slope of each floating output as the elements of `spot`, which share an input's memory, move along a step.

    A complex input has a second step, along the imaginary axis; its slopes become imaginary parts.
    """
    real = _slope(func, args, spot, steps[0], eps, index)
    if len(steps) == 1:
        return real
    return [r + i * 1j for r, i in zip(real, _slope(func, args, spot, steps[1] * 1j, eps, index), strict=True)]


def _slope(func: Callable, args: tuple, spot: Tensor, step: Any, eps: float, index: Any) -> list[Tensor]:
    before = spot.clone()
    step = (step.reshape(spot.shape) if isinstance(step, Tensor) else step) * eps
    try:
        spot.copy_(before - step)
        low = [out.detach().clone() for out in floating(as_tuple(func(*args)))]
        spot.copy_(before + step)
        high = [out.detach().clone() for out in floating(as_tuple(func(*args)))]
    finally:
        spot.copy_(before)
    where = "" if index is None else f"on index {index} "
    for a, b in zip(low, high, strict=True):
        for what in ("shape", "dtype"):
            if getattr(a, what) != getattr(b, what):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by "
                    f"{eps}, but got: {what}s {getattr(a, what)} and {getattr(b, what)}."
                )
    return [((b - a) / (2 * eps)).reshape(-1) for a, b in zip(low, high, strict=True)]


# ---- tuples and tensors ----------------------------------------------------------------------------------------------


def as_tuple(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def requires_grad(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def sources(args: tuple) -> list[Tensor]:
    return [x for x in args if requires_grad(x)]


def differentiable(outputs: tuple) -> tuple[Tensor, ...]:
    return tuple(out for out in outputs if out.requires_grad)


def floating(outputs: tuple) -> list[Tensor]:
    return [out for out in outputs if isinstance(out, Tensor) and (out.is_floating_point() or out.is_complex())]


def part_of(func: Callable, part: str) -> Callable:
    def taken(*args: Any) -> tuple:
        outputs = as_tuple(func(*args))
        return tuple((out.real if part == "real" else out.imag) if out.is_complex() else out for out in outputs)

    return taken


def component(x: Tensor, which: int) -> Tensor:
    if not x.is_complex():
        return x
    return x.imag if which else x.real


def basis(out: Tensor) -> Tensor:
    """The seeds that pick the elements of out one by one."""
    return eye(out.numel(), dtype=out.dtype)


def direction(x: Tensor, generator: Generator) -> Tensor:
    """A random vector of length 1, real, with an entry for each element of x."""
    dtype = _PARTS.get(x.dtype, x.dtype)
    vector = rand(x.numel(), generator=generator).to(dtype)
    return vector / (vector * vector).sum().sqrt()


def random_seed(out: Tensor, apart: bool) -> Tensor:
    """A random gradient for an output, with gaps between its elements in memory if asked."""

    def part() -> Tensor:
        dtype = _PARTS.get(out.dtype, out.dtype)
        return rand(*out.shape, 2 if apart else 1, dtype=dtype) * 2 - 1

    whole = part() + part() * 1j if out.is_complex() else part()
    return whole[..., 0].detach().requires_grad_()


def close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    return bool((((a - b).abs() <= atol + rtol * b.abs()) | a.eq(b)).all())
