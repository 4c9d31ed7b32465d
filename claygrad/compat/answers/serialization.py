"""Names of `torch.serialization` that other packages ask for."""
from __future__ import annotations

import contextlib
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


def _is_path(name_or_buffer: Any) -> bool:
    """Whether a file is named rather than given."""
    return isinstance(name_or_buffer, str | os.PathLike)


def _is_zipfile(f: IO[bytes]) -> bool:
    """Whether an archive begins where a file stands; it stands there afterwards too."""
    place = f.tell()
    start = f.read(4)
    f.seek(place)
    return start == b"PK\x03\x04"


def _maybe_decode_ascii(bytes_str: bytes | str) -> str:
    """A text, also from bytes."""
    return bytes_str.decode("ascii") if isinstance(bytes_str, bytes) else bytes_str


@contextlib.contextmanager
def _open_file_like(name_or_buffer: FileLike, mode: str) -> Any:
    """A file by its name, which is closed afterwards; or one that is open already, which is flushed."""
    if isinstance(name_or_buffer, str | os.PathLike):
        with open(name_or_buffer, mode) as file:
            yield file
    elif "w" in mode or "r" in mode:
        yield name_or_buffer
        if "w" in mode:
            name_or_buffer.flush()
    else:
        raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")
