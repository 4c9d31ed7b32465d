"""Samples of every distribution lie in its support and have its moments, entropy and distribution function."""

from __future__ import annotations

import warnings

import pytest

import claygrad
from tests.distributions.cases import CASES

COUNT = 4000


def drawn(name: str) -> tuple[claygrad.distributions.Distribution, claygrad.Tensor]:
    distribution, _ = CASES[name].make(claygrad)
    claygrad.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return distribution, distribution.sample((COUNT,))


def asked(work):
    try:
        return work()
    except NotImplementedError:
        return None


@pytest.mark.parametrize("name", CASES)
def test_samples_lie_in_the_support(name: str):
    distribution, samples = drawn(name)
    inside = distribution.support.check(samples)
    assert tuple(inside.shape) == (COUNT, *distribution.batch_shape)
    assert inside.all()
    assert not samples.requires_grad


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_moments(name: str):
    distribution, samples = drawn(name)
    mean, variance = asked(lambda: distribution.mean), asked(lambda: distribution.variance)
    if mean is None or variance is None or "VonMises" in name:
        return                                    # that one's are of directions
    good = mean.isfinite() & variance.isfinite() & (variance < 50 * mean.abs() + 50)
    heavy = name in ("InverseGamma", "Pareto", "StudentT", "StudentT-defaults", "FisherSnedecor", "GeneralizedPareto", "GeneralizedPareto-tails")
    error = (samples.double().mean(0) - mean).abs() / (variance / COUNT).sqrt().clamp(min=1e-12)
    assert (error[good] < 5).all() or heavy
    if not heavy:
        ratio = samples.double().var(0) / variance
        kept = good & (variance > 1e-6)
        assert ((ratio[kept] - 1).abs() < 0.35).all()


@pytest.mark.parametrize("name", CASES)
def test_entropy_is_the_mean_of_minus_the_log_probability(name: str):
    distribution, samples = drawn(name)
    entropy = asked(distribution.entropy)
    if entropy is None:
        return
    surprise = -distribution.log_prob(samples).double()
    error = (surprise.mean(0) - entropy.double()).abs()
    assert (error < 5 * surprise.std(0) / COUNT**0.5 + 1e-5).all()


@pytest.mark.parametrize("name", CASES)
def test_distribution_functions_count_samples(name: str):
    distribution, samples = drawn(name)
    middle = samples.sort(0)[0][COUNT // 3]
    share = asked(lambda: distribution.cdf(middle))
    if share is not None:
        assert (((samples <= middle).double().mean(0) - share).abs() < 0.05).all()
        back = asked(lambda: distribution.icdf(share))
        if back is not None:
            assert claygrad.allclose(back, middle, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.make(claygrad)[0].has_enumerate_support])
def test_probabilities_of_all_outcomes_add_up(name: str):
    distribution, _ = CASES[name].make(claygrad)
    values = asked(distribution.enumerate_support)
    if values is not None:
        assert claygrad.allclose(distribution.log_prob(values).exp().sum(0).double(), claygrad.ones(1).double(), rtol=1e-5)


def test_densities_integrate_to_one():
    d = claygrad.distributions
    x = claygrad.linspace(-60, 60, 240001, dtype=claygrad.float64)
    for one in (d.Normal(0.3, 2.0), d.Laplace(1.0, 0.7), d.Gumbel(0.0, 1.5), d.StudentT(6.0, 1.0, 0.5), d.VonMises(0.0, 2.0)):
        inside = x if not isinstance(one, d.VonMises) else claygrad.linspace(-3.141592653589793, 3.141592653589793, 200001, dtype=x.dtype)
        area = claygrad.trapezoid(one.log_prob(inside).exp(), inside)
        assert abs(area.item() - 1) < 1e-4


@pytest.mark.parametrize("concentration", [1e20, 1e30, float("inf")])
def test_draws_of_a_huge_concentration_end(concentration):
    distribution = claygrad.distributions.VonMises(claygrad.tensor(1.0), concentration, validate_args=False)
    draws = distribution.sample((5,))
    assert claygrad.allclose(draws, claygrad.ones(5)) or (concentration == float("inf") and draws.isnan().all())
