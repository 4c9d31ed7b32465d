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
            else:
                if given[which].ndim:
                    problems.append(f"{call}, tensor {which}: not refused")
    assert not problems, "\n".join(problems)
