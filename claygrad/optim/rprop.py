"""Resilient backpropagation."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.native import optim as native
from claygrad.ops.compare import where
from claygrad.ops.fill import full_like, ones_like, zeros, zeros_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    as_real,
    as_scalar,
    check_counts,
    check_lr,
    check_plain,
    count_dtype,
    number,
)

if TYPE_CHECKING:
    from claygrad.core import Tensor
    from claygrad.optim.optimizer import Params

__all__ = ["Rprop", "rprop"]


class Rprop(StepOptimizer):
    """Rprop: param -= size * sign(grad). Each element has its own step size, which grows while the sign of its gradient
    stays the same."""

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False,
        "capturable": False}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = number(as_scalar(group["lr"]))
        return {"step": zeros((), dtype=count_dtype()), "prev": zeros_like(p),
                "step_size": full_like(p.grad, complex(lr, lr) if p.is_complex() else lr)}

    def _update(self, group: dict[str, Any]) -> None:
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        params, grads, previous, sizes, steps = self._columns(group, "prev", "step_size", "step")
        rprop(params, grads, previous, sizes, steps, step_size_min=smallest, step_size_max=largest,
              etaminus=shrink, etaplus=grow, foreach=group["foreach"], maximize=group["maximize"],
              differentiable=group["differentiable"], capturable=group["capturable"])


def rprop(params: list[Tensor], grads: list[Tensor], prevs: list[Tensor], step_sizes: list[Tensor],
          state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False, maximize: bool = False,
          differentiable: bool = False, has_complex: bool = False, *, step_size_min: float, step_size_max: float,
          etaminus: float, etaplus: float) -> None:
    """One step of Rprop over lists."""
    check_counts(state_steps)
    if params:
        check_plain(foreach, differentiable, capturable)
    if native.rprop(params, grads, prevs, step_sizes, state_steps, etaminus, etaplus, step_size_min, step_size_max,
                    maximize):
        return
    for param, grad, prev, size, step in zip(params, grads, prevs, step_sizes, state_steps, strict=True):
        step += 1
        if maximize:
            grad = -grad
        param, grad, prev, size = as_real(param, grad, prev, size)
        agreement = grad * prev
        flipped = agreement < 0
        factor = where(agreement > 0, etaplus, where(flipped, etaminus, ones_like(size)))
        size.mul_(factor).clamp_(step_size_min, step_size_max)
        grad = where(flipped, 0.0, grad)
        param.addcmul_(grad.sign(), size, value=-1)
        prev.copy_(grad)
