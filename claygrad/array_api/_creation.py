"""New arrays."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import claygrad
from claygrad.array_api._common import common_dtype
from claygrad.core import Tensor

if TYPE_CHECKING:
    from claygrad.core import device, dtype

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace",
           "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]


def asarray(obj: Any, /, *, dtype: dtype | None = None, device: device | None = None,
            copy: bool | None = None) -> Tensor:
    """An array of a number, of nested sequences, or on the memory of another array."""
    if isinstance(obj, Tensor):
        if copy:
            return obj.to(device=device, dtype=dtype, copy=True)
        made = obj.to(device=device, dtype=dtype)
        if copy is False and made is not obj:
            raise ValueError("another dtype or device needs a copy")
        return made
    if hasattr(obj, "__dlpack__") and not isinstance(obj, (np.ndarray, np.generic)):
        return asarray(claygrad.from_dlpack(obj), dtype=dtype, device=device, copy=copy)
    if copy is False and not isinstance(obj, np.ndarray):
        raise ValueError("numbers and sequences of numbers are copied")
    if isinstance(obj, np.ndarray):
        made = _on_memory_of(_in_order(obj) if copy else obj, copy)
        return asarray(made, dtype=dtype, device=device, copy=None if copy else copy)
    if isinstance(obj, (list, tuple)):
        obj = _plain(obj)
        if isinstance(obj, Tensor):
            return asarray(obj, dtype=dtype, device=device)
    return claygrad.tensor(obj, dtype=dtype, device=device)


def _in_order(array: np.ndarray) -> np.ndarray:
    """A copy in the order of rows and in the machine's order of bytes."""
    return array.astype(array.dtype.newbyteorder("="), order="C")


def _on_memory_of(array: np.ndarray, copy: bool | None) -> Tensor:
    """A tensor on the memory of a NumPy array; on a copy if no tensor has the layout and copies are allowed."""
    try:
        return claygrad.from_numpy(array)
    except ValueError:                       # negative strides, strides between elements, or another order of bytes
        if copy is False:
            raise
        return claygrad.from_numpy(_in_order(array))


def _plain(obj: Any) -> Any:
    """Sequences of numbers and arrays without axes as sequences of numbers; of arrays with axes, one array."""
    if isinstance(obj, (list, tuple)) and obj and all(isinstance(one, Tensor) and one.ndim for one in obj):
        return claygrad.stack(list(obj))
    return [_plain(one) for one in obj] if isinstance(obj, (list, tuple)) else obj


def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: dtype | None = None,
           device: device | None = None) -> Tensor:
    """Numbers from start to before stop, step apart."""
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ValueError("step is zero")
    if (last - first > 0) != (step > 0) or last == first:
        whole = all(isinstance(one, int) for one in (first, last, step))
        return claygrad.empty(0, dtype=dtype or (claygrad.int64 if whole else None), device=device)
    return claygrad.arange(first, last, step, dtype=dtype, device=device)


def empty(shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """An array whose elements nobody has written."""
    return claygrad.empty(shape, dtype=dtype, device=device)


def ones(shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """Ones."""
    return claygrad.ones(shape, dtype=dtype, device=device)


def zeros(shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """Zeros."""
    return claygrad.zeros(shape, dtype=dtype, device=device)


def full(shape: int | tuple[int, ...], fill_value: complex, *, dtype: dtype | None = None,
         device: device | None = None) -> Tensor:
    """One number everywhere."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return claygrad.full(sizes, fill_value, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """An array of the same shape whose elements nobody has written."""
    return claygrad.empty_like(x, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """Ones in the same shape."""
    return claygrad.ones_like(x, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """Zeros in the same shape."""
    return claygrad.zeros_like(x, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: complex, *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """One number everywhere in the same shape."""
    return claygrad.full_like(x, fill_value, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype | None = None,
        device: device | None = None) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    out = claygrad.zeros((n_rows, n_rows if n_cols is None else n_cols), dtype=dtype, device=device)
    if -n_rows < k < out.shape[1]:
        out.diagonal(k).fill_(1)
    return out


def linspace(start: complex, stop: complex, /, num: int, *, dtype: dtype | None = None, device: device | None = None,
             endpoint: bool = True) -> Tensor:
    """`num` numbers from start to stop, equally far apart; without the last of one more if not `endpoint`."""
    if endpoint or num == 0:
        return claygrad.linspace(start, stop, num, dtype=dtype, device=device)
    return claygrad.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Arrays of the coordinates of a grid, one for each axis."""
    if arrays:
        common_dtype([array.dtype for array in arrays])
    return tuple(claygrad.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The part on and below the k-th diagonal; zeros elsewhere."""
    return claygrad.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The part on and above the k-th diagonal; zeros elsewhere."""
    return claygrad.triu(x, k)


def from_dlpack(x: Any, /, *, device: device | None = None, copy: bool | None = None) -> Tensor:
    """An array on the memory of any object with the DLPack protocol, or of a copy."""
    return claygrad.from_dlpack(x, device=device, copy=copy)
