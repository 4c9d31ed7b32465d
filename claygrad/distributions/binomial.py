"""Successes in a number of trials."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad.autograd import no_grad
from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions._odds import Odds, one_of
from claygrad.ops.random_each import binomial

__all__ = ["Binomial"]


def _clamp_by_zero(x: Tensor) -> Tensor:
    """max(x, 0), with a derivative of 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Odds):
    """The number of successes in `total_count` trials of probability `probs` (or log-odds `logits`)."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True
    _batched = ("total_count", "probs", "logits")
    total_count: Tensor

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        shape = self._take(total_count=total_count, **one_of(probs, logits))
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """log C(n, k) + k logits - n softplus(logits)"""
        n, logits = self._checked(value).total_count, self.logits
        normalizer = n * _clamp_by_zero(logits) + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - normalizer

    def _one_count(self, method: str) -> int:
        """The number of trials, if it is the same over the batch."""
        most = int(self.total_count.max())
        if self.total_count.min() != most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return most

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._one_count("enumerate_support")
        values = self._enumerate(1 + count, dtype=self._param.dtype, device=self._param.device)
        return values.expand((-1, *self._batch_shape)) if expand else values
