"""Python numbers as elements of a dtype, refused where they do not fit."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from claygrad.core import Tensor, recast_array

if TYPE_CHECKING:
    from numbers import Number
    from typing import Any

    from claygrad.core import dtype

C_NAMES = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
           "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "complex32": "c10::complex<c10::Half>",
           "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
           "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "bool": "bool"}
_LARGEST = {"float16": 65504.0, "float32": 3.4028234663852886e38, "bfloat16": 3.3895313892515355e38,
            "complex64": 3.4028234663852886e38, "complex32": 65504.0}
_BITS = {"uint8": 8, "int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint16": 16, "uint32": 32, "uint64": 64}


def number_in(value: Any) -> Any:
    """A number, from a number or from a tensor or NumPy scalar that holds one; None for anything else. A tensor that
    requires grad would lose it here."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, (np.generic, Tensor)) and value.ndim == 0 and not getattr(value, "requires_grad", False):
        return value.item()
    return None


def fits(value: Number, dtype: dtype, *, floats: bool = True) -> bool:
    """Whether a dtype can hold a number; fractions may be cut, negative integers may wrap in unsigned ones. Finite
    numbers too large for a floating dtype count as infinite unless `floats`."""
    name = dtype.name
    if name == "bool":
        return True
    if isinstance(value, complex) and not dtype.is_complex:
        if value.imag:
            return False
        value = value.real
    if name in _BITS:
        if isinstance(value, float):
            if not math.isfinite(value) or (value < 0 and name[0] == "u"):
                return False
            value = int(value)
        lowest = 1 - (1 << _BITS[name]) if name[0] == "u" else -(1 << _BITS[name])
        return lowest <= value < 1 << _BITS[name]
    if not floats or name not in _LARGEST:
        return True
    parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
    return all(abs(part) <= _LARGEST[name] or not math.isfinite(part) for part in map(float, parts))


def refuse_overflow(value: Number, dtype: dtype) -> None:
    """Refuse a Python number that a dtype cannot hold."""
    if isinstance(value, int) and not -1 << 63 <= value < 1 << 64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")
    if not fits(value, dtype):
        raise RuntimeError(f"value cannot be converted to type {C_NAMES[dtype.name]} without overflow")


def element(value: Number, dtype: dtype) -> object:
    """`value` as a NumPy scalar array of `dtype`."""
    refuse_overflow(value, dtype)
    return converted(value, dtype)


def assigned(value: Number, dtype: dtype) -> object:
    """What an element becomes to which a number is assigned; half precision overflows to infinity."""
    half = dtype.is_floating_point and dtype.itemsize == 2
    return converted(value, dtype) if half and not isinstance(value, complex) else element(value, dtype)


def converted(value: Number, dtype: dtype) -> object:
    """`value` as a NumPy scalar array of `dtype`; negative integers wrap around in unsigned ones."""
    if isinstance(value, complex) and not dtype.is_complex and dtype.name != "bool":
        value = value.real
    if dtype.name in _BITS:
        value = int(value)
        if dtype.name[0] == "u":
            value %= 1 << _BITS[dtype.name]
    if dtype.numpy.kind == "V" or dtype.itemsize == 1:
        return recast_array(np.asarray(value), dtype.numpy)[()]
    return dtype.numpy.type(value)
