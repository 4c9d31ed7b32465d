"""Copies of a tensor by Python's own means: `copy`, `deepcopy` and pickling.

All three go by the storage: tensors that share one go on sharing it in what is copied or pickled together.
"""
from __future__ import annotations

from copy import deepcopy
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import (
    DTYPES,
    UPCALLS,
    Storage,
    Tensor,
    attach,
    empty,
    fresh_storage,
    increment_version,
    on_storage,
    require_grad,
    share,
)
from claygrad.core.user_warnings import warn
from claygrad.ops._formats import strided
from claygrad.ops._registry import composite
from claygrad.ops._untyped import set_bytes

if TYPE_CHECKING:
    from claygrad.core import dtype

_LEAVES_ONLY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001")


# --- what a pickle calls: these names and parameters are in files, so they stay ---------------------------------
def rebuild_storage(content: Any, device: str, kind: type[Storage] = Storage) -> Storage:
    """A storage with these bytes; on the meta device, which has none, with this many.

    Memory that comes beside a pickle (out-of-band buffers) is not copied, if it may be written.
    """
    if isinstance(content, int):
        return kind(content, device=device)
    if kind is Storage and not isinstance(content, (bytes, bytearray)):
        array = np.frombuffer(content, np.uint8)
        if array.flags.writeable and device == "cpu":
            return share(array).untyped_storage()
    storage = kind(memoryview(content).nbytes, device=device)
    set_bytes(storage, np.frombuffer(content, np.uint8))
    return storage


def rebuild_tensor(kind: type[Tensor], storage: Storage, dtype: dtype, offset: int, shape: tuple[int, ...],
                   strides: tuple[int, ...], requires_grad: bool, lazy: str = "") -> Tensor:
    """A leaf of class `kind` that sees a storage in a given way; `lazy`: as "conj", "neg" or both."""
    reach = 0 if 0 in shape else 1 + offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if offset < 0 or min((*shape, *strides), default=0) < 0 or reach * dtype.itemsize > storage.nbytes():
        raise RuntimeError(f"a tensor of shape {list(shape)}, strides {list(strides)} and offset {offset} of {dtype} "
                           f"does not fit in a storage of {storage.nbytes()} bytes")
    out = empty((0,), dtype, storage.device)
    if kind is not Tensor:
        out = Tensor._make_subclass(kind, out)
    # With a write counter of its own, at 1, as PyTorch has it: to be laid on a storage counts as a write.
    seen = on_storage(storage, dtype, shape, strides, offset)
    seen = seen._conj() if "conj" in lazy else seen
    out.data = seen._neg_view() if "neg" in lazy else seen
    increment_version(out)
    return require_grad(out, requires_grad)


def rebuild_sparse(kind: type[Tensor], layout: Any, described: tuple, requires_grad: bool) -> Tensor:
    """A leaf of class `kind` with these indices and values."""
    out = UPCALLS["sparse_module"]().rebuilt(layout, described)
    return require_grad(out if kind is Tensor else Tensor._make_subclass(kind, out), requires_grad)


def _reduce_storage(self: Storage, protocol: int) -> tuple:
    """How to make the storage again. From protocol 5 on its bytes may travel beside the pickle, without a copy."""
    where = str(self.device)
    content: Any
    if where == "meta":
        content = self.nbytes()
    elif protocol < 5 or self.device.type != "cpu":
        content = self.to_bytes()
    else:
        content = PickleBuffer(on_storage(self, DTYPES["uint8"], (self.nbytes(),), (1,), 0).numpy())
    return rebuild_storage, (content, where) if type(self) is Storage else (content, where, type(self))


attach({"__reduce_ex__": _reduce_storage}, Storage)


# --- the protocol -----------------------------------------------------------------------------------------------
def _parts(self: Tensor, storage: Storage) -> tuple:
    parts = (type(self), storage, self.dtype, self.storage_offset(), tuple(self.shape), tuple(self.stride()),
             self.requires_grad)
    lazy = " ".join(name for name, is_so in (("conj", self.is_conj()), ("neg", self.is_neg())) if is_so)
    return (*parts, lazy) if lazy else parts


@composite(function=False, raw=True)
def __reduce_ex__(self: Tensor, protocol: int) -> tuple:
    """How to make the tensor again: storage, how it sees it, attributes. History, `.grad` and hooks stay behind."""
    for hook in (self._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                 "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning")
    if self.layout is not strided:
        return rebuild_sparse, (type(self), *UPCALLS["sparse_module"]().described(self), self.requires_grad), \
            self.__getstate__()
    return rebuild_tensor, _parts(self, self.untyped_storage()), self.__getstate__()


@composite(function=False, raw=True)
def __setstate__(self: Tensor, state: dict[str, Any] | tuple[dict[str, Any] | None, dict[str, Any]]) -> None:
    """Take over attributes and, after a comma, the slots of a subclass."""
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    self.__dict__.update(attributes or {})
    for name, value in slots.items():
        setattr(self, name, value)


@composite(function=False, raw=True)
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with a copy of the memory, of `.grad` and of the attributes; hooks stay behind."""
    if not self.is_leaf:
        raise RuntimeError(_LEAVES_ONLY)
    if id(self) in memo:
        return memo[id(self)]
    if self.layout is not strided:
        copied = self.detach().clone()
        memo[id(self)] = sparse = require_grad(copied if type(self) is Tensor else Tensor._make_subclass(
            type(self), copied), self.requires_grad)
        return _with_the_rest(sparse, self, memo)
    if self.is_conj() or self.is_neg():          # its values, in memory of their own
        return _copied_values(self, memo)
    storage = self.untyped_storage()
    if id(storage) not in memo:
        memo[id(storage)] = fresh_storage(storage.nbytes(), storage.device)
        memo[id(storage)].copy_(storage)
    memo[id(self)] = out = rebuild_tensor(*_parts(self, memo[id(storage)]))
    return _with_the_rest(out, self, memo)


def _copied_values(self: Tensor, memo: dict[int, Any]) -> Tensor:
    values = self.detach().clone()
    parts = _parts(values, values.untyped_storage())
    memo[id(self)] = out = rebuild_tensor(type(self), *parts[1:-1], self.requires_grad)
    return _with_the_rest(out, self, memo)


def _with_the_rest(out: Tensor, self: Tensor, memo: dict[int, Any]) -> Tensor:
    """The copy with copies of `.grad` and of the attributes."""
    if self.grad is not None:
        out.grad = deepcopy(self.grad, memo)
    state = deepcopy(self.__getstate__(), memo)
    if state is not None:
        out.__setstate__(state)
    return out
