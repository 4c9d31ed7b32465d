"""Adafactor: second moments of matrices by their rows and columns."""
from __future__ import annotations

from operator import le  # the order that errors name
from typing import TYPE_CHECKING, Any, ClassVar

from claygrad._info import finfo
from claygrad.core import Tensor
from claygrad.ops.creation import tensor
from claygrad.ops.fill import zeros_like
from claygrad.optim.optimizer import StepOptimizer, as_scalar, count_dtype, number

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["Adafactor", "adafactor"]


class Adafactor(StepOptimizer):
    """Adafactor: param -= a * u, u = grad / sqrt(v), clipped to a root mean square of d.

    a is the size of the parameter times the rate; v is kept as one number per row and one per column.
    """

    _later_options: ClassVar[dict[str, Any]] = {"foreach": None}
    _counts = ("step",)

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not le(0.0, lr):
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not le(0.0, eps[0]):
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not le(0.0, eps[1]):
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not le(1.0, d):
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not le(0.0, weight_decay):
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
                                  "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize})

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": tensor(0.0, dtype=count_dtype())}
        grad: Any = p.grad
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
            state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
        else:
            state["variance"] = zeros_like(grad)
        return state

    def _update(self, group: dict[str, Any]) -> None:
        if any(p.grad is not None and p.is_complex() for p in group["params"]):
            raise RuntimeError("Adafactor does not support complex parameters")
        params, grads, steps = self._columns(group, "step")
        rows, columns, variances = ([self.state[p].get(key) for p in params] for key in ("row_var", "col_var",
                                                                                         "variance"))
        eps1, eps2 = group["eps"]
        adafactor(params, grads, rows, columns, variances, steps, d=group["d"], lr=group["lr"],
                  beta2_decay=group["beta2_decay"], weight_decay=group["weight_decay"], eps1=eps1, eps2=eps2,
                  foreach=group["foreach"], maximize=group["maximize"], grad_scale=getattr(self, "grad_scale", None),
                  found_inf=getattr(self, "found_inf", None))


def adafactor(params: list[Tensor], grads: list[Tensor], row_vars: list[Tensor | None], col_vars: list[Tensor | None],
              variances: list[Tensor | None], state_steps: list[Tensor], foreach: bool | None = None,
              grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False, *, d: float,
              lr: float | Tensor, beta2_decay: float, weight_decay: float, eps1: float | None, eps2: float,
              maximize: bool) -> None:
    """One step of Adafactor over lists."""
    if not all(isinstance(step, Tensor) for step in state_steps):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    lr = number(as_scalar(lr))
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        step = state_steps[i]
        if maximize:
            grad = -grad
        if eps1 is None:
            eps1 = finfo(param.dtype).eps
        step += 1
        count = step.item()
        share = count ** beta2_decay                   # of this gradient in the averages
        alpha = max(eps2, _root_mean_square(param)) * min(lr, 1 / count ** 0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if grad.dim() > 1:
            row, column = row_vars[i], col_vars[i]
            if row is None or column is None:
                raise AssertionError("row_var and col_var should be defined when grad is multidimensional")
            row.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), share)
            column.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), share)
            estimate = (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            variance = variances[i]
            if variance is None:
                raise AssertionError("variance should be defined when grad is a vector")
            variance.lerp_(grad * grad, share)
            estimate = variance.clone()
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        param.add_(update, alpha=-alpha / max(1.0, _root_mean_square(update) / d))


def _root_mean_square(x: Tensor) -> float:
    return x.norm(2).item() / x.numel() ** 0.5
