"""How tensors and storages cross between processes, for Python's `ForkingPickler`, which all queues and pipes use."""
from __future__ import annotations

import os
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler
from typing import Any

from claygrad.core import Storage
from claygrad.core import shared_memory as sharing
from claygrad.core.shared_memory import rebuild_storage_fd, rebuild_storage_filename, reduce_storage, reduce_tensor
from claygrad.ops._storages import TypedStorage

__all__ = ["ForkingPickler", "StorageWeakRef", "fd_id", "init_reductions", "rebuild_storage_fd",
           "rebuild_storage_filename", "reduce_storage", "reduce_tensor"]


class StorageWeakRef:
    """A reference to a storage that does not keep it alive. Two are equal that stand for the same storage."""

    __slots__ = ("_number", "cdata")

    def __init__(self, storage: Any) -> None:
        untyped: Storage = storage._untyped_storage if isinstance(storage, TypedStorage) else storage
        self._number = untyped._weak_ref()
        self.cdata = untyped._cdata

    @classmethod
    def from_weakref(cls, cdata: int) -> StorageWeakRef:
        """Made of a number that `_weak_ref` gave."""
        out = cls.__new__(cls)
        out._number = out.cdata = cdata
        return out

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return Storage._expired(self._number)

    def __del__(self) -> None:
        Storage._free_weak_ref(self._number)

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and (self is other or self.cdata == other.cdata)


def fd_id(fd: int) -> tuple[int, int]:
    """What is the same for all descriptors of one file, in all processes."""
    status = os.fstat(fd)
    return status.st_ino, status.st_dev


def init_reductions() -> None:
    """Tell Python's multiprocessing how tensors cross between processes."""
    sharing.register(reduction)
