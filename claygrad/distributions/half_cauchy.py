"""The absolute value of a centred Cauchy variable."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad.distributions.cauchy import Cauchy
from claygrad.distributions.half_normal import Half
from claygrad.distributions.transforms import AbsTransform
from claygrad.ops.creation import as_tensor
from claygrad.ops.fill import full

if TYPE_CHECKING:
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """|x| for a Cauchy x around 0 with `scale`."""

    _batched = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        self._checked(value)
        return super().log_prob(as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
