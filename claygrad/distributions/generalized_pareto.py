"""The generalized Pareto distribution."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.distribution import Distribution
from claygrad.ops.compare import isclose, where
from claygrad.ops.fill import zeros_like
from claygrad.ops.random import rand

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over a high threshold `loc`: heavy tails for a positive `concentration`, exponential ones for 0, none
    beyond loc - scale / concentration for a negative one."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _batched = ("loc", "scale", "concentration")
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._take(loc=loc, scale=scale, concentration=concentration), validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _tails(self) -> tuple[Tensor, Tensor]:
        """Where tails are exponential, and the concentration with ones in these places."""
        flat = isclose(self.concentration, zeros_like(self.concentration))
        return flat, where(flat, 1.0, self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._checked(value)._z(value)
        flat, shape = self._tails()
        y = 1 / shape + 1 + zeros_like(z)
        return -self.scale.log() - where(flat, z, where(y == 0, y, y * (shape * z).log1p()))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """log(1 - cdf)"""
        z = self._checked(value)._z(value)
        flat, shape = self._tails()
        return where(flat, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        flat, shape = self._tails()
        log_u = (-value).log1p()
        return where(flat, self.loc - self.scale * log_u, self.loc + self.scale / shape * (-shape * log_u).expm1())

    @property
    def mean(self) -> Tensor:
        finite = self.concentration < 1
        shape = where(finite, self.concentration, 0.5)
        return where(finite, self.loc + self.scale / (1 - shape), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.concentration < 0.5
        shape = where(finite, self.concentration, 0.25)
        return where(finite, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)
