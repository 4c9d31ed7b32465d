"""Python data as arrays: the dtype that nested sequences mean, their shape, and their elements checked one by one."""
from __future__ import annotations

import math
from contextvars import copy_context
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import (
    DTYPES,
    Tensor,
    default_dtype,
    dtype_of_numpy,
    promote_types,
    recast_array,
)
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.ops._numbers import fits

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from claygrad.core import dtype

_INT64, _BOOL = DTYPES["int64"], DTYPES["bool"]
_PLAIN = frozenset((float, int, bool, complex))
_NESTED = frozenset((list, tuple))
_FLOAT = {float}
_SUPPORTED = ("float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
              "uint8, and bool.")


# NumPy keeps what it does about overflow in the context; in these it gives inf without a word. A context in use cannot
# be entered again, by another thread for instance, so idle ones are kept and taken.
_idle: list[Context] = []


def quietly(fn: Callable, *args: Any) -> Any:
    """Call a function of NumPy without its warnings about overflow."""
    if _idle:
        context = _idle.pop()
    else:
        context = copy_context()
        context.run(np.seterr, all="ignore")
    try:
        return context.run(fn, *args)
    finally:
        _idle.append(context)


def default_complex() -> dtype:
    """The dtype of Python's complex numbers."""
    return DTYPES["complex128" if default_dtype().name == "float64" else "complex64"]


def number_dtype(value: Any) -> dtype:
    """The dtype that a Python number means by itself."""
    if isinstance(value, bool):
        return _BOOL
    if isinstance(value, int):
        return _INT64
    return default_complex() if isinstance(value, complex) else default_dtype()


def array_from(data: Any, wanted: dtype | None) -> np.ndarray:
    """A new array with the elements of numbers in nested sequences, of `wanted` or the dtype that they mean."""
    kind = type(data)
    if kind is float and wanted is None and -6e4 < data < 6e4:              # no dtype overflows here
        return np.array(data, default_dtype().numpy)
    if kind is list and wanted is None and len(data) <= 16 and set(map(type, data)) == _FLOAT \
            and min(data) > -6e4 and max(data) < 6e4:
        return np.array(data, default_dtype().numpy)
    if kind is range and wanted in (None, _INT64) and 0 < len(data) <= 2**24 and all(
            -2**63 <= end < 2**63 for end in (data[0], data[-1])):
        return np.arange(data.start, data.stop, data.step, np.int64)
    leaves = _leaf_types(data) if kind is list or kind is tuple else {kind}
    if not leaves or not leaves <= _PLAIN:
        return _array_element_wise(data, wanted)
    if wanted is None:
        wanted = (default_dtype() if float in leaves else _INT64 if int in leaves else _BOOL) if complex not in leaves \
            else default_complex()
    # Where nothing can overflow NumPy reads the data at once; what it refuses is read again for PyTorch's words.
    wide_float = wanted.is_floating_point and wanted.itemsize >= 4
    real = complex not in leaves and (wide_float or (wanted is _INT64 and float not in leaves))
    if real or (wanted.is_complex and not wanted.numpy.names):
        try:
            return quietly(np.array, data, wanted.numpy)
        except (ValueError, OverflowError, TypeError):
            pass
    return _array_element_wise(data, wanted)


def _leaf_types(data: Any) -> set[type]:
    """The types found below all lists and tuples; nothing where they are of unequal depth."""
    kinds = set(map(type, data))
    if not kinds or not kinds <= _NESTED:
        return kinds
    lengths = _shape(data)                      # refuses a list that contains itself, which has no end
    for depth in range(1, len(lengths)):
        if not all(data):                       # an empty sequence means the default dtype, whatever the others hold
            return set()
        if sum(map(len, data)) != len(data) * lengths[depth]:
            return set()                        # of unequal lengths: each is looked at by itself
        data = list(chain.from_iterable(data))
        kinds = set(map(type, data))
        if not kinds <= _NESTED:
            return kinds
    return kinds


def _array_element_wise(data: Any, wanted: dtype | None) -> np.ndarray:
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    shape = _shape(data)
    _have_room(shape)
    return _stored(data, shape, wanted or _inferred(data))


def _have_room(shape: tuple[int, ...]) -> None:
    """Refuse what no memory holds before it is read: a length may be a lie, or that of range(2**62)."""
    count = math.prod(shape)
    if count < 2**20:
        return
    try:
        np.empty(count, np.uint8)
    except (MemoryError, ValueError, OverflowError):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                           f"you tried to allocate {count} bytes. Error code 12 (Cannot allocate memory)") from None


