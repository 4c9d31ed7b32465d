"""Indices as arrays: checks of their dtype and bounds, and sums at indices that may repeat."""
from __future__ import annotations

from claygrad.core import dtype_of_numpy


def legacy(array) -> str:
    """The dtype of an array as messages name it: Float."""
    return dtype_of_numpy(array.dtype).legacy


def widened(xp, array):
    """A copy in row-major order in which sums are kept: half precision is added up in single."""
    wide = xp.float32 if array.dtype.name in ("float16", "bfloat16") else array.dtype
    return xp.array(array, wide, order="C")


def add_at(xp, out, indices, values) -> None:
    """out.flat[indices] += values, indices counted as often as they occur."""
    flat = out.reshape(-1)
    if out.dtype == bool:
        xp.logical_or.at(flat, indices.reshape(-1), values.reshape(-1))
    else:
        xp.add.at(flat, indices.reshape(-1), values.astype(out.dtype, copy=False).reshape(-1))


def out_of_bounds(xp, index, n: int, lowest: int = 0) -> int | None:
    """The first index that is not in lowest .. n - 1, or None."""
    if index.size == 0:
        return None
    if index.size > 1 << 32:                                 # an expanded one may have more elements than can be had
        xp.empty(index.size, xp.uint8)
    if lowest == 0 and index.dtype.kind == "i":              # as unsigned numbers negative ones are huge: one pass
        if int(index.view(f"u{index.itemsize}").max()) < n:
            return None
    elif int(index.min()) >= lowest and int(index.max()) < n:
        return None
    flat = index.reshape(-1)
    return int(flat[xp.argmax((flat < lowest) | (flat >= n))])


def check_bounds(xp, index, dim: int, n: int, error: type[Exception] = RuntimeError, who: str = "") -> None:
    """Refuse an index tensor that points outside an axis of n entries."""
    bad = out_of_bounds(xp, index, n)
    if bad is not None:
        raise error(f"{who}index {bad} is out of bounds for dimension {dim} with size {n}")


def along(xp, shape: tuple[int, ...], dim: int, index):
    """Flat indices into a row-major tensor of `shape` that `gather` and `scatter` mean by an index of as many axes."""
    indices, step = xp.zeros((), xp.int64), 1
    for i in range(len(shape) - 1, -1, -1):
        if i == dim:
            here = index.astype(xp.int64, copy=False)
        else:
            here = xp.arange(index.shape[i]).reshape((-1,) + (1,) * (index.ndim - i - 1))
        indices = indices + here * step
        step *= shape[i]
    return xp.broadcast_to(indices, index.shape)


def rows(xp, shape: tuple[int, ...], dim: int, index):
    """Flat indices into a row-major tensor of `shape` of the entries `index` along `dim`."""
    index = xp.asarray(index, xp.int64).reshape((-1,) + (1,) * (len(shape) - dim - 1))
    wide = (*shape[:dim], index.shape[0], *shape[dim + 1:])
    return along(xp, shape, dim, xp.broadcast_to(index, wide))


def as_vectors(input, index) -> tuple:
    """Input and index with at least one axis: scalars count as vectors of one element."""
    return input.reshape(1) if input.ndim == 0 else input, index.reshape(1) if index.ndim == 0 else index
