"""Stochastic gradient descent, with momentum."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core import Tensor
from claygrad.native import optim as native
from claygrad.native.optim import gather
from claygrad.optim.optimizer import (
    StepOptimizer,
    as_scalar,
    check_fused,
    check_fused_alone,
    decayed,
    number,
    steps_of,
    unscaled,
)

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["SGD", "sgd"]

_BUFFER = ("momentum_buffer",)


class SGD(StepOptimizer):
    """Stochastic gradient descent: param -= lr * grad.

    With momentum: param -= lr * b, where b = momentum * b + (1 - dampening) * grad. With nesterov, grad + momentum * b
    takes the place of b. weight_decay adds weight_decay * param to the gradient. maximize steps in the other direction.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False, "maximize": False, "foreach": None,
        "differentiable": False, "fused": False}

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening,
                                  "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
                                  "foreach": foreach, "differentiable": differentiable, "fused": fused})
        check_fused_alone(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _refuse_sparse(self, group: dict[str, Any]) -> None:
        """None is refused here: a step adds gradients, which is the same for sparse ones."""

    def _update(self, group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        params, grads, *columns = gather(group["params"], self.state, _BUFFER if momentum != 0 else (), False)
        if group["fused"]:
            for p in params:
                check_fused(p)
        buffers: list[Any] = columns[0] if columns else []
        new = [i for i, buffer in enumerate(buffers) if buffer is None]
        sgd(params, grads, buffers, weight_decay=group["weight_decay"], momentum=momentum, lr=group["lr"],
            dampening=group["dampening"], nesterov=group["nesterov"], maximize=group["maximize"],
            foreach=group["foreach"], fused=group["fused"], grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None))
        for i in new:
            self.state[params[i]]["momentum_buffer"] = buffers[i]


def sgd(params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None],
        has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None,
        grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: float | Tensor,
        momentum: float, lr: float | Tensor, dampening: float, nesterov: bool, maximize: bool) -> None:
    """One step of SGD over lists; a buffer that is None begins as the gradient."""
    grads = unscaled(params, d_p_list, fused, grad_scale, found_inf)
    if grads is None:
        return
    lr = as_scalar(lr)
    if native.sgd(params, grads, momentum_buffer_list, number(lr), momentum, dampening, number(weight_decay), nesterov,
                  maximize):
        return
    steps = steps_of(params[0]) if params else None
    if steps is not None and steps.sgd(params, grads, momentum_buffer_list, number(lr), momentum, dampening,
                                       number(weight_decay), nesterov, maximize):
        return
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = decayed(grad, param, weight_decay)
        if momentum != 0:
            buffer = momentum_buffer_list[i]
            if buffer is None:
                buffer = momentum_buffer_list[i] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
        if isinstance(lr, Tensor) and lr.requires_grad:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-number(lr))
