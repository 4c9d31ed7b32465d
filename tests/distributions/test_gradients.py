"""Gradients through samples and of densities against finite differences; where distributions are used in training."""

from __future__ import annotations

import pytest

import claygrad as torch
from claygrad import distributions as D
from tests.distributions.cases import CASES

REPARAMETERISED = [name for name, case in CASES.items()
                   if case.params and case.make(torch)[0].has_rsample and "StraightThrough" not in name
                   and name != "GeneralizedPareto"]          # at concentration 0 formulas change, and its slope is cut off
SMOOTH = [name for name in REPARAMETERISED if not name.startswith(("Wishart", "MultivariateNormal", "LowRank", "LKJ"))]
# Draws by rejection: the sample's gradient is that at a fixed quantile, no derivative of the program.
REJECTED = ("Gamma", "Chi2", "Beta", "Dirichlet", "StudentT", "FisherSnedecor", "InverseGamma", "Wishart", "Mixture", "LKJ")


@pytest.mark.parametrize("name", [name for name in REPARAMETERISED if not name.startswith(REJECTED)])
def test_samples_are_smooth_functions_of_parameters(name: str):
    case = CASES[name]
    _, params = case.make(torch, grad=True)

    def program(*values: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(2)
        if "cov" in name or "precision" in name:             # as matrices are moved, symmetry stays
            values = tuple((v + v.mT) / 2 if v.dim() > 1 and v.shape[-1] == v.shape[-2] else v for v in values)
        if "tril" in name:
            values = tuple(v.tril() if v.dim() > 2 else v for v in values)
        return case.build(torch, dict(zip(params, values, strict=True))).rsample((2,))

    assert torch.autograd.gradcheck(program, tuple(params.values()), eps=1e-6, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", SMOOTH)
def test_log_probabilities_have_gradients(name: str):
    case = CASES[name]
    distribution, params = case.make(torch, grad=True)
    torch.manual_seed(1)
    value = distribution.sample((2,))
    D.Distribution.set_default_validate_args(False)          # differences leave simplices and intervals
    try:
        assert torch.autograd.gradcheck(
            lambda *values: case.build(torch, dict(zip(params, values, strict=True))).log_prob(value),
            tuple(params.values()), eps=1e-6, atol=1e-4, rtol=1e-3)
    finally:
        D.Distribution.set_default_validate_args(True)


@pytest.mark.parametrize("shape", [0.3, 0.9, 2.5, 7.0, 9.0, 40.0, 300.0])
def test_gamma_draws_move_along_their_quantiles(shape: float):
    torch.manual_seed(0)
    a = torch.full((300,), shape, dtype=torch.float64)
    x = torch._standard_gamma(a)
    h = 1e-5 * shape
    density = D.Gamma(a, torch.ones_like(a)).log_prob(x).exp()
    slope = (torch.special.gammainc(a + h, x) - torch.special.gammainc(a - h, x)) / (2 * h)
    exact, found = -slope / density, torch._standard_gamma_grad(a, x)
    body = (torch.special.gammainc(a, x) - 0.5).abs() < 0.49
    assert ((found - exact).abs() / exact.abs() < 2e-3)[body].all()


def test_means_of_samples_have_the_means_gradients():
    torch.manual_seed(0)
    a = torch.tensor([0.7, 3.0, 12.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([1.5, 2.0, 9.0], dtype=torch.float64, requires_grad=True)
    beta = D.Beta(a, b)
    (by_samples,) = torch.autograd.grad(beta.rsample((20000,)).mean(0).sum(), a)
    (exact,) = torch.autograd.grad(beta.mean.sum(), a)
    assert torch.allclose(by_samples, exact, rtol=0.05)
    gamma = D.Gamma(a, b)
    by_samples = torch.autograd.grad(gamma.rsample((20000,)).mean(0).sum(), (a, b))
    exact = torch.autograd.grad(gamma.mean.sum(), (a, b))
    for found, wanted in zip(by_samples, exact, strict=True):
        assert torch.allclose(found, wanted, rtol=0.05)


def test_straight_through_samples_pass_gradients_to_probabilities():
    logits = torch.tensor([0.2, -0.3, 0.7], requires_grad=True)
    d = D.OneHotCategoricalStraightThrough(logits=logits)
    weight = torch.tensor([1.0, 2.0, 3.0])
    (d.rsample() * weight).sum().backward()
    (wanted,) = torch.autograd.grad((logits.softmax(-1) * weight).sum(), logits)
    assert torch.allclose(logits.grad, wanted)


def test_policy_gradients_find_the_better_arm():
    torch.manual_seed(0)
    logits = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.1)
    reward = torch.tensor([0.0, 1.0, 0.2])
    for _ in range(100):
        policy = D.Categorical(logits=logits)
        action = policy.sample((32,))
        loss = -(policy.log_prob(action) * (reward[action] - reward[action].mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert D.Categorical(logits=logits).probs[1] > 0.9


def test_a_variational_posterior_meets_the_exact_one():
    torch.manual_seed(0)
    data = torch.tensor([1.2, 0.8, 1.9, 1.4])
    loc, log_scale = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)
    optimizer = torch.optim.Adam([loc, log_scale], lr=0.05)
    prior = D.Normal(0.0, 1.0)
    for _ in range(300):
        q = D.Normal(loc, log_scale.exp())
        mean = q.rsample((16,))
        likelihood = D.Normal(mean.unsqueeze(-1), 1.0).log_prob(data).sum(-1).mean()
        loss = D.kl_divergence(q, prior) - likelihood
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert abs(loc.item() - data.sum().item() / 5) < 0.1
    assert abs(log_scale.exp().item() - 5**-0.5) < 0.1


def test_divergences_are_positive_and_zero_between_equals():
    for name in ("Normal", "Gamma", "Beta", "Laplace", "Dirichlet", "MultivariateNormal-cov", "LowRank", "Cauchy", "Gumbel"):
        p, _ = CASES[name].make(torch)
        q, _ = CASES[name].make(torch)
        assert torch.allclose(D.kl_divergence(p, q), torch.zeros(1, dtype=torch.float64), atol=1e-10)
    assert D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)) > 0
