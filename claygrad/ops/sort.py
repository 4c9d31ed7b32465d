"""Sorting and searching: sort, topk, distinct values, search and counts."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import dtype_of_numpy, int32, int64
from claygrad.core.user_warnings import warn_once
from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._geometry import text
from claygrad.ops._numbers import refuse_overflow
from claygrad.ops._out import EXACT, SEARCH
from claygrad.ops._reducing import FEW, far, order_beside_nan, selected
from claygrad.ops._registry import composite, constant, missing, op
from claygrad.ops._words import is_number, need, no_derivative

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

ORDERED = "fiubV"           # NumPy's kinds of numbers that can be compared
NUMBERS = "fiuV"
PAIR = ("values", "indices")


# Sorting. NaN counts as the largest; equal elements keep their order.

def order(xp, x, axis: int, descending: bool):
    """The indices that sort an axis, stably in both directions."""
    if not descending:
        return xp.argsort(x, axis=axis, kind="stable")
    reverse = (*(slice(None),) * axis, slice(None, None, -1))
    return x.shape[axis] - 1 - xp.argsort(x[reverse], axis=axis, kind="stable")[reverse]


def laid_out(xp, x, like):
    """The same elements in memory order like another array."""
    if like.flags.c_contiguous:
        return x
    out = xp.empty_like(like, dtype=x.dtype)
    out[...] = x
    return out


def sorted_shape(input: Tensor, dim: int) -> list[tuple]:
    axis_of(dim, input.ndim)
    return [(input.shape, input.dtype), (input.shape, int64)]


@op(strides="like",
    kernel="sort", out=EXACT, returns=PAIR, differentiable=(0,), meta=sorted_shape,
    node=lambda stable: "SortBackward0" if stable is None else "SortBackward1",
    samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(3, 4), 1, True),
                       t.args(t(6, dtype="int64"), stable=True), t.args(t())],
    errors=lambda t: [(t.args(t(2, 3), 2), IndexError,
                       "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def sort(xp, input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None):
    """Sorts along an axis; returns the sorted values and their indices. The sort is stable, and NaN comes last."""
    if input.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return input.copy(), xp.zeros((), "int64")
    if 0 in input.strides:
        input = xp.ascontiguousarray(input)          # expanded axes get memory of their own, in row-major order
    indices = order(xp, input, axis, descending)
    return laid_out(xp, xp.take_along_axis(input, indices, axis), input), laid_out(xp, indices, input)
sort.rule(input=lambda g, outs, input_shape, dim: selected(g, outs[1], input_shape, dim))


@op(strides="like",
    kernel="argsort", out=False, meta=lambda input: (input.shape, int64),
    samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0, True), t.args(t(5), stable=True), t.args(t())])
def argsort(xp, input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False):
    """The indices that sort an axis. The sort is stable."""
    if input.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return xp.zeros((), "int64")
    return laid_out(xp, order(xp, input, axis, descending), input)


@composite(out=EXACT, samples=lambda t: [t.args(t(3, 4)), t.args(t())])
def msort(input: Tensor) -> Tensor:
    """The elements sorted along the first axis."""
    return sort(input, 0)[0]


def check_topk(input: Tensor, k: int, dim: int) -> None:
    axis = axis_of(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")


def topk_shape(input: Tensor, k: int, dim: int) -> list[tuple]:
    shape, axis = list(input.shape), axis_of(dim, input.ndim)
    if shape:
        shape[axis] = k
    return [(tuple(shape), input.dtype), (tuple(shape), int64)]


@op(kernel="topk", out=EXACT, contiguous=True, returns=PAIR, differentiable=(0,), check=check_topk, meta=topk_shape,
    samples=lambda t: [t.args(far(t, 3, 4), 2), t.args(far(t, 3, 4), 1, 0), t.args(far(t, 3, 4), 3, -1, False),
                       t.args(far(t, 17), 1), t.args(t(), 1)],
    errors=lambda t: [(t.args(t(3), 4), RuntimeError, "selected index k out of range")])
def topk(xp, input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True):
    """The k largest (with largest=False, smallest) elements along an axis, sorted, and their indices. NaN counts as the
    largest.

    Differs from PyTorch: of equal elements the earlier one comes first (PyTorch leaves it open).
    """
    for kind, word in (("b", "topk does not support bool"), ("c", " topk does not support complex")):
        if input.dtype.kind == kind:
            raise RuntimeError(f"{word} dtypes on CPU")
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return input.copy(), xp.zeros((), "int64")
    best = order(xp, input, axis, largest)[(*(slice(None),) * axis, slice(k))].copy()
    return xp.take_along_axis(input, best, axis), best
topk.rule(input=lambda g, outs, input_shape, dim: selected(g, outs[1], input_shape, dim))


# Distinct values

distinct = {"function": False, "method": False, "differentiable": (0,), "meta": "data"}


def few_distinct(xp, input, return_inverse: bool):
    """The distinct values of integers that lie close together, by counting; or None."""
    low, high = int(input.min()), int(input.max())
    if high - low > 4 * input.size:
        return None
    steps = input.reshape(-1).astype("int64") - low if low else input.reshape(-1)
    counts = xp.bincount(steps, minlength=high - low + 1)
    there = xp.flatnonzero(counts)
    inverse = (xp.cumsum(counts > 0) - 1)[steps] if return_inverse else xp.empty(0, "int64")
    return (there + low).astype(input.dtype), inverse.reshape(input.shape if return_inverse else (0,)), counts[there]


@op(kernel="distinct", name="_unique2", **distinct)
def unique2(xp, input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool):
    need(input, ORDERED, "unique")
    out = few_distinct(xp, input, return_inverse) if input.dtype.kind == "i" and input.size else None
    if out is not None:
        return out
    values, inverse, counts = xp.unique(input.reshape(-1), return_inverse=True, return_counts=True, equal_nan=False)
    return values, inverse.reshape(input.shape), counts
unique2.rule(input=no_derivative("_unique2"))


def distinct_beside_nan(xp, input, axis: int):
    """As unique_dim where some elements are NaN, which differ from everything, themselves too."""
    rows = xp.moveaxis(input, axis, 0).reshape(input.shape[axis], -1)

    def less(a: int, b: int) -> bool:
        apart = xp.flatnonzero((rows[a] < rows[b]) | (rows[a] > rows[b]))
        return bool(apart.size) and bool(rows[a, apart[0]] < rows[b, apart[0]])

    order = order_beside_nan(len(rows), less) if len(rows) <= FEW else xp.lexsort(rows.T[::-1]).tolist()
    ordered = rows[order]
    fresh = xp.ones(len(rows), bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(1)
    starts, inverse = xp.flatnonzero(fresh), xp.empty(len(rows), "int64")
    inverse[order] = xp.cumsum(fresh) - 1
    values = xp.moveaxis(input, axis, 0)[[order[i] for i in starts]]
    return xp.moveaxis(xp.ascontiguousarray(values), 0, axis), inverse, xp.diff(starts, append=len(rows))


@op(name="unique_dim", **distinct)
def unique_dim(xp, input: Tensor, dim: int, sorted: bool, return_inverse: bool, return_counts: bool):
    axis = axis_of(dim, input.ndim)
    need_slices("unique", input.shape, axis)
    if not input.size:
        empty = xp.zeros(0, "int64")
        return input.copy(), empty, empty
    if input.dtype.kind == "f" and xp.isnan(input).any():
        return distinct_beside_nan(xp, input, axis)
    values, inverse, counts = xp.unique(input, return_inverse=True, return_counts=True, axis=axis)
    return values, inverse.reshape(-1), counts
unique_dim.rule(input=no_derivative("unique_dim"))


@op(kernel="distinct_neighbours", name="unique_consecutive", **distinct)
def unique_neighbours(xp, input: Tensor, return_inverse: bool, return_counts: bool, dim: int | None):
    axis = 0 if dim is None else axis_of(dim, input.ndim)
    line = input.reshape(-1) if dim is None else input
    if dim is not None:
        need_slices("unique", input.shape, axis)
    n = line.shape[axis]
    rows = xp.moveaxis(line, axis, 0).reshape(n, -1) if line.size else line.reshape(n, 0)
    fresh = xp.ones(n, bool)
    fresh[1:] = (rows[1:] != rows[:-1]).any(1)
    starts = xp.flatnonzero(fresh)
    inverse = xp.cumsum(fresh) - 1
    return xp.take(line, starts, axis=axis), inverse.reshape(input.shape) if dim is None else inverse, xp.diff(starts,
                                                                                                               append=n)
unique_neighbours.rule(input=no_derivative("unique_consecutive"))


def need_slices(name: str, shape: tuple[int, ...], axis: int) -> None:
    if not shape:
        raise IndexError(f"Dimension specified as {axis} but tensor has no dimensions")
    if 0 in shape[:axis] + shape[axis + 1:]:
        raise RuntimeError(f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied")


def asked(found: tuple, return_inverse: bool, return_counts: bool):
    """The parts of (values, inverse, counts) that were asked for."""
    values, inverse, counts = found
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


@composite(samples=lambda t: [t.args(t(6, dtype="int64")),
                              t.args(t(2, 3, dtype="int64"), return_inverse=True, return_counts=True),
                              t.args(t(3, 2, dtype="bool"), dim=0, return_counts=True)])
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements, sorted; with `dim`, the distinct slices along that axis.

    With `return_inverse` also the index of each input element in the result, with `return_counts` also how often each
    element occurs.
    """
    flags = sorted, return_inverse, return_counts
    return asked(unique2(input, *flags) if dim is None else unique_dim(input, dim, *flags), return_inverse,
                 return_counts)


