"""Adam for sparse gradients, which changes only what they have entries for."""
from __future__ import annotations

import math
from operator import lt  # the order that errors name
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.ops.fill import zeros_like
from claygrad.optim.optimizer import StepOptimizer, check_betas, number

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["SparseAdam", "sparse_adam"]


class SparseAdam(StepOptimizer):
    """Adam for sparse gradients: parameters and averages change only where the gradient has entries."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lt(0.0, lr):
            raise ValueError(f"Invalid learning rate: {lr}")
        if not lt(0.0, eps):
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])
                  if p.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        odd = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])
               if p.is_complex()]
        if odd:
            raise ValueError(f"Complex params at indices {odd}: SparseAdam does not support complex parameters")

    def _refuse_sparse(self, group: dict[str, Any]) -> None:
        """Dense gradients are what it refuses, in `_update`."""

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}

    def _update(self, group: dict[str, Any]) -> None:
        for p in group["params"]:
            if p.grad is not None and not p.grad.is_sparse:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        params, grads, averages, squares, steps = self._columns(group, "exp_avg", "exp_avg_sq", "step")
        for p in params:
            self.state[p]["step"] += 1
        sparse_adam(params, grads, averages, squares, [n + 1 for n in steps], eps=group["eps"],
                    beta1=group["betas"][0], beta2=group["betas"][1], lr=number(group["lr"]),
                    maximize=group["maximize"])


def sparse_adam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
                state_steps: list[int], *, eps: float, beta1: float, beta2: float, lr: float,
                maximize: bool) -> None:
    """One step of Adam over lists, of the rows alone that the gradients have entries for."""
    for param, grad, average, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        once = (-grad if maximize else grad).coalesce()
        at, values = tuple(once.indices()), once.values()
        if not values.numel():
            continue
        old, old_square = average[at], square[at]
        change = (values - old) * (1 - beta1)
        square_change = (values.pow(2) - old_square) * (1 - beta2)
        average[at] += change
        square[at] += square_change
        moved, spread = change + old, (square_change + old_square).sqrt() + eps
        rate = lr * math.sqrt(1 - beta2 ** step) / (1 - beta1 ** step)
        param.index_put_(list(at), -rate * (moved / spread), accumulate=True)
