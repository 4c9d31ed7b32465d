"""The storage of a tensor as typed elements: the deprecated `x.storage()`; prefer `x.untyped_storage()`."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import default_dtype, on_storage
from claygrad.core import shared_memory as sharing
from claygrad.core.data.storage import lazy_clone
from claygrad.core.graph.modes import get_grad_enabled
from claygrad.ops import _storages
from claygrad.ops._registry import composite
from claygrad.ops._storages import CLASSES, TypedStorage
from claygrad.ops.creation import check_layout, checked_device, checked_dtype, leaf, refuse_pinning

if TYPE_CHECKING:
    from claygrad.core import Tensor, dtype


@composite(function=False, raw=True)
def storage(self: Tensor) -> TypedStorage:
    "The memory of the tensor as a row of elements of its dtype. Better: `untyped_storage`."
    _storages._warn_typed_storage_removal()
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


@composite(function=False, raw=True)
def _typed_storage(self: Tensor) -> TypedStorage:
    "As `storage`, without its warning."
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


@composite(function=False, raw=True)
def storage_type(self: Tensor) -> type:
    "The class that such storages once had: FloatStorage for float32."
    return CLASSES[f"{self.dtype.legacy}Storage"]


@composite(method=False, raw=True)
def from_file(filename: str, shared: bool | None = None, size: int = 0, *, dtype: dtype | None = None,
              layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    "A tensor on the memory of a file; with `shared`, what is written goes to the file, which grows to the size wanted."
    refuse_pinning("from_file", pin_memory)
    check_layout("from_file", layout)
    if checked_device("from_file", device).type != "cpu":
        raise NotImplementedError(f"from_file: files are mapped on the CPU, not on {device}")
    kind = checked_dtype("from_file", dtype) or default_dtype()
    storage = sharing.from_file(filename, bool(shared), size * kind.itemsize)
    return leaf("from_file", on_storage(storage, kind, (size,), (1,), 0), requires_grad)


@composite(function=False, raw=True)
def const_data_ptr(self: Tensor) -> int:
    "The address of the first element, for reading."
    return self.data_ptr()


@composite(function=False, raw=True)
def _lazy_clone(self: Tensor) -> Tensor:
    "A copy that reads the same bytes until one of the two is written; where a graph follows, a plain copy."
    out = None
    if not (self.is_sparse or self.is_conj() or self.is_neg() or (self.requires_grad and get_grad_enabled())):
        out = lazy_clone(self.untyped_storage())
    if out is None:
        return self.clone()
    return on_storage(out, self.dtype, self.shape, self.stride(), self.storage_offset())


@composite(function=False, raw=True)
def _fix_weakref(self: Tensor) -> None:
    "Nothing to mend: a tensor is one object for as long as anybody reads it."


@composite(function=False, raw=True)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    "What `load_state_dict` puts in the place of `self` where parameters are exchanged; for subclasses to override."
    return other.detach() if assign else self.copy_(other).detach()
