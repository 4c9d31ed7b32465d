"""Distributions of correlation matrices."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from claygrad._info import finfo
from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.beta import Beta
from claygrad.distributions.distribution import Distribution
from claygrad.ops.join import cat
from claygrad.ops.random import randn
from claygrad.ops.ranges import arange
from claygrad.ops.special import mvlgamma

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices M of `dim` variables with densities proportional to
    det(M)^(concentration - 1) (Lewandowski, Kurowicka, Joe)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = ("concentration", "_beta")
    _kept = ("dim",)
    concentration: Tensor

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        batch_shape = self._take(concentration=concentration)
        # The squared length of a row off the diagonal is a beta variable; that of the first row does not matter.
        row = arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        row = cat([row.new_zeros((1,)), row])
        self._beta = Beta(row + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * row)
        super().__init__(batch_shape, Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Rows of lengths from beta distributions in directions from normal ones (the onion method)."""
        squared = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = randn(self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        rows = squared.sqrt() * direction
        diagonal = (1 - (rows**2).sum(-1)).clamp(min=finfo(rows.dtype).tiny).sqrt()
        return rows + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        place = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - place
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        normalizer = 0.5 * rest * math.log(math.pi) + mvlgamma(alpha - 0.5, rest) - alpha.lgamma() * rest
        return (order * diagonal.log()).sum(-1) - normalizer
