"""Shared memory: how it is created, named, sent and opened (Note [Mapped memory], mapped_memory.pxd).

Two strategies, by PyTorch's names. `file_descriptor`: the memory has no name, its descriptor is sent; nothing can be
left behind, whatever is killed. `file_system`: every process has a name (a hard link) of its own for the memory and
keeps no descriptor; each removes its own when it lets go. Names of killed processes are removed by the resource
tracker of Python's multiprocessing, at the latest when the whole family of processes has ended.
"""
from __future__ import annotations

import errno
import os
import sys
import weakref
from typing import Any

from claygrad.core.data.mapped_memory import Mapping, map_file
from claygrad.core.data.storage import Storage, capacity_of, mapping_of, move_to_mapping, on_mapping
from claygrad.core.tensor import Tensor

STRATEGIES = {"file_descriptor", "file_system"} if sys.platform == "linux" else {"file_system"}
strategy = "file_descriptor" if "file_descriptor" in STRATEGIES else "file_system"

_FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else os.environ.get("TMPDIR", ".").rstrip("/")
_SHRINK_AND_GROW = 0x0002 | 0x0004           # seals of a memory file: its size is fixed, so no page of it can go away
_known: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()
_own: dict[str, int] = {}                    # name: the process that removes it
_created = 0


def set_strategy(name: str) -> None:
    """Choose how memory that is shared from now on is made."""
    global strategy
    if name not in STRATEGIES:
        raise AssertionError(f"{name} is not a sharing strategy here; there are {sorted(STRATEGIES)}")
    if name == "file_system":
        from multiprocessing import resource_tracker
        resource_tracker.ensure_running()    # before processes are forked, so that all of the family have the same
    strategy = name


# --- making -----------------------------------------------------------------------------------------------------
def _full_size(descriptor: int, nbytes: int) -> None:
    """Allocate the bytes now: a lack of memory must be an error here, not a fault at the first write."""
    try:
        if hasattr(os, "posix_fallocate"):
            room = os.fstatvfs(descriptor)
            if nbytes > room.f_bavail * room.f_frsize:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.posix_fallocate(descriptor, 0, max(nbytes, 1))
        else:
            os.ftruncate(descriptor, max(nbytes, 1))
    except OSError as error:
        raise RuntimeError(f"unable to allocate shared memory(shm) of {nbytes} bytes: {error.strerror} ({error.errno})"
                           ) from None


def nameless(nbytes: int) -> Mapping:
    """New shared memory, found by its descriptor alone."""
    import fcntl
    if nbytes > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise RuntimeError(f"unable to allocate shared memory(shm) of {nbytes} bytes: Cannot allocate memory (12)")
    descriptor = os.memfd_create("claygrad", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, max(nbytes, 1))     # memory alone is its limit, as for any other memory
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SHRINK_AND_GROW)
        return map_file(descriptor, nbytes, keep=True, fixed=True)
    except BaseException:
        os.close(descriptor)
        raise


def _new_name() -> str:
    global _created
    _created += 1
    return f"claygrad_{os.getpid()}_{os.urandom(4).hex()}_{_created}"


