"""RMSprop."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.ops.fill import zeros, zeros_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    add_quotient,
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

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(StepOptimizer):
    """RMSprop: param -= lr * grad / (sqrt(v) + eps), v being the running average of grad**2; centered: of its variance.

    With momentum, lr times a running sum of those quotients.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "momentum": 0, "centered": False, "foreach": None,
        "maximize": False, "differentiable": False, "capturable": False}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": zeros((), dtype=count_dtype()), "square_avg": zeros_like(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)
        return state

    def _update(self, group: dict[str, Any]) -> None:
        keys = ["square_avg", "step"]
        keys += ["momentum_buffer"] if group["momentum"] > 0 else []
        keys += ["grad_avg"] if group["centered"] else []
        params, grads, *columns = self._columns(group, *keys)
        of = dict(zip(keys, columns, strict=True))
        rmsprop(params, grads, of["square_avg"], of.get("grad_avg", []), of.get("momentum_buffer", []), of["step"],
                lr=group["lr"], alpha=group["alpha"], eps=group["eps"], weight_decay=group["weight_decay"],
                momentum=group["momentum"], centered=group["centered"], foreach=group["foreach"],
                maximize=group["maximize"], differentiable=group["differentiable"], capturable=group["capturable"])


def rmsprop(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], grad_avgs: list[Tensor],
            momentum_buffer_list: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
            maximize: bool = False, differentiable: bool = False, capturable: bool = False,
            has_complex: bool = False, *, lr: float | Tensor, alpha: float, eps: float, weight_decay: float,
            momentum: float, centered: bool) -> None:
    """One step of RMSprop over lists."""
    if params:
        check_plain(foreach, differentiable, capturable)
    lr = rate_of(lr, differentiable)
    if not isinstance(lr, Tensor) and native.rmsprop(
            params, grads, square_avgs, grad_avgs, momentum_buffer_list, state_steps, lr, alpha, eps, weight_decay,
            momentum, centered, maximize):
        return
    check_counts(state_steps)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        step, square = state_steps[i], square_avgs[i]
        step += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        param, grad, square = as_real(param, grad, square)
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if centered:
            average, = as_real(grad_avgs[i])
            average.lerp_(grad, 1 - alpha)
            square = square.addcmul(average, average, value=-1)
        deviation = square.sqrt().add_(eps)
        if momentum > 0:
            buffer, = as_real(momentum_buffer_list[i])
            buffer.mul_(momentum).addcdiv_(grad, deviation)
            add_scaled(param, buffer, -lr)
        else:
            add_quotient(param, grad, deviation, -lr)
