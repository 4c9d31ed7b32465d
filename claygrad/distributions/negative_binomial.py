"""Successes before a number of failures."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad.autograd import no_grad
from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions._odds import Odds, one_of
from claygrad.distributions.gamma import Gamma
from claygrad.distributions.utils import lazy_property
from claygrad.ops.activation import logsigmoid
from claygrad.ops.random_each import poisson

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds):
    """The number of successes, of probability `probs`, before `total_count` failures; that need not be whole."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = ("total_count", "probs", "logits")
    total_count: Tensor

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        shape = self._take(total_count=total_count, **one_of(probs, logits))
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))        # a Poisson distribution of gamma distributed rate

    def log_prob(self, value: Tensor) -> Tensor:
        n = self._checked(value).total_count
        unnormalized = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        normalizer = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return unnormalized - normalizer.masked_fill(n + value == 0.0, 0.0)
