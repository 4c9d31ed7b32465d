"""Divergences: every pair of distributions, values and gradients, errors and the search by types."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import claygrad
from tests.distributions.cases import CASES
from tests.oracle.distributions.test_distributions_torch import agree, both, outcome, same, same_grads

torch = pytest.importorskip("torch")

# One of each class stands on the right; all stand on the left.
FIRST = {name.partition("-")[0]: name for name in reversed(CASES)}
PAIRS = sorted({(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY})
SAMPLES: dict[str, dict[str, Any]] = {
    "Bernoulli": {"probs": [[0.0, 0.3, 1.0], [0.7, 0.2, 0.4]]},
    "Beta": {"concentration1": [0.5, 2.0, 4.0], "concentration0": [1.5, 3.0, 0.7]},
    "Binomial": {"total_count": [5.0, 5.0, 5.0], "probs": [0.3, 0.6, 0.9]},
    "Categorical": {"probs": [[0.2, 0.8, 0.0], [0.5, 0.0, 0.5]]},
    "Cauchy": {"loc": [0.0, 1.0, 3.0], "scale": [1.0, 2.0, 0.3]},
    "ContinuousBernoulli": {"probs": [0.2, 0.5, 0.9]},
    "Dirichlet": {"concentration": [[0.5, 1.0, 3.0], [2.0, 8.0, 0.9]]},
    "Exponential": {"rate": [0.4, 1.0, 3.0]},
    "Gamma": {"concentration": [0.6, 1.0, 4.0], "rate": [1.0, 2.0, 0.3]},
    "Geometric": {"probs": [0.3, 0.6, 0.9]},
    "Gumbel": {"loc": [0.0, 1.0, -1.0], "scale": [1.0, 2.0, 0.5]},
    "HalfNormal": {"scale": [0.5, 1.0, 2.0]},
    "Laplace": {"loc": [0.0, 1.0, -1.0], "scale": [1.0, 2.0, 0.5]},
    "LowRankMultivariateNormal": {"loc": [0.0, 1.0], "cov_factor": [[1.0], [0.4]], "cov_diag": [0.5, 1.5]},
    "MultivariateNormal": {"loc": [[0.5, 1.0], [0.0, 2.0]], "covariance_matrix": [[2.0, 0.4], [0.4, 1.0]]},
    "Normal": {"loc": [0.0, 1.0, -1.0], "scale": [1.0, 2.0, 0.5]},
    "OneHotCategorical": {"probs": [[0.2, 0.8, 0.0], [0.5, 0.0, 0.5]]},
    "Pareto": {"scale": [0.5, 1.0, 2.0], "alpha": [0.8, 1.7, 3.0]},
    "Poisson": {"rate": [0.5, 2.0, 10.0]},
    "Uniform": {"low": [0.1, 0.2, -0.5], "high": [0.9, 1.5, 3.0]},
}
SECOND: dict[str, dict[str, Any]] = {
    "Bernoulli": {"probs": [[0.2, 0.0, 0.5], [0.4, 1.0, 0.1]]},
    "Categorical": {"probs": [[0.5, 0.5, 0.0], [0.3, 0.3, 0.4]]},
    "OneHotCategorical": {"probs": [[0.5, 0.5, 0.0], [0.3, 0.3, 0.4]]},
    "Binomial": {"total_count": [5.0, 5.0, 3.0], "probs": [0.5, 0.2, 0.9]},
    "Uniform": {"low": [0.0, 0.5, -1.0], "high": [1.0, 2.0, 4.0]},
    "Normal": {"loc": [0.3, -1.0, 2.0], "scale": [2.0, 0.7, 1.5]},
    "Pareto": {"scale": [0.05, 1.5, 1.0], "alpha": [1.0, 2.0, 4.0]},
    "Gamma": {"concentration": [1.6, 0.4, 2.0], "rate": [0.5, 1.0, 1.3]},
    "Beta": {"concentration1": [1.5, 0.7, 3.0], "concentration0": [0.5, 2.0, 1.7]},
    "MultivariateNormal": {"loc": [0.0, 1.0], "scale_tril": [[[1.0, 0.0], [0.3, 0.8]], [[0.5, 0.0], [-0.2, 1.5]]]},
    "LowRankMultivariateNormal": {"loc": [[0.0, 1.0], [2.0, 0.0]], "cov_factor": [[0.3], [0.9]], "cov_diag": [1.0, 0.6]},
}


def made(kind: str, values: dict[str, Any], lib: Any) -> tuple[Any, dict[str, Any]]:
    params = {name: lib.tensor(value, dtype=lib.float64, requires_grad=True) for name, value in values.items()}
    return getattr(lib.distributions, kind)(**params), params


def test_the_pairs_are_torchs():
    assert sorted({(p.__name__, q.__name__) for p, q in claygrad.distributions.kl._KL_REGISTRY}) == PAIRS


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair[0] in SAMPLES], ids="-".join)
def test_values_and_gradients(pair: tuple[str, str]):
    one, other = pair
    found = []
    for lib in (claygrad, torch):
        p, p_params = made(one, SAMPLES[one], lib)
        q, q_params = made(other, SECOND.get(other, SAMPLES[other]), lib)
        found.append((lib.distributions.kl_divergence(p, q), p_params, q_params))
    (ours, *mine), (theirs, *its) = found
    agree(ours, theirs)
    if theirs.requires_grad and theirs.isfinite().any():
        # Infinite divergences have no gradients worth a comparison.
        keep = theirs.isfinite()
        theirs[keep].sum().backward()
        ours[claygrad.tensor(keep.numpy())].sum().backward()
        for a, b in zip(mine, its, strict=True):
            b = {name: param for name, param in b.items() if param.grad is None or param.grad.isfinite().all()}
            same_grads({name: a[name] for name in b}, b, "float64")


@pytest.mark.parametrize("one", CASES)
def test_all_against_all(one: str):
    p, _, p_torch, _ = both(one)
    for other in FIRST.values():
        q, _, q_torch, _ = both(other)
        found = outcome(lambda p=p_torch, q=q_torch: torch.distributions.kl_divergence(p, q))
        ours = outcome(lambda p=p, q=q: claygrad.distributions.kl_divergence(p, q))
        if isinstance(found, (RuntimeError, IndexError)) and not isinstance(found, NotImplementedError):
            continue                              # shapes that do not broadcast: words of other operations
        same(ours, found, "float32" if "number" in one else "float64")


def test_registered_functions_and_ambiguity():
    texts = []
    for lib in (claygrad, torch):
        d = lib.distributions

        class Left(d.Normal):
            pass

        class Right(d.Normal):
            pass

        d.register_kl(Left, d.Normal)(lambda p, q: "left")
        d.register_kl(d.Normal, Right)(lambda p, q: "right")
        assert d.kl_divergence(Left(0.0, 1.0), d.Normal(0.0, 1.0)) == "left"
        assert d.kl_divergence(d.Normal(0.0, 1.0), Right(0.0, 1.0)) == "right"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert d.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == "left"
        texts.append([(w.category, str(w.message)) for w in caught])
        for pair in ((Left, d.Normal), (d.Normal, Right)):
            del d.kl._KL_REGISTRY[pair]
        d.kl._KL_MEMOIZE.clear()
    assert texts[0] == texts[1] != []


def test_families_without_a_formula_use_their_normalizer():
    found = []
    for lib in (claygrad, torch):
        d = lib.distributions
        p = d.Wishart(lib.tensor([5.0, 6.0], dtype=lib.float64), scale_tril=lib.eye(2, dtype=lib.float64))
        q = d.Wishart(lib.tensor([4.0, 7.0], dtype=lib.float64), scale_tril=2 * lib.eye(2, dtype=lib.float64))
        found.append(outcome(lambda d=d, p=p, q=q: d.kl_divergence(p, q)))
    same(*found)
    family = [lib.distributions.kl._KL_REGISTRY[lib.distributions.ExponentialFamily, lib.distributions.ExponentialFamily]
              for lib in (claygrad, torch)]
    for kind in ("Normal", "Gamma", "Exponential", "Poisson", "Beta", "Dirichlet"):
        pairs = [(made(kind, SAMPLES[kind], lib)[0], made(kind, SECOND.get(kind, SAMPLES[kind]), lib)[0])
                 for lib in (claygrad, torch)]
        ours, theirs = (outcome(lambda f=f, pair=pair: f(*pair)) for f, pair in zip(family, pairs, strict=True))
        same(ours, theirs)
        exact = claygrad.distributions.kl_divergence(*pairs[0])
        numpy.testing.assert_allclose(ours.detach().numpy(), exact.detach().numpy(), rtol=1e-8, atol=1e-8)


def test_infinite_and_refused():
    for lib in (claygrad, torch):
        d = lib.distributions
        with pytest.raises(NotImplementedError, match=r"^No KL\(p \|\| q\) is implemented for p type VonMises and q type Normal(\n|$)"):
            d.kl_divergence(d.VonMises(0.0, 1.0), d.Normal(0.0, 1.0))
        with pytest.raises(NotImplementedError, match=r"^KL between Binomials where q.total_count > p.total_count"):
            d.kl_divergence(d.Binomial(2, lib.tensor(0.5)), d.Binomial(3, lib.tensor(0.5)))
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Independent(d.Normal(lib.zeros(2), 1.0), 1), d.Independent(d.Normal(lib.zeros(2), 1.0), 0))
        with pytest.raises(ValueError, match="different event shapes cannot be computed"):
            d.kl_divergence(d.MultivariateNormal(lib.zeros(2), lib.eye(2)), d.MultivariateNormal(lib.zeros(3), lib.eye(3)))
