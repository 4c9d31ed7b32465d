"""Muon: momentum made orthogonal."""
from __future__ import annotations

import math
from operator import le  # the order that errors name
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.ops.fill import zeros_like
from claygrad.optim.optimizer import StepOptimizer, as_scalar, number

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["Muon"]


class Muon(StepOptimizer):
    """Muon, for matrices: param -= rate * O, O being the orthogonal matrix nearest to the momentum, found by
    Newton-Schulz iteration."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not le(0.0, lr):
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not le(0.0, momentum):
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not le(0.0, weight_decay):
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
                                  "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
                                  "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError("Muon only supports 2D parameters whereas we found a parameter with size: "
                                     f"{p.size()}")

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": zeros_like(p.grad)}

    def _update(self, group: dict[str, Any]) -> None:
        if any(p.grad is not None and p.is_complex() for p in group["params"]):
            raise RuntimeError("Muon does not support complex parameters")
        params, grads, buffers = self._columns(group, "momentum_buffer")
        muon(params, grads, buffers, lr=group["lr"], weight_decay=group["weight_decay"],
             momentum=group["momentum"], nesterov=group["nesterov"], ns_coefficients=group["ns_coefficients"],
             eps=group["eps"], ns_steps=group["ns_steps"], adjust_lr_fn=group["adjust_lr_fn"], has_complex=False)


def muon(params: list[Tensor], grads: list[Tensor], muon_momentum_bufs: list[Tensor], *, foreach: bool | None = None,
         lr: float | Tensor, weight_decay: float, momentum: float, nesterov: bool,
         ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float, adjust_lr_fn: str | None,
         has_complex: bool) -> None:
    """One step of Muon over lists."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    lr = number(as_scalar(lr))
    for param, grad, buffer in zip(params, grads, muon_momentum_bufs, strict=True):
        if grad.ndim != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        buffer.lerp_(grad, 1 - momentum)
        update = _orthogonal(grad.lerp(buffer, momentum) if nesterov else buffer, ns_coefficients, ns_steps, eps)
        param.mul_(1 - lr * weight_decay)
        param.add_(update, alpha=-_adjusted(lr, adjust_lr_fn, param.shape))


def _orthogonal(grad: Tensor, ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float) -> Tensor:
    """About the orthogonal factor of a matrix: singular values come near 1. In bfloat16, which suffices."""
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(ns_coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = ns_coefficients
    tall = grad.size(0) > grad.size(1)
    found = grad.bfloat16()
    found = found.T if tall else found
    found = found / found.norm().clamp(min=eps)
    for _ in range(ns_steps):
        gram = found @ found.T
        found = found.addmm(gram.addmm(gram, gram, beta=b, alpha=c), found, beta=a)
    return found.T if tall else found


def _adjusted(lr: Any, how: str | None, shape: Any) -> float:
    rows, columns = shape[:2]
    if how == "match_rms_adamw":
        return lr * (0.2 * math.sqrt(max(rows, columns)))
    return lr * math.sqrt(max(1, rows / columns))
