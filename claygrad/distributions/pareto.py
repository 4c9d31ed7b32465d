"""The Pareto distribution."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.distributions import constraints
from claygrad.distributions.exponential import Exponential
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import AffineTransform, ExpTransform

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Numbers from `scale` on whose tails fall as x^-alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _batched = ("scale", "alpha")
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self._take(scale=scale, alpha=alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args),
                         [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
