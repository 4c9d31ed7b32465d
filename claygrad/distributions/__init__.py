"""Probability distributions that sample, score and differentiate (`torch.distributions`)."""
from __future__ import annotations

from claygrad.core.cpython.entry_points import guard_package
from claygrad.distributions import _kl_pairs, _kl_same, constraints, transforms
from claygrad.distributions.bernoulli import Bernoulli
from claygrad.distributions.beta import Beta
from claygrad.distributions.binomial import Binomial
from claygrad.distributions.categorical import Categorical
from claygrad.distributions.cauchy import Cauchy
from claygrad.distributions.chi2 import Chi2
from claygrad.distributions.constraint_registry import biject_to, transform_to
from claygrad.distributions.continuous_bernoulli import ContinuousBernoulli
from claygrad.distributions.dirichlet import Dirichlet
from claygrad.distributions.distribution import Distribution
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.distributions.exponential import Exponential
from claygrad.distributions.fishersnedecor import FisherSnedecor
from claygrad.distributions.gamma import Gamma
from claygrad.distributions.generalized_pareto import GeneralizedPareto
from claygrad.distributions.geometric import Geometric
from claygrad.distributions.gumbel import Gumbel
from claygrad.distributions.half_cauchy import HalfCauchy
from claygrad.distributions.half_normal import HalfNormal
from claygrad.distributions.independent import Independent
from claygrad.distributions.inverse_gamma import InverseGamma
from claygrad.distributions.kl import kl_divergence, register_kl
from claygrad.distributions.kumaraswamy import Kumaraswamy
from claygrad.distributions.laplace import Laplace
from claygrad.distributions.lkj_cholesky import LKJCholesky
from claygrad.distributions.log_normal import LogNormal
from claygrad.distributions.logistic_normal import LogisticNormal
from claygrad.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from claygrad.distributions.mixture_same_family import MixtureSameFamily
from claygrad.distributions.multinomial import Multinomial
from claygrad.distributions.multivariate_normal import MultivariateNormal
from claygrad.distributions.negative_binomial import NegativeBinomial
from claygrad.distributions.normal import Normal
from claygrad.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from claygrad.distributions.pareto import Pareto
from claygrad.distributions.poisson import Poisson
from claygrad.distributions.relaxed_bernoulli import RelaxedBernoulli
from claygrad.distributions.relaxed_categorical import RelaxedOneHotCategorical
from claygrad.distributions.studentT import StudentT
from claygrad.distributions.transformed_distribution import TransformedDistribution
from claygrad.distributions.transforms import *  # noqa: F403
from claygrad.distributions.uniform import Uniform
from claygrad.distributions.von_mises import VonMises
from claygrad.distributions.weibull import Weibull
from claygrad.distributions.wishart import Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "kl_divergence", "register_kl", "transform_to",
]
__all__ += transforms.__all__

guard_package(__name__)          # Note [Entry points]
