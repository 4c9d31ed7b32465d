"""Storages: the bytes that tensors lie on, and older classes that see them as elements of one dtype."""
from __future__ import annotations

from claygrad.core import Storage as UntypedStorage
from claygrad.ops._storages import (  # noqa: F401
    TypedStorage,
    _dtype_to_storage_type_map,
    _get_always_warn_typed_storage_removal,
    _LegacyStorage,
    _reset_warn_typed_storage_removal,
    _set_always_warn_typed_storage_removal,
    _warn_typed_storage_removal,
)

__all__ = ["TypedStorage", "UntypedStorage"]
