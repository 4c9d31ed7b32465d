"""The absolute value of a centred normal variable."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad.distributions import constraints
from claygrad.distributions.normal import Normal
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import AbsTransform
from claygrad.ops.compare import where
from claygrad.ops.fill import zeros_like

if TYPE_CHECKING:
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["HalfNormal"]


class Half(TransformedDistribution):
    """The absolute value of a variable that is symmetric around zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        whole = self._checked(value).base_dist.log_prob(value)
        return where(value >= 0, whole + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self._checked(value).base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Half):
    """|x| for a normal x with mean 0 and standard deviation `scale`."""

    _batched = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
