"""Divergences between two distributions of one kind."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claygrad.autograd import grad
from claygrad.distributions.bernoulli import Bernoulli
from claygrad.distributions.beta import Beta
from claygrad.distributions.binomial import Binomial
from claygrad.distributions.categorical import Categorical
from claygrad.distributions.cauchy import Cauchy
from claygrad.distributions.continuous_bernoulli import ContinuousBernoulli
from claygrad.distributions.dirichlet import Dirichlet
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.distributions.exponential import Exponential
from claygrad.distributions.gamma import Gamma
from claygrad.distributions.geometric import Geometric
from claygrad.distributions.gumbel import Gumbel
from claygrad.distributions.half_normal import HalfNormal
from claygrad.distributions.independent import Independent
from claygrad.distributions.kl import kl_divergence, register_kl
from claygrad.distributions.laplace import Laplace
from claygrad.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal, lowrank_mahalanobis
from claygrad.distributions.multivariate_normal import MultivariateNormal, log_diagonal, mahalanobis
from claygrad.distributions.normal import Normal
from claygrad.distributions.one_hot_categorical import OneHotCategorical
from claygrad.distributions.pareto import Pareto
from claygrad.distributions.poisson import Poisson
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.uniform import Uniform
from claygrad.distributions.utils import euler_constant, sum_rightmost
from claygrad.ops.activation import softplus
from claygrad.ops.linalg_solve import solve_triangular
from claygrad.ops.view import broadcast_shapes

if TYPE_CHECKING:
    from claygrad.core import Tensor

_INF = math.inf


# --- of discrete variables --------------------------------------------------------------------------------------------
@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    hit = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    miss = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    hit = hit.masked_fill(q.probs == 0, _INF).masked_fill(p.probs == 0, 0)
    return hit + miss.masked_fill(q.probs == 1, _INF).masked_fill(p.probs == 1, 0)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, _INF)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    return each.masked_fill(q.probs == 0, _INF).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# --- of numbers -------------------------------------------------------------------------------------------------------
@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total_p, total_q = p1 + p0, q1 + q0
    normalizers = (q1.lgamma() + q0.lgamma() + total_p.lgamma()) - (p1.lgamma() + p0.lgamma() + total_q.lgamma())
    return (normalizers + (p1 - q1) * p1.digamma() + (p0 - q0) * p0.digamma()
            + (total_q - total_p) * total_p.digamma())


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    of_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    of_q = q._cont_bern_log_norm() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + of_p - of_q


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + (b.lgamma() - a.lgamma()) + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, q_loc, p_loc = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return (-ratio.log() - q_loc + p_loc + ratio * euler_constant
            + (q_loc + (1 + ratio).lgamma() - p_loc).exp() - (1 + euler_constant))


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, off = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + off / q.scale + ratio * (-off / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, _INF)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), _INF)


# --- of vectors -------------------------------------------------------------------------------------------------------
@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    slopes = a.digamma() - total.digamma().unsqueeze(-1)
    return (total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + ((a - b) * slopes).sum(-1))


def _squares(matrix: Tensor) -> Tensor:
    """The trace of X Xᵀ."""
    return matrix.pow(2).sum((-2, -1))


def _need_same_events(p: MultivariateNormal | LowRankMultivariateNormal,
                      q: MultivariateNormal | LowRankMultivariateNormal, words: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {words} Normals with{' ' * 26}different event shapes cannot be "
                         "computed")


def _together(*matrices: Tensor) -> list[Tensor]:
    """Matrices in one batch."""
    batch = broadcast_shapes(*(matrix.shape[:-2] for matrix in matrices))
    return [matrix.expand((*batch, -1, -1)) for matrix in matrices]


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _need_same_events(p, q, "Multivariate")
    q_tril, p_tril = _together(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril)
    half_logs = log_diagonal(q._unbroadcasted_scale_tril) - log_diagonal(p._unbroadcasted_scale_tril)
    trace = _squares(solve_triangular(q_tril, p_tril, upper=False))
    return half_logs + 0.5 * (trace + mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc) - p.event_shape[0])


def _inner(q: LowRankMultivariateNormal) -> Tensor:
    """A with (W Wᵀ + D)⁻¹ = D⁻¹ - Aᵀ A."""
    return solve_triangular(q._capacitance_tril,
                            q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2), upper=False)


def _distance(q: LowRankMultivariateNormal, off: Tensor) -> Tensor:
    return lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, off, q._capacitance_tril)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrank_lowrank(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _need_same_events(p, q, "Low Rank Multivariate")
    p_diag, q_diag, p_factor, inner = (p._unbroadcasted_cov_diag, q._unbroadcasted_cov_diag,
                                       p._unbroadcasted_cov_factor, _inner(q))
    trace = ((p_diag / q_diag).sum(-1) + _squares(p_factor * q_diag.rsqrt().unsqueeze(-1))
             - _squares(inner * p_diag.sqrt().unsqueeze(-2)) - _squares(inner @ p_factor))
    return 0.5 * (q._logdet() - p._logdet() + trace + _distance(q, q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _need_same_events(p, q, "(Low Rank) Multivariate")
    tril = p._unbroadcasted_scale_tril
    logs = q._logdet() - 2 * log_diagonal(tril)
    trace = _squares(tril * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _squares(_inner(q) @ tril)
    return 0.5 * (logs + trace + _distance(q, q.loc - p.loc) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrank_multivariatenormal(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _need_same_events(p, q, "(Low Rank) Multivariate")
    tril = q._unbroadcasted_scale_tril
    logs = 2 * log_diagonal(tril) - p._logdet()
    q_tril, factor, roots = _together(tril, p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed())
    trace = sum(_squares(solve_triangular(q_tril, part, upper=False)) for part in (factor, roots))
    return 0.5 * (logs + trace + mahalanobis(tril, q.loc - p.loc) - p.event_shape[0])


# --- of whole families ------------------------------------------------------------------------------------------------
@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot"
                                  f"{' ' * 29}be computed using Bregman divergences")
    p_params = [param.detach().requires_grad_() for param in p._natural_params]
    q_params = q._natural_params
    normalizer = p._log_normalizer(*p_params)
    result = q._log_normalizer(*q_params) - normalizer
    for a, b, slope in zip(p_params, q_params, grad(normalizer.sum(), p_params, create_graph=True), strict=True):
        result = result - sum_rightmost((b - a) * slope, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
