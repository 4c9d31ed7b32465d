"""Adam by the largest gradient."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.ops.creation import tensor
from claygrad.ops.fill import zeros_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    add_quotient,
    as_real,
    check_betas,
    check_counts,
    check_lr,
    check_not_negative,
    check_plain,
    count_dtype,
    rate_of,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["Adamax", "adamax"]


class Adamax(StepOptimizer):
    """Adamax: param -= lr * m / u, m being the running average of the gradient and u = max(beta2 * u, |grad| + eps)."""

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False,
        "capturable": False}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": tensor(0.0, dtype=count_dtype()), "exp_avg": zeros_like(p), "exp_inf": zeros_like(p)}

    def _update(self, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        params, grads, averages, largest, steps = self._columns(group, "exp_avg", "exp_inf", "step")
        adamax(params, grads, averages, largest, steps, eps=group["eps"], beta1=beta1, beta2=beta2,
               lr=group["lr"], weight_decay=group["weight_decay"], foreach=group["foreach"], maximize=group["maximize"],
               differentiable=group["differentiable"], capturable=group["capturable"])


def adamax(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_infs: list[Tensor],
           state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
           capturable: bool = False, has_complex: bool = False, *, eps: float, beta1: float, beta2: float,
           lr: float | Tensor, weight_decay: float) -> None:
    """One step of Adamax over lists."""
    check_counts(state_steps)
    if params:
        check_plain(foreach, differentiable, capturable, xla=not foreach)
    lr = rate_of(lr, differentiable)
    if not isinstance(lr, Tensor) and native.adamax(
            params, grads, exp_avgs, exp_infs, state_steps, lr, beta1, beta2, eps, weight_decay, maximize):
        return
    for param, grad, average, largest, step in zip(params, grads, exp_avgs, exp_infs, state_steps, strict=True):
        step += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        param, grad, average, largest = as_real(param, grad, average, largest)
        average.lerp_(grad, 1 - beta1)
        largest.copy_((largest * beta2).maximum(grad.abs().add_(eps)))
        add_quotient(param, average, largest, -lr / (1 - beta1 ** step.item()))
