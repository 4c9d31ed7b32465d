"""Every layer of `nn` on the devices: results, gradients and buffers are those of the CPU, in training and without."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import claygrad
from tests.nn.layer_cases import CASES, Case
from tests.nn.layer_cases.specs import arguments, build, leaves, tensors_in


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, claygrad.nn.utils.rnn.PackedSequence):
        return value.to(device)
    if isinstance(value, claygrad.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple):
        return type(value)(_moved(x, device) for x in value)
    return {k: _moved(v, device) for k, v in value.items()} if isinstance(value, dict) else value


def _run(module: Any, args: list[Any], call: dict[str, Any]) -> list[Any]:
    claygrad.manual_seed(3)
    found = tensors_in(module(*args, **call))
    total: Any = sum((t * t).sum() for t in found if t.requires_grad)
    if isinstance(total, claygrad.Tensor):
        total.backward()
    grads = [t.grad for t in leaves(args, call)] + [p.grad for p in module.parameters()]
    return [t.detach().cpu() for t in [*found, *(g for g in grads if g is not None), *module.buffers()]]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_a_layer_does_there_what_it_does_on_the_cpu(case: Case, training: bool, strict: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = build(claygrad, case).double()
        args, call = arguments(claygrad, case)
        if case.layer.startswith("Lazy"):
            module(*args, **call)
        module.train(training)
        other = copy.deepcopy(module).to(strict)
        there = _run(other, *_moved((args, call), strict))
        here = _run(module, args, call)
    assert len(here) == len(there)
    for a, b in zip(here, there, strict=True):
        assert a.dtype is b.dtype
        assert claygrad.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True)