def numbers_from(values: list, kind: dtype) -> np.ndarray:
    """A new array of a list of numbers; what is no number is refused as such."""
    return _stored(values, (len(values),), kind)


def _stored(data: Any, shape: tuple[int, ...], inferred: dtype) -> np.ndarray:
    flat: list = []
    kind = "c" if inferred.is_complex else "f" if inferred.is_floating_point else inferred.numpy.kind
    if inferred.numpy.names and kind != "c":
        raise NotImplementedError(f"\"tensor_cpu\" not implemented for '{inferred.legacy}'")
    _store(data, shape, 0, _READERS[inferred.name if inferred.name == "bool" else kind], inferred, flat)
    wide = {"f": np.float64, "c": np.complex128}.get(kind)
    array = np.array(flat, wide or inferred.numpy).reshape(shape)
    return quietly(recast_array, array, inferred.numpy) if wide else array


def is_sequence(data: Any) -> bool:
    """Whether data has entries by position; tensors and NumPy scalars count as numbers."""
    if isinstance(data, (dict, Tensor, np.generic)):
        return False
    return hasattr(data, "__getitem__") and hasattr(data, "__len__")


def _inferred(data: Any) -> dtype:
    """The dtype of data, promoted over all elements."""
    if isinstance(data, (np.generic, np.ndarray)):
        return supported(data.dtype)
    if isinstance(data, (bool, int, float, complex)):
        return number_dtype(data)
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type_name(data)}")
    if len(data) == 0:
        return default_dtype()
    _have_room((len(data),))
    out = None
    # By position: what a pandas.Series iterates over are Python's numbers, what it holds are NumPy's.
    for item in data if type(data) in _NESTED else (data[i] for i in range(len(data))):
        if item is data:
            raise TypeError("new(): self-referential lists are incompatible")
        kind = _inferred(item)
        out = kind if out is None else promote_types(out, kind)
    return out


def _shape(data: Any) -> tuple[int, ...]:
    """The lengths of the first entries, level by level."""
    out = []
    while is_sequence(data):
        out.append(len(data))
        if len(out) > 64:
            more = "" if isinstance(data, str) else (
                "\n  tensors of more than 64 dimensions are not supported; PyTorch makes and loads them")
            raise ValueError(f"too many dimensions '{type(data).__name__}'{more}")
        if not out[-1]:
            break
        try:
            data = data[0]
        except Exception:
            raise ValueError(f"could not determine the shape of object type '{type_name(data)}'") from None
    return tuple(out)


def _store(data: Any, shape: tuple[int, ...], dim: int, read: Any, into: dtype, flat: list) -> None:
    if dim == len(shape):
        flat.append(read(data, into))
        return
    if not is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[dim]:
        if shape[dim] == 0:                     # the first entry was empty: nothing below it is looked at
            return
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        _store(item, shape, dim + 1, read, into, flat)


def _read_float(value: Any, into: dtype) -> float:
    return math.ldexp(value, 0)                 # refuses what is no real number in the words of PyFloat_AsDouble


def _read_complex(value: Any, into: dtype) -> complex:
    return complex(value) if isinstance(value, (complex, np.complexfloating, Tensor)) else math.ldexp(value, 0)


def _read_int(value: Any, into: dtype) -> int:
    if not isinstance(value, float):
        value = index(value)
        if not -1 << 63 <= value < 1 << (64 if into.name == "uint64" else 63):
            raise ValueError("Overflow when unpacking long long")
    if not fits(value, into):
        raise RuntimeError(f"value cannot be converted to type {into.name} without overflow")
    return int(value) % (1 << 8 * into.itemsize) if into.name[0] == "u" else int(value)


def _read_bool(value: Any, into: dtype) -> bool:
    return bool(value) if isinstance(value, (float, complex, np.bool_)) else index(value) != 0


_READERS = {"f": _read_float, "c": _read_complex, "i": _read_int, "u": _read_int, "bool": _read_bool}


def supported(kind: np.dtype) -> dtype:
    """The dtype of a NumPy one, or PyTorch's refusal."""
    found = dtype_of_numpy(kind)
    if found is None:
        raise TypeError(f"can't convert np.ndarray of type numpy.{kind.type.__name__}. The only supported types are: "
                        f"{_SUPPORTED}")
    return found


def shareable(array: np.ndarray) -> np.ndarray:
    """The array, if a tensor can lie on its memory."""
    if any(step < 0 for step in array.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides "
                         "are not currently supported. (You can probably work around this by making a copy of your "
                         "array  with array.copy().) ")
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between "
                         "byte orders is currently not supported.")
    supported(array.dtype)
    return array
