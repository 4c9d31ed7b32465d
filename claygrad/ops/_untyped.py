"""Methods of `UntypedStorage` that need no C: sharing between processes, files, buffers, casts, devices, copies."""
from __future__ import annotations

import itertools
import os
import sys
import weakref
from typing import Any

import numpy as np

from claygrad.core import DTYPES, Storage, attach, device, dtype, host_array, on_storage, parse_device, set_elements
from claygrad.core import shared_memory as sharing
from claygrad.core.data.lazy_clones import swap_bytes
from claygrad.core.data.storage import mapping_of

_ORDERS = {"native": "=", "big": ">", "little": "<"}


def bytes_of(storage: Storage) -> np.ndarray:
    """The bytes as an array on the same memory, for use inside claygrad."""
    return host_array(on_storage(storage, DTYPES["uint8"], (storage.nbytes(),), (1,), 0))


def set_bytes(storage: Storage, content: np.ndarray) -> None:
    """Write an array of bytes to a new storage, wherever it is."""
    if storage.device.type != "meta" and content.size:
        set_elements(on_storage(storage, DTYPES["uint8"], (content.size,), (1,), 0), content)


def _int(value: Any) -> int:
    if not isinstance(value, (int, np.integer)):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return int(value)


# --- of several processes, and of files -------------------------------------------------------------------------
def share_memory_(self: Storage) -> Storage:
    """Move the bytes to memory that other processes can see. It is freed when the last of them lets go."""
    return sharing.share(self)


def _new_shared(cls: type[Storage], size: int, *, device: Any = "cpu") -> Storage:
    """A new storage in memory that other processes can see."""
    if _device(device).type != "cpu":
        raise RuntimeError(f"_share_fd_: only available on CPU, not on {device}")
    return sharing.new_shared(cls, _int(size))


def _share_fd_cpu_(self: Storage) -> tuple[int, int]:
    """Share the memory; its descriptor, which stays the storage's, and its size."""
    _, descriptor, _ = mapping_of(sharing.share(self, "file_descriptor"))
    if descriptor < 0:
        raise RuntimeError("this memory is shared by name already; see _share_filename_cpu_")
    return descriptor, self.nbytes()


def _get_shared_fd(self: Storage) -> int:
    """The descriptor of shared memory."""
    return self._share_fd_cpu_()[0]


def _share_filename_cpu_(self: Storage) -> tuple[bytes, bytes, int]:
    """Share the memory; who cares for its name (nobody: processes do by themselves), its name and its size."""
    _, _, name = mapping_of(sharing.share(self, "file_system"))
    if name is None:
        raise RuntimeError("this memory is shared by its descriptor already; see _share_fd_cpu_")
    return b"", f"/{name}".encode(), self.nbytes()


def _new_using_fd_cpu(cls: type[Storage], size: int) -> Storage:
    """A new storage in shared memory that is found by a descriptor."""
    return sharing.new_shared(cls, _int(size), "file_descriptor")


def _new_using_filename_cpu(cls: type[Storage], size: int) -> Storage:
    """A new storage in shared memory that is found by a name."""
    return sharing.new_shared(cls, _int(size), "file_system")


def _new_shared_fd_cpu(cls: type[Storage], fd: int, size: int) -> Storage:
    """A storage on shared memory, by a descriptor, which stays the caller's."""
    if not (isinstance(fd, int) and isinstance(size, int)):
        raise TypeError("_new_shared in file descriptor mode received an invalid combination of arguments - got "
                        f"({type(fd).__name__}, {type(size).__name__}), but expected a file descriptor (int) and "
                        "storage size (int)")
    try:
        own = os.dup(fd)
    except (OSError, OverflowError):
        raise RuntimeError("could not duplicate a shared memory file descriptor") from None
    return sharing.from_descriptor(own, size, cls)


