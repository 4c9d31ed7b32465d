"""Every distribution fitted beside torch's: fifty steps of an optimizer on the likelihood of what it drew, and on what it
drew where gradients go through the draw, end at the same parameters."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy
import pytest

import claygrad
from tests.distributions.cases import CASES

torch = pytest.importorskip("torch")

STEPS = 50
# What torch refuses to train, so that there is nothing to compare with.
REFUSED = {
    "some of its numbers stay single": ("GeneralizedPareto", "GeneralizedPareto-tails"),
    "it writes over what its gradient needs": ("Wishart-cov", "Wishart-tril", "Wishart-precision"),
    "a step leaves the parameters' domain": ("Binomial-counts", "Categorical-one", "MultivariateNormal-tril", "Poisson"),
}
LEFT_OUT = {name for names in REFUSED.values() for name in names}


def fit(lib: ModuleType, name: str) -> tuple[list[float], dict[str, Any]]:
    """The loss at every step, and the parameters at the end."""
    case = CASES[name]
    _, params = case.make(lib, "float64", grad=True)
    optimizer = lib.optim.Adam(params.values(), lr=1e-4)
    lib.manual_seed(1)
    losses = []
    for _ in range(STEPS):
        distribution = case.build(lib, params)
        loss = -distribution.log_prob(distribution.sample((4,))).mean()
        if distribution.has_rsample:
            loss = loss + distribution.rsample((4,)).cos().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, params


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.params and name not in LEFT_OUT])
def test_fifty_steps(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (losses, params), (our_losses, our_params) = (fit(lib, name) for lib in (torch, claygrad))
    numpy.testing.assert_allclose(our_losses, losses, 1e-6, 1e-8)
    for key, want in params.items():
        numpy.testing.assert_allclose(our_params[key].detach().numpy(), want.detach().numpy(), 1e-6, 1e-8, err_msg=key)
        assert (our_params[key].grad is None) == (want.grad is None)


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_torch_still_refuses_them(name: str):
    with warnings.catch_warnings(), pytest.raises((RuntimeError, ValueError)):
        warnings.simplefilter("ignore")
        fit(torch, name)
