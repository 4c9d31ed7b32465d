"""The memory of a tensor as a row of elements: what `x.storage()` gives, an older face of `x.untyped_storage()`."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from claygrad.core import on_storage, prefix
from claygrad.ops._registry import composite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from numbers import Number

    from claygrad.core import Storage, Tensor, device, dtype

_DEPRECATED = ("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
               "storage class. This should only matter to you if you are using storages directly.  To access "
               "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()")


class TypedStorage:
    """All elements of a storage, in one dtype. Shares its memory with every tensor on the storage."""

    __slots__ = ("_line", "_untyped")

    def __init__(self, *, wrap_storage: Storage, dtype: dtype) -> None:
        self._untyped = wrap_storage
        self._line = on_storage(wrap_storage, dtype, (wrap_storage.nbytes() // dtype.itemsize,), (1,), 0)

    @property
    def dtype(self) -> dtype:
        return self._line.dtype

    @property
    def device(self) -> device:
        return self._untyped.device

    def untyped(self) -> Storage:
        """The storage as bytes."""
        return self._untyped

    def size(self) -> int:
        return self._line.numel()

    __len__ = size

    def nbytes(self) -> int:
        return self._untyped.nbytes()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        return self._untyped.data_ptr()

    def __getitem__(self, at: int | slice) -> Number | TypedStorage:
        if isinstance(at, slice):
            part = self._line[at].clone()
            return TypedStorage(wrap_storage=part.untyped_storage(), dtype=self.dtype)
        return self._line[at].item()

    def __setitem__(self, at: int | slice, value: Number) -> None:
        self._line[at] = value

    def __iter__(self) -> Iterator[Number]:
        return iter(self._line.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.data_ptr() == other.data_ptr() and self.dtype == other.dtype

    __hash__ = object.__hash__

    def tolist(self) -> list[Number]:
        return self._line.tolist()

    def fill_(self, value: Number) -> TypedStorage:
        self._line.fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        self._line.copy_(source._line)
        return self

    def clone(self) -> TypedStorage:
        return self[:]

    def type(self) -> str:
        """The name of the class that such storages once had: torch.FloatStorage."""
        return f"{prefix()}.{self.dtype.legacy}Storage"

    def is_shared(self) -> bool:
        return False

    is_pinned = is_shared

    def cpu(self) -> TypedStorage:
        return self

    def __repr__(self) -> str:
        rows = "".join(f" {value}\n" for value in self.tolist()) if self.device.type != "meta" else "...\n"
        return (f"{rows}[{prefix()}.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size "
                f"{self.size()}]")


@composite(function=False, raw=True)
def storage(self: Tensor) -> TypedStorage:
    "The memory of the tensor as a row of elements of its dtype. Better: `untyped_storage`."
    warnings.warn(_DEPRECATED, stacklevel=2)
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


@composite(function=False, raw=True)
def const_data_ptr(self: Tensor) -> int:
    "The address of the first element, for reading."
    return self.data_ptr()
