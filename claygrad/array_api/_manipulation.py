"""Arrays in other shapes, orders and pieces, and products of arrays."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import claygrad
from claygrad.array_api._common import axes_of, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

    Axes = int | tuple[int, ...] | None

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "isin", "matmul",
           "matrix_transpose", "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "take",
           "take_along_axis", "tensordot", "tile", "unstack", "vecdot"]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes are broadcast to."""
    return tuple(claygrad.broadcast_shapes(*shapes))


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The arrays, each in the shape that they have in common."""
    return list(claygrad.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array with its axes of one element repeated."""
    return claygrad.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays one after another along an axis that they have; flat ones if it is None."""
    parts = together(*arrays)
    if axis is None:
        return claygrad.cat([part.reshape(-1) for part in parts])
    return claygrad.cat(parts, axes_of(axis, parts[0].ndim)[0])


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays one after another along a new axis."""
    return claygrad.stack(together(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The pieces along an axis."""
    return tuple(claygrad.unbind(x, axis))


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """The array with another axis, of one element."""
    return claygrad.unsqueeze(x, axis)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """The array without axes of one element."""
    axes = axes_of(axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"axis {one} has {x.shape[one]} elements: only axes of one can be left out")
    return claygrad.squeeze(x, axes)


def flip(x: Tensor, /, *, axis: Axes = None) -> Tensor:
    """The elements in the opposite order along axes."""
    return claygrad.flip(x, axes_of(axis, x.ndim))


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: Axes = None) -> Tensor:
    """The elements moved along axes; those that leave come in at the other end."""
    if axis is None:
        return claygrad.roll(x, shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    return claygrad.roll(x, shifts * len(axes) if len(shifts) == 1 < len(axes) else shifts, axes)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape."""
    if copy is False:
        return x.view(shape)
    return claygrad.reshape(x.clone() if copy else x, shape)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The axes in another order."""
    return claygrad.permute(x, tuple(axes))


def moveaxis(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor:
    """Axes moved to other places."""
    return claygrad.movedim(x, source, destination)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Every element, or entry along an axis, several times."""
    counts = repeats if isinstance(repeats, int) else repeats.to(claygrad.int64)
    return claygrad.repeat_interleave(x.reshape(-1) if axis is None else x, counts, dim=0 if axis is None else axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array several times along each axis."""
    return claygrad.tile(x, tuple(repetitions))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The entries with these numbers along an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError("an array of several axes needs an axis")
        axis = 0
    axis, = axes_of(axis, x.ndim)
    found = claygrad.index_select(x, axis, _wrapped(indices, x.shape[axis]).reshape(-1))
    return found.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements with these numbers along an axis, each in its own line."""
    return claygrad.take_along_dim(x, _wrapped(indices, x.shape[axes_of(axis, x.ndim)[0]]), axis)


def _wrapped(indices: Tensor, size: int) -> Tensor:
    """Numbers counted from the end as numbers counted from the start."""
    places = indices.to(claygrad.int64)
    return claygrad.where(places < 0, places + size, places)


def isin(x1: Tensor | int, x2: Tensor | int, /, *, invert: bool = False) -> Tensor:
    """Whether every element of x1 is among those of x2."""
    a, b = together(x1, x2)
    found = (a.reshape(-1, 1) == b.reshape(1, -1)).any(1).reshape(a.shape)
    return ~found if invert else found


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError("a matrix has two axes")
    return x.mT


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices."""
    return claygrad.matmul(*together(x1, x2))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The products of vectors along an axis, the first conjugated."""
    a, b = together(x1, x2)
    if not -min(a.ndim, b.ndim) <= axis < 0:
        raise ValueError(f"axis {axis} is none that both arrays have, counted from the end")
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vectors of {a.shape[axis]} and {b.shape[axis]} elements have no product")
    return claygrad.sum((a.conj() if a.is_complex() else a) * b, axis, dtype=a.dtype)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The products of elements summed over axes of both arrays."""
    a, b = together(x1, x2)
    dims: Any = axes if isinstance(axes, int) else (list(axes[0]), list(axes[1]))
    return claygrad.tensordot(a, b, dims)
