"""`torch._C._functorch`: what containers of tensors ask of `vmap`."""
from __future__ import annotations

from typing import Any

from claygrad.autograd._batched import BatchedTensor, inner_level
from claygrad.autograd._batched import is_batch as is_batchedtensor
from claygrad.compat.refusing import always
from claygrad.func._vmap import _add_batch_dim, _remove_batch_dim

__all__ = ["_add_batch_dim", "_remove_batch_dim", "current_level", "get_unwrapped", "is_batchedtensor",
           "is_functorch_wrapped_tensor", "is_gradtrackingtensor", "is_legacy_batchedtensor", "maybe_get_bdim",
           "maybe_get_level"]

is_functorch_wrapped_tensor = is_batchedtensor
is_legacy_batchedtensor = is_gradtrackingtensor = always(False)       # there are no such tensors


def get_unwrapped(x: Any) -> Any:
    """The batch that a tensor stands for."""
    if not isinstance(x, BatchedTensor):
        raise RuntimeError("No wrappers present!\n  the tensor stands for no batch: ask is_batchedtensor first")
    return x._value


def maybe_get_level(x: Any) -> int:
    """Of which vmap a tensor stands for a batch; -1 if it stands for none."""
    return x._level if isinstance(x, BatchedTensor) else -1


def maybe_get_bdim(x: Any) -> int:
    """Which axis of that batch has the examples; -1 of any other tensor."""
    return 0 if is_batchedtensor(x) else -1


def current_level() -> int:
    """How many vmaps are around."""
    return inner_level()
