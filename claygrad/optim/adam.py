"""Adam, and AMSGrad."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.ops.creation import tensor
from claygrad.ops.fill import zeros_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    as_real,
    as_scalar,
    check_betas,
    check_counts,
    check_fused_alone,
    check_lr,
    check_not_negative,
    check_plain,
    count_dtype,
    decayed,
    moments,
    number,
    steps_of,
    unscaled,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["Adam", "adam"]

_NO_TENSOR = "as a Tensor is not supported for capturable=False and foreach=True"


class Adam(StepOptimizer):
    """Adam: param -= lr * m / (sqrt(v) + eps), m and v being the bias-corrected running averages of grad and grad**2.

    With amsgrad, the largest v so far takes the place of v. weight_decay adds its share of the parameter to the
    gradient, or, with decoupled_weight_decay, shrinks the parameter itself.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "amsgrad": False, "maximize": False, "foreach": None,
        "capturable": False, "differentiable": False, "decoupled_weight_decay": False, "fused": None}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(f"lr {_NO_TENSOR}")
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        if not ((isinstance(betas[0], float) and isinstance(betas[1], float))
                or (isinstance(betas[0], Tensor) and isinstance(betas[1], Tensor))):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] {_NO_TENSOR}")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        betas = (as_scalar(betas[0]), as_scalar(betas[1]))
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
                                  "capturable": capturable, "differentiable": differentiable, "fused": fused,
                                  "decoupled_weight_decay": decoupled_weight_decay})
        check_fused_alone(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": tensor(0.0, dtype=count_dtype(group["fused"])), "exp_avg": zeros_like(p),
                 "exp_avg_sq": zeros_like(p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)
        return state

    def _update(self, group: dict[str, Any]) -> None:
        amsgrad = group["amsgrad"]
        keys = ("exp_avg", "exp_avg_sq", "step", "max_exp_avg_sq")
        params, grads, averages, squares, steps, *largest = self._columns(group, *(keys if amsgrad else keys[:3]))
        lr = group["lr"]
        if isinstance(lr, Tensor) and group["foreach"] and not group["capturable"] and params:
            raise RuntimeError(f"lr {_NO_TENSOR}")
        if group["differentiable"] and any(step.requires_grad for step in steps):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        beta1, beta2 = group["betas"]
        adam(params, grads, averages, squares, largest[0] if amsgrad else [], steps, amsgrad=amsgrad, beta1=beta1,
             beta2=beta2, lr=lr, weight_decay=group["weight_decay"], eps=group["eps"], maximize=group["maximize"],
             foreach=group["foreach"], capturable=group["capturable"], differentiable=group["differentiable"],
             fused=group["fused"], grad_scale=getattr(self, "grad_scale", None),
             found_inf=getattr(self, "found_inf", None), decoupled_weight_decay=group["decoupled_weight_decay"])


def adam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
         max_exp_avg_sqs: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
         capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
         grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False,
         decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: float | Tensor, beta2: float | Tensor,
         lr: float | Tensor, weight_decay: float, eps: float, maximize: bool) -> None:
    """One step of Adam over lists."""
    if not params:
        return
    if fused and differentiable:
        raise RuntimeError("Adam with fused=True does not support differentiable=True")
    if not fused:
        check_plain(foreach, differentiable, capturable, xla=not foreach)
    found = unscaled(params, grads, fused, grad_scale, found_inf)
    if found is None:
        return
    lr, beta1, beta2 = as_scalar(lr), as_scalar(beta1), as_scalar(beta2)
    if not differentiable:
        lr, beta1, beta2 = number(lr), number(beta1), number(beta2)
        if native.adam(params, found, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                       number(weight_decay), eps, amsgrad, maximize, decoupled_weight_decay):
            return
        steps = steps_of(params[0])
        if steps is not None and steps.adam(
                params, found, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                number(weight_decay), eps, amsgrad, maximize, decoupled_weight_decay):
            return
    check_counts(state_steps)
    for i, (param, grad) in enumerate(zip(params, found, strict=True)):
        step, average, square = state_steps[i], exp_avgs[i], exp_avg_sqs[i]
        step += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = decayed(grad, param, weight_decay)
        param, grad, average, square = as_real(param, grad, average, square)
        moments(grad, average, square, beta1, beta2)
        if amsgrad:
            largest = as_real(max_exp_avg_sqs[i])[0]
            square = largest.copy_(largest.maximum(square))
        count = step if differentiable else step.item()
        step_size = lr / (1 - beta1 ** count)
        denominator = (square.sqrt() / (1 - beta2 ** count) ** 0.5).add_(eps)
        if isinstance(step_size, Tensor):
            param.addcdiv_(average * -step_size, denominator)
        else:
            param.addcdiv_(average, denominator, value=-step_size)
