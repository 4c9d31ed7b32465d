"""One trial: 1 with a probability, else 0."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.autograd import no_grad
from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions._odds import Odds, one_of
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.distributions.utils import broadcast_all
from claygrad.ops.loss import binary_cross_entropy_with_logits
from claygrad.ops.random import bernoulli

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability `probs`, or with log-odds `logits`; else 0.

    >>> Bernoulli(torch.tensor([0.3])).log_prob(torch.tensor([1.0]))
    tensor([-1.2040])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _batched = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._take(**one_of(probs, logits)), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self._checked(value).logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = self._enumerate(2, dtype=self._param.dtype, device=self._param.device)
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp().log1p()
