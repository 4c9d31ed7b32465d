"""What distributions refuse, in torch's words."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import claygrad
from tests.oracle.distributions.test_distributions_torch import agree, outcome, same

torch = pytest.importorskip("torch")

REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "normal-scale": lambda t, d: d.Normal(t.zeros(2), t.tensor([1.0, -1.0])),
    "normal-nan": lambda t, d: d.Normal(float("nan"), 1.0),
    "normal-parameter": lambda t, d: d.Normal(0.0, t.nn.Parameter(t.tensor([-1.0]))),
    "normal-list": lambda t, d: d.Normal([0.0], 1.0),
    "normal-value": lambda t, d: d.Normal(0.0, 1.0).log_prob(t.tensor(float("nan"))),
    "normal-number": lambda t, d: d.Normal(0.0, 1.0).log_prob(0.5),
    "normal-shape": lambda t, d: d.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
    "event-shape": lambda t, d: d.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2),
    "gamma": lambda t, d: d.Gamma(t.tensor([0.0, 1.0]), 1.0),
    "gamma-value": lambda t, d: d.Gamma(1.0, 1.0).log_prob(t.tensor([-1.0])),
    "bernoulli-both": lambda t, d: d.Bernoulli(0.5, 0.5),
    "bernoulli-none": lambda t, d: d.Bernoulli(),
    "bernoulli-range": lambda t, d: d.Bernoulli(t.tensor([0.5, 1.5])),
    "bernoulli-value": lambda t, d: d.Bernoulli(0.5).log_prob(t.tensor(0.5)),
    "bernoulli-rsample": lambda t, d: d.Bernoulli(0.5).rsample(),
    "binomial-both": lambda t, d: d.Binomial(3),
    "binomial-count": lambda t, d: d.Binomial(t.tensor(1.5), t.tensor(0.5)),
    "binomial-value": lambda t, d: d.Binomial(3, t.tensor(0.5)).log_prob(t.tensor(4.0)),
    "binomial-counts": lambda t, d: d.Binomial(t.tensor([2.0, 3.0]), t.tensor(0.5)).enumerate_support(),
    "binomial-entropy": lambda t, d: d.Binomial(t.tensor([2.0, 3.0]), t.tensor(0.5)).entropy(),
    "categorical-dim": lambda t, d: d.Categorical(t.tensor(1.0)),
    "categorical-logits-dim": lambda t, d: d.Categorical(logits=t.tensor(1.0)),
    "categorical-negative": lambda t, d: d.Categorical(t.tensor([0.5, -0.5, 1.0])),
    "categorical-nan": lambda t, d: d.Categorical(logits=t.tensor([0.5, float("nan")])),
    "categorical-value": lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "categorical-both": lambda t, d: d.Categorical(t.ones(3), t.ones(3)),
    "continuous-bernoulli": lambda t, d: d.ContinuousBernoulli(t.tensor(1.5), validate_args=True),
    "dirichlet-dim": lambda t, d: d.Dirichlet(t.tensor(1.0)),
    "dirichlet": lambda t, d: d.Dirichlet(t.tensor([1.0, -1.0])),
    "geometric-zero": lambda t, d: d.Geometric(t.tensor([0.5, 0.0])),
    "independent": lambda t, d: d.Independent(d.Normal(t.zeros(2), 1.0), 2),
    "independent-enumerate": lambda t, d: d.Independent(d.Bernoulli(t.ones(2) / 2), 1).enumerate_support(),
    "lkj": lambda t, d: d.LKJCholesky(1),
    "lowrank-loc": lambda t, d: d.LowRankMultivariateNormal(t.tensor(0.0), t.ones(1, 1), t.ones(1)),
    "lowrank-factor": lambda t, d: d.LowRankMultivariateNormal(t.zeros(2), t.ones(2), t.ones(2)),
    "lowrank-factor-shape": lambda t, d: d.LowRankMultivariateNormal(t.zeros(2), t.ones(3, 1), t.ones(2)),
    "lowrank-diag": lambda t, d: d.LowRankMultivariateNormal(t.zeros(2), t.ones(2, 1), t.ones(3)),
    "lowrank-batch": lambda t, d: d.LowRankMultivariateNormal(t.zeros(3, 2), t.ones(4, 2, 1), t.ones(2)),
    "mixture-kind": lambda t, d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(t.zeros(2), 1.0)),
    "mixture-component": lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), 3),
    "mixture-batch": lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(3, 2)), d.Normal(t.zeros(2, 2), 1.0)),
    "mixture-count": lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(3)), d.Normal(t.zeros(2), 1.0)),
    "mixture-value": lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), d.Exponential(t.ones(2))).log_prob(t.tensor(-1.0)),
    "multinomial": lambda t, d: d.Multinomial(t.tensor([1, 2]), t.ones(2)),
    "multinomial-value": lambda t, d: d.Multinomial(2, t.ones(3)).log_prob(t.tensor([1.0, 1.0, 1.0])),
    "mvn-loc": lambda t, d: d.MultivariateNormal(t.tensor(0.0), t.eye(1)),
    "mvn-both": lambda t, d: d.MultivariateNormal(t.zeros(2), t.eye(2), t.eye(2)),
    "mvn-none": lambda t, d: d.MultivariateNormal(t.zeros(2)),
    "mvn-dim": lambda t, d: d.MultivariateNormal(t.zeros(2), t.ones(2)),
    "mvn-tril-dim": lambda t, d: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2)),
    "mvn-asymmetric": lambda t, d: d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 0.5], [0.0, 1.0]])),
    "mvn-indefinite": lambda t, d: d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "mvn-tril": lambda t, d: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2, 2)),
    "negative-binomial": lambda t, d: d.NegativeBinomial(2, t.tensor(1.0)),
    "poisson-rsample": lambda t, d: d.Poisson(1.0).rsample(),
    "poisson": lambda t, d: d.Poisson(-1.0),
    "pareto-value": lambda t, d: d.Pareto(2.0, 1.0).log_prob(t.tensor(1.0)),
    "transformed-kind": lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "transformed-list": lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    "transformed-shape": lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    "uniform": lambda t, d: d.Uniform(1.0, 0.0),
    "uniform-value": lambda t, d: d.Uniform(0.0, 1.0).log_prob(t.tensor(2.0)),
    "wishart-both": lambda t, d: d.Wishart(3.0, t.eye(2), t.eye(2)),
    "wishart-df": lambda t, d: d.Wishart(1.0, t.eye(2)),
    "wishart-dim": lambda t, d: d.Wishart(3.0, t.ones(2)),
    "wishart-value": lambda t, d: d.Wishart(3.0, t.eye(2)).log_prob(-t.eye(2)),
    "no-mode": lambda t, d: d.LogisticNormal(t.zeros(2), 1.0).mode,
    "no-cdf": lambda t, d: d.Beta(1.0, 1.0).cdf(t.tensor(0.5)),
    "validate": lambda t, d: d.Distribution.set_default_validate_args("no"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str):
    found = [outcome(lambda lib=lib: REFUSED[name](lib, lib.distributions)) for lib in (claygrad, torch)]
    assert isinstance(found[1], Exception)
    assert type(found[0]) is type(found[1]), repr(found[0])
    same(*found)
    rest = [str(error).partition("\n")[2] for error in found]
    assert rest[0].startswith(rest[1].replace("torch.", "claygrad."))          # below it are the line and the way out


def test_validation_may_be_off():
    for lib in (claygrad, torch):
        d = lib.distributions
        assert d.Normal(0.0, -1.0, validate_args=False).scale == -1
        assert d.Uniform(0.0, 1.0, validate_args=False).log_prob(lib.tensor(2.0)) == -float("inf")
        d.Distribution.set_default_validate_args(False)
        try:
            assert d.Normal(0.0, -1.0).scale == -1
        finally:
            d.Distribution.set_default_validate_args(True)
        with pytest.raises(ValueError, match=r"^Expected parameter scale"):
            d.Normal(0.0, -1.0)


def test_subclasses_expand_and_warn():
    texts = []
    for lib in (claygrad, torch):
        class Own(lib.distributions.Normal):
            def __init__(self) -> None:
                super().__init__(0.0, 1.0)

        class Same(lib.distributions.Normal):
            pass

        class Bare(lib.distributions.Distribution):
            pass

        assert type(Same(0.0, 1.0).expand((2,))) is Same
        with pytest.raises(NotImplementedError) as caught:
            Own().expand((2,))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            bare = Bare()
            bare._validate_sample(lib.zeros(1))
        with pytest.raises(NotImplementedError):
            bare.expand((2,))
        texts.append([str(caught.value).split("\n")[0], *(str(w.message).partition(">")[2] for w in seen)])
    assert texts[0] == texts[1]
    assert len(texts[0]) == 3


def test_gradients_reach_what_lazy_parameters_came_from():
    found = []
    for lib in (claygrad, torch):
        logits = lib.tensor([0.3, -0.2], requires_grad=True)
        with lib.no_grad():
            d = lib.distributions.Bernoulli(logits=logits)
            d.probs
        d.probs.sum().backward()
        found.append(logits.grad)
    agree(*found)


def test_helpers():
    for lib in (claygrad, torch):
        u = lib.distributions.utils
        vec = lib.arange(1.0, 7.0)
        assert u.vec_to_tril_matrix(vec).tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
        assert u.tril_matrix_to_vec(u.vec_to_tril_matrix(vec, -1), -1).tolist() == vec.tolist()
        with pytest.raises(ValueError, match=r"^The size of last dimension is 5 which cannot be expressed as the lower"):
            u.vec_to_tril_matrix(lib.zeros(5))
        with pytest.raises(ValueError, match=r"^diag \(3\) provided is outside \[-3, 2\]\.(\n|$)"):
            u.tril_matrix_to_vec(lib.zeros(3, 3), 3)
        a, b = u.broadcast_all(1, lib.zeros(2, dtype=lib.float64))
        assert a.shape == b.shape
        assert a.dtype is lib.float64
        probs = lib.tensor([0.0, 0.5, 1.0])
        assert u.clamp_probs(probs).min() > 0
        assert numpy.allclose(u.logits_to_probs(u.probs_to_logits(probs, True), True).numpy(), probs.numpy(), atol=1e-6)
        with pytest.warns(FutureWarning, match=r"^`sample_n\(n\)` will be deprecated"):
            assert lib.distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)


@pytest.mark.parametrize("kind", ["Normal", "Gumbel", "LogNormal", "Kumaraswamy"])
def test_pickles(kind: str):
    d = getattr(claygrad.distributions, kind)(claygrad.tensor([0.5, 1.0]), claygrad.tensor([1.0, 2.0]))
    again = pickle.loads(pickle.dumps(d))
    x = claygrad.tensor([0.3, 0.6])
    assert again.log_prob(x).tolist() == d.log_prob(x).tolist()
