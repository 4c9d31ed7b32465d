"""Gamma, Dirichlet, Poisson and binomial draws: bit for bit torch's, with its gradients and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import claygrad
from tests.oracle.distributions.test_distributions_torch import here, outcome, same

torch = pytest.importorskip("torch")


def shapes(dtype: str) -> Any:
    """Shapes and rates of all sizes."""
    kind = getattr(torch, dtype)
    torch.manual_seed(1)
    return torch.cat([torch.rand(300, dtype=kind) * 2, torch.rand(300, dtype=kind) * 50, torch.rand(100, dtype=kind) * 0.01,
                      torch.zeros(2, dtype=kind), torch.logspace(-3, 4, 98, dtype=kind)])


def stream(program: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What the program draws in both libraries, which leaves both engines in one state."""
    found = []
    for lib in (claygrad, torch):
        lib.manual_seed(7)
        found.append(program(lib))
    assert numpy.array_equal(claygrad.get_rng_state().numpy(), torch.get_rng_state().numpy())
    return found[0], found[1]


def to(lib: Any, x: Any) -> Any:
    return x if lib is torch else here(x)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gamma_draws(dtype: str):
    a = shapes(dtype)
    ours, theirs = stream(lambda lib: lib._standard_gamma(to(lib, a)))
    assert numpy.array_equal(ours.numpy(), theirs.numpy())
    wide, wide_theirs = stream(lambda lib: lib._standard_gamma(to(lib, a[:6]).reshape(2, 3).t().expand(4, 3, 2)))
    assert numpy.array_equal(wide.numpy(), wide_theirs.numpy())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_poisson_draws(dtype: str):
    rate = torch.cat([torch.linspace(0, 30, 200), torch.tensor([0.0, 1e-4, 9.9999, 10.0, 1000.0])]).to(getattr(torch, dtype))
    ours, theirs = stream(lambda lib: lib.poisson(rate if lib is torch else claygrad.tensor(rate.float().numpy()).to(getattr(claygrad, dtype))))
    assert str(ours.dtype) == f"claygrad.{dtype}"
    assert numpy.array_equal(ours.float().numpy(), theirs.float().numpy())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_binomial_draws(dtype: str):
    count = (shapes(dtype) * 3).floor()
    torch.manual_seed(2)
    chance = torch.rand(count.shape, dtype=count.dtype)
    chance[:4] = torch.tensor([0.0, 1.0, 0.5, float("nan")])
    ours, theirs = stream(lambda lib: lib.binomial(to(lib, count), to(lib, chance)))
    assert numpy.array_equal(ours.numpy(), theirs.numpy(), equal_nan=True)
    ours, theirs = stream(lambda lib: lib.binomial(to(lib, count[:6]).reshape(2, 3), to(lib, chance[4:7])))
    assert numpy.array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_dirichlet_draws(dtype: str):
    a = shapes(dtype).reshape(80, 10) + 1e-3
    ours, theirs = stream(lambda lib: lib._sample_dirichlet(to(lib, a)))
    numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-15 if dtype == "float64" else 0)
    assert ((ours > 0) & (ours < 1)).all()


def test_generators_of_their_own():
    for name, rate in (("_standard_gamma", 2.0), ("poisson", 20.0), ("_sample_dirichlet", 0.4)):
        found = [getattr(lib, name)(lib.full((50,), rate), generator=lib.Generator().manual_seed(3)) for lib in (claygrad, torch)]
        numpy.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=1e-6)
    found = [lib.binomial(lib.full((50,), 30.0), lib.full((50,), 0.4), generator=lib.Generator().manual_seed(3)) for lib in (claygrad, torch)]
    assert found[0].tolist() == found[1].tolist()


