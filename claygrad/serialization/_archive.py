"""PyTorch's checkpoint file: an uncompressed zip, its records at multiples of 64 bytes; and a write that is atomic."""
from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

try:
    import fcntl
except ImportError:         # Windows
    fcntl = None            # type: ignore[assignment]

ALIGNMENT = 64
_PADDING = 0x4246           # the id PyTorch gives to the extra field that only fills up
_LOCAL, _LOCAL_SIZE = b"PK\x03\x04", 30
_PIECE = 1 << 24            # bytes read at once
_BROKEN = ("PytorchStreamReader failed {}. This is an internal miniz error. If you are seeing this error, there is a "
           "high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved "
           "properly, was transferred incorrectly, or the file was modified after saving.")


class Writer:
    """Records written one after the other under the name of the archive."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.zip, self.name = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True), name

    def write(self, record: str, data: Any) -> None:
        """`data` is anything with a buffer."""
        view = memoryview(data).cast("B")
        info = zipfile.ZipInfo(f"{self.name}/{record}")
        info.file_size = view.nbytes
        large = view.nbytes * 1.05 > zipfile.ZIP64_LIMIT           # as zipfile decides: such a header has 20 bytes more
        at = self.zip.start_dir + _LOCAL_SIZE + len(info.filename.encode()) + 4 + (20 if large else 0)
        fill = -at % ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING, fill) + b"Z" * fill
        with self.zip.open(info, "w", force_zip64=large) as out:
            out.write(view)

    def close(self) -> None:
        self.zip.close()

    def abandon(self) -> None:
        """After an error: write no more, not even when this is collected."""
        self.zip.fp = None


class Reader:
    """The records of an archive. `source` is a path, or a file that can seek."""

    def __init__(self, source: str | IO[bytes]) -> None:
        self.source = source
        self.owned = isinstance(source, str)
        self.file: Any = open(source, "rb") if isinstance(source, str) else source      # noqa: SIM115# noqa: SIM115
        self.map: mmap.mmap | None = None
        try:
            self.infos, self.size_of_file = _directory(self.file)
            found = [name for name in self.infos if name.endswith("/data.pkl") and name.count("/") == 1]
            if len(found) != 1:
                raise broken("locating file data.pkl: file not found", f"it has the records {sorted(self.infos)[:5]}")
        except BaseException:
            self.close()
            raise
        self.folder = found[0].removesuffix("data.pkl")

    def has(self, record: str) -> bool:
        return self.folder + record in self.infos

    def size(self, record: str) -> int:
        """The bytes of a record; it must be there."""
        if not self.has(record):
            raise broken(f"locating file {record}: file not found", f"the archive has no {self.folder}{record}")
        return self.infos[self.folder + record].file_size

    def read(self, record: str) -> bytes:
        whole = bytearray(self.size(record))
        self.read_into(record, whole)
        return bytes(whole)

    def read_into(self, record: str, target: Any) -> None:
        """All of a record, its checksum tested, into memory of its size."""
        view, done, check = memoryview(target).cast("B"), 0, 0
        self.file.seek(self._begin(record))
        while done < view.nbytes:
            piece = self.file.read(min(_PIECE, view.nbytes - done))
            if not piece:
                raise broken(f"reading file {record}", f"it ends after {done} of {view.nbytes} bytes")
            view[done:done + len(piece)] = piece
            done, check = done + len(piece), zlib.crc32(piece, check)
        if check != self.infos[self.folder + record].CRC:
            raise broken(f"reading file {record}", "its checksum is not that of its bytes")

    def mapped(self, record: str) -> tuple[mmap.mmap, int, int]:
        """A record in the file itself: the map, where it begins, how long it is. Writes stay in this process."""
        size, begin = self.size(record), self._begin(record)
        if self.map is None:
            self.map = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_COPY)
        if begin + size > len(self.map):
            raise broken(f"reading file {record}", "it ends after the file")
        return self.map, begin, size

    def _begin(self, record: str) -> int:
        """Where the bytes of a record begin: after its own header, which may be longer than the directory knows."""
        info = self.infos[self.folder + record]
        self.file.seek(info.header_offset)
        head = self.file.read(_LOCAL_SIZE)
        if len(head) < _LOCAL_SIZE or head[:4] != _LOCAL:
            raise broken(f"reading file {record}", "its header is not where the directory says")
        names, extra = struct.unpack_from("<HH", head, 26)
        if self.file.read(names) != _raw_name(info):
            raise broken(f"reading file {record}", "its header has another name than the directory")
        begin: int = info.header_offset + _LOCAL_SIZE + names + extra
        if begin + info.file_size > self.size_of_file:
            raise broken(f"reading file {record}", "it ends after the file")
        return begin

    def close(self) -> None:
        if self.owned:
            self.file.close()


def _directory(file: IO[bytes]) -> tuple[dict[str, zipfile.ZipInfo], int]:
    """The records by name, and the size of the file. They lie one after the other: none holds more than the file."""
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, struct.error, ValueError, OverflowError, NotImplementedError, OSError) as error:
        raise broken("reading zip archive: failed finding central directory", error) from None
    file.seek(0, os.SEEK_END)
    total, end = file.tell(), 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise broken(f"reading file {info.filename}", "the record is compressed, which PyTorch's files never are")
        if info.flag_bits & 1:
            raise broken(f"reading file {info.filename}", "the record is encrypted")
        if info.header_offset < end:
            raise broken(f"reading file {info.filename}", "records overlap")
        end = info.header_offset + _LOCAL_SIZE + len(_raw_name(info)) + info.file_size
        if end > total:
            raise broken(f"reading file {info.filename}", f"it would end at byte {end} of {total}")
    named = {info.filename: info for info in infos}
    if len(named) != len(infos):
        raise broken("reading zip archive", "it has two records of one name")
    return named, total


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")


def broken(what: str, why: object) -> RuntimeError:
    return RuntimeError(_BROKEN.format(what) + f"\n  {why}")


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when all of it is on the disk: the old or the new one is whole."""
    given, path = path, os.path.realpath(path)              # a link stays, what it leads to is replaced
    folder, base = os.path.split(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(given) or folder} does not exist.")
    mode = None
    if os.path.exists(path):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise RuntimeError(f"File {path} cannot be opened.\n  It is a directory.")
    if mode is not None and not stat.S_ISREG(mode):
        with _opened(path, path, "wb") as file:                    # a device or a pipe, which must stay what it is
            yield file
        return
    _remove_abandoned(folder, base)
    file, beside = _part(path, folder, base)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(beside, stat.S_IMODE(mode))                   # the permissions of what it replaces
        os.replace(beside, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        if isinstance(error, OSError):
            full = "\n  The disk is full." if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
            raise RuntimeError(f"PytorchStreamWriter failed writing file {path}: {error.strerror}.{full}"
                               "\n  What was there before is untouched.") from error
        raise
    _settle(folder)


def _part(path: str, folder: str, base: str) -> tuple[IO[bytes], str]:
    """A new file beside `path`, locked while this process writes it."""
    while True:
        beside = os.path.join(folder, f".{base[:60]}.{secrets.token_hex(6)}.part")
        file = _opened(path, beside, "xb")
        if _lock(file.fileno(), wait=True) and not os.path.exists(beside):
            file.close()                       # another save took it for abandoned before it was locked
            continue
        return file, beside


def _remove_abandoned(folder: str, base: str) -> None:
    """Remove what saves to the same path left behind that were killed: nobody holds their lock any more."""
    if fcntl is None:
        return
    left = re.compile(re.escape(f".{base[:60]}.") + r"[0-9a-f]{12}\.part")
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if left.fullmatch(name):
                with contextlib.suppress(OSError), open(os.path.join(folder, name), "rb") as file:
                    if _lock(file.fileno()):
                        os.unlink(file.name)


def _lock(handle: int, wait: bool = False) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _opened(path: str, name: str, mode: str) -> IO[bytes]:
    try:
        return open(name, mode)
    except OSError as error:
        raise RuntimeError(f"File {path} cannot be opened.\n  {error.strerror}: {os.path.dirname(path)}") from error


def _settle(folder: str) -> None:
    """The new name on the disk too, where a directory can be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def buffered(file: Any) -> IO[bytes]:
    """A file of the user's, if it can seek."""
    for needed in ("seek", "tell", "read"):
        if not hasattr(file, needed):
            raise AttributeError(f"'{type(file).__name__}' object has no attribute '{needed}'. You can only torch.load "
                                 "from a file that is seekable. Please pre-load the data into a buffer like "
                                 "io.BytesIO and try to load from it instead.")
    found: IO[bytes] = file
    return found