@composite(samples=lambda t: [t.args(t(6, dtype="bool")), t.args(t(2, 3, dtype="bool"), True, True),
                              t.args(t(4, 1, dtype="bool"), dim=0)])
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Tensor | tuple[Tensor, ...]:
    """The elements that differ from their predecessor: each run of equal elements becomes one. With `dim`: slices along
    that axis."""
    return asked(unique_neighbours(input, return_inverse, return_counts, dim), return_inverse, return_counts)


# Searching

def search(xp, rows, values, right: bool):
    """For each value the first place whose element is not below it (right: above it), in the row it belongs to."""
    if rows.ndim == 1 and rows.dtype == values.dtype and rows.size and rows[-1] == rows[-1]:
        return xp.searchsorted(rows, values, "right" if right else "left")       # NaN among the rows is found otherwise
    low, high = xp.zeros(values.shape, "int64"), xp.full(values.shape, rows.shape[-1], "int64")
    while (low < high).any():
        middle = (low + high) // 2
        found = xp.take_along_axis(rows, xp.minimum(middle, rows.shape[-1] - 1), -1)
        below = ~(found > values) if right else ~(found >= values)
        open_ = low < high
        low, high = xp.where(open_ & below, middle + 1, low), xp.where(open_ & ~below, middle, high)
    return low


