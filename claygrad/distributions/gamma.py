"""The gamma distribution."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad._info import finfo
from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.ops.creation import as_tensor
from claygrad.ops.gamma import igamma
from claygrad.ops.random_each import _standard_gamma

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Densities proportional to x^(concentration - 1) exp(-rate x)."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("concentration", "rate")
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._take(concentration=concentration, rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)             # never 0; gradients stay as they are
        return value

    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        shape, rate = self._checked(value).concentration, self.rate
        return shape.xlogy(rate) + (shape - 1).xlogy(value) - rate * value - shape.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        return igamma(self._checked(value).concentration, self.rate * value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
