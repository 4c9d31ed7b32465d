"""Counts of rare events."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad.autograd import no_grad
from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.distributions.utils import broadcast_all
from claygrad.ops.random_each import poisson

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Counts k with probability rate^k exp(-rate) / k!"""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _batched = ("rate",)
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._take(rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self._checked(value).rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp()