def need_order(xp, rows, values) -> None:
    """Booleans alone are not searched; beside other numbers they count as 0 and 1."""
    need(values if rows.dtype.kind == "b" else rows, NUMBERS, "searchsorted_out_cpu")


def _warn_of_copies(boundaries: Tensor, input: Tensor | Number) -> None:
    for name, value in (("boundary", boundaries), ("input value", input)):
        if not is_number(value) and not value.is_contiguous():
            warn_once(f"search {name}",
                      f"torch.searchsorted(): {name} tensor is non-contiguous, this will lower the performance due to "
                      "extra data copy when converting non-contiguous tensor to contiguous, please use contiguous "
                      f"{name} tensor if possible. This message will only appear once per program.")


def check_search(sorted_sequence: Tensor, input: Tensor | Number, right: bool, side: str | None,
                 sorter: Tensor | None) -> None:
    words = "torch.searchsorted(): "
    shape = () if is_number(input) else input.shape
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{words}side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{words}side and right can't be set to opposites, got side of left while right was True")
    if sorted_sequence.ndim == 0:
        raise RuntimeError(f"{words}boundaries tensor should have positive dimension, but got 0 dimension")
    if sorter is not None and sorter.shape != sorted_sequence.shape:
        raise RuntimeError(f"{words}boundary and sorter must have the same size, but got boundary tensor "
                           f"{text(sorted_sequence.shape)}and got sorter tensor {text(sorter.shape)}")
    if sorter is not None and sorter.dtype.name != "int64":
        raise RuntimeError(f"{words}sorter must be a tensor of long dtype but got dtype {sorter.dtype.legacy}")
    if sorted_sequence.ndim == 1:
        _warn_of_copies(sorted_sequence, input)
        return
    if not shape:
        raise RuntimeError(f"{words}input value can be a scalar only when boundaries tensor dimension is 1, but we "
                           f"got boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)")
    if shape[:-1] != sorted_sequence.shape[:-1]:
        raise RuntimeError(f"{words}boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                           "tensor and input value tensor must match, but we got boundaries tensor "
                           f"{text(sorted_sequence.shape)} and input value tensor {text(shape)}")
    _warn_of_copies(sorted_sequence, input)


def search_meta(input: Tensor | Number, out_int32: bool) -> tuple:
    return () if is_number(input) else input.shape, int32 if out_int32 else int64


@op(kernel="searchsorted", out=SEARCH, method=False, check=check_search, meta=search_meta,
    samples=lambda t: [t.args(t(5).sort()[0], t(3, 4)), t.args(t(2, 5).sort()[0], t(2, 3), right=True),
                       t.args(t(5).sort()[0], 0.5)],
    errors=lambda t: [(t.args(t(3), 2.0, side="foo"), RuntimeError,
                       "torch.searchsorted(): side can only be 'left' or 'right' but got foo")])
