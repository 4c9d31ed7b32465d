"""Adagrad."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.ops.creation import tensor
from claygrad.ops.fill import full_like
from claygrad.optim.optimizer import (
    StepOptimizer,
    add_quotient,
    as_real,
    check_counts,
    check_fused,
    check_fused_alone,
    check_lr,
    check_not_negative,
    check_plain,
    count_dtype,
    rate_of,
    unscaled,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["Adagrad", "adagrad"]


class Adagrad(StepOptimizer):
    """Adagrad: param -= lr / (1 + (step - 1) * lr_decay) * grad / (sqrt(s) + eps), s being the sum of all grad**2."""

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False,
        "fused": None}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay,
                           initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "fused": fused})
        check_fused_alone(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(self._fresh(p, group))

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        value = self.defaults["initial_accumulator_value"]
        return {"step": tensor(0.0, dtype=count_dtype(group["fused"])),
                "sum": full_like(p, complex(value, value) if p.is_complex() else value)}

    def share_memory(self) -> None:
        """Put the sums into memory that processes share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _refuse_sparse(self, group: dict[str, Any]) -> None:
        """Only the fused form refuses them."""
        if group["fused"] and any(p.grad is not None and p.grad.is_sparse for p in group["params"]):
            raise RuntimeError("`fused` does not support sparse grad or complex param")

    def _update(self, group: dict[str, Any]) -> None:
        params, grads, sums, steps = self._columns(group, "sum", "step")
        if group["fused"]:
            for p in params:
                check_fused(p)
        adagrad(params, grads, sums, steps, lr=group["lr"], weight_decay=group["weight_decay"],
                lr_decay=group["lr_decay"], eps=group["eps"], foreach=group["foreach"], maximize=group["maximize"],
                differentiable=group["differentiable"], fused=group["fused"],
                grad_scale=getattr(self, "grad_scale", None), found_inf=getattr(self, "found_inf", None))


def adagrad(params: list[Tensor], grads: list[Tensor], state_sums: list[Tensor], state_steps: list[Tensor],
            fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
            has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False,
            has_complex: bool = False, *, lr: float | Tensor, weight_decay: float, lr_decay: float, eps: float,
            maximize: bool) -> None:
    """One step of Adagrad over lists."""
    if not params:
        return
    if not fused:
        check_plain(foreach, differentiable)
    elif differentiable:
        raise RuntimeError("adagrad with fused=True does not support differentiable=True")
    found = unscaled(params, grads, fused, grad_scale, found_inf)
    if found is None:
        return
    lr = rate_of(lr, differentiable)
    if not isinstance(lr, Tensor) and native.adagrad(
            params, found, state_sums, state_steps, lr, lr_decay, eps, weight_decay, maximize):
        return
    check_counts(state_steps)
    for param, grad, total, step in zip(params, found, state_sums, state_steps, strict=True):
        step += 1
        if maximize:
            grad = -grad
        if grad.is_sparse:
            _step_at_entries(param, grad, total, eps, -lr / (1 + (step.item() - 1) * lr_decay), weight_decay)
            continue
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        param, grad, total = as_real(param, grad, total)
        total.addcmul_(grad, grad, value=1)
        add_quotient(param, grad, total.sqrt().add_(eps), -lr / (1 + (step.item() - 1) * lr_decay))


def _step_at_entries(param: Tensor, grad: Tensor, total: Tensor, eps: float, rate: float | Tensor,
                     weight_decay: float) -> None:
    """The step of the elements that a sparse gradient has entries for."""
    if weight_decay != 0:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    at, values = (lambda once: (tuple(once.indices()), once.values()))(grad.coalesce())
    total[at] += values.pow(2)
    param.index_put_(list(at), values / total[at].sqrt().add(eps) * rate, accumulate=True)
