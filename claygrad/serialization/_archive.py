"""PyTorch's checkpoint file: an uncompressed zip, its records at multiples of 64 bytes; and a write that is atomic."""
from __future__ import annotations

import contextlib
import io
import mmap
import os
import secrets
import struct
import zipfile
from collections.abc import Iterator
from typing import IO, Any

ALIGNMENT = 64
_PADDING = 0x4246           # the id PyTorch gives to the extra field that only fills up
_LOCAL_HEADER = 30
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
        at = self.zip.start_dir + _LOCAL_HEADER + len(info.filename.encode()) + 4 + (20 if large else 0)
        fill = -at % ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING, fill) + b"Z" * fill
        with self.zip.open(info, "w", force_zip64=large) as out:
            out.write(view)

    def close(self) -> None:
        self.zip.close()


class Reader:
    """The records of an archive. `source` is a path, or a file that can seek."""

    def __init__(self, source: str | IO[bytes]) -> None:
        self.source = source
        try:
            self.zip = zipfile.ZipFile(source)
        except zipfile.BadZipFile as error:
            raise broken("reading zip archive: failed finding central directory", error) from None
        found = [name for name in self.zip.namelist() if name.endswith("data.pkl") and name.count("/") == 1]
        if len(found) != 1:
            raise broken("locating file data.pkl: file not found", f"it has the records {self.zip.namelist()[:5]}")
        self.folder = found[0].removesuffix("data.pkl")
        self.map: mmap.mmap | None = None

    def size(self, record: str) -> int:
        """The bytes of a record; it must be there, and not compressed."""
        try:
            info = self.zip.getinfo(self.folder + record)
        except KeyError as error:
            raise broken(f"locating file {record}: file not found", error) from None
        if info.compress_type != zipfile.ZIP_STORED:
            raise broken(f"reading file {record}", "the record is compressed, which PyTorch's files never are")
        return info.file_size

    def read(self, record: str) -> bytes:
        size = self.size(record)
        whole = bytearray(size)
        self.read_into(record, whole)
        return bytes(whole)

    def has(self, record: str) -> bool:
        return self.folder + record in self.zip.namelist()

    def read_into(self, record: str, target: Any) -> None:
        """All of a record, its checksum tested, into memory of its size."""
        view, done = memoryview(target).cast("B"), 0
        try:
            with self.zip.open(self.folder + record) as file:
                while done < view.nbytes:
                    count = file.readinto(view[done:])            # type: ignore[attr-defined]
                    if not count:
                        raise broken(f"reading file {record}", f"it ends after {done} of {view.nbytes} bytes")
                    done += count
                file.read(1)                                      # at the end the checksum is compared
        except (zipfile.BadZipFile, EOFError, struct.error, OSError, NotImplementedError) as error:
            raise broken(f"reading file {record}", error) from None

    def mapped(self, record: str) -> tuple[mmap.mmap, int, int]:
        """A record in the file itself: the map, where it begins, how long it is. Writes stay in this process."""
        size = self.size(record)
        info = self.zip.getinfo(self.folder + record)
        assert isinstance(self.source, str)
        with open(self.source, "rb") as file:
            if self.map is None:
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            file.seek(info.header_offset)
            head = file.read(_LOCAL_HEADER)
        if len(head) < _LOCAL_HEADER or head[:4] != b"PK\x03\x04":
            raise broken(f"reading file {record}", "its header is not where the directory says")
        names, extra = struct.unpack_from("<HH", head, 26)
        begin = info.header_offset + _LOCAL_HEADER + names + extra
        if begin + size > len(self.map):
            raise broken(f"reading file {record}", "it ends after the file")
        return self.map, begin, size

    def close(self) -> None:
        self.zip.close()


def broken(what: str, why: object) -> RuntimeError:
    return RuntimeError(_BROKEN.format(what) + f"\n  {why}")


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when all of it is on the disk: the old or the new one is whole."""
    folder, base = os.path.split(path)
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    if os.path.isdir(path):
        raise RuntimeError(f"File {path} cannot be opened.\n  It is a directory.")
    beside = os.path.join(folder, f".{base}.{secrets.token_hex(6)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(beside, os.stat(path).st_mode & 0o7777)      # the permissions of what it replaces
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _settle(folder or ".")


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
    """A file of the user's, as one that can seek."""
    if not hasattr(file, "seek") or not hasattr(file, "read"):
        missing = "seek" if not hasattr(file, "seek") else "read"
        raise AttributeError(f"'{type(file).__name__}' object has no attribute '{missing}'. You can only torch.load "
                             "from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO and try to "
                             "load from it instead.")
    return file if isinstance(file, io.IOBase) or hasattr(file, "tell") else io.BytesIO(file.read())
