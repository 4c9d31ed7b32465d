"""SparseAdam, which takes sparse gradients alone: there are none in claygrad."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.optim.optimizer import StepOptimizer, check_betas

if TYPE_CHECKING:
    from claygrad.optim.optimizer import Params

__all__ = ["SparseAdam"]


class SparseAdam(StepOptimizer):
    """Can be made, as programs do before they look at gradients; a dense gradient is refused, as PyTorch refuses it."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        odd = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])
               if p.is_complex()]
        if odd:
            raise ValueError(f"Complex params at indices {odd}: SparseAdam does not support complex parameters")

    def _update(self, group: dict[str, Any]) -> None:
        if any(p.grad is not None for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead\n"
                               "  claygrad has no sparse tensors: gradients of embeddings are dense too.")
