"""Adadelta."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.ops.fill import zeros, zeros_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    add_scaled,
    as_real,
    check_counts,
    check_lr,
    check_not_negative,
    check_plain,
    count_dtype,
    rate_of,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["Adadelta", "adadelta"]


class Adadelta(StepOptimizer):
    """Adadelta: param -= lr * d, d = grad * sqrt(u + eps) / sqrt(v + eps), v and u being the running averages of
    grad**2 and d**2."""

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False,
        "capturable": False}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize, "capturable": capturable, "foreach": foreach,
                                  "differentiable": differentiable})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": zeros((), dtype=count_dtype()), "square_avg": zeros_like(p), "acc_delta": zeros_like(p)}

    def _update(self, group: dict[str, Any]) -> None:
        params, grads, squares, deltas, steps = self._columns(group, "square_avg", "acc_delta", "step")
        adadelta(params, grads, squares, deltas, steps, lr=group["lr"], rho=group["rho"],
                 eps=group["eps"], weight_decay=group["weight_decay"], foreach=group["foreach"],
                 maximize=group["maximize"], differentiable=group["differentiable"], capturable=group["capturable"])


def adadelta(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], acc_deltas: list[Tensor],
             state_steps: list[Tensor], capturable: bool = False, foreach: bool | None = None,
             differentiable: bool = False, has_complex: bool = False, *, lr: float | Tensor, rho: float, eps: float,
             weight_decay: float, maximize: bool) -> None:
    """One step of Adadelta over lists."""
    check_counts(state_steps)
    if params:
        check_plain(foreach, differentiable, capturable, xla=False)
    lr = rate_of(lr, differentiable)
    if not isinstance(lr, Tensor) and native.adadelta(
            params, grads, square_avgs, acc_deltas, state_steps, lr, rho, eps, weight_decay, maximize):
        return
    for param, grad, square, deltas, step in zip(params, grads, square_avgs, acc_deltas, state_steps, strict=True):
        step += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        param, grad, square, deltas = as_real(param, grad, square, deltas)
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = deltas.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
        deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        add_scaled(param, delta, -lr)
