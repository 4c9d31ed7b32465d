"""Private names of `torch.distributions.lowrank_multivariate_normal` that other distributions are made of."""
from __future__ import annotations

import claygrad
from claygrad.core import Tensor
from claygrad.distributions.multivariate_normal import mahalanobis


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of I + Wᵀ D⁻¹ W."""
    inner = claygrad.matmul(W.mT / D.unsqueeze(-2), W)
    return claygrad.linalg.cholesky(inner + claygrad.eye(W.size(-1), dtype=W.dtype, device=W.device))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of W Wᵀ + D."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """xᵀ (W Wᵀ + D)⁻¹ x."""
    scaled = claygrad.matmul(W.mT / D.unsqueeze(-2), x.unsqueeze(-1)).squeeze(-1)
    return (x.pow(2) / D).sum(-1) - mahalanobis(capacitance_tril, scaled)
