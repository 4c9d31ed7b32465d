"""`save` and `load`, in the file format of PyTorch: what one library wrote the other reads.

A save replaces the file when all of the new one is on the disk. A load with `weights_only=True`, the default, runs no
code of the file's.
"""
from __future__ import annotations

import contextlib
import enum
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy

from claygrad.core.cpython.entry_points import guard_package
from claygrad import cuda
from claygrad.core import DTYPES, Storage, array_of, device, dtype, empty, host_array, on_storage, parse_device, wrap
from claygrad.serialization._archive import Reader, Writer, buffered, replacing
from claygrad.serialization._globals import unsafe
from claygrad.serialization._legacy import is_legacy, load_legacy
from claygrad.serialization._read import failed, read, safe_list
from claygrad.serialization._write import Pickler

__all__ = ["LoadEndianness", "add_safe_globals", "clear_safe_globals", "get_default_load_endianness",
           "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "safe_globals", "save",
           "set_default_load_endianness"]

File = str | os.PathLike[str] | IO[bytes]
Place = Callable[[Storage, str], Storage | None] | device | str | dict[str, str] | None
DEFAULT_PROTOCOL = 2


def save(obj: object, f: File, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Write an object, with the tensors in it, to a path or an open file. PyTorch can read it.

    Under a path the old file stays until the new one is whole, whatever happens meanwhile.
    """
    if pickle_module is not pickle:
        raise RuntimeError(f"save() writes with Python's own pickle, not with {pickle_module}")
    if not _use_new_zipfile_serialization:
        raise RuntimeError("save() writes PyTorch's zip format alone, not the one before version 1.6")
    text = io.BytesIO()
    pickler = Pickler(text, pickle_protocol)
    pickler.dump(obj)                         # first, so that what cannot be saved leaves no trace

    def write(file: IO[bytes], name: str) -> None:
        archive = Writer(file, name)
        try:
            archive.write("data.pkl", text.getvalue())
            if not _disable_byteorder_record:
                archive.write("byteorder", sys.byteorder.encode())
            for key, typed in pickler.storages.values():
                size = typed.storage.nbytes()
                archive.write(f"data/{key}", host_array(on_storage(typed.storage, DTYPES["uint8"], (size,), (1,), 0)))
            archive.write("version", b"3\n")
            archive.close()
        except BaseException:
            archive.abandon()
            raise

    if isinstance(f, str | os.PathLike):
        path = os.fspath(f)
        with replacing(path) as file:
            write(file, os.path.splitext(os.path.basename(path))[0] or "archive")
    elif hasattr(f, "write"):
        write(f, "archive")
    else:
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


def load(f: File, map_location: Place = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read what `save`, here or in PyTorch, has written.

    With `weights_only`, the default, tensors and plain containers alone are read, and nothing of the file is run.
    `mmap` leaves the numbers in the file until they are used; writes to them stay in this process.
    """
    weights_only = True if weights_only is None else weights_only
    if pickle_module is not None and weights_only:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_module not in (None, pickle):
        raise RuntimeError(f"load() reads with Python's own pickle, not with {pickle_module}")
    if isinstance(f, str | os.PathLike):
        path = os.fspath(f)
        with open(path, "rb") as file:
            if _check_start(file, weights_only):
                return load_legacy(file, lambda storage, at: _restored(storage, at, map_location), weights_only,
                                   pickle_load_args)
        source: str | IO[bytes] = path
    else:
        if mmap:
            raise ValueError("f must be a file path in order to use the mmap argument")
        source = buffered(f)
        if _check_start(source, weights_only):
            return load_legacy(source, lambda storage, at: _restored(storage, at, map_location), weights_only,
                               pickle_load_args)
    reader = Reader(source)
    try:
        shelf = _Shelf(reader, map_location, bool(mmap))
        return read(reader.read("data.pkl"), shelf.storage, weights_only, pickle_load_args)
    finally:
        reader.close()


def _check_start(file: IO[bytes], weights_only: bool) -> bool:
    """Whether the file is of the format before PyTorch 1.6; what is neither that nor a zip is refused."""
    at = file.tell()
    start = file.read(24)
    file.seek(at)
    if not start:
        raise EOFError("Ran out of input\n  The file is empty.")
    if is_legacy(start):
        return True
    if start[:4] != b"PK\x03\x04":
        what = "it does not begin as a zip archive does, nor as the files that PyTorch wrote before version 1.6"
        raise pickle.UnpicklingError(failed(what) if weights_only else f"invalid load key: {what}")
    return False


class _Shelf:
    """The storages of a file, each read once, when the pickle first names it, and put where the user wants it."""

    def __init__(self, reader: Reader, place: Place, mapped: bool) -> None:
        self.reader, self.place, self.mapped = reader, place, mapped
        self.known: dict[str, Storage] = {}
        order = reader.read("byteorder").decode("latin1") if reader.has("byteorder") else _unsaid()
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
        self.swapped = order != sys.byteorder

    def storage(self, key: str, location: str, nbytes: int, kind: dtype | None) -> Storage:
        if key not in self.known:
            size = self.reader.size(f"data/{key}")
            if size != nbytes:
                raise RuntimeError(f"storage {key} has {size} bytes in the file, not the {nbytes} its tensors speak of")
            out = self._in_file(key) if self.mapped and not self.swapped else None
            if out is None:
                out = self._in_memory(key, nbytes, kind)
            self.known[key] = _restored(out, location, self.place)
        found = self.known[key]
        if found.nbytes() != nbytes and found.device.type != "meta":
            raise RuntimeError(f"storage {key} has {found.nbytes()} bytes, not {nbytes}")
        return found

    def _in_memory(self, key: str, nbytes: int, kind: dtype | None) -> Storage:
        out = empty((nbytes,), DTYPES["uint8"], "cpu")
        array = array_of(out)
        self.reader.read_into(f"data/{key}", array)
        if self.swapped and kind is not None and kind.itemsize > 1:
            part = kind.itemsize // (2 if kind.is_complex else 1)
            array.view(f"u{part}").byteswap(inplace=True)
        return out.untyped_storage()

    def _in_file(self, key: str) -> Storage | None:
        """The bytes where they are; None where they do not lie as numbers must lie in memory."""
        where, begin, size = self.reader.mapped(f"data/{key}")
        if begin % 16 or not size:
            return None
        return wrap(numpy.frombuffer(where, numpy.uint8, size, begin)).untyped_storage()


def _restored(storage: Storage, location: str, place: Place) -> Storage:
    """A storage that was at `location` when saved, where `map_location` wants it."""
    if callable(place) and not isinstance(place, device):
        found = place(storage, location)
        if found is not None:
            return found
        place = None
    wanted = place.get(location, location) if isinstance(place, dict) else location if place is None else str(place)
    kind = wanted.partition(":")[0]
    if kind == "cpu":
        return storage
    if kind == "meta":
        return empty((storage.nbytes(),), DTYPES["uint8"], "meta").untyped_storage()
    if kind == "cuda" and not cuda.is_available():
        raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
                           "If you are running on a CPU-only machine, please use torch.load with "
                           "map_location=torch.device('cpu') to map your storages to the CPU.")
    if kind in ("cuda", "xpu", "privateuseone"):
        try:
            where = parse_device(wanted)
        except AssertionError as error:
            raise RuntimeError(f"Attempting to deserialize object on a {kind.upper()} device but "
                               f"torch.{kind}.is_available() is False. If you are running on a CPU-only machine, "
                               "please use torch.load with map_location=torch.device('cpu') to map your storages to "
                               f"the CPU.\n  {error}") from None
        return Storage(storage.nbytes(), device=where).copy_(storage)
    raise RuntimeError("don't know how to restore data location of torch.storage.UntypedStorage "
                       f"(tagged with {wanted})")


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Classes and functions that a file may use with `weights_only=True`; (object, "name in the file") renames one."""
    safe_list().extend(one for one in safe_globals if one not in safe_list())


def get_safe_globals() -> list[Any]:
    """What was allowed so far."""
    return list(safe_list())


def clear_safe_globals() -> None:
    """Take back all that was allowed."""
    safe_list().clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow classes and functions for a while."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        safe_list()[:] = before


def get_unsafe_globals_in_checkpoint(f: File) -> list[str]:
    """The classes and functions that a file names and `weights_only=True` would refuse. Nothing of the file is run."""
    opened: Any = contextlib.nullcontext(buffered(f)) if hasattr(f, "read") else open(f, "rb")      # noqa: SIM115
    with opened as source:
        at = source.tell()
        if source.read(4) != b"PK\x03\x04":
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        source.seek(at)
        data = Reader(source).read("data.pkl")
    names = {one[1] if isinstance(one, tuple) else f"{one.__module__}.{one.__qualname__}" for one in safe_list()}
    return unsafe(data, names)


class LoadEndianness(enum.Enum):
    """The order of bytes in files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_endianness: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """What `set_default_load_endianness` said. None is little, as in files of PyTorch before 2.1."""
    return _endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """The order of bytes in files that do not say theirs."""
    global _endianness
    if not isinstance(endianness, LoadEndianness | None):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness = endianness


def _unsaid() -> str:
    if _endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _endianness is LoadEndianness.BIG else "little"

guard_package(__name__)          # Note [Entry points]
