"""RAdam: rectified Adam."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.ops.creation import tensor
from claygrad.ops.fill import zeros_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    as_real,
    check_betas,
    check_counts,
    check_lr,
    check_not_negative,
    check_plain,
    count_dtype,
    moments,
    rate_of,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["RAdam", "radam"]


class RAdam(StepOptimizer):
    """RAdam: Adam without its denominator while the variance of that is unbounded, in the first steps, and rectified
    afterwards."""

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False,
        "decoupled_weight_decay": False, "capturable": False}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": tensor(0.0, dtype=count_dtype()), "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}

    def _update(self, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        params, grads, averages, squares, steps = self._columns(group, "exp_avg", "exp_avg_sq", "step")
        radam(params, grads, averages, squares, steps, beta1=beta1, beta2=beta2, lr=group["lr"],
              weight_decay=group["weight_decay"], eps=group["eps"], maximize=group["maximize"],
              foreach=group["foreach"], capturable=group["capturable"], differentiable=group["differentiable"],
              decoupled_weight_decay=group["decoupled_weight_decay"])


def radam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
          state_steps: list[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None,
          differentiable: bool = False, capturable: bool = False, has_complex: bool = False, maximize: bool = False, *,
          beta1: float, beta2: float, lr: float | Tensor, weight_decay: float, eps: float) -> None:
    """One step of RAdam over lists."""
    check_counts(state_steps)
    if params:
        check_plain(foreach, differentiable, capturable, xla=not foreach)
    lr = rate_of(lr, differentiable)
    if not isinstance(lr, Tensor) and native.radam(
            params, grads, exp_avgs, exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, maximize,
            decoupled_weight_decay):
        return
    longest = 2 / (1 - beta2) - 1                     # the length of the average in the limit
    for param, grad, average, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        if maximize:
            grad = -grad
        param, grad, average, square = as_real(param, grad, average, square)
        step += 1
        count = step.item()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        moments(grad, average, square, beta1, beta2)
        bias = 1 - beta2 ** count
        length = longest - 2 * count * beta2 ** count / bias
        update = average / (1 - beta1 ** count) * lr
        if length > 5.0:
            rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            update = update * (bias ** 0.5 / square.sqrt().add_(eps)) * rectified
        param.sub_(update)
