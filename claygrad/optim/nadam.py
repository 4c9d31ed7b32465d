"""Adam with Nesterov's momentum."""
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
    moments,
    rate_of,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["NAdam", "nadam"]


class NAdam(StepOptimizer):
    """NAdam: Adam with Nesterov momentum, whose coefficient grows to beta1 over the steps."""

    _later_options: ClassVar[dict[str, Any]] = {
        "maximize": False, "foreach": None, "capturable": False,
        "differentiable": False, "decoupled_weight_decay": False}
    _counts = ("step", "mu_product")

    def __init__(self, params: Params, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": tensor(0.0, dtype=count_dtype()), "mu_product": tensor(1.0, dtype=count_dtype()),
                "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}

    def _update(self, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        params, grads, averages, squares, products, steps = self._columns(group, "exp_avg", "exp_avg_sq",
                                                                          "mu_product", "step")
        nadam(params, grads, averages, squares, products, steps, beta1=beta1, beta2=beta2,
              lr=group["lr"], weight_decay=group["weight_decay"], momentum_decay=group["momentum_decay"],
              eps=group["eps"], maximize=group["maximize"], decoupled_weight_decay=group["decoupled_weight_decay"],
              foreach=group["foreach"], capturable=group["capturable"], differentiable=group["differentiable"])


def nadam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
          mu_products: list[Tensor], state_steps: list[Tensor], decoupled_weight_decay: bool = False,
          foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
          has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float | Tensor,
          weight_decay: float, momentum_decay: float, eps: float) -> None:
    """One step of NAdam over lists."""
    check_counts(state_steps)
    check_counts(mu_products, "mu_products")
    if params:
        check_plain(foreach, differentiable, capturable, "params, mu_products" + ("," if foreach else ""),
                    xla=not foreach)
    lr = rate_of(lr, differentiable)
    if not isinstance(lr, Tensor) and native.nadam(
            params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, lr, beta1, beta2, weight_decay,
            momentum_decay, eps, maximize, decoupled_weight_decay):
        return
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        step, average, square, product = state_steps[i], exp_avgs[i], exp_avg_sqs[i], mu_products[i]
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
        now = beta1 * (1.0 - 0.5 * 0.96 ** (count * momentum_decay))
        soon = beta1 * (1.0 - 0.5 * 0.96 ** ((count + 1) * momentum_decay))
        product *= now
        so_far = product if differentiable and product.requires_grad else product.item()
        moments(grad, average, square, beta1, beta2)
        denominator = square.div(1 - beta2 ** count).sqrt().add_(eps)
        add_quotient(param, grad, denominator, -lr * (1.0 - now) / (1.0 - so_far))
        add_quotient(param, average, denominator, -lr * soon / (1.0 - so_far * soon))
