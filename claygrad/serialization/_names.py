"""What things are called in PyTorch's files: storages by their element type, and functions that rebuild tensors."""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

from claygrad.core import DTYPES, Storage, dtype

KIND_OF = {name: DTYPES[name].legacy + "Storage" for name in (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
    "bool")}
DTYPE_OF = {kind: DTYPES[name] for name, kind in KIND_OF.items()}


class Name(NamedTuple):
    """A global as it stands in the file, whether or not such a module exists here."""

    module: str
    name: str

    def __call__(self) -> None:
        """A pickle asks that what it calls when it is read can be called when it is written."""
        raise TypeError(f"{self.module}.{self.name} stands in files alone")


class Kind(NamedTuple):
    """What `torch.FloatStorage` means in a file: the type of a storage's elements; none for bytes as such."""

    dtype: dtype | None


class Typed(NamedTuple):
    """A storage seen as elements of one type, which is how a file keeps it."""

    storage: Storage
    dtype: dtype


@functools.cache
def named(module: str, name: str) -> Name:
    """One object for one global: a pickle writes it once and then refers to it."""
    return Name(module, name)


def rebuilding(name: str) -> Name:
    return named("torch._tensor" if name == "_rebuild_from_type_v2" else "torch._utils", name)


def plain_state(tensor: Any) -> dict[str, Any]:
    """The attributes a user gave a tensor."""
    return dict(getattr(tensor, "__dict__", None) or {})
