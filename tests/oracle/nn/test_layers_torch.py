"""Every layer beside PyTorch's: the same seed gives the same parameters, outputs, gradients and text."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import claygrad
from tests.nn.layer_cases import CASES, Case
from tests.nn.layer_cases.specs import arguments, build, leaves, tensors_in

LIBRARIES = (torch, claygrad)
CONTAINERS = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def same(got: Any, want: Any, what: str, rtol: float = 1e-7, atol: float = 1e-9) -> None:
    """Shape, dtype and, within rounding, numbers."""
    assert (got is None) == (want is None), f"{what}: {got} and not {want}"
    if want is None:
        return
    assert tuple(got.shape) == tuple(want.shape), what
    assert str(got.dtype).split(".")[1] == str(want.dtype).split(".")[1], what
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol, atol, err_msg=what)


def run(lib: Any, case: Case, train: bool) -> dict[str, Any]:
    """A call and its gradients, in double precision."""
    module = build(lib, case)
    if case.layer.startswith("Lazy"):
        fitting, _ = arguments(lib, case)
        module(*(t.float() if t.dtype.is_floating_point else t for t in fitting))
    module.double().train(train)
    args, call = arguments(lib, case)
    lib.manual_seed(3)
    result = module(*args, **call)
    outs = tensors_in(result)
    live = [out for out in outs if out.requires_grad]
    rng = np.random.default_rng(5)
    if live:
        lib.autograd.backward(live, [lib.tensor(rng.standard_normal(tuple(out.shape)), dtype=out.dtype) for out in live])
    return {"kind": type(module).__name__, "live": [out.requires_grad for out in outs], "outs": outs,
            "inputs": [leaf.grad for leaf in leaves(args, call)], "args": tensors_in([args, call]),
            "parameters": {name: p.grad for name, p in module.named_parameters()},
            "state": dict(module.state_dict()), "text": repr(module)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_seed_gives_the_same_layer(case: Case):
    theirs, ours = (build(lib, case) for lib in LIBRARIES)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    if case.layer.startswith("Lazy"):
        return
    for (name, want), (_, got) in zip(theirs.state_dict().items(), ours.state_dict().items()):
        assert want.dtype == getattr(torch, str(got.dtype).split(".")[1]), name
        np.testing.assert_array_equal(got.numpy(), want.numpy(), name)
    for (name, want), (ours_name, got) in zip(theirs.named_parameters(), ours.named_parameters(), strict=True):
        assert (name, want.requires_grad) == (ours_name, got.requires_grad)


@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_input_gives_the_same_output_and_gradients(case: Case, train: bool):
    theirs, ours = (run(lib, case, train) for lib in LIBRARIES)
    loose = (1e-5, 1e-7) if case.layer.startswith("Lazy") else (1e-7, 1e-9)      # a first pass in single, to learn the shapes
    assert (ours["kind"], ours["text"], ours["live"]) == (theirs["kind"], theirs["text"], theirs["live"])
    for k, (got, want) in enumerate(zip(ours["outs"], theirs["outs"], strict=True)):
        same(got, want, f"output {k}", *loose)
    for k, (got, want) in enumerate(zip(ours["args"], theirs["args"], strict=True)):
        same(got, want, f"argument {k} afterwards", *loose)
    for name, want in theirs["state"].items():
        same(ours["state"][name], want, f"{name} afterwards", *loose)
    if case.gradient:
        for k, (got, want) in enumerate(zip(ours["inputs"], theirs["inputs"], strict=True)):
            same(got, want, f"gradient of input {k}", *loose)
        for name, want in theirs["parameters"].items():
            same(ours["parameters"][name], want, f"gradient of {name}", *loose)


def test_every_layer_has_a_case():
    public = set(torch.nn.modules.__all__) - CONTAINERS - {"RNNBase", "RNNCellBase", "LinearCrossEntropyOptions"}
    assert public - {case.layer for case in CASES} == set()


def test_every_public_class_is_there():
    assert {name for name in torch.nn.modules.__all__ if not isinstance(getattr(claygrad.nn, name, None), type)} == set()


def said(lib: Any, name: str, method: str) -> list[tuple[str, Any, Any]]:
    made = []
    for p in inspect.signature(getattr(getattr(lib.nn, name), method)).parameters.values():
        default = p.default
        made.append((p.name, p.kind, getattr(default, "__name__", default)))
    return made


@pytest.mark.parametrize("name", sorted(set(torch.nn.modules.__all__) - CONTAINERS))
def test_the_same_arguments(name: str):
    theirs, ours = (said(lib, name, "__init__") for lib in LIBRARIES)
    if ours[1:] and ours[1][1] is not inspect.Parameter.VAR_POSITIONAL:
        assert ours == theirs
    if name not in ("RNNBase", "RNNCellBase", "LinearCrossEntropyOptions"):
        assert said(claygrad, name, "forward") == said(torch, name, "forward")
