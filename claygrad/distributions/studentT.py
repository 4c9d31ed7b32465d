"""Student's t distribution."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.chi2 import Chi2
from claygrad.distributions.distribution import Distribution
from claygrad.distributions.utils import standard_normal
from claygrad.ops.compare import where

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale x / sqrt(z / df) for a standard normal x and a chi-squared z of `df` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = ("df", "loc", "scale", "_chi2")
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        shape = self._take(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = where(finite, self.df, 3.0)
        variance = where(finite, self.scale.pow(2) * df / (df - 2), math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        x = standard_normal(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * (x * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        y, df = (value - self._checked(value).loc) / self.scale, self.df
        normalizer = (self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma()
                      - (0.5 * (df + 1.0)).lgamma())
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - normalizer

    def entropy(self) -> Tensor:
        df, half, next_half = self.df, 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - next_half.lgamma()
        return self.scale.log() + next_half * (next_half.digamma() - half.digamma()) + 0.5 * df.log() + log_beta
