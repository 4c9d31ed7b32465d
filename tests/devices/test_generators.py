"""Every function that takes a generator refuses one of another device, in PyTorch's words."""

from __future__ import annotations

import inspect

import pytest

import claygrad as torch
from claygrad.nn import init


def _rates(device):
    return torch.full((3, 4), 0.3, device=device)


CALLS = {
    "rand": lambda device, **how: torch.rand(3, device=device, **how),
    "randn": lambda device, **how: torch.randn(3, device=device, **how),
    "randint": lambda device, **how: torch.randint(3, (3,), device=device, **how),
    "randperm": lambda device, **how: torch.randperm(3, device=device, **how),
    "normal": lambda device, **how: torch.normal(0.0, 1.0, (3,), device=device, **how),
    "normal of means": lambda device, **how: torch.normal(_rates(device), 1.0, **how),
    "normal of both": lambda device, **how: torch.normal(_rates(device), _rates(device), **how),
    "normal of deviations": lambda device, **how: torch.normal(0.0, _rates(device), **how),
    "rand_like": lambda device, **how: torch.rand_like(_rates(device), **how),
    "randn_like": lambda device, **how: torch.randn_like(_rates(device), **how),
    "randint_like": lambda device, **how: torch.randint_like(_rates(device), 3, **how),
    "multinomial with replacement": lambda device, **how: torch.multinomial(_rates(device), 2, True, **how),
    "binomial": lambda device, **how: torch.binomial(torch.full((3, 4), 5.0, device=device), _rates(device), **how),
}
ARGUMENTS = {"multinomial": (2,), "geometric_": (0.3,), "sparse_": (0.3,), "sparse": (0.3,)}


def takes_a_generator(function) -> bool:
    try:
        named = inspect.signature(function).parameters
    except (TypeError, ValueError):
        named = {}
    return "generator" in named or "generator=None" in (getattr(function, "__doc__", None) or "")


def every():
    """All functions of the package, methods and initialisations with a generator: by their names, as calls."""
    calls = dict(CALLS)
    for home, names in ((torch, dir(torch)), (torch.Tensor, dir(torch.Tensor)), (init, dir(init))):
        for name in names:
            function = getattr(home, name, None)
            private = name.startswith("_") and home is not torch
            if name in CALLS or private or not callable(function) or not takes_a_generator(function):
                continue
            where = "init." if home is init else "Tensor." if home is torch.Tensor else ""
            calls[where + name] = lambda device, function=function, name=name, **how: function(
                _rates(device), *ARGUMENTS.get(name, ()), **how)
    return calls


def test_they_are_found():
    assert {"poisson", "_standard_gamma", "_sample_dirichlet", "bernoulli", "rand_like", "multinomial", "Tensor.normal_",
            "Tensor.random_", "Tensor.bernoulli_", "Tensor.multinomial", "init.xavier_uniform_", "init.sparse_"} <= set(every())
    assert len(every()) > 35


@pytest.mark.parametrize("name", sorted(every()))
def test_a_generator_of_another_device_is_refused(name, there):
    draw = every()[name]
    mine, other = torch.Generator(device=there), torch.Generator()
    assert draw(there, generator=mine).device.type == there
    assert draw("meta", generator=other).is_meta
    with pytest.raises(RuntimeError, match=f"Expected a 'cpu' device type for generator but found '{there}'"):
        draw("cpu", generator=mine)
    with pytest.raises(RuntimeError, match=f"Expected a '{there}' device type for generator but found 'cpu'"):
        draw(there, generator=other)
