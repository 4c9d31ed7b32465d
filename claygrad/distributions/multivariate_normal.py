"""The normal distribution of vectors."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions.distribution import Distribution
from claygrad.distributions.utils import lazy_property, standard_normal
from claygrad.ops.fill import eye
from claygrad.ops.linalg_cholesky import cholesky, cholesky_inverse
from claygrad.ops.linalg_solve import solve_triangular
from claygrad.ops.view import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

__all__ = ["MultivariateNormal"]


def batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrices times vectors, both in batches that broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def log_diagonal(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular matrix."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """|L^-1 x|², for L in a batch that is not expanded and x in one that it broadcasts to.

    Vectors that share an L are columns of one right-hand side: a factor is read once, however many samples there are.
    """
    n, depth = x.shape[-1], factor.dim() - 2
    if depth == 0:
        return solve_triangular(factor, x.reshape(-1, n).mT, upper=False).pow(2).sum(-2).reshape(x.shape[:-1])
    lead = x.dim() - 1 - depth                       # dimensions of samples before those of the factors
    sizes: list[int] = []
    for have, want in zip(factor.shape[:-2], x.shape[lead:-1], strict=True):
        sizes += (want // have, have)                # each dimension: where L repeats, and where it changes
    split = x.reshape((*x.shape[:lead], *sizes, n))
    shared = [*range(lead), *range(lead, lead + 2 * depth, 2)]
    own = [*range(lead + 1, lead + 2 * depth, 2)]
    order = [*shared, *own, lead + 2 * depth]
    columns = split.permute(order)
    flat = factor.reshape(-1, n, n)
    solved = solve_triangular(flat, columns.reshape(-1, flat.shape[0], n).permute(1, 2, 0), upper=False)
    squares = solved.pow(2).sum(-2).t().reshape(columns.shape[:-1])
    back = sorted(range(len(order) - 1), key=order.__getitem__)
    return squares.permute(back).reshape(x.shape[:-1])


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a matrix, without the inverse: the matrix upside down has the factor whose
    flipped transpose is the inverse of what is looked for."""
    flipped = cholesky(precision.flip((-2, -1)))
    inverse = flipped.flip((-2, -1)).mT
    unit = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(inverse, unit, upper=False)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc` and a covariance, given by one of `covariance_matrix`, its
    inverse `precision_matrix`, or its lower Cholesky factor `scale_tril`, which costs least."""

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _batched = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        found = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(found) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = found
        if matrix.dim() < 2:
            words = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{words} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = (matrix if name == "scale_tril" else cholesky(matrix)
                                          if name == "covariance_matrix" else precision_to_scale_tril(matrix))

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._expanded(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._expanded(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        factor, off = self._unbroadcasted_scale_tril, value - self._checked(value).loc
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + mahalanobis(factor, off)) - log_diagonal(factor)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + log_diagonal(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
