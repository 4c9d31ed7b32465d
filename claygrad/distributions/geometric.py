"""Failures before the first success."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._info import finfo
from claygrad.autograd import no_grad
from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions._odds import Odds, one_of
from claygrad.distributions.utils import broadcast_all
from claygrad.ops.fill import empty, zeros_like
from claygrad.ops.loss import binary_cross_entropy_with_logits
from claygrad.ops.random_fill import uniform_

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["Geometric"]


class Geometric(Odds):
    """The number of failures before the first success, of probability `probs` or log-odds `logits`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._take(**one_of(probs, logits)), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            good = value > 0
            if not good.all():
                raise ValueError(f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to be positive but found invalid values:\n"
                                 f"{value.data[~good]}")

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        probs = self.probs
        with no_grad():
            u = empty(self._extended_shape(sample_shape), dtype=probs.dtype, device=probs.device)
            uniform_(u, finfo(probs.dtype).tiny, 1)
            return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self._checked(value).probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)   # 0 · log(0) is 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
