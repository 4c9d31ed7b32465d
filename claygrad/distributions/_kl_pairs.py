"""Divergences between distributions of different kinds."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad.distributions.bernoulli import Bernoulli
from claygrad.distributions.beta import Beta
from claygrad.distributions.binomial import Binomial
from claygrad.distributions.continuous_bernoulli import ContinuousBernoulli
from claygrad.distributions.exponential import Exponential
from claygrad.distributions.gamma import Gamma
from claygrad.distributions.gumbel import Gumbel
from claygrad.distributions.kl import register_kl
from claygrad.distributions.laplace import Laplace
from claygrad.distributions.normal import Normal
from claygrad.distributions.pareto import Pareto
from claygrad.distributions.poisson import Poisson
from claygrad.distributions.uniform import Uniform
from claygrad.distributions.utils import euler_constant
from claygrad.ops.fill import full_like

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from claygrad.core import Tensor

_INF = math.inf
_LOG_2PI = math.log(2 * math.pi)


# --- infinite: p has outcomes that q has not --------------------------------------------------------------------------
def _infinite(parameter: str) -> Callable[[Any, Any], Tensor]:
    return lambda p, q: full_like(getattr(p, parameter), _INF)


for _p, _parameter, _qs in (
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
):
    for _q in _qs:
        register_kl(_p, _q)(_infinite(_parameter))


def _cross_normal(mean: Tensor, variance: Tensor, q: Normal) -> Tensor:
    """The mean of -log q for a variable of that mean and variance."""
    return 0.5 * _LOG_2PI + q.scale.log() + 0.5 * (variance + (mean - q.loc).pow(2)) / q.scale.pow(2)


# --- from bounded variables -------------------------------------------------------------------------------------------
@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _kl_to_continuous_bernoulli(p: Beta | Uniform, q: ContinuousBernoulli) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    if isinstance(p, Uniform):
        return result.masked_fill((p.high >= 1.0) | (p.low <= 0.0), _INF)
    return result


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _kl_to_exponential(p: Beta | ContinuousBernoulli | Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Beta, q: Gamma) -> Tensor:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normalizer - (q.concentration - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
def _kl_to_normal(p: Any, q: Normal) -> Tensor:
    return _cross_normal(p.mean, p.variance, q) - p.entropy()


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low > 0.0) | (q.high < 1.0), _INF)


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    # PyTorch finds these infinite where q reaches over an end of [0, 1], and this follows it.
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low >= 0.0) | (q.high <= 1.0), _INF)


# --- from variables on half lines -------------------------------------------------------------------------------------
@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio, shape = q.rate / p.rate, q.concentration
    return -shape * ratio.log() + ratio + shape.lgamma() + shape * euler_constant - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product, place = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - place + place.exp() * product / (product + 1) + product.reciprocal()


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    shape, product, place = p.concentration, p.rate * q.scale, q.loc / q.scale
    own = (shape - 1) * shape.digamma() - shape.lgamma() - shape
    return (own + product.log() + shape / product + place.exp() * (1 + product.reciprocal()).pow(-shape) - place)


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return result.masked_fill(p.alpha <= 1, _INF)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    mean = p.alpha * p.scale / (p.alpha - 1)
    result = p.alpha.log() - mean_log + normalizer + (1 - q.concentration) * mean_log + q.rate * mean - 1
    return result.masked_fill(p.alpha <= 1, _INF)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Pareto, q: Normal) -> Tensor:
    share = p.scale / (p.alpha - 1)
    variance = p.alpha * share.pow(2) / (p.alpha - 2)
    result = _cross_normal(p.alpha * share, variance, q) - p.entropy()
    return result.masked_fill(p.alpha <= 2, _INF)


# --- from variables on the line ---------------------------------------------------------------------------------------
@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    ratio, off = (p.scale / q.scale).pow(2), (p.loc - q.loc) / q.scale
    return -0.5 * ratio.log() + off + (0.5 * ratio - off).exp() - 0.5 * (1 + _LOG_2PI)


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    off = p.loc - q.loc
    z = off / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + off * (math.sqrt(0.5) * z).erf()
    return -(p.scale / q.scale).log() + mean_distance / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


# --- from uniform ones ------------------------------------------------------------------------------------------------
def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) over an interval."""
    return (high.xlogy(high) - low.xlogy(low) - (high - low)) / (high - low)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    of_x, of_rest = _mean_log(p.low, p.high), _mean_log(1 - p.high, 1 - p.low)
    result = normalizer - (p.high - p.low).log() - (a - 1) * of_x - (b - 1) * of_rest
    return result.masked_fill((p.high > 1.0) | (p.low < 0.0), _INF)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return result.masked_fill(p.low < 0.0, _INF)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    result = (-(p.high - p.low).log() + normalizer + (1 - q.concentration) * _mean_log(p.low, p.high)
              + q.rate * (p.high + p.low) / 2)
    return result.masked_fill(p.low < 0.0, _INF)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    share = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return share.log() + 0.5 * (high + low) - share * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    result = _mean_log(p.low, p.high) * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return result.masked_fill(p.low < q.scale, _INF)
