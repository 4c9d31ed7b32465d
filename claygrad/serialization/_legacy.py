"""The format of PyTorch before version 1.6, which it still writes inside plain pickles: pickles one after the other
(a magic number, a version, how numbers were written, the object, the keys of its storages), then the storages."""
from __future__ import annotations

import io
import pickle
import pickletools
import struct
import sys
from collections.abc import Callable
from typing import IO, Any

from claygrad.core import DTYPES, Storage, Tensor, array_of, dtype, empty
from claygrad.serialization._read import read

MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001


def is_legacy(start: bytes) -> bool:
    """Whether a file begins as one of that format: with the pickle of its magic number."""
    return start[:1] == b"\x80" and struct.pack("<Q", MAGIC & (1 << 64) - 1) in start[:24]


class _Storages:
    """The storages that the object names; their bytes come after it."""

    def __init__(self, restored: Callable[[Storage, str], Storage]) -> None:
        self.restored = restored
        self.known: dict[str, tuple[Tensor, Storage, dtype | None]] = {}

    def storage(self, key: str, location: str, nbytes: int, kind: dtype | None) -> Storage:
        if key not in self.known:
            out = empty((nbytes,), DTYPES["uint8"], "cpu")
            self.known[key] = out, self.restored(out.untyped_storage(), location), kind
        if self.known[key][0].numel() != nbytes:
            raise RuntimeError(f"storage {key} has {self.known[key][0].numel()} bytes, not {nbytes}")
        return self.known[key][1]

    def fill(self, file: IO[bytes], keys: list[str], swapped: bool) -> None:
        """Read the bytes of all."""
        for key in keys:
            head = file.read(8)
            if len(head) < 8 or key not in self.known:
                raise RuntimeError(f"storage {key} is not complete, or nothing in the file refers to it")
            host, wanted, kind = self.known[key]
            item = 1 if kind is None else kind.itemsize
            if struct.unpack("<q", head)[0] * item != host.numel():
                raise RuntimeError(f"storage {key} has another size in the file than its tensors speak of")
            array = array_of(host)
            data = file.read(host.numel())
            if len(data) < host.numel():
                raise RuntimeError(f"unexpected EOF, expected {host.numel() - len(data)} more bytes. The file might "
                                   "be corrupted.")
            array[:] = memoryview(data)
            if swapped and kind is not None and item > 1:
                array.view(f"u{item // (2 if kind.is_complex else 1)}").byteswap(inplace=True)
            if wanted.device.type not in ("cpu", "meta"):
                wanted.copy_(host.untyped_storage())


def _next(file: IO[bytes]) -> bytes:
    """The bytes of the next pickle; nothing of it is run."""
    begin = file.tell()
    try:
        for _ in pickletools.genops(file):
            pass
    except Exception as error:
        raise pickle.UnpicklingError(f"the file is damaged: {error}") from None
    end = file.tell()
    file.seek(begin)
    return file.read(end - begin)


def load_legacy(file: IO[bytes], restored: Callable[[Storage, str], Storage], weights_only: bool,
                options: dict[str, Any]) -> Any:
    """The object of such a file."""
    file = io.BytesIO(file.read())
    storages = _Storages(restored)
    magic, version, told = (read(_next(file), storages.storage, True, {}) for _ in range(3))
    if magic != MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if version != VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    out = read(_next(file), storages.storage, weights_only, options)
    keys = read(_next(file), storages.storage, True, {})
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise pickle.UnpicklingError("the file is damaged: it has no list of its storages")
    little = told.get("little_endian", True) if isinstance(told, dict) else True
    storages.fill(file, keys, little != (sys.byteorder == "little"))
    return out
