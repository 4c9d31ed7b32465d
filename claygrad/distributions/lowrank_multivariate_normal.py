"""The normal distribution of vectors whose covariance is a diagonal and a matrix of low rank."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions.distribution import Distribution
from claygrad.distributions.multivariate_normal import batch_mv, log_diagonal, mahalanobis
from claygrad.distributions.utils import lazy_property, standard_normal
from claygrad.ops.fill import eye
from claygrad.ops.linalg_cholesky import cholesky
from claygrad.ops.linalg_solve import solve_triangular
from claygrad.ops.view import broadcast_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

__all__ = ["LowRankMultivariateNormal"]


def _plus_unit(matrix: Tensor) -> Tensor:
    return matrix + eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def capacitance_tril(factor: Tensor, diag: Tensor) -> Tensor:
    """The Cholesky factor of I + Wᵀ D⁻¹ W, the small matrix that stands for the inverse of W Wᵀ + D."""
    return cholesky(_plus_unit(factor.mT / diag.unsqueeze(-2) @ factor))


def lowrank_logdet(diag: Tensor, capacitance: Tensor) -> Tensor:
    """log det(W Wᵀ + D), by the matrix determinant lemma."""
    return 2 * log_diagonal(capacitance) + diag.log().sum(-1)


def lowrank_mahalanobis(factor: Tensor, diag: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """xᵀ (W Wᵀ + D)⁻¹ x, by Woodbury's identity."""
    inner = batch_mv(factor.mT / diag.unsqueeze(-2), x)
    return (x.pow(2) / diag).sum(-1) - mahalanobis(capacitance, inner)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc` and covariance W Wᵀ + D, for W = `cov_factor` with few columns
    and the diagonal D = `cov_diag`. Time and memory grow with the number of columns, not with the square of the size.
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _batched = ("loc", "cov_factor", "cov_diag")
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            wide_loc, self.cov_factor, wide_diag = broadcast_tensors(loc.unsqueeze(-1), cov_factor,
                                                                     cov_diag.unsqueeze(-1))
        except RuntimeError as e:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag "
                             f"{cov_diag.shape}") from e
        self.loc, self.cov_diag = wide_loc[..., 0], wide_diag[..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / root
        return self._expanded(root * cholesky(_plus_unit(factor @ factor.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._expanded(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        diag = self._unbroadcasted_cov_diag
        inner = solve_triangular(self._capacitance_tril, self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2),
                                 upper=False)
        return self._expanded(diag.reciprocal().diag_embed() - inner.mT @ inner)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        each = standard_normal(shape, self.loc)
        return (self.loc + batch_mv(self._unbroadcasted_cov_factor, few)
                + self._unbroadcasted_cov_diag.sqrt() * each)

    def log_prob(self, value: Tensor) -> Tensor:
        off = value - self._checked(value).loc
        distance = lowrank_mahalanobis(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, off,
                                       self._capacitance_tril)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._logdet() + distance)

    def _logdet(self) -> Tensor:
        return lowrank_logdet(self._unbroadcasted_cov_diag, self._capacitance_tril)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._logdet())).expand(self._batch_shape)
