"""The log-normal distribution."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.distributions import constraints
from claygrad.distributions.normal import Normal
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import ExpTransform

if TYPE_CHECKING:
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """Variables whose logarithm is normal with mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _batched = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
