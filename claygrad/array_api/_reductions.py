"""Statistics, searching, sorting, sets and truth over axes."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import claygrad
from claygrad.array_api._common import axes_of, is_whole, together
from claygrad.core import DTYPES, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import dtype

    Axes = int | tuple[int, ...] | None

__all__ = ["all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff",
           "max", "mean", "min", "nonzero", "prod", "searchsorted", "sort", "std", "sum", "unique_all", "unique_counts",
           "unique_inverse", "unique_values", "var", "where"]


def _sum_dtype(x: Tensor, asked: dtype | None) -> dtype:
    """Sums and products of integers have 64 bits."""
    if asked is not None:
        return asked
    if not is_whole(x.dtype):
        return DTYPES["int64"] if x.dtype.name == "bool" else x.dtype
    return DTYPES["uint64" if x.dtype.name.startswith("u") else "int64"]


def _over_axes(function: Callable, x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    """A function of one axis over several."""
    for one in sorted(axes_of(axis, x.ndim), reverse=True):
        x = function(x, one, keepdims)
    return x


def sum(x: Tensor, /, *, axis: Axes = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements."""
    kind, axes = _sum_dtype(x, dtype), axes_of(axis, x.ndim)
    return claygrad.sum(x, axes, keepdims, dtype=kind) if axes else x.to(kind, copy=True)


def prod(x: Tensor, /, *, axis: Axes = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The product of the elements."""
    kind = _sum_dtype(x, dtype)
    return _over_axes(lambda a, one, keep: claygrad.prod(a, one, keep, dtype=kind), x.to(kind), axis, keepdims).clone()


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element."""
    axes = axes_of(axis, x.ndim)
    return claygrad.amax(x, axes, keepdims) if axes else x.clone()


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest element."""
    axes = axes_of(axis, x.ndim)
    return claygrad.amin(x, axes, keepdims) if axes else x.clone()


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements."""
    axes = axes_of(axis, x.ndim)
    return claygrad.mean(x, axes, keepdims) if axes else x.clone()


def var(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance of the elements: squared distances from the mean, over their number less `correction`."""
    axes = axes_of(axis, x.ndim)
    count = 1
    for one in axes:
        count *= x.shape[one]
    away = x - mean(x, axis=axes, keepdims=True)
    total = sum(away * away, axis=axes, keepdims=keepdims)
    left = count - correction
    return total / left if left > 0 else total * float("nan")


def std(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation of the elements."""
    return claygrad.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether no element is zero."""
    return _over_axes(claygrad.all, x.to(claygrad.bool), axis, keepdims).clone()


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether an element is not zero."""
    return _over_axes(claygrad.any, x.to(claygrad.bool), axis, keepdims).clone()


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The number of elements that are not zero."""
    return sum(x.to(claygrad.bool), axis=axis, dtype=claygrad.int64, keepdims=keepdims)


def _cumulative(function: Callable, first: int, x: Tensor, axis: int | None, asked: dtype | None,
                include_initial: bool) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError("an array of several axes needs an axis")
        axis = 0
    axis, = axes_of(axis, x.ndim)
    out = function(x.to(_sum_dtype(x, asked)), axis)
    if include_initial:
        shape = list(x.shape)
        shape[axis] = 1
        out = claygrad.cat([claygrad.full(shape, first, dtype=out.dtype, device=out.device), out], axis)
    return out.to(_sum_dtype(x, asked))


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None,
                   include_initial: bool = False) -> Tensor:
    """The sums of the elements up to each, after 0 if `include_initial`."""
    return _cumulative(claygrad.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None,
                    include_initial: bool = False) -> Tensor:
    """The products of the elements up to each, after 1 if `include_initial`."""
    return _cumulative(claygrad.cumprod, 1, x, axis, dtype, include_initial)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    """The differences of neighbours, n times."""
    axis, = axes_of(axis, x.ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    return claygrad.diff(claygrad.cat(together(*parts), axis) if len(parts) > 1 else x, n, axis)


def _extreme(function: Callable, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if axis is None:
        found = function(x.reshape(-1), 0)
        return found.reshape((1,) * x.ndim) if keepdims else found
    return function(x, axis, keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the first of the largest elements is."""
    return _extreme(claygrad.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the first of the smallest elements is."""
    return _extreme(claygrad.argmin, x, axis, keepdims)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order."""
    return claygrad.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The places of the elements in order."""
    return claygrad.sort(x, dim=axis, descending=descending, stable=stable)[1]


def searchsorted(x1: Tensor, x2: Tensor | float, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where elements would have to be put into a sorted array."""
    x1, x2 = together(x1, x2)
    if sorter is not None:
        x1 = x1[sorter.to(claygrad.int64)]
    return claygrad.searchsorted(x1, x2, side=side)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of the elements that are not zero, an array for each axis."""
    if not x.ndim:
        raise ValueError("an array without axes has no places")
    return tuple(claygrad.nonzero(x, as_tuple=True))


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """x1 where the condition holds, x2 elsewhere."""
    chosen, other = together(x1, x2)
    return claygrad.where(condition, chosen, other)


class UniqueAllResult(NamedTuple):
    """What unique_all gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """What unique_counts gives."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """What unique_inverse gives."""

    values: Tensor
    inverse_indices: Tensor


def _order(flat: Tensor) -> Tensor:
    """Places of the elements in order; of complex numbers, by their real parts first."""
    if not flat.is_complex():
        return claygrad.sort(flat, stable=True)[1]
    by_imag = claygrad.sort(flat.imag, stable=True)[1]
    return by_imag[claygrad.sort(flat.real[by_imag], stable=True)[1]]


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """The distinct elements in order, where each is first, which one each element is, and how often it occurs."""
    flat = x.reshape(-1)
    order = _order(flat)
    lined = flat[order]
    new = claygrad.ones(flat.shape, dtype=claygrad.bool)
    new[1:] = lined[1:] != lined[:-1]
    starts = claygrad.nonzero(new)[:, 0]
    inverse = claygrad.empty(flat.shape, dtype=claygrad.int64)
    inverse[order] = claygrad.cumsum(new, 0) - 1
    ends = claygrad.cat([starts[1:], claygrad.tensor([flat.numel()])]) if starts.numel() else starts
    return UniqueAllResult(lined[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """The distinct elements, and how often each occurs."""
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """The distinct elements, and which of them each element is."""
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements."""
    return unique_all(x).values
