"""The Cauchy distribution."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.distribution import Distribution
from claygrad.ops.fill import empty, full
from claygrad.ops.random_fill import cauchy_

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The quotient of two independent normal variables, moved by `loc` and scaled by `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = ("loc", "scale")
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._take(loc=loc, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return full(self._extended_shape(), math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        drawn = cauchy_(empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))
        return self.loc + drawn * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        off = (value - self._checked(value).loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (off**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self._checked(value).loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