def _new_shared_filename_cpu(cls: type[Storage], manager: Any, handle: Any, size: int) -> Storage:
    """A storage on shared memory, by the name that its first owner gave it."""
    if not isinstance(handle, (str, bytes)) or not isinstance(size, int):
        raise TypeError("_new_shared in file system mode received an invalid combination of arguments - got "
                        f"({', '.join(type(x).__name__ for x in (manager, handle, size))}), but expected a handle "
                        "(string/bytes) and storage size (int)")
    name = (os.fsdecode(handle)).removeprefix("/")
    return sharing.from_name(sharing.another_name(name), size, cls)


def _count_change(self: Storage) -> Storage:
    """Nothing to count: every process has a name of its own for shared memory, and removes that alone."""
    return self


def from_file(cls: type[Storage], filename: str, shared: bool = False, nbytes: int = 0) -> Storage:
    """A storage on the memory of a file; with `shared`, what is written goes to the file, which grows if it must."""
    return sharing.from_file(filename, bool(shared), _int(nbytes), cls)


def _write_file(self: Storage, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
    """Write the bytes to a file; with `save_size`, first the number of elements in eight bytes, the least first."""
    if self.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if _int(element_size) < 1:
        raise RuntimeError(f"_write_file: an element has at least one byte, got element_size={element_size}")
    if save_size:
        f.write((self.nbytes() // element_size).to_bytes(8, "little"))
    f.write(self.to_bytes())


def _swap_data_ptr_(self: Storage, other: Storage) -> None:
    """Exchange the memory of two storages of one size (or of which one is empty), under all tensors on them."""
    if not isinstance(other, Storage):
        raise RuntimeError(f"_swap_data_ptr_ expects an UntypedStorage, but got {type(other).__name__}")
    swap_bytes(self, other)


def _fix_weakref(self: Storage) -> None:
    """Nothing to mend: a storage is one object for as long as its memory lives."""


# --- from other memory ------------------------------------------------------------------------------------------
def elements_from_buffer(buffer: Any, byte_order: str, count: int, offset: int, kind: dtype) -> np.ndarray:
    """A copy of elements in a buffer, as unsigned integers (or complex numbers) in this machine's order."""
    if byte_order not in _ORDERS:
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise TypeError(f"a bytes-like object is required, not '{type(buffer).__name__}'") from None
    size, item = view.nbytes, kind.itemsize
    if offset < 0 or offset > size:
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({offset}) , but got {size}")
    if count < 0 and (size - offset) % item:
        raise ValueError(f"buffer size ({size}) must be a multiple of element size ({item})")
    left = (size - offset) // item
    if count > left:
        raise ValueError(f"buffer has only {size - offset} elements after offset {offset}, but specified a size of "
                         f"{count}")
    if kind.name == "bool":
        return np.frombuffer(view, np.uint8, left if count < 0 else count, offset) != 0
    code = f"u{item}" if item < 16 else "c16"
    raw = np.frombuffer(view, _ORDERS[byte_order] + code, left if count < 0 else count, offset)
    return raw.astype(raw.dtype.newbyteorder("="))


def from_buffer(cls: type[Storage], buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0, *,
                dtype: Any = None, device: Any = None) -> Storage:
    """A copy of a buffer's elements; `byte_order` says how the bytes of one lie there."""
    if dtype is None:
        raise RuntimeError("argument 'dtype' cannot be None")
    values = elements_from_buffer(buffer, byte_order, count, offset, dtype)
    out = cls(values.nbytes, device=device)
    set_bytes(out, values.reshape(-1).view(np.uint8))
    return out


def byteswap(self: Storage, dtype: dtype) -> None:
    """Turn the bytes of every element round, in place. The parts of a complex number are elements of their own."""
    item = dtype.itemsize // (2 if dtype.is_complex else 1)
    if self.nbytes() % item:
        raise RuntimeError(f"the length of data is not a multiple of {item}")
    if item > 1 and self.device.type != "meta":
        swapped = self.cpu().clone()
        bytes_of(swapped).view(f"u{item}").byteswap(inplace=True)
        self.copy_(swapped)


# --- devices ----------------------------------------------------------------------------------------------------
def _device(given: Any) -> device:
    return given if isinstance(given, device) else device(given)


def to(self: Storage, *, device: Any, non_blocking: bool = False) -> Storage:
    """The storage on a device: itself if it lies there."""
    place = _device(device)
    if place.type == "cpu":
        return self.cpu()
    if place == self.device:
        return self
    if place.type not in ("cuda", "xpu", "privateuseone"):
        raise AssertionError(f"{place.type.upper()} device module is not loaded")
    where = parse_device(place)
    return self if where is self.device else type(self)(self.nbytes(), device=where).copy_(self)


def cuda(self: Storage, device: Any = None, non_blocking: bool = False) -> Storage:
    """A copy on a GPU; an error where there is none."""
    return self.to(device="cuda" if device is None else device)


def hpu(self: Storage, device: Any = None, non_blocking: bool = False) -> Storage:
    """A copy on an HPU; an error where there is none."""
    raise AssertionError("HPU device module is not loaded")


def mps(self: Storage) -> Storage:
    """A copy on an Apple GPU; an error where there is none."""
    raise RuntimeError("torch.UntypedStorage(): Storage device not recognized: mps")


def pin_memory(self: Storage, device: Any = None) -> Storage:
    """Lock the memory for copies to a GPU; an error where there is none."""
    if device is not None and _device(device).type not in ("cuda", "xpu", "mps", "mtia"):
        raise RuntimeError(f"{_device(device).type.upper()} device type not an accelerator.")
    raise RuntimeError("Cannot access accelerator device when none is available.")


# --- references that keep nothing alive, by number --------------------------------------------------------------
_weak: dict[int, weakref.ref[Storage]] = {}
_numbers = itertools.count(1)


def _weak_ref(self: Storage) -> int:
    """A number that stands for the storage and does not keep it alive."""
    number = next(_numbers)
    _weak[number] = weakref.ref(self)
    return number


def _alive(number: Any) -> Storage | None:
    found = _weak.get(number)
    return None if found is None else found()


def _expired(number: Any) -> bool:
    """Whether the storage behind a number of `_weak_ref` is gone."""
    return _alive(number) is None


def _new_with_weak_ptr(cls: type[Storage], number: Any) -> Storage | None:
    """The storage behind a number of `_weak_ref`, if it is still there."""
    return _alive(number)


def _free_weak_ref(number: Any) -> None:
    """Forget a number of `_weak_ref`."""
    _weak.pop(number, None)


# --- copies -----------------------------------------------------------------------------------------------------
def _copied(self: Storage) -> Storage:
    """A storage of its own with the same bytes."""
    return self.clone()


def _deeply_copied(self: Storage, memo: dict[int, Any]) -> Storage:
    """The same, once for all that is copied together: its tensors share the copy, under the key of copies.py."""
    if id(self) not in memo:
        memo[id(self)] = self.clone()
    copied: Storage = memo[id(self)]
    return copied


def _install() -> None:
    here = sys.modules[__name__]
    methods: dict[str, Any] = {name: getattr(here, name) for name in (
        "_write_file _swap_data_ptr_ _fix_weakref "
        "share_memory_ _share_fd_cpu_ _get_shared_fd _share_filename_cpu_ byteswap to cuda hpu mps pin_memory _weak_ref"
    ).split()}
    methods |= {name: classmethod(getattr(here, name)) for name in (
        "_new_shared _new_using_fd_cpu _new_using_filename_cpu _new_shared_fd_cpu _new_shared_filename_cpu from_file "
        "from_buffer _new_with_weak_ptr").split()}
    methods |= {name: staticmethod(getattr(here, name)) for name in ("_expired", "_free_weak_ref")}
    methods |= {"_shared_incref": _count_change, "_shared_decref": _count_change, "_byteswap": byteswap,
                "__copy__": _copied, "__deepcopy__": _deeply_copied, "_get_filename": lambda self: self.filename,
                "is_hpu": property(lambda self: False), "is_sparse_csr": False}
    attach(methods, Storage)


_install()
