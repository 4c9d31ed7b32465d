"""The Weibull distribution."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.distributions import constraints
from claygrad.distributions.exponential import Exponential
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import AffineTransform, PowerTransform
from claygrad.distributions.utils import euler_constant
from claygrad.ops.fill import ones_like

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """scale x^(1 / concentration) for an exponential x."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _batched = ("scale", "concentration", "concentration_reciprocal")
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(scale=scale, concentration=concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        transforms = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(Exponential(ones_like(self.scale), validate_args=validate_args), transforms,
                         validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp())

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