def test_gradients_of_gamma_draws():
    a = shapes("float64").clamp(min=1e-3).repeat(4)
    x = a * torch.cat([torch.full((800,), r, dtype=a.dtype) for r in (0.3, 0.95, 1.05, 2.5)])
    numpy.testing.assert_allclose(claygrad._standard_gamma_grad(here(a), here(x)).numpy(),
                                  torch._standard_gamma_grad(a, x).numpy(), rtol=1e-11)
    numpy.testing.assert_allclose(claygrad._standard_gamma_grad(here(a.float()), here(x.float())).numpy(),
                                  torch._standard_gamma_grad(a.float(), x.float()).numpy(), rtol=1e-6)


def test_gradients_of_dirichlet_draws():
    torch.manual_seed(4)
    x = torch.rand(5000, dtype=torch.float64)
    a = torch.rand(5000, dtype=torch.float64) * 20
    total = a + torch.rand(5000, dtype=torch.float64) * 20
    x[:500] = (a / total)[:500]                                           # at the mean, where the saddle point is singular
    theirs = torch._dirichlet_grad(x, a, total).numpy()
    numpy.testing.assert_allclose(claygrad._dirichlet_grad(here(x), here(a), here(total)).numpy(), theirs, rtol=1e-8)
    # In float32 claygrad sums in double: it comes nearer to the truth than torch.
    single = [v.float() for v in (x, a, total)]
    truth = torch._dirichlet_grad(*(v.double() for v in single)).numpy()
    numpy.testing.assert_allclose(claygrad._dirichlet_grad(*map(here, single)).numpy(), truth, rtol=3e-7)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "poisson-negative": lambda t: t.poisson(t.tensor([1.0, -1.0])),
    "poisson-nan": lambda t: t.poisson(t.tensor(float("nan"))),
    "poisson-ints": lambda t: t.poisson(t.ones(2, dtype=t.int64)),
    "gamma-half": lambda t: t._standard_gamma(t.ones(2, dtype=t.float16)),
    "gamma-ints": lambda t: t._standard_gamma(t.ones(2, dtype=t.int64)),
    "dirichlet-half": lambda t: t._sample_dirichlet(t.ones(2, dtype=t.bfloat16)),
    "gamma-grad-half": lambda t: t._standard_gamma_grad(t.ones(2, dtype=t.float16), t.ones(2, dtype=t.float16)),
    "dirichlet-grad-half": lambda t: t._dirichlet_grad(*[t.ones(2, dtype=t.float16)] * 3),
    "binomial-half": lambda t: t.binomial(t.ones(2, dtype=t.float16), t.ones(2, dtype=t.float16)),
    "binomial-ints": lambda t: t.binomial(t.ones(2, dtype=t.int64), t.ones(2)),
    "binomial-prob-ints": lambda t: t.binomial(t.ones(2), t.ones(2, dtype=t.int64)),
    "binomial-dtypes": lambda t: t.binomial(t.ones(2), t.ones(2, dtype=t.float64)),
    "binomial-backward": lambda t: t.binomial(t.ones(2, requires_grad=True), t.ones(2)).sum().backward(),
    "dirichlet-backward": lambda t: t._sample_dirichlet(t.ones(2, requires_grad=True)).sum().backward(),
    "poisson-type": lambda t: t.poisson(1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str):
    found = [outcome(lambda lib=lib: REFUSED[name](lib)) for lib in (claygrad, torch)]
    assert isinstance(found[1], Exception)
    same(*found)


def test_nodes():
    for name in ("_standard_gamma", "poisson", "_sample_dirichlet"):
        nodes = [getattr(lib, name)(lib.ones(2, requires_grad=True)).grad_fn.name().split("::")[-1] for lib in (claygrad, torch)]
        assert nodes[0] == nodes[1]
    for lib in (claygrad, torch):
        x = lib.ones(2, requires_grad=True)
        lib.poisson(x).sum().backward()
        assert x.grad.tolist() == [0, 0]
        assert lib._standard_gamma(lib.ones(2, device="meta")).shape == (2,)
