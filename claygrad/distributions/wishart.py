"""Distributions of covariance matrices."""
from __future__ import annotations

import math
from numbers import Number
from typing import TYPE_CHECKING

from claygrad._info import finfo
from claygrad.core import Size
from claygrad.core.user_warnings import warn
from claygrad.distributions import constraints
from claygrad.distributions.chi2 import Chi2
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.distributions.multivariate_normal import log_diagonal, precision_to_scale_tril
from claygrad.distributions.utils import lazy_property
from claygrad.ops.creation import tensor
from claygrad.ops.fill import eye
from claygrad.ops.linalg_cholesky import cholesky, cholesky_solve
from claygrad.ops.linalg_det import slogdet
from claygrad.ops.random import randn
from claygrad.ops.ranges import arange, tril_indices
from claygrad.ops.special import mvlgamma
from claygrad.ops.view import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["Wishart"]

_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of mvlgamma."""
    if not (x > (p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return (x.unsqueeze(-1) - arange(p, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """The sum of x xᵀ over `df` independent normal vectors x with mean 0 and a covariance, given by one of
    `covariance_matrix`, `precision_matrix` and `scale_tril`. `df` need not be whole."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("df", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        found = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(found) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = found
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        event_shape = matrix.shape[-2:]
        p = event_shape[-1]
        if isinstance(df, Number):
            batch_shape = matrix.shape[:-2]
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        if (self.df <= p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if (self.df < p).any():
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < "
                 "ndim.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = (matrix if name == "scale_tril" else cholesky(matrix)
                                          if name == "covariance_matrix" else precision_to_scale_tril(matrix))
        self._settle()

    def _settle(self) -> None:
        """What follows from df and the shape of the batch."""
        factor = self._unbroadcasted_scale_tril
        self._batch_dims = [-(i + 1) for i in range(len(self._batch_shape))]
        steps = arange(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps.expand((*self._batch_shape, -1)))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(new.batch_shape + self.event_shape)
        new._settle()
        return new

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._expanded(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        unit = eye(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return self._expanded(cholesky_solve(unit, factor))

    @property
    def mean(self) -> Tensor:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan).view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        squares = covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * squares

    def _bartlett_sampling(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """L A Aᵀ Lᵀ for a lower triangular A with normal entries and roots of chi-squared ones on its diagonal."""
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=finfo(roots.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = tril_indices(p, p, offset=-1)
        noise[..., rows, columns] = randn(Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,),
                                          dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = Size(),
                max_try_correction: int | None = None) -> Tensor:
        tries = 10 if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(Size(sample_shape))
        # PyTorch draws again what satisfies the support, and says that it is singular. Streams follow it, so this does.
        again = self._over_batch(self.support.check(sample))
        if again.any():
            warn("Singular sample detected.")
            for _ in range(tries):
                places, again = again, again.clone()
                fresh = self._bartlett_sampling(places[places].shape)
                sample[places] = fresh
                again[places] = self._over_batch(~self.support.check(fresh))
                if not again.any():
                    break
        return sample

    def _over_batch(self, singular: Tensor) -> Tensor:
        return singular.amax(self._batch_dims) if self._batch_shape else singular

    def log_prob(self, value: Tensor) -> Tensor:
        nu, p, factor = self._checked(value).df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (p * _log_2 / 2 + log_diagonal(factor)) - mvlgamma(nu / 2, p)
                + (nu - p - 1) / 2 * slogdet(value).logabsdet - trace / 2)

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return ((p + 1) * (p * _log_2 / 2 + log_diagonal(self._unbroadcasted_scale_tril)) + mvlgamma(nu / 2, p)
                - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p) + nu * p / 2)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-slogdet(-2 * x).logabsdet + _log_2 * p) + mvlgamma(half, p)
