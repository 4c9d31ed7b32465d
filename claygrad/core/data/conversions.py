"""Tensors as NumPy arrays and Python numbers: the rarer arguments and cases of those protocols."""
from __future__ import annotations

from typing import Any


def as_array(array: Any, kind: Any = None, copy: bool | None = None, **named: Any) -> Any:
    """The answer of `__array__(dtype=None, copy=None)`."""
    kind = named.get("dtype", kind)
    if kind is not None and array.dtype != kind:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(kind)
    return array.copy() if copy else array


def as_real(number: Any, kind: str) -> Any:
    """A complex number without an imaginary part as a real one."""
    if type(number) is complex:
        if number.imag != 0:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return number.real
    return number
