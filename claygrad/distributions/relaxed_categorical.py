"""Shares that come near to a choice among categories."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions.categorical import Categorical
from claygrad.distributions.one_hot_categorical import OfCategories
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import ExpTransform
from claygrad.distributions.utils import broadcast_all, clamp_probs
from claygrad.ops.fill import full_like
from claygrad.ops.random import rand

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategories):
    """The logarithms of a RelaxedOneHotCategorical: (logits + Gumbel noise) / temperature, normalized."""

    support = constraints.real_vector
    has_rsample = True
    _batched = ("_categorical",)
    _kept = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        logits = self.logits
        u = clamp_probs(rand(self._extended_shape(sample_shape), dtype=logits.dtype, device=logits.device))
        scores = (logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self._checked(value).logits, value)
        k = self._categorical._num_events
        log_scale = full_like(self.temperature, float(k)).lgamma() + (k - 1) * self.temperature.log()
        score = logits - value * self.temperature
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of shares that tend to a OneHotCategorical as the temperature falls, with gradients through samples."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _batched = ()

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
