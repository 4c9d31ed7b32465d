"""Normal variables as shares."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.distributions import constraints
from claygrad.distributions.normal import Normal
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import StickBreakingTransform

if TYPE_CHECKING:
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """K - 1 independent normal variables, along the last dimension, made into K shares by breaking a stick."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _batched = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(),
                         validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale
