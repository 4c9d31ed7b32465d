"""How often each category comes up."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions.binomial import Binomial
from claygrad.distributions.categorical import Categorical
from claygrad.distributions.one_hot_categorical import OfCategories
from claygrad.distributions.utils import broadcast_all
from claygrad.ops.creation import tensor
from claygrad.ops.fill import ones_like

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["Multinomial"]


class Multinomial(OfCategories):
    """How often each category comes up in `total_count` draws with weights `probs` or their logarithms `logits`."""

    _batched = ("_categorical",)
    _kept = ("total_count", "_binomial")

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        draws = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, draws, ones_like(draws)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        expected = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + expected

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self._checked(value).logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)       # 0 · log(0) is 0
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)
