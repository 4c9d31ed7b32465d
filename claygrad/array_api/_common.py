"""What the functions of the array API standard share: common dtypes by its rules, axes, numbers as arrays."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import claygrad
from claygrad.core import DTYPES, Tensor, dtype

if TYPE_CHECKING:
    from collections.abc import Callable

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
KINDS = {"bool": ("bool",), "signed integer": SIGNED, "unsigned integer": UNSIGNED, "integral": SIGNED + UNSIGNED,
         "real floating": REAL, "complex floating": COMPLEX, "numeric": SIGNED + UNSIGNED + REAL + COMPLEX}


def is_whole(kind: dtype) -> bool:
    """Whether a dtype is one of integers."""
    return kind.name in KINDS["integral"]


def common_dtype(kinds: list[dtype]) -> dtype:
    """The dtype of an operation on arrays of these; the standard knows none for numbers of different kinds."""
    found = kinds[0]
    for kind in kinds[1:]:
        try:
            found = claygrad.promote_types(found, kind)
        except RuntimeError as error:
            raise TypeError(f"{found} and {kind} have no common type\n  {error}") from None
    return found


def of_number(value: complex, kind: dtype) -> dtype:
    """The dtype of an operation on an array and a Python number: the array's, if it is of the number's kind."""
    if isinstance(value, bool) or (isinstance(value, int) and kind.name != "bool"):
        return kind
    if isinstance(value, int):
        return DTYPES["int64"]
    if isinstance(value, float):
        return kind if kind.is_floating_point or kind.is_complex else claygrad.get_default_dtype()
    if kind.is_complex:
        return kind
    return kind.to_complex() if kind.is_floating_point else claygrad.get_default_dtype().to_complex()


def together(*values: Any) -> list[Tensor]:
    """Arrays and Python numbers as arrays of their common dtype. An array without axes counts as any other, as it does
    not in PyTorch's operations."""
    arrays = [value for value in values if isinstance(value, Tensor)]
    if not arrays:
        raise TypeError("at least one argument must be an array")
    kind = common_dtype([array.dtype for array in arrays])
    for value in values:
        if not isinstance(value, Tensor):
            kind = of_number(value, kind)
    return [value.to(kind) if isinstance(value, Tensor) else claygrad.tensor(value, dtype=kind) for value in values]


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as non-negative numbers; None: all of them."""
    given = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    found = []
    for one in given:
        if not -ndim <= one < ndim:
            raise IndexError(f"axis {one} is out of bounds for an array of {ndim} dimensions")
        found.append(one % ndim)
    return tuple(found)


def named(function: Callable, name: str, text: str) -> Callable:
    """A function made in a loop, under its own name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    function.__module__ = "claygrad.array_api"
    return function
