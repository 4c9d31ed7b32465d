"""Names of `torch.serialization` that other packages ask for."""
from __future__ import annotations

import os
from typing import IO, Any

from claygrad.core import Storage
from claygrad.serialization import Place

MAP_LOCATION = Place
FileLike = str | os.PathLike[str] | IO[bytes]
FILE_LIKE = FileLike
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


class SourceChangeWarning(Warning):
    """The source of a pickled module differs from the one that it was saved with; never given."""


def location_tag(storage: Any) -> str:
    """The name of the device that a storage is on."""
    return str(storage.device.type)


def default_restore_location(storage: Storage, location: str) -> Storage:
    """The storage, on the device of that name."""
    if location not in ("cpu", "meta"):
        kind = f"{type(storage).__module__}.{type(storage).__name__}"
        raise RuntimeError(f"don't know how to restore data location of {kind} (tagged with {location})")
    return storage
