"""The memory of a tensor as a row of elements: `TypedStorage`, and the older names `FloatStorage`, `LongStorage`, …

PyTorch deprecates these in favour of `UntypedStorage`. Each public name warns of it once in a process; the same name
with an underscore before it does not.
"""
from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from claygrad.core import (
    DTYPES,
    Storage,
    Tensor,
    attach,
    default_dtype,
    device,
    dtype,
    empty,
    on_storage,
    parse_device,
    prefix,
    share,
)
from claygrad.core import shared_memory as sharing
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.user_warnings import warn
from claygrad.ops._untyped import elements_from_buffer

_DEPRECATED = ("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
               "storage class. This should only matter to you if you are using storages directly.  To access "
               "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()")
_FORMS = ("TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
          " * (*, torch.device device, torch.dtype dtype)\n"
          " * (int size, *, torch.device device, torch.dtype dtype)\n"
          " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
          " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n")
_OLD_FORMS = ("{}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * (int "
              "size)\n"
              " * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n")
_warned = _always = False


def _get_always_warn_typed_storage_removal() -> bool:
    return _always


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    global _always
    if not isinstance(always_warn, bool):
        raise AssertionError(f"always_warn must be bool, got {type(always_warn).__name__}")
    _always = always_warn


def _reset_warn_typed_storage_removal() -> None:
    global _warned
    _warned = False


def _warn_typed_storage_removal(stacklevel: int = 2) -> None:
    global _warned
    if _always or not _warned:
        _warned = True
        warn(_DEPRECATED, UserWarning)


def _dtype_to_storage_type_map() -> dict[dtype, str]:
    return {kind: name for name, kind in KINDS.items()}


def _asked_dtype(given: Any) -> dtype:
    if given is not None and not isinstance(given, dtype):
        raise RuntimeError(f"expected {prefix()}.dtype, but got {type(given)}")
    return default_dtype() if given is None else given


