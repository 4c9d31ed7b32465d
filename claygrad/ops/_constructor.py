"""What calling a tensor class makes: `Tensor(...)`, `FloatTensor(...)`, `x.new(...)`."""
from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from claygrad.core import Size, Storage, Tensor, device, dtype, empty, parse_device, prefix, recast_array, wrap, wrap_on
from claygrad.core.dispatch.determinism import initial
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.ops._data import array_from, is_sequence, shareable
from claygrad.ops._storages import TypedStorage, elements_of

_FORMS = (" * (*, torch.device device = None)\n * (torch.Storage storage)\n * (Tensor other)\n"
          " * (tuple of ints size, *, torch.device device = None)\n * (object data, *, torch.device device = None)\n")
_OPTIONS = ("TensorOptions(dtype={}, device={}, layout=Strided, requires_grad=false (default), pinned_memory=false "
            "(default), memory_format=(nullopt))")


def construct(args: tuple, kwargs: dict[str, Any], kind: dtype, where: str = "cpu", strict: bool = True) -> Tensor:
    """A tensor of dtype `kind` on a device: from ints or a Size an uninitialised one, from a storage or a tensor an
    alias, from anything else a copy of the data. A tensor may be of another dtype unless `strict`."""
    words = dict(kwargs)
    place = words.pop("device", None)
    name, value = words.popitem() if len(words) == 1 and not args else ("", args[0] if len(args) == 1 else None)
    refused = bool(words) or name not in ("", "size", "data", "other", "storage")
    if name == "size":
        sizes = value if isinstance(value, (tuple, list)) else None
    else:
        sizes = _sizes(args) if len(args) > 1 or (args and _is_size(value)) else None
    if refused or (sizes is None and (len(args) > 1 or name == "size")):
        raise _refusal(args, kwargs)
    if place is not None and device(place).type != where:
        raise RuntimeError(f"legacy constructor expects device type: {where} but device type: {device(place).type} was "
                           "passed")
    if sizes is not None:
        return initial(empty(tuple(map(index, sizes)), kind, where))
    if not args and not name:
        return empty((0,), kind, where)
    if isinstance(value, (Storage, TypedStorage)):
        return elements_of(value, kind)                                             # type: ignore[return-value]
    if isinstance(value, Tensor) and name != "data":
        if place is not None:
            raise RuntimeError("Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
                               "supported.  Use "
                               "torch.tensor(...) or torch.as_tensor(...) instead.")
        return _aliased(value, kind, where, strict)
    return _from_data(value, kind, where)


def _is_size(value: Any) -> bool:
    if isinstance(value, (Size, int, np.integer)):
        return not isinstance(value, bool)
    return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"


def _sizes(args: tuple) -> list[int] | None:
    """Several ints, or one; None where they are no shape at all."""
    if isinstance(args[0], Size):
        return list(args[0]) if len(args) == 1 else None
    if not _is_size(args[0]):
        return None
    for position, value in enumerate(args, 1):
        wrong = None
        if not hasattr(value, "__index__"):
            wrong = f"type must be tuple of ints,but got {type(value).__name__}"
        elif not -1 << 63 <= index(value) < 1 << 63:
            wrong = "Overflow when unpacking long long"
        if wrong:
            raise TypeError(f"new(): argument 'size' failed to unpack the object at pos {position} with error \"{wrong}"
                            + ("" if wrong.startswith("Over") else '"'))
    return [index(value) for value in args]


def _refusal(args: tuple, kwargs: dict[str, Any]) -> TypeError:
    got = [_called(value) for value in args] + [f"{name}={_called(value)}" for name, value in kwargs.items()]
    return TypeError(f"new() received an invalid combination of arguments - got ({', '.join(got)}), but expected one "
                     f"of:\n{_FORMS}")


def _called(value: Any) -> str:
    name = type(value).__name__
    return f"{prefix()}.{name}" if isinstance(value, (dtype, device, Size)) else name


def _aliased(other: Tensor, kind: dtype, where: str, strict: bool) -> Tensor:
    if strict and (other.dtype is not kind or other.device.type != where):
        wanted, got = _OPTIONS.format(kind.c_name, where), _OPTIONS.format(other.dtype.c_name, other.device)
        raise TypeError(f"expected {wanted} (got {got})")
    return other[...]


def _from_data(data: Any, kind: dtype, where: str) -> Tensor:
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, np.ndarray):
        real = shareable(data.real if data.dtype.kind == "c" and not kind.is_complex else data)
        array = recast_array(real, kind.numpy)
        array = array.copy() if array is real else array
    elif is_sequence(data):
        array = array_from(data, kind)
    else:
        raise TypeError(f"new(): data must be a sequence (got {type_name(data)})")
    return wrap(array) if where == "cpu" else wrap_on(array, parse_device(where))
