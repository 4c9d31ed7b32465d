"""What PyTorch's files name, as claygrad's: functions that rebuild tensors, types, and harmless things of Python."""
from __future__ import annotations

import pickle
import reprlib
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from claygrad.core import DTYPES, UPCALLS, Size, Storage, Tensor, device, dtype, empty_strided, on_storage
from claygrad.nn.parameter import Parameter
from claygrad.ops import _formats
from claygrad.serialization._names import DTYPE_OF, Kind, Typed

_LARGEST_KEY = 1000        # tuples in a key of a dict: Python hashes them one inside the other


def rebuild_tensor(storage: Typed, offset: int, size: Any, stride: Any, requires_grad: bool = False,
                   hooks: Any = None, metadata: Any = None) -> Tensor:
    if type(storage) is not Typed:
        raise pickle.UnpicklingError(f"a tensor is said to lie in a {type(storage).__name__}")
    shape, strides = _whole(size), _whole(stride)
    if len(shape) != len(strides) or type(offset) is not int or min((offset, *shape, *strides), default=0) < 0:
        raise RuntimeError(f"mismatch in length of strides and shape: {shape}, {strides}, from {offset} on")
    reach = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else 0
    item = storage.dtype.itemsize
    if reach * item > storage.storage.nbytes():
        raise RuntimeError(f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and "
                           f"itemsize {item} requiring a storage size of {reach * item} are out of bounds for storage "
                           f"of size {storage.storage.nbytes()}")
    out: Any = on_storage(storage.storage, storage.dtype, shape, strides, offset)
    if metadata:                           # values that are the conjugates or negatives of what the storage holds
        out = out._conj().detach() if metadata.get("conj") else out
        out = out._neg_view().detach() if metadata.get("neg") else out
    found: Tensor = out.requires_grad_(bool(requires_grad))
    return found


def rebuild_any(storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, kind: Any,
                metadata: Any = None) -> Tensor:
    if type(storage) is not Storage or type(kind) is not dtype:
        raise pickle.UnpicklingError(f"a tensor of {reprlib.repr(kind)} is said to lie in a {type(storage).__name__}")
    return rebuild_tensor(Typed(storage, kind), offset, size, stride, requires_grad, hooks, metadata)


def _whole(sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, tuple) or not all(type(n) is int for n in sizes):
        raise pickle.UnpicklingError(f"sizes are whole numbers, not {reprlib.repr(sizes)}")
    return tuple(sizes)


def rebuild_meta(kind: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    return empty_strided(_whole(tuple(size)), _whole(tuple(stride)), kind, "meta").requires_grad_(bool(requires_grad))


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Parameter:
    return Parameter(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: dict[str, Any]) -> Parameter:
    out = Parameter(data, bool(requires_grad))
    out.__dict__.update(state)
    return out


def rebuild_from_type(function: Callable, kind: type, arguments: tuple, state: Any) -> Tensor:
    out = function(*arguments)
    if kind is not Tensor and type(out) is not kind:
        out = Tensor._make_subclass(kind, out, out.requires_grad)
    if isinstance(state, tuple):
        state = state[0]
    if state:
        out.__dict__.update(state)
    return out


def encoded(text: Any, encoding: Any) -> bytes:
    """Bytes, as the older protocols write them."""
    if type(text) is not str or encoding != "latin1":
        raise pickle.UnpicklingError("bytes are written as text in latin1")
    return text.encode("latin1")


def filled(kind: type, content: Any = (), *encoding: Any) -> Any:
    """A set or a bytearray. Of a number, bytearray would make as many zeros."""
    if encoding:
        return kind(encoded(content, *("latin1" if one == "latin-1" else one for one in encoding)))
    if type(content) not in (list, tuple, set, bytes):
        raise pickle.UnpicklingError(f"a {kind.__name__} is filled from a {type(content).__name__}")
    if kind is not bytearray:
        for one in content:
            check_key(one)
    return kind(content)


def check_key(key: Any) -> None:
    """Tuples inside tuples are hashed on the stack, as often as they occur: a small file could exhaust both."""
    count, left = 0, [key] if isinstance(key, tuple) else []
    while left:
        count += 1
        if count > _LARGEST_KEY:
            raise pickle.UnpicklingError("a key of nested tuples is too large")
        left.extend(one for one in left.pop() if isinstance(one, tuple))


_LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc")


def layout_named(name: Any) -> Any:
    if type(name) is not str or name.removeprefix("torch.") not in _LAYOUTS:
        raise pickle.UnpicklingError(f"claygrad has no layout {reprlib.repr(name)}")
    return getattr(_formats, name.removeprefix("torch."))


def rebuild_sparse(layout: Any, described: Any) -> Tensor:
    if type(described) is not tuple or not all(isinstance(one, (Tensor, Size, tuple, bool)) for one in described):
        raise pickle.UnpicklingError(f"a sparse tensor is said to be made of {reprlib.repr(described)}")
    if not all(_whole(tuple(one)) is not None for one in described if isinstance(one, (Size, tuple))):
        raise pickle.UnpicklingError("sizes are whole numbers")
    out: Tensor = UPCALLS["sparse_module"]().rebuilt(layout, described)
    return out


# What is only the type of something and is never called by a file.
TYPES = {Tensor, Parameter}
REBUILDING = {"_rebuild_tensor_v2": rebuild_tensor, "_rebuild_tensor_v3": rebuild_any,
               "_rebuild_meta_tensor_no_storage": rebuild_meta,
               "_rebuild_sparse_tensor": rebuild_sparse,
               "_rebuild_parameter": rebuild_parameter, "_rebuild_parameter_with_state": rebuild_parameter_with_state}
OURS: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict, ("collections", "Counter"): Counter, ("_codecs", "encode"): encoded,
    ("torch", "Size"): Size, ("torch", "device"): device, ("torch", "Tensor"): Tensor,
    ("torch.nn.parameter", "Parameter"): Parameter, ("torch", "UntypedStorage"): Kind(None),
    ("torch.storage", "UntypedStorage"): Kind(None),
    ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type,
    ("torch.serialization", "_get_layout"): layout_named,
    **{("torch._utils", name): function for name, function in REBUILDING.items()},
    **{("torch", kind): Kind(found) for kind, found in DTYPE_OF.items()},
    **{("torch", name): found for name, found in DTYPES.items()},
    **{("torch", name): getattr(_formats, name) for name in (
        "contiguous_format", "channels_last", "channels_last_3d", "preserve_format", "strided")},
    ("builtins", "complex"): complex,
    **{("builtins", kind.__name__): kind for kind in (set, frozenset, bytearray)},
}


def known(module: str, name: str) -> Any:
    """What a global of PyTorch's files is here, or None."""
    return OURS.get((module, name))


def modern(module: str, name: str) -> tuple[str, str]:
    """The older protocols write the names of Python 2."""
    module, name = NAME_MAPPING.get((module, name), (module, name))
    return IMPORT_MAPPING.get(module, module), name
