"""Densities on [0, 1] proportional to p^x (1 - p)^(1 - x)."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad.autograd import no_grad
from claygrad.core import Size
from claygrad.distributions import constraints
from claygrad.distributions._odds import Odds, one_of
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from claygrad.ops.compare import where
from claygrad.ops.fill import full_like
from claygrad.ops.loss import binary_cross_entropy_with_logits
from claygrad.ops.random import rand

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """The density on [0, 1] proportional to p^x (1 - p)^(1 - x), with p = `probs` or log-odds `logits`.

    The formulas are 0 / 0 at p = 1/2: for p within `lims` Taylor polynomials take their place.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("probs", "logits")
    _kept = ("_lims",)

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        shape = self._take(**one_of(probs, logits))
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """probs, away from 1/2."""
        return where(self._outside_unstable_region(), self.probs, full_like(self.probs, self._lims[0]))

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the normalizing constant, 2 atanh(1 - 2p) / (1 - 2p)."""
        cut = self._cut_probs()
        low = cut <= 0.5
        below, above = where(low, cut, 0.0), where(cut >= 0.5, cut, 1.0)     # so that no branch gives NaN gradients
        log_norm = ((-cut).log1p() - cut.log()).abs().log()
        log_norm = log_norm - where(low, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5) ** 2
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return where(self._outside_unstable_region(), log_norm, taylor)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x
        return where(self._outside_unstable_region(), mean, taylor)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        variance = cut * (cut - 1.0) / (1.0 - 2.0 * cut) ** 2 + 1.0 / ((-cut).log1p() - cut.log()) ** 2
        x = (self.probs - 0.5) ** 2
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return where(self._outside_unstable_region(), variance, taylor)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        probs = self.probs
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=probs.dtype, device=probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self._checked(value).logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        cut = self._checked(value)._cut_probs()
        inside = (cut**value * (1.0 - cut) ** (1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = where(self._outside_unstable_region(), inside, value)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        outside = ((-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()) / (cut.log() - (-cut).log1p())
        return where(self._outside_unstable_region(), outside, value)

    def entropy(self) -> Tensor:
        log_miss = (-self.probs).log1p()
        return self.mean * (log_miss - self.probs.log()) - self._cont_bern_log_norm() - log_miss

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        low, high = (lim - 0.5 for lim in self._lims)
        outside = (x <= low) | (x > high)
        cut = where(outside, x, full_like(x, low))
        taylor = 0.5 * x + x**2 / 24.0 - x**4 / 2880.0
        return where(outside, cut.expm1().abs().log() - cut.abs().log(), taylor)