class TypedStorage:
    """All elements of a storage, in one dtype. Shares its memory with every tensor on the storage."""

    is_sparse = False
    dtype: dtype
    _dtype = property(lambda self: self.dtype)

    def __init__(self, *args: Any, device: Any = None, dtype: Any = None, wrap_storage: Any = None,
                 _internal: bool = False) -> None:
        if not _internal:
            _warn_typed_storage_removal()
        if wrap_storage is not None:
            self._wrap(args, device, dtype, wrap_storage)
            return
        self.dtype = _asked_dtype(dtype)
        if len(args) > 1:
            raise RuntimeError(_FORMS + "Too many positional arguments")
        content = args[0] if args else 0
        place = _place(device)
        if isinstance(content, (int, np.integer)):
            self._untyped_storage = empty((int(content),), self.dtype, place).untyped_storage()
        elif isinstance(content, Sequence):
            self._untyped_storage = _from_sequence(content, self.dtype, place)
        else:
            raise TypeError(_FORMS + f"Argument type not recognized: {type(content)}")

    def _wrap(self, args: tuple, device: Any, kind: Any, storage: Any) -> None:
        if args:
            raise RuntimeError(_FORMS + "No positional arguments should be given when using 'wrap_storage'")
        if kind is None:
            raise RuntimeError(_FORMS + "Argument 'dtype' must be specified")
        if not isinstance(kind, dtype):
            raise TypeError(_FORMS + f"Argument 'dtype' must be torch.dtype, not {type(kind)}")
        if device is not None:
            raise RuntimeError(_FORMS + "Argument 'device' should not be specified when 'wrap_storage' is given")
        if not isinstance(storage, Storage):
            raise TypeError(_FORMS + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(storage)}")
        self.dtype, self._untyped_storage = kind, storage

    def _wrapped(self, storage: Storage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype, _internal=True)

    _untyped = property(lambda self: self._untyped_storage)
    filename = property(lambda self: getattr(self._untyped_storage, "filename", None))
    _cdata = property(lambda self: self._untyped_storage._cdata)

    def _line(self) -> Tensor:
        """All elements as a tensor on the same memory."""
        return on_storage(self._untyped_storage, self.dtype, (self._size(),), (1,), 0)

    def _size(self) -> int:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def _nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def _element_size(self) -> int:
        return self.dtype.itemsize

    def _data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def _readable(self) -> None:
        if self._untyped_storage.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def _getitem(self, at: Any) -> Any:
        self._readable()
        if isinstance(at, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(at, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(at)}")
        if not -self._size() <= at < self._size():
            raise IndexError(f"index {at} out of range for storage of size {self._size()}")
        return self._line()[at].item()

    def _setitem(self, at: Any, value: Any) -> None:
        if not isinstance(at, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(at)}")
        if isinstance(value, (TypedStorage, Storage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        self._line()[at] = value

    def _tolist(self) -> list[Any]:
        self._readable()
        return self._line().tolist()

    def _fill_(self, value: Any) -> TypedStorage:
        self._setitem(slice(0, self._size()), value)
        return self

    def _copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        line = source._line() if isinstance(source, TypedStorage) else on_storage(
            source, self.dtype, (source.nbytes() // self.dtype.itemsize,), (1,), 0)
        if line.device.type == "meta" and self._untyped_storage.device.type != "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        self._line().copy_(line)
        return self

    def _clone(self) -> TypedStorage:
        return self._wrapped(self._line().clone().untyped_storage())

    def _deepcopy(self, memo: dict) -> TypedStorage:
        return self._wrapped(copy.deepcopy(self._line(), memo).untyped_storage())

    def _cpu(self) -> TypedStorage:
        if self._untyped_storage.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self

    def _resize_(self, size: int) -> None:
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def _type(self, dtype: Any = None, non_blocking: bool = False) -> str:
        return f"{prefix()}.{self.dtype.legacy}Storage"

    def _pickle_storage_type(self) -> str:
        return f"{self.dtype.legacy}Storage"

    def _is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def _is_pinned(self, device: Any = None) -> bool:
        return False

    def _share_memory_(self) -> TypedStorage:
        self._untyped_storage.share_memory_()
        return self

    def _share_fd_cpu_(self) -> tuple[int, int]:
        """Share the memory; its descriptor, which stays the storage's, and its size in elements."""
        descriptor, _ = self._untyped_storage._share_fd_cpu_()
        return descriptor, self._size()

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        """Share the memory; who cares for its name, its name, and its size in elements."""
        manager, name, _ = self._untyped_storage._share_filename_cpu_()
        return manager, name, self._size()

    def _write_file(self, *args: Any, **kwargs: Any) -> None:
        """As that of the storage's bytes."""
        self._untyped_storage._write_file(*args, **kwargs)

    def _new_shared(self, size: int, *, device: Any = None) -> TypedStorage:
        """A new storage of the same dtype in memory that other processes can see."""
        return self._wrapped(Storage._new_shared(size * self.dtype.itemsize, device=device or "cpu"))

    _new_wrapped_storage = _wrapped

    def _weak_ref(self) -> int:
        """A number that stands for the storage and does not keep it alive."""
        return self._untyped_storage._weak_ref()

    _expired = staticmethod(Storage._expired)
    _free_weak_ref = staticmethod(Storage._free_weak_ref)

    def _shared_incref(self) -> TypedStorage:
        """As that of the storage's bytes."""
        self._untyped_storage._shared_incref()
        return self

    _shared_decref = _shared_incref
    is_hpu = property(lambda self: False)

    def _pin_memory(self, device: Any = None) -> TypedStorage:
        return self._wrapped(self._untyped_storage.pin_memory(device))

    def _to_device(self, name: str, *args: Any, **kwargs: Any) -> TypedStorage:
        return self._wrapped(getattr(self._untyped_storage, name)(*args, **kwargs))

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The storage on a device: itself if it lies there."""
        _warn_typed_storage_removal()
        return self._to_device("to", device=device, non_blocking=non_blocking)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """A copy on a GPU; an error where there is none."""
        _warn_typed_storage_removal()
        return self._to_device("cuda", device, non_blocking)

    def hpu(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """A copy on an HPU; an error where there is none."""
        _warn_typed_storage_removal()
        return self._to_device("hpu", device, non_blocking)

    @property
    def pickle_storage_type(self) -> str:
        """The name that a storage of this dtype has in files."""
        _warn_typed_storage_removal()
        return self._pickle_storage_type()

    def _get_legacy_storage_class(self) -> type | None:
        """FloatStorage for float32, and so on."""
        return CLASSES.get(f"{self.dtype.legacy}Storage")

    def _get_device(self) -> int:
        return -1

    def _resizable(self) -> bool:
        return getattr(self._untyped_storage, "resizable", lambda: True)()

    def _to(self, kind: dtype) -> TypedStorage:
        if not isinstance(kind, dtype):
            raise TypeError(f"Argument 'dtype' must be torch.dtype, not {type(kind)}")
        out = self._line().to(kind, copy=True)
        return TypedStorage(wrap_storage=out.untyped_storage(), dtype=kind, _internal=True)

    @classmethod
    def _from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0, *,
                     dtype: Any = None, device: Any = None) -> TypedStorage:
        if cls is not TypedStorage and (dtype is not None or device is not None):
            raise RuntimeError(f"from_buffer: '{'dtype' if dtype is not None else 'device'}' can only be specified in "
                               "UntypedStorage.from_buffer and TypedStorage.from_buffer")
        kind = (default_dtype() if dtype is None else dtype) if cls is TypedStorage else cls.dtype
        if byte_order == "native" or byte_order in ("big", "little"):
            array = elements_from_buffer(buffer, byte_order, count, offset, kind)
        else:
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big' or 'little')")
        array = array.view(kind.numpy)
        return TypedStorage(wrap_storage=share(array).untyped_storage(), dtype=kind, _internal=True)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """A storage on the memory of a file; with `shared`, what is written goes to the file."""
        _warn_typed_storage_removal()
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        storage = sharing.from_file(filename, bool(shared), size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=storage, dtype=cls.dtype, _internal=True)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TypedStorage) and self._data_ptr() == other._data_ptr() and self.dtype == other.dtype)

    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tolist())

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._nbytes()

    def __repr__(self) -> str:
        meta = self._untyped_storage.device.type == "meta"
        rows = "...\n" if meta else "".join(f" {value}\n" for value in self._tolist())
        return (f"{rows}[{prefix()}.storage.TypedStorage(dtype={self.dtype}, device={self._untyped_storage.device}) of "
                f"size {self._size()}]")

    is_cuda = property(lambda self: _warn_typed_storage_removal() or False)


def _public(name: str) -> Any:
    inner = TypedStorage.__dict__[f"_{name.strip('_') if name.startswith('__') else name}"]
    static = isinstance(inner, classmethod)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        _warn_typed_storage_removal()
        return (inner.__func__ if static else inner)(self, *args, **kwargs)
    method.__name__, method.__doc__ = name, f"`{name}` of storages; deprecated with the class."
    return classmethod(method) if static else method


for _name in ("size nbytes element_size data_ptr tolist fill_ copy_ clone cpu resize_ type is_shared is_pinned "
              "share_memory_ pin_memory get_device resizable from_buffer __getitem__ __setitem__ __deepcopy__").split():
    setattr(TypedStorage, _name, _public(_name))


def _length(self: TypedStorage) -> int:
    _warn_typed_storage_removal()
    return self._size()


def _bytes_of(self: TypedStorage) -> Storage:
    """The storage as bytes."""
    _warn_typed_storage_removal()
    return self._untyped_storage


TypedStorage.__len__ = _length                                                      # type: ignore[attr-defined]
TypedStorage.__copy__ = TypedStorage.clone                                          # type: ignore[attr-defined]
TypedStorage.untyped = _bytes_of                                                    # type: ignore[attr-defined]
TypedStorage.device = property(lambda self: self._untyped_storage.device)           # type: ignore[attr-defined]
_CASTS = {"double": "float64", "float": "float32", "half": "float16", "bfloat16": "bfloat16",
          "long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
          "complex_double": "complex128", "complex_float": "complex64"}
for _name, _kind in _CASTS.items():
    setattr(TypedStorage, _name, lambda self, kind=DTYPES[_kind]: self._to(kind))


class _Old(type):
    """The class of FloatStorage and its like, of which every typed storage of that dtype is an instance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is vars(cls).get("_dtype")

    @property
    def dtype(cls) -> dtype:
        _warn_typed_storage_removal()
        return vars(cls)["_dtype"]


class _LegacyStorage(TypedStorage, metaclass=_Old):
    def __new__(cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None,
                _internal: bool = False) -> Any:
        if not _internal:
            _warn_typed_storage_removal()
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        said = _OLD_FORMS.format(cls)
        for name, given in (("device", device), ("dtype", dtype)):
            if given is not None:
                raise RuntimeError(said + f"Keyword argument '{name}' cannot be specified")
        if wrap_storage is not None:
            if args:
                raise RuntimeError(said + "No positional arguments should be given when using 'wrap_storage'")
            if not isinstance(wrap_storage, Storage):
                raise TypeError(said + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            return TypedStorage(wrap_storage=wrap_storage, dtype=vars(cls)["_dtype"], _internal=True)
        if len(args) > 1:
            raise RuntimeError(said + "Too many positional arguments")
        if args and not isinstance(args[0], (int, np.integer, Sequence)):
            raise TypeError(said + f"Argument type not recognized: {type(args[0])}")
        return TypedStorage(*args, dtype=vars(cls)["_dtype"], _internal=True)


def _place(where: Any) -> device:
    out = device("cpu" if where is None else where)
    if out.type not in ("cpu", "meta", "cuda", "xpu", "privateuseone"):
        raise RuntimeError(f"Storage device not recognized: {out.type}")
    return parse_device(out)


def _from_sequence(content: Sequence, kind: dtype, place: device) -> Storage:
    if isinstance(content, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(content).__name__}'")
    out = empty((len(content),), kind, place)
    if place.type != "meta" and len(content):
        out.copy_(Tensor.new(out, list(content)) if content else out)
    return out.untyped_storage()


def elements_of(given: Any, kind: dtype | None) -> Tensor | None:
    """The elements of a storage as a tensor on its memory, if it is a storage; bytes are read as `kind`."""
    if isinstance(given, TypedStorage):
        if kind is not None and kind is not given.dtype:
            raise RuntimeError(f"Expected a Storage of type {kind.legacy} or an UntypedStorage, but got "
                               f"{given.dtype.legacy}")
        return given._line()
    if isinstance(given, Storage):
        kind = default_dtype() if kind is None else kind
        return on_storage(given, kind, (given.nbytes() // kind.itemsize,), (1,), 0)
    return None


KINDS = {f"{kind.legacy}Storage": kind for kind in DTYPES.values()
         if kind.code < DTYPES["uint16"].code or kind.name.startswith("q")}
CLASSES = {name: _Old(name, (_LegacyStorage,), {"_dtype": kind, "__module__": "claygrad"})
           for name, kind in KINDS.items()}


# --- what bytes do as elements ----------------------------------------------------------------------------------
def _bytes_to(self: Storage, dtype: dtype) -> TypedStorage:
    """Every byte as an element of a dtype."""
    return TypedStorage(wrap_storage=self, dtype=DTYPES["uint8"], _internal=True)._to(dtype)


def _cast(kind: dtype) -> Any:
    def cast(self: Storage) -> TypedStorage:
        return _bytes_to(self, kind)
    cast.__doc__ = f"Every byte as an element of {kind.name}."
    return cast


attach({"_to": _bytes_to, **{name: _cast(DTYPES[kind]) for name, kind in _CASTS.items()}}, Storage)

guard_package(__name__)          # Note [Entry points]
