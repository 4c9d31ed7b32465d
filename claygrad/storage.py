"""Storages: the bytes that tensors lie on, and older classes that see them as elements of one dtype."""
from __future__ import annotations

import importlib
import io
from typing import Any

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


def _load_from_bytes(data: bytes) -> Any:
    """The storage in bytes that `save` wrote: what plain pickles of PyTorch's tensors call."""
    found = importlib.import_module("claygrad.serialization").load(io.BytesIO(data), weights_only=False)
    if isinstance(found, (UntypedStorage, TypedStorage)):
        return found
    storage, kind = found
    return TypedStorage(wrap_storage=storage, dtype=kind, _internal=True)