def named(nbytes: int) -> Mapping:
    """New shared memory with a name."""
    name = _new_name()
    descriptor = os.open(f"{_FOLDER}/{name}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _track(name, True)
        _full_size(descriptor, nbytes)
        return _owned(map_file(descriptor, nbytes, name=name), name)
    except BaseException:
        _remove(name)
        raise
    finally:
        os.close(descriptor)


def _track(name: str, there: bool) -> None:
    """Tell the resource tracker of a name, which it removes if nobody else does."""
    from multiprocessing import resource_tracker
    (resource_tracker.register if there else resource_tracker.unregister)(f"/{name}", "shared_memory")


def _remove(name: str) -> None:
    try:
        os.unlink(f"{_FOLDER}/{name}")
    except FileNotFoundError:
        return
    _track(name, False)


def _owned(block: Mapping, name: str) -> Mapping:
    """Remove the name with the memory, or when this process ends."""
    if not _own:
        from multiprocessing import util
        _at_exit(_at_exit)
        util.register_after_fork(_at_exit, _at_exit)             # multiprocessing clears its exit functions in a child
    _own[name] = os.getpid()
    weakref.finalize(block, _let_go, name).atexit = False
    return block


def _at_exit(_: Any) -> None:
    from multiprocessing.util import Finalize
    Finalize(None, _let_go_of_all, exitpriority=-100)            # after the queues have sent what they hold


def _let_go(name: str) -> None:
    if _own.pop(name, None) == os.getpid():                      # a forked child does not own its parent's names
        _remove(name)


def _let_go_of_all() -> None:
    for name in list(_own):
        _let_go(name)


# --- storages ---------------------------------------------------------------------------------------------------
def share(storage: Storage, how: str | None = None) -> Storage:
    """Move the bytes of a storage to memory that other processes can see, unless they are there."""
    how = how or strategy
    if storage.device.type != "cpu":
        raise RuntimeError(f"_share_{'fd' if how == 'file_descriptor' else 'filename'}_: only available on CPU")
    if mapping_of(storage) is None:
        move_to_mapping(storage, (nameless if how == "file_descriptor" else named)(capacity_of(storage)))
    return storage


def new_shared(cls: type[Storage], nbytes: int, how: str | None = None) -> Storage:
    """A storage of zeros that other processes can see."""
    if not 0 <= nbytes < 1 << 62:
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <filename not specified>: Cannot allocate memory "
                           "(12)")
    return on_mapping((nameless if (how or strategy) == "file_descriptor" else named)(nbytes), nbytes, cls)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _check_length(descriptor: int, nbytes: int, name: str) -> None:
    if nbytes < 0:
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{name}>: Cannot allocate memory (12)")
    there = os.fstat(descriptor).st_size
    if there < nbytes:
        raise RuntimeError(f"file <{name}> size <{there}> is smaller than the required mapping size <{nbytes}>")


# --- by descriptor ----------------------------------------------------------------------------------------------
def from_descriptor(descriptor: int, nbytes: int, cls: type[Storage] = Storage) -> Storage:
    """The storage on the memory behind a descriptor, which it owns: the one that is there already, or a new one."""
    try:
        key = _identity(descriptor)
        found = _known.get(key)
        if found is None:
            _check_length(descriptor, nbytes, "filename not specified")
            block = map_file(descriptor, nbytes, keep=True)
            descriptor = -1                                      # owned by the mapping now
            found = _known[key] = on_mapping(block, nbytes, cls)
        return found
    finally:
        if descriptor >= 0:
            os.close(descriptor)


# --- by name ----------------------------------------------------------------------------------------------------
def another_name(own: str) -> str:
    """One more name for named memory, which belongs to whoever receives it."""
    _check_name(own)
    name = _new_name()
    try:
        os.link(f"{_FOLDER}/{own}", f"{_FOLDER}/{name}")
    except OSError as error:
        raise RuntimeError(f"unable to open shared memory object </{own}> in read-write mode: {error.strerror} "
                           f"({error.errno})\n  the process that named this memory has let it go, and took its name "
                           "along") from None
    _track(name, True)
    return name


def name_to_send(storage: Storage) -> str:
    """One more name for the memory of a shared storage."""
    name = another_name(mapping_of(storage)[2])
    status = os.stat(f"{_FOLDER}/{name}")
    _known.setdefault((status.st_dev, status.st_ino), storage)
    return name


def _check_name(name: str) -> None:
    if os.path.basename(name) != name or "\0" in name:
        raise RuntimeError(f"unable to open shared memory object </{name}> in read-write mode: it is no name")


def from_name(name: str, nbytes: int, cls: type[Storage] = Storage) -> Storage:
    """The storage on the memory of a received name; the name is removed with it."""
    _check_name(name)
    try:
        descriptor = os.open(f"{_FOLDER}/{name}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise RuntimeError(f"unable to open shared memory object </{name}> in read-write mode: {error.strerror} "
                           f"({error.errno})") from None
    try:
        _track(name, True)
        key = _identity(descriptor)
        found = _known.get(key)
        if found is not None:
            _remove(name)
            return found
        _check_length(descriptor, nbytes, f"/{name}")
        found = _known[key] = on_mapping(_owned(map_file(descriptor, nbytes, name=name), name), nbytes, cls)
        return found
    finally:
        os.close(descriptor)


