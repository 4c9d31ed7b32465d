"""One distribution or more for every class and every way to give its parameters, as functions of a library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Build = Callable[[ModuleType, dict[str, Any]], Any]


@dataclass(frozen=True)
class Case:
    """Parameters as lists, which become tensors, and what makes the distribution from them."""

    params: dict[str, Any]
    build: Build

    def make(self, lib: ModuleType, dtype: str = "float64", grad: bool = False) -> tuple[Any, dict[str, Any]]:
        """The distribution, and its parameters by name."""
        tensors = {name: lib.tensor(value, dtype=getattr(lib, dtype), requires_grad=grad)
                   for name, value in self.params.items()}
        return self.build(lib, tensors), tensors


def plain(kind: str, options: dict[str, Any] | None = None, /, **params: Any) -> Case:
    return Case(params, lambda lib, p: getattr(lib.distributions, kind)(**p, **(options or {})))


def inner(module: str, kind: str, /, **params: Any) -> Case:
    return Case(params, lambda lib, p: getattr(getattr(lib.distributions, module), kind)(**p))


COV = [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]
TRIL = [[1.2, 0.0, 0.0], [0.3, 0.9, 0.0], [-0.4, 0.2, 1.1]]
PRECISION = [[1.0, 0.2, 0.0], [0.2, 2.0, 0.3], [0.0, 0.3, 1.4]]
BATCH_TRIL = [TRIL, [[0.7, 0.0, 0.0], [0.1, 1.3, 0.0], [0.2, -0.5, 0.8]]]
SHARES = [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]
LOGITS = [[0.1, -0.4, 1.2], [0.0, 2.0, -1.0]]

CASES: dict[str, Case] = {
    "Bernoulli-probs": plain("Bernoulli", probs=[0.2, 0.5, 0.9]),
    "Bernoulli-logits": plain("Bernoulli", logits=[[-1.0, 0.5], [2.0, 0.0]]),
    "Bernoulli-number": Case({}, lambda lib, p: lib.distributions.Bernoulli(0.3)),
    "Beta": plain("Beta", concentration1=[0.5, 2.0, 7.0], concentration0=[1.5, 3.0, 0.8]),
    "Beta-number": Case({}, lambda lib, p: lib.distributions.Beta(2.0, 3)),
    "Beta-mixed": plain("Beta", {"concentration0": 2.5}, concentration1=[0.5, 12.0]),
    "Binomial-probs": plain("Binomial", {"total_count": 10}, probs=[0.2, 0.5, 0.9]),
    "Binomial-logits": plain("Binomial", {"total_count": 40}, logits=[-1.0, 0.3, 2.0]),
    "Binomial-counts": plain("Binomial", total_count=[3.0, 100.0, 0.0], probs=[0.3, 0.6, 0.5]),
    "Categorical-probs": plain("Categorical", probs=SHARES),
    "Categorical-logits": plain("Categorical", logits=LOGITS),
    "Categorical-one": plain("Categorical", probs=[1.0, 2.0, 0.0, 1.0]),
    "Cauchy": plain("Cauchy", loc=[0.0, 1.0], scale=[1.0, 2.5]),
    "Chi2": plain("Chi2", df=[0.7, 2.0, 9.0]),
    "Chi2-number": Case({}, lambda lib, p: lib.distributions.Chi2(3.0)),
    "ContinuousBernoulli-probs": plain("ContinuousBernoulli", probs=[0.1, 0.5, 0.4995, 0.8]),
    "ContinuousBernoulli-logits": plain("ContinuousBernoulli", logits=[-2.0, 0.0, 0.7]),
    "ContinuousBernoulli-lims": plain("ContinuousBernoulli", {"lims": (0.4, 0.6)}, probs=[0.1, 0.45, 0.7]),
    "Dirichlet": plain("Dirichlet", concentration=[[0.5, 1.0, 3.0], [2.0, 8.0, 0.9]]),
    "Dirichlet-small": plain("Dirichlet", concentration=[0.5, 0.3, 0.9]),
    "Exponential": plain("Exponential", rate=[0.3, 1.0, 4.0]),
    "Exponential-number": Case({}, lambda lib, p: lib.distributions.Exponential(2.0)),
    "FisherSnedecor": plain("FisherSnedecor", df1=[1.0, 5.0, 8.0], df2=[1.5, 3.0, 9.0]),
    "Gamma": plain("Gamma", concentration=[0.3, 1.0, 5.0, 30.0], rate=[1.0, 2.0, 0.5, 3.0]),
    "Gamma-broadcast": plain("Gamma", concentration=[[0.6], [4.0]], rate=[1.0, 2.0, 0.5]),
    "GeneralizedPareto": plain("GeneralizedPareto", loc=[0.0, 1.0, -1.0, 0.0], scale=[1.0, 2.0, 0.5, 1.0],
                               concentration=[0.0, 0.3, -0.4, 1.5]),
    "GeneralizedPareto-tails": plain("GeneralizedPareto", loc=[1.0, -1.0], scale=[2.0, 0.5], concentration=[0.3, -0.4]),
    "Geometric-probs": plain("Geometric", probs=[0.2, 0.7, 0.99]),
    "Geometric-logits": plain("Geometric", logits=[-1.0, 0.5]),
    "Gumbel": plain("Gumbel", loc=[0.0, 1.0], scale=[1.0, 0.4]),
    "Gumbel-number": Case({}, lambda lib, p: lib.distributions.Gumbel(0.5, 2.0)),
    "HalfCauchy": plain("HalfCauchy", scale=[0.5, 2.0]),
    "HalfNormal": plain("HalfNormal", scale=[0.5, 2.0]),
    "Independent-Normal": Case({"loc": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "scale": [1.0, 2.0, 0.5]},
                               lambda lib, p: lib.distributions.Independent(lib.distributions.Normal(**p), 1)),
    "Independent-zero": Case({"probs": [0.3, 0.6]},
                             lambda lib, p: lib.distributions.Independent(lib.distributions.Bernoulli(**p), 0)),
    "Independent-Bernoulli": Case({"probs": [[0.3, 0.6], [0.1, 0.8]]},
                                  lambda lib, p: lib.distributions.Independent(lib.distributions.Bernoulli(**p), 2)),
    "InverseGamma": plain("InverseGamma", concentration=[0.7, 1.5, 4.0], rate=[1.0, 2.0, 0.5]),
    "Kumaraswamy": plain("Kumaraswamy", concentration1=[0.5, 2.0, 3.0], concentration0=[1.5, 0.5, 4.0]),
    "LKJCholesky": plain("LKJCholesky", {"dim": 3}, concentration=[0.5, 1.0, 4.0]),
    "LKJCholesky-number": Case({}, lambda lib, p: lib.distributions.LKJCholesky(2, 1.5)),
    "Laplace": plain("Laplace", loc=[0.0, 1.0], scale=[1.0, 2.5]),
    "LogNormal": plain("LogNormal", loc=[0.0, 1.0], scale=[1.0, 0.5]),
    "LogisticNormal": plain("LogisticNormal", loc=[[0.0, 1.0], [0.5, -0.3]], scale=[[1.0, 0.5], [0.2, 2.0]]),
    "LogisticNormal-number": Case({}, lambda lib, p: lib.distributions.LogisticNormal(0.2, 1.5)),
    "LowRank": plain("LowRankMultivariateNormal", loc=[0.0, 1.0, 2.0], cov_factor=[[1.0, 0.2], [0.3, -0.4], [0.5, 0.6]],
                     cov_diag=[0.5, 1.0, 2.0]),
    "LowRank-batch": plain("LowRankMultivariateNormal", loc=[[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]],
                           cov_factor=[[1.0], [0.3], [0.5]], cov_diag=[[0.5, 1.0, 2.0], [1.0, 0.3, 0.2]]),
    "Mixture-Normal": Case({"logits": [0.3, -0.2, 0.5], "loc": [0.0, 3.0, -3.0], "scale": [1.0, 0.5, 2.0]},
                           lambda lib, p: lib.distributions.MixtureSameFamily(
                               lib.distributions.Categorical(logits=p["logits"]),
                               lib.distributions.Normal(p["loc"], p["scale"]))),
    "Mixture-vectors": Case({"probs": [[0.4, 0.6], [0.9, 0.1]], "loc": [[[0.0, 3.0], [1.0, 1.0]], [[0.5, 0.2], [2.0, -1.0]]]},
                            lambda lib, p: lib.distributions.MixtureSameFamily(
                                lib.distributions.Categorical(probs=p["probs"]),
                                lib.distributions.Independent(lib.distributions.Normal(p["loc"], 1.0), 1))),
    "Multinomial-probs": plain("Multinomial", {"total_count": 7}, probs=SHARES),
    "Multinomial-logits": plain("Multinomial", {"total_count": 5}, logits=LOGITS),
    "MultivariateNormal-cov": plain("MultivariateNormal", loc=[0.0, 1.0, -1.0], covariance_matrix=COV),
    "MultivariateNormal-precision": plain("MultivariateNormal", loc=[[0.0, 1.0, -1.0], [2.0, 0.0, 0.0]],
                                          precision_matrix=PRECISION),
    "MultivariateNormal-tril": plain("MultivariateNormal", loc=[0.0, 1.0, -1.0], scale_tril=BATCH_TRIL),
    "NegativeBinomial-probs": plain("NegativeBinomial", total_count=[2.0, 3.5, 10.0], probs=[0.2, 0.5, 0.8]),
    "NegativeBinomial-logits": plain("NegativeBinomial", {"total_count": 4}, logits=[-1.0, 0.3]),
    "Normal": plain("Normal", loc=[0.0, 1.0, -2.0], scale=[1.0, 0.5, 3.0]),
    "Normal-number": Case({}, lambda lib, p: lib.distributions.Normal(0.0, 1)),
    "Normal-many": Case({"loc": [0.1 * i for i in range(40)]}, lambda lib, p: lib.distributions.Normal(p["loc"], 2.0)),
    "OneHotCategorical": plain("OneHotCategorical", probs=SHARES),
    "OneHotCategorical-logits": plain("OneHotCategorical", logits=LOGITS),
    "OneHotStraightThrough": plain("OneHotCategoricalStraightThrough", logits=LOGITS),
    "Pareto": plain("Pareto", scale=[1.0, 2.0, 0.5], alpha=[0.8, 1.5, 3.0]),
    "Poisson": plain("Poisson", rate=[0.0, 0.5, 3.0, 9.9, 10.0, 200.0]),
    "RelaxedBernoulli": plain("RelaxedBernoulli", temperature=0.7, probs=[0.2, 0.5, 0.9]),
    "RelaxedBernoulli-logits": plain("RelaxedBernoulli", temperature=1.5, logits=[-1.0, 0.4]),
    "LogitRelaxedBernoulli": inner("relaxed_bernoulli", "LogitRelaxedBernoulli", temperature=0.7, probs=[0.2, 0.5]),
    "RelaxedOneHot": plain("RelaxedOneHotCategorical", temperature=0.7, probs=SHARES),
    "RelaxedOneHot-logits": plain("RelaxedOneHotCategorical", temperature=0.7, logits=LOGITS),
    "ExpRelaxedCategorical": inner("relaxed_categorical", "ExpRelaxedCategorical", temperature=0.7, probs=SHARES),
    "StudentT": plain("StudentT", df=[0.8, 1.5, 5.0], loc=[0.0, 1.0, 2.0], scale=[1.0, 2.0, 0.5]),
    "StudentT-defaults": plain("StudentT", df=[3.0]),
    "Transformed-affine": Case({"loc": [0.0, 1.0], "scale": [2.0, -0.5]},
                               lambda lib, p: lib.distributions.TransformedDistribution(
                                   lib.distributions.Normal(0.0, 1.0),
                                   [lib.distributions.AffineTransform(p["loc"], p["scale"]),
                                    lib.distributions.TanhTransform()])),
    "Transformed-stick": Case({"loc": [[0.1, 0.2, 0.3]]},
                              lambda lib, p: lib.distributions.TransformedDistribution(
                                  lib.distributions.Normal(p["loc"], 1.0), lib.distributions.StickBreakingTransform())),
    "Transformed-none": Case({"loc": [0.1, 0.2, 0.3]}, lambda lib, p: lib.distributions.TransformedDistribution(
        lib.distributions.Normal(p["loc"], 1.0), [])),
    "Uniform": plain("Uniform", low=[0.0, -1.0], high=[1.0, 3.0]),
    "Uniform-number": Case({}, lambda lib, p: lib.distributions.Uniform(0.25, 0.75)),
    "VonMises": plain("VonMises", loc=[0.0, 1.0, -2.0], concentration=[0.5, 3.0, 20.0]),
    "Weibull": plain("Weibull", scale=[1.0, 2.0], concentration=[0.8, 3.0]),
    "Wishart-cov": plain("Wishart", df=5.0, covariance_matrix=COV),
    "Wishart-tril": plain("Wishart", df=[4.0, 7.5], scale_tril=BATCH_TRIL),
    "Wishart-precision": plain("Wishart", df=[4.5], precision_matrix=PRECISION),
}
