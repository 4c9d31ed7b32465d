"""Tensors of two devices in one call, every sample of every operation: refused in PyTorch's words, or taken as numbers are."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import claygrad
from tests.devices.compare import SAID
from tests.ops.cases import is_tensor, ours, samples, tensors
from tests.ops.factory import Build

WORDS = ("Expected all tensors to be on the same device", "to have the same device", "should be a 1D CPU int64 tensor",
         "a leaf Variable that requires grad")

# What asks a tensor for its shape or dtype alone, copies it, or answers each by itself.
APART = frozenset(
    "copy type_as result_type is_same_size view_as reshape_as expand_as broadcast_tensors atleast_1d atleast_2d atleast_3d "
    "equal is_set_to embedding_renorm_ max_pool2d_with_indices_backward gelu_from gelu_tanh_from silu_from".split()
)
INDICES_ANYWHERE = ("index", "index_put")
KEYS = [key for key in SAID if key not in APART]


def _moved(value: Any, which: int, count: list[int], device: str) -> Any:
    if is_tensor(value):
        count[0] += 1
        return value.to(device) if count[0] - 1 == which else value
    if isinstance(value, list | tuple) and type(value).__name__ != "Size":
        return type(value)(_moved(x, which, count, device) for x in value)
    return value


@pytest.mark.parametrize("key", KEYS)
def test_one_tensor_elsewhere_is_refused(key, strict):
    said, problems = SAID[key], []
    function = ours(claygrad, said, raw=True)
    for call in samples(key, said)[:3]:
        args, kwargs = call.build(Build(claygrad, "float32"))
        given = tensors([args, list(kwargs.values())])
        for which in range(len(given) if len(given) > 1 else 0):
            here = [t for i, t in enumerate(given) if i != which]
            numbers = given[which].ndim and all(t.ndim == 0 for t in here)          # 0-dim CPU tensors mix
            if numbers or (key in INDICES_ANYWHERE and which == 0):
                continue
            args, kwargs = call.build(Build(claygrad, "float32"))
            count = [0]
            args = [_moved(a, which, count, strict) for a in args]
            kwargs = {k: _moved(v, which, count, strict) for k, v in kwargs.items()}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(*args, **kwargs)
            except RuntimeError as error:
                if not any(word in str(error).splitlines()[0] for word in WORDS):
                    problems.append(f"{call}, tensor {which}: {error}")
                below = str(error).partition("\n")[2]
                if not (" on cpu" in below and f" on {strict}" in below):
                    problems.append(f"{call}, tensor {which}: does not say which tensors\n{error}")
            else:
                if given[which].ndim:
                    problems.append(f"{call}, tensor {which}: not refused")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("make", [claygrad.optim.SGD, claygrad.optim.Adam, claygrad.optim.AdamW, claygrad.optim.RMSprop, claygrad.optim.Adagrad])
def test_an_optimizer_names_the_parameter_and_its_state(make, strict):
    model = claygrad.nn.Linear(2, 2)
    optimizer = make(model.parameters(), lr=0.1, **({"momentum": 0.9} if make is claygrad.optim.SGD else {}))
    model(claygrad.ones(1, 2)).sum().backward()
    optimizer.step()
    model.to(strict).zero_grad()
    model(claygrad.ones(1, 2, device=strict)).sum().backward()
    with pytest.raises(RuntimeError) as caught:
        optimizer.step()
    first, *below = str(caught.value).splitlines()
    assert first.startswith("Expected all tensors to be on the same device")
    assert any("parameter 0 of group 0: (2, 2) float32 on privateuseone:0" in line for line in below)
    assert any("of its state" in line and "float32 on cpu" in line for line in below)
    assert "load_state_dict(optimizer.state_dict())" in below[-1]
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