# --- a user's file ----------------------------------------------------------------------------------------------
def from_file(filename: str, shared: bool, nbytes: int, cls: type[Storage] = Storage) -> Storage:
    """A storage on the memory of a file; with `shared`, what is written goes to the file, which grows if it must."""
    if not isinstance(filename, str):
        raise TypeError(f"argument 1 must be str, not {type(filename).__name__}")
    mode, how = (os.O_RDWR | os.O_CREAT, "read-write") if shared else (os.O_RDONLY, "read-only")
    try:
        descriptor = os.open(filename, mode | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{filename}> in {how} mode: {error.strerror} ({error.errno})"
                           ) from None
    kept = False
    try:
        if shared and os.fstat(descriptor).st_size < nbytes:
            try:
                os.ftruncate(descriptor, nbytes)
            except (OSError, OverflowError) as error:
                raise RuntimeError(f"unable to stretch file <{filename}> to the right size: {error}") from None
        _check_length(descriptor, nbytes, filename)
        block = map_file(descriptor, nbytes, private=not shared, keep=bool(shared), path=filename)
        kept = bool(shared)
        return on_mapping(block, nbytes, cls)
    finally:
        if not kept:
            os.close(descriptor)


# --- through pipes and queues -----------------------------------------------------------------------------------
def reduce_storage(storage: Storage) -> tuple:
    """Pickle a storage for another process: its memory is shared, not copied."""
    if storage.device.type != "cpu" or storage.nbytes() == 0:
        reduced: tuple = storage.__reduce_ex__(2)
        return reduced
    _, descriptor, name = mapping_of(share(storage))
    if name is not None:
        return rebuild_storage_filename, (type(storage), name_to_send(storage), storage.nbytes())
    from multiprocessing.reduction import DupFd
    _known.setdefault(_identity(descriptor), storage)
    return rebuild_storage_fd, (type(storage), DupFd(descriptor), storage.nbytes())


def rebuild_storage_fd(cls: type[Storage], df: Any, size: int) -> Storage:
    """The storage behind a descriptor that another process sends."""
    try:
        descriptor = df.detach()
    except (ConnectionError, FileNotFoundError, EOFError) as error:
        error.add_note("The process that sent the tensor ended before it was received: it must live until then.\n"
                       "Or send it with set_sharing_strategy('file_system'), which outlives its sender.")
        raise
    return from_descriptor(descriptor, size, cls)


def rebuild_storage_filename(cls: type[Storage], name: str, size: int) -> Storage:
    """The storage behind a name that another process sent."""
    return from_name(name, size, cls)


def reduce_tensor(tensor: Any) -> tuple:
    """Pickle a tensor for another process: by its storage. A tensor with a history cannot be sent."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does "
                           "not support crossing process boundaries.  If you just want to transfer the data, call "
                           "detach() on the tensor before serializing (e.g., putting it on the queue).")
    reduced: tuple = tensor.__reduce_ex__(2)
    return reduced


def register(reduction: Any) -> None:
    """Register tensors and storages with Python's multiprocessing (its module `reduction`)."""
    reduction.ForkingPickler.register(Storage, reduce_storage)
    reduction.ForkingPickler.register(Tensor, reduce_tensor)


def _reduce_if_shared(storage: Storage) -> tuple:
    """Pickle a storage for a joblib worker: shared memory stays shared, other memory is copied, since workers may write
    to it."""
    reduced: tuple = reduce_storage(storage) if mapping_of(storage) is not None else storage.__reduce_ex__(5)
    return reduced


def register_with_loky(reduction: Any) -> None:
    """Register tensors in shared memory with loky, which starts the processes of joblib."""
    reduction.register(Storage, _reduce_if_shared)
