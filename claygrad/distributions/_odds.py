"""What distributions of a success with some probability share."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.distributions.distribution import Distribution
from claygrad.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

if TYPE_CHECKING:
    from typing import Any

    from claygrad.core import Tensor


def one_of(probs: Any, logits: Any) -> dict[str, Any]:
    """The one that is given, by its name."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return {"logits": logits} if probs is None else {"probs": probs}


class Odds(Distribution):
    """Either `probs` or `logits` is given; the other one is computed when asked for."""

    @lazy_property
    def logits(self) -> Tensor:
        """log(probs / (1 - probs))"""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
