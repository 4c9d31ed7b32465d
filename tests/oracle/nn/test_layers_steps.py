"""Every layer and loss trained beside PyTorch's: fifty steps of an optimizer over its parameters and its inputs, from the
same seed, end at the same numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import claygrad
from tests.nn.layer_cases import CASES, Case
from tests.nn.layer_cases.specs import Data, arguments, build, leaves, tensors_in

STEPS = 50


def train(lib: Any, case: Case) -> tuple[list[float], dict[str, Any], list[Any]]:
    """The loss at every step; parameters, buffers and inputs at the end."""
    module = build(lib, case)
    if case.layer.startswith("Lazy"):
        fitting, _ = arguments(lib, case)
        module(*(t.float() if t.dtype.is_floating_point else t for t in fitting))
    module.double().train()
    args, call = arguments(lib, case)
    inputs = leaves(args, call)
    lib.manual_seed(3)
    optimizer = lib.optim.AdamW([*(p for p in module.parameters() if p.requires_grad), *inputs], lr=1e-3, eps=1e-6)
    losses = []
    for _ in range(STEPS):
        outs = [out for out in tensors_in(module(*args, **call)) if out.requires_grad]
        rng = np.random.default_rng(5)
        loss = sum((out * lib.tensor(rng.standard_normal(tuple(out.shape)), dtype=out.dtype)).sum() for out in outs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, dict(module.state_dict()), inputs


def cases() -> Iterator[Any]:
    """One of each layer always, all of them in the slow run. Calls that write over their input have nothing to learn."""
    seen: set[str] = set()
    for case in CASES:
        if case.gradient and (any(isinstance(one, Data) and one.grad for one in tensors_of(case))
                              or next(build(claygrad, case).parameters(), None) is not None):
            yield pytest.param(case, marks=pytest.mark.slow if case.layer in seen else ())
            seen.add(case.layer)


def tensors_of(case: Case) -> list[Any]:
    given = [*case.inputs, *case.call.values()]
    return [one for some in given for one in (some if isinstance(some, tuple | list) else [some])]


def test_every_layer_is_trained():
    public = set(torch.nn.modules.__all__) - {case.values[0].layer for case in cases()}
    assert public == {"Container", "CrossMapLRN2d", "LinearCrossEntropyOptions", "Module", "ModuleDict", "ModuleList", "ParameterDict",
                      "ParameterList", "RNNBase", "RNNCellBase", "Sequential"}


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_fifty_steps(case: Case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (losses, state, inputs), (our_losses, our_state, our_inputs) = (train(lib, case) for lib in (torch, claygrad))
    loose = (1e-4, 1e-5) if case.layer.startswith("Lazy") else (1e-6, 1e-7)     # a first pass in single, to learn the shapes
    np.testing.assert_allclose(our_losses, losses, *loose)
    for name, want in state.items():
        np.testing.assert_allclose(our_state[name].numpy(), want.numpy(), *loose, err_msg=name)
    for got, want in zip(our_inputs, inputs, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), *loose)
