"""Dtypes by the rules of the array API standard, and what this library says of itself."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import claygrad
from claygrad.array_api._common import KINDS, common_dtype, of_number
from claygrad.core import DTYPES, Tensor, device, dtype

__all__ = ["__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


def astype(x: Tensor, dtype: dtype, /, *, copy: bool = True, device: device | None = None) -> Tensor:
    """The array in another dtype; itself where nothing changes and no copy is asked for."""
    if x.is_complex() and not dtype.is_complex and dtype.name != "bool":
        raise TypeError("complex numbers are not cast to real ones by astype: take real(x)")
    moved = x if device is None else x.to(device)
    return moved.to(dtype, copy=True) if copy and moved is x else moved.to(dtype)


def result_type(*arrays_and_dtypes: Tensor | dtype | complex) -> dtype:
    """The dtype of an operation on these arrays, dtypes and Python numbers."""
    kinds = [given.dtype if isinstance(given, Tensor) else given for given in arrays_and_dtypes]
    known = [kind for kind in kinds if isinstance(kind, dtype)]
    if not known:
        raise ValueError("at least one array or dtype is required")
    found = common_dtype(known)
    for kind in kinds:
        if not isinstance(kind, dtype):
            found = of_number(kind, found)
    return found


def can_cast(from_: dtype | Tensor, to: dtype, /) -> bool:
    """Whether every value of a dtype is one of another by the rules of promotion."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    if not any(isdtype(source, kinds) and isdtype(to, kinds)
               for kinds in ("bool", "integral", ("real floating", "complex floating"))):
        return False
    try:
        return bool(common_dtype([source, to]) == to)
    except TypeError:
        return False


@dataclass(frozen=True)
class FloatLimits:
    """The limits of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


@dataclass(frozen=True)
class IntegerLimits:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: dtype


def finfo(type: dtype | Tensor, /) -> FloatLimits:
    """The limits of a floating dtype, or of the parts of a complex one."""
    kind = type.dtype if isinstance(type, Tensor) else type
    said = claygrad.finfo(kind)
    return FloatLimits(said.bits, said.eps, said.max, said.min, said.smallest_normal, kind.to_real())


def iinfo(type: dtype | Tensor, /) -> IntegerLimits:
    """The limits of an integer dtype."""
    kind = type.dtype if isinstance(type, Tensor) else type
    said = claygrad.iinfo(kind)
    return IntegerLimits(said.bits, said.max, said.min, kind)


def isdtype(dtype: dtype, kind: dtype | str | tuple[dtype | str, ...]) -> bool:
    """Whether a dtype is another, or of a kind: 'bool', 'signed integer', 'integral', 'real floating', 'numeric' ..."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r} of dtypes: one of {', '.join(map(repr, KINDS))}")
        return dtype.name in KINDS[kind]
    return bool(dtype == kind)


class Info:
    """What the library can do, in the terms of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Masks select, shapes may follow from data, and arrays have up to 64 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        """The device of new arrays."""
        return claygrad.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """The dtypes of new arrays when none is given."""
        real = claygrad.get_default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(), "integral": DTYPES["int64"],
                "indexing": DTYPES["int64"]}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, dtype]:
        """The dtypes of the standard, or those of a kind."""
        asked = ("bool", "numeric") if kind is None else kind
        names = KINDS["bool"] + KINDS["numeric"]
        return {name: DTYPES[name] for name in names if isdtype(DTYPES[name], asked)}

    def devices(self) -> list[device]:
        """The devices that hold the values of arrays; meta holds none."""
        return [claygrad.device("cpu")]


def __array_namespace_info__() -> Info:
    """What the library can do."""
    return Info()
