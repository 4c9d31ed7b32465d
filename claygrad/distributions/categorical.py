"""One of several categories."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._info import finfo
from claygrad.core import DTYPES, Size
from claygrad.distributions import constraints
from claygrad.distributions._odds import one_of
from claygrad.distributions.distribution import Distribution
from claygrad.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from claygrad.ops.fill import full
from claygrad.ops.random import multinomial
from claygrad.ops.view import broadcast_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """One of the numbers 0, 1, ..., K - 1, with weights along the last dimension of `probs`, or their logarithms along
    that of `logits`. Neither needs to be normalized.

    >>> Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _batched = ("probs", "logits")
    _kept = ("_num_events",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        ((name, weights),) = one_of(probs, logits).items()
        if weights.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = weights / weights.sum(-1, keepdim=True)
        else:
            self.logits = weights - weights.logsumexp(dim=-1, keepdim=True)
        self._num_events = weights.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    @property
    def mean(self) -> Tensor:
        """NaN: names of categories have no mean."""
        return full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        count = Size(sample_shape).numel()
        rows = self.probs.detach().reshape(-1, self._num_events)
        return multinomial(rows, count, True).T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        value, log_probs = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)        # 0 · log(0) is 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = self._enumerate(self._num_events, dtype=DTYPES["int64"], device=self._param.device)
        return values.expand((-1, *self._batch_shape)) if expand else values
