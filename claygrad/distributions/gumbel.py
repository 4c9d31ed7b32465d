"""The Gumbel distribution."""
from __future__ import annotations

import math
from typing import Any

from claygrad._info import finfo
from claygrad.core import Tensor
from claygrad.distributions import constraints
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import AffineTransform, ExpTransform
from claygrad.distributions.uniform import Uniform
from claygrad.distributions.utils import euler_constant
from claygrad.ops.fill import full_like, ones_like

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The limit of maxima: loc - scale log(-log(u)) for a uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _batched = ("loc", "scale")
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._take(loc=loc, scale=scale)
        limits = finfo(self.loc.dtype)
        base = Uniform(full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps),
                       validate_args=validate_args)
        transforms = [ExpTransform().inv, AffineTransform(loc=0, scale=-ones_like(self.scale)), ExpTransform().inv,
                      AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self._checked(value).loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
