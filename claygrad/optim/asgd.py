"""Averaged stochastic gradient descent."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.ops.creation import tensor
from claygrad.ops.fill import ones, zeros, zeros_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    as_real,
    as_scalar,
    check_lr,
    check_not_negative,
    check_plain,
    count_dtype,
    number,
    rate_of,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["ASGD", "asgd"]


class ASGD(StepOptimizer):
    """Averaged SGD, with the falling rate eta = lr / (1 + lambd * lr * step)**alpha. From step t0 on, it averages the
    parameters.

    The averages are in the state, under "ax".
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False,
        "capturable": False}
    _counts = ("step", "eta", "mu")

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        kind = count_dtype()
        return {"step": zeros((), dtype=kind), "eta": tensor(float(number(as_scalar(group["lr"]))), dtype=kind),
                "mu": ones((), dtype=kind), "ax": zeros_like(p)}

    def _update(self, group: dict[str, Any]) -> None:
        params, grads, averages, mus, etas, steps = self._columns(group, "ax", "mu", "eta", "step")
        asgd(params, grads, averages, mus, etas, steps, lambd=group["lambd"], lr=group["lr"], t0=group["t0"],
             alpha=group["alpha"], weight_decay=group["weight_decay"], foreach=group["foreach"],
             maximize=group["maximize"], differentiable=group["differentiable"], capturable=group["capturable"])


def asgd(params: list[Tensor], grads: list[Tensor], axs: list[Tensor], mus: list[Tensor], etas: list[Tensor],
         state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
         capturable: bool = False, has_complex: bool = False, *, lambd: float, lr: float | Tensor, t0: float,
         alpha: float, weight_decay: float) -> None:
    """One step of ASGD over lists."""
    if params:
        check_plain(foreach, differentiable, capturable, "params, mus, etas,", xla=not foreach)
    lr = rate_of(lr, differentiable)
    if not isinstance(lr, Tensor) and native.asgd(
            params, grads, axs, mus, etas, state_steps, lr, lambd, t0, alpha, weight_decay, maximize):
        return
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        average, mu, eta, step = axs[i], mus[i], etas[i], state_steps[i]
        if maximize:
            grad = -grad
        param, grad, average = as_real(param, grad, average)
        step += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        rate, share, count = eta.item(), mu.item(), step.item()
        param.mul_(1 - lambd * rate)
        param.add_(grad, alpha=-rate)
        if share == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average).mul_(share))
        eta.fill_(lr / (1 + lambd * lr * count) ** alpha)
        mu.fill_(1 / max(1, count - t0))
