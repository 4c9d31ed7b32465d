"""Every entry of PyTorch's own database of modules, made and called in both libraries: results, gradients of inputs and
parameters, buffers and text agree, or the refusal does."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.common_modules import module_db

import claygrad

# Importing the database forbids every later test to set a flag of torch.backends outside of a block.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

SLOW = {"CTCLoss", "LinearCrossEntropyLoss", "Transformer"}
# One that is made from another: its cases are in tests/nn/layer_cases.
ENTRIES = [info for info in module_db if info.module_cls is not torch.nn.TransformerEncoder]


def here(thing: Any) -> Any:
    """An argument of PyTorch's, in claygrad."""
    if isinstance(thing, torch.Tensor):
        made = claygrad.from_numpy(thing.detach().resolve_conj().numpy().copy()).requires_grad_(thing.requires_grad)
        return claygrad.nn.Parameter(made, thing.requires_grad) if isinstance(thing, torch.nn.Parameter) else made
    if isinstance(thing, torch.dtype):
        return getattr(claygrad, str(thing).split(".")[1])
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        options = {field.name: here(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
        return getattr(claygrad.nn, type(thing).__name__)(**options)
    if isinstance(thing, torch.nn.utils.rnn.PackedSequence):
        return claygrad.nn.utils.rnn.PackedSequence(*map(here, thing))
    if isinstance(thing, list | tuple):
        return type(thing)(map(here, thing))
    if isinstance(thing, dict):
        return {key: here(value) for key, value in thing.items()}
    if callable(thing) and str(getattr(thing, "__module__", "")).startswith("torch"):
        return getattr(claygrad.nn.functional, thing.__name__)
    return thing


def leaves(thing: Any) -> Any:
    """The same with tensors that were computed cut from what they were computed from: their gradients are compared."""
    if isinstance(thing, torch.Tensor) and not thing.is_leaf:
        return thing.detach().requires_grad_(thing.requires_grad)
    if type(thing) in (list, tuple):
        return type(thing)(map(leaves, thing))
    return {key: leaves(value) for key, value in thing.items()} if isinstance(thing, dict) else thing


def tensors(thing: Any) -> list[Any]:
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list | tuple):
        return [one for part in thing for one in tensors(part)]
    return [thing] if isinstance(thing, torch.Tensor | claygrad.Tensor) else []


def outcome(lib: Any, name: str, made_with: Any, called_with: Any, train: bool) -> tuple[Any, ...]:
    """A module's call and its gradients, by what they are; or the error it ends with."""
    lib.manual_seed(3)
    try:
        module = getattr(lib.nn, name)(*made_with[0], **made_with[1])
        if called_with is None:
            return (repr(module),)
        module.to(lib.float64).train(train)
        args, call = called_with
        outs = tensors(module(*args, **call))
        live = [out for out in outs if out.requires_grad]
        if live:
            sum(((out.abs() if out.is_complex() else out) * 0.7).sin().sum() for out in live).backward()
    except Exception as error:
        return type(error).__name__, (str(error).splitlines() or [""])[0].replace("claygrad", "torch")
    grads = [one.grad for one in (*tensors([args, call]), *module.parameters())]
    return repr(module), outs, grads, list(module.state_dict().items())


def inputs(info: Any) -> Iterator[tuple[str, Any, Any, bool]]:
    for train in (True, False):
        drawn = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=train)
        for number, case in enumerate(drawn):
            call = case.forward_input and (leaves(case.forward_input.args), leaves(case.forward_input.kwargs))
            yield f"{number} {case.desc}", (case.constructor_input.args, case.constructor_input.kwargs), call, train


def same(got: Any, want: Any, what: str) -> None:
    assert type(got) is type(want) or isinstance(want, torch.Tensor), f"{what}: {got} and not {want}"
    if isinstance(want, list | tuple):
        assert len(got) == len(want), what
        for k, (one, other) in enumerate(zip(got, want)):
            same(one, other, f"{what}[{k}]")
    elif isinstance(want, torch.Tensor):
        assert (tuple(got.shape), str(got.dtype)[9:]) == (tuple(want.shape), str(want.dtype)[6:]), what
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), 1e-8, 1e-9, err_msg=what)
    else:
        assert got == want, what


@pytest.mark.parametrize("info", [
    pytest.param(info, id=info.name, marks=pytest.mark.slow if info.module_cls.__name__ in SLOW else ()) for info in ENTRIES])
def test_an_entry_of_the_database(info):
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, made_with, called_with, train in inputs(info):
            ours = outcome(claygrad, info.module_cls.__name__, here(made_with), here(called_with), train)
            same(ours, outcome(torch, info.module_cls.__name__, made_with, called_with, train), what)
            compared += 1
    assert compared, "nothing was compared"