def searchsorted(xp, sorted_sequence: Tensor, input: Tensor | Number, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None):
    """The indices at which values must be inserted to keep a sequence sorted: before equal elements or, with `right`,
    after."""
    rows, values = sorted_sequence, xp.asarray(input)
    need_order(xp, rows, values)
    if sorter is not None:
        if sorter.size and not 0 <= int(sorter.min()) <= int(sorter.max()) < rows.shape[-1]:
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        rows = xp.take_along_axis(rows, sorter, -1)
    if rows.ndim == 1:
        found = search(xp, rows, values.reshape(-1), right or side == "right").reshape(values.shape)
    else:
        found = search(xp, rows, values, right or side == "right")
    return found.astype("int32") if out_int32 else found


def check_boundaries(input: Tensor | Number, boundaries: Tensor) -> None:
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    _warn_of_copies(boundaries, input)


@op(kernel="bucketize", out=SEARCH, method=False, check=check_boundaries, meta=search_meta,
    samples=lambda t: [t.args(t(3, 4), t(5).sort()[0]), t.args(0.5, t(5).sort()[0], right=True)],
    errors=lambda t: [(t.args(t(3), t(1, 3)), RuntimeError, "boundaries tensor must be 1 dimension, but got dim(2)")])
def bucketize(xp, input: Tensor | Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False):
    """The index of the bucket, between sorted boundaries, that each value belongs to."""
    values = xp.asarray(input)
    need_order(xp, boundaries, values)
    found = search(xp, boundaries, values.reshape(-1), right).reshape(values.shape)
    return found.astype("int32") if out_int32 else found


# Counting

@op(half="raw", out=False, meta="data", node="torch::autograd::NotImplemented",
    samples=lambda t: [t.args(t.index((6,), 4)), t.args(t.index((6,), 4), t(6)), t.args(t.index((3,), 4), minlength=8)],
    errors=lambda t: [(t.args(t(2, 2, dtype="int64")), RuntimeError,
                       "bincount only supports 1-d non-negative integral inputs."),
                      (t.args(t(2)), NotImplementedError, "\"bincount_cpu\" not implemented for 'Float'")])
def bincount(xp, input: Tensor, weights: Tensor | None = None, minlength: int = 0):
    """Counts how often each non-negative integer occurs, or adds up its weights: out[n] = sum(weights[input == n])."""
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    need(input, "iu", "bincount_cpu")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if input.size and int(input.max()) == 2 ** 63 - 1:
        raise RuntimeError("maximum value of input overflowed, it should be < 9223372036854775807 but got "
                           "9223372036854775807")
    if input.size:
        xp.empty(int(input.max()) + 1, "int64")             # NumPy's own count of the boxes may wrap around
    if weights is None or not input.size:
        return xp.bincount(input, minlength=minlength).astype("int64", copy=False)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return xp.bincount(input, weights.astype("float64"),
                       minlength).astype("float32" if weights.dtype.name == "float32" else "float64")
bincount.rule(input=missing, weights=missing)


@op(kernel="histc", differentiable=(), meta=lambda bins: (bins,),
    out="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {0.c_name} and hist "
        "{1.c_name}",
    samples=lambda t: [t.args(t(20), 5), t.args(t(20), 4, 1, 2), t.args(t(3, 4), bins=3, min=0, max=2)],
    errors=lambda t: [(t.args(t(3), 0), RuntimeError, "torch.histogram(): bins must be > 0, but got 0 for dimension 0"),
                      (t.args(t(3), 2, 3, 1), RuntimeError, "torch.histc: max must be larger than min")])
def histc(xp, input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0):
    """A histogram: the number of elements in each of `bins` equal intervals from `min` to `max` (both 0: the range of
    the data)."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    need(input, "fV", "histogram_cpu")
    for end in (min, max):
        refuse_overflow(end, dtype_of_numpy(input.dtype))
    low, high = input.dtype.type(min), input.dtype.type(max)
    if low == high and input.size:
        low, high = input.min(), input.max()
    if low == high:                             # one apart, or what is next, unless no number is
        below = xp.minimum(low - 1, xp.nextafter(low, -xp.inf))
        above = xp.maximum(high + 1, xp.nextafter(high, xp.inf))
        whole = not xp.isfinite(low)
        low, high = (below if whole or xp.isfinite(below) else low), (above if whole or xp.isfinite(above) else high)
    if not (xp.isfinite(low) and xp.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if not xp.isfinite((high - low) / bins):    # the edges are no numbers then, and nothing is between them
        return xp.zeros(bins, input.dtype)
    line = input.reshape(-1) if min == max else input[(input >= low) & (input <= high)]      # or all are between
    place = line - low
    place *= bins
    place /= high - low
    place = xp.minimum(xp.where(xp.isfinite(place), place, 0).astype("int64"), bins - 1)
    return xp.bincount(place, minlength=bins).astype(input.dtype)
histc.rule(input=constant)
