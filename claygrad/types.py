"""`torch.types`: names for annotations."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from claygrad.core import Size as _Size
from claygrad.core import Storage, Tensor, device, dtype

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool, _int, _float, _complex = bool, int, float, complex
_dtype, _device = dtype, device
_qscheme: TypeAlias = Any
_size: TypeAlias = _Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = _Size | Sequence[int]
_dispatchkey: TypeAlias = str
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
PySymType: TypeAlias = int | float | bool
py_sym_types: tuple[type, ...] = ()
Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
FileLike: TypeAlias = Any
Device: TypeAlias = device | str | int | None
