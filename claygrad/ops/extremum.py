"""Maxima, minima, medians and modes: values and indices."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.core import bool as boolean
from claygrad.core import int64
from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._out import EXACT, MEDIAN
from claygrad.ops._reducing import FEW, far, need_elements, no_complex_gradient, order_beside_nan, placed, shared
from claygrad.ops._registry import composite, op, reduction
from claygrad.ops._words import need

if TYPE_CHECKING:
    from claygrad.core import Tensor

ORDERED = "fiubV"          # NumPy's kinds of numbers that can be compared
NUMBERS = "fiuV"
PAIR = ("values", "indices")


def reduced_pair(input: Tensor, dim: int, keepdim: bool) -> list[tuple]:
    """Shapes and dtypes of values and indices picked along an axis."""
    shape = list(input.shape)
    at = axis_of(dim, len(shape))
    if shape:
        shape[at:at + 1] = [1] if keepdim else []
    return [(tuple(shape), input.dtype), (tuple(shape), int64)]


hidden = {"function": False, "method": False}


def along(name: str) -> dict:
    """Options of an operation that picks elements along an axis."""
    def check(input: Tensor, dim: int) -> None:
        if input.ndim:
            need_elements(name, input.shape, (axis_of(dim, input.ndim),))

    return {"contiguous": True, "returns": PAIR, "differentiable": (0,), "check": check, "meta": reduced_pair}


def pick(xp, input, indices, axis: int, keepdim: bool):
    """The values at `indices` (which kept the axis), and the indices."""
    values = xp.take_along_axis(input, indices, axis)
    return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))


def lone(xp, input):
    """What picking from a tensor without axes gives."""
    return input.copy(), xp.zeros((), xp.int64)


def picked(g: Tensor, outs, input_shape, dim: int, keepdim: bool) -> Tensor:
    return placed(g, outs[1], input_shape, dim, keepdim)


# max, min: of everything (ties share the gradient), along an axis (the first one gets it), of two tensors

def extreme(xp, name: str, input, value, place, dim: int, keepdim: bool):
    """The extreme value along an axis and its first place, by amax and argmax or amin and argmin."""
    axis = axis_of(dim, input.ndim)
    if input.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")
    if not input.ndim:
        return lone(xp, input)
    values, indices = value(input, axis=axis), place(input, axis=axis)
    return (xp.expand_dims(values, axis), xp.expand_dims(indices, axis)) if keepdim else (values, indices)


def attained(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    return shared(g, (input == out).logical_or(input.isnan()))        # NaN is the result wherever there is one


@reduction(kernel="amax", name="max", node="MaxBackward1", **hidden,
           check=lambda input: need_elements("max", input.shape, None))
def max_of_all(xp, input: Tensor):
    need(input, ORDERED, "max_all")
    return xp.amax(input)
max_of_all.rule(input=attained)


@reduction(kernel="amin", name="min", node="MinBackward1", **hidden,
           check=lambda input: need_elements("min", input.shape, None))
def min_of_all(xp, input: Tensor):
    need(input, ORDERED, "min_all")
    return xp.amin(input)
min_of_all.rule(input=attained)


@op(kernel="max_along", name="max", node="MaxBackward0", **along("max"), **hidden)
def max_along(xp, input: Tensor, dim: int, keepdim: bool):
    return extreme(xp, "max", input, xp.amax, xp.argmax, dim, keepdim)
max_along.rule(input=picked)


@op(kernel="min_along", name="min", node="MinBackward0", **along("min"), **hidden)
def min_along(xp, input: Tensor, dim: int, keepdim: bool):
    return extreme(xp, "min", input, xp.amin, xp.argmin, dim, keepdim)
min_along.rule(input=picked)


def overload(name: str, input: Tensor, dim, keepdim: bool, other, of_all, along_axis, of_two):
    """PyTorch's three forms under one name: f(x), f(x, dim, keepdim) and f(x, other)."""
    if isinstance(dim, TensorType):
        dim, other = None, dim
    if other is not None:
        return of_two(other)
    if dim is None:
        return of_all(input)
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({type(dim).__name__}), but "
                        "expected one of:\n * ()\n * (Tensor other)\n * (int dim, bool keepdim = False)")
    return along_axis(input, dim, keepdim)


def overload_samples(t):
    return [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(3, 4), -1, True), t.args(t(3, 4), t(3, 4)), t.args(t()),
            t.args(t(), 0)]


@composite(native="extreme", parts=(max_of_all, max_along), out="pair:" + EXACT, overloads=True, returns=PAIR,
           samples=overload_samples,
           errors=lambda t: [(t.args(t(0)), RuntimeError,
                              "max(): Expected reduction dim to be specified for input.numel() == 0."),
                             (t.args(t(2, 0), 1), IndexError,
                              "max(): Expected reduction dim 1 to have non-zero size.")])
def max(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *,
        other: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of all elements. With `dim`: the maxima along that axis and their indices. With another tensor:
    `maximum`.

    NaN propagates.
    """
    return overload("max", input, dim, keepdim, other, max_of_all, max_along, input.maximum)


@composite(native="extreme", parts=(min_of_all, min_along), out="pair:" + EXACT, overloads=True, returns=PAIR,
           samples=overload_samples,
           errors=lambda t: [(t.args(t(0)), RuntimeError,
                              "min(): Expected reduction dim to be specified for input.numel() == 0."),
                             (t.args(t(2, 0), 1), IndexError,
                              "min(): Expected reduction dim 1 to have non-zero size.")])
def min(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *,
        other: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """The smallest of all elements. With `dim`: the minima along that axis and their indices. With another tensor:
    `minimum`.

    NaN propagates.
    """
    return overload("min", input, dim, keepdim, other, min_of_all, min_along, input.minimum)


def check_where(name: str, input: Tensor, dim: tuple[int, ...] | None) -> None:
    for refused, word in ((input.dtype == boolean, "bool"), (input.is_complex(), "complex")):
        if refused:
            raise RuntimeError(f"{name}(): does not support {word} input")
    if dim is None and input.numel() == 0:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    need_elements(name, input.shape, dim)


@reduction(kernel="argmax", out=EXACT, promote="index", check=lambda input, dim: check_where("argmax", input, dim),
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(3, 4), 1, True), t.args(t())],
           errors=lambda t: [(t.args(t(0)), IndexError,
                              "argmax(): Expected reduction dim to be specified for input.numel() == 0."),
                             (t.args(t(2, dtype="bool")), RuntimeError, "argmax(): does not support bool input")])
def argmax(xp, input: Tensor, dim: int | None = None, keepdim: bool = False):
    """The index of the largest element along `dim`, the first one of several; without `dim`, in the flattened tensor.
    """
    return xp.argmax(input, axis=dim[0] if dim else None, keepdims=keepdim)


@reduction(kernel="argmin", out=EXACT, promote="index", check=lambda input, dim: check_where("argmin", input, dim),
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(3, 4), 1, True), t.args(t())],
           errors=lambda t: [(t.args(t(0)), IndexError,
                              "argmin(): Expected reduction dim to be specified for input.numel() == 0."),
                             (t.args(t(2, dtype="bool")), RuntimeError, "argmin(): does not support bool input")])
def argmin(xp, input: Tensor, dim: int | None = None, keepdim: bool = False):
    """The index of the smallest element along `dim`, the first one of several; without `dim`, in the flattened tensor.
    """
    return xp.argmin(input, axis=dim[0] if dim else None, keepdims=keepdim)


# Order statistics. Of an even number of elements the median is the lower of the two middle ones.

def ranked(xp, input, rank, axis: int, keepdim: bool):
    """The element that stands at `rank` (a number, or one per row) when the axis is sorted."""
    order = xp.argsort(input, axis=axis, kind="stable")
    if isinstance(rank, int):
        place = order[(*(slice(None),) * axis, slice(rank, rank + 1))].copy()
    else:
        place = xp.take_along_axis(order, rank, axis)
    return pick(xp, input, place, axis, keepdim)


def middle(xp, input, skip_nan: bool):
    """The median of everything."""
    need(input, NUMBERS, "median_cpu")
    line = input.reshape(-1)
    if input.dtype.kind == "f":
        unknown = xp.isnan(line)
        if skip_nan and not unknown.all():
            line = line[~unknown]
        elif unknown.any() or not line.size:
            return xp.full((), xp.nan, input.dtype)
    if not line.size:                       # what PyTorch returns: the smallest integer
        return xp.full((), xp.iinfo(input.dtype).min, input.dtype)
    rank = (line.size - 1) // 2
    return xp.partition(line, rank)[rank]


def middle_along(xp, name: str, input, dim: int, keepdim: bool):
    need(input, NUMBERS, "median_out")
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return lone(xp, input)
    length = input.shape[axis]
    rank = (length - 1) // 2
    unknown = xp.isnan(input) if input.dtype.kind == "f" else None
    if unknown is None or not unknown.any():
        return ranked(xp, input, rank, axis, keepdim)
    # Sorted, NaN stands behind all numbers: at `known` is the first of them.
    known = length - xp.sum(unknown, axis=axis, keepdims=True)
    if name == "nanmedian":
        return ranked(xp, input, xp.where(known > 0, (known - 1) // 2, 0), axis, keepdim)
    return ranked(xp, input, xp.where(known < length, known, rank), axis, keepdim)


@op(kernel="median", name="median", node="MedianBackward0", meta=lambda input: (), **hidden)
def median_of_all(xp, input: Tensor):
    return middle(xp, input, skip_nan=False)
median_of_all.rule(input=attained)


@op(kernel="median", name="nanmedian", node="NanmedianBackward0", meta=lambda input: (), **hidden)
def nanmedian_of_all(xp, input: Tensor):
    return middle(xp, input, skip_nan=True)
nanmedian_of_all.rule(input=lambda g, input, out: shared(g, (input == out).logical_or(input.isnan() & out.isnan())))


@op(kernel="median_along", name="median", node="MedianBackward1", **along("median"), **hidden)
def median_along(xp, input: Tensor, dim: int, keepdim: bool):
    return middle_along(xp, "median", input, dim, keepdim)
median_along.rule(input=picked)


@op(kernel="median_along", name="nanmedian", node="NanmedianBackward1", **along("nanmedian"), **hidden)
def nanmedian_along(xp, input: Tensor, dim: int, keepdim: bool):
    return middle_along(xp, "nanmedian", input, dim, keepdim)
nanmedian_along.rule(input=picked)


@composite(native="median", parts=(median_of_all, median_along), out=MEDIAN, returns=PAIR,
           samples=lambda t: [t.args(t(3, 4)), t.args(far(t, 3, 4), 0), t.args(far(t, 3, 5), 1, True), t.args(t())],
           errors=lambda t: [(t.args(t(2, 0), 1), IndexError,
                              "median(): Expected reduction dim 1 to have non-zero size.")])
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The median of all elements. With `dim`: the medians along that axis and their indices. NaN propagates.

    Of an even number of elements it is the lower of the two middle ones.
    """
    return median_of_all(input) if dim is None else median_along(input, dim, keepdim)


@composite(native="median", parts=(nanmedian_of_all, nanmedian_along), out=MEDIAN, returns=PAIR,
           samples=lambda t: [t.args(t(3, 4)), t.args(far(t, 3, 4), 0), t.args(far(t, 3, 5), 1, True), t.args(t())])
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The (lower) median of the elements that are not NaN, or values and indices along `dim`."""
    return nanmedian_of_all(input) if dim is None else nanmedian_along(input, dim, keepdim)


def check_rank(input: Tensor, k: int, dim: int) -> None:
    if not input.ndim:
        no_complex_gradient("kthvalue", input)
    axis = axis_of(dim, input.ndim)
    need_elements("kthvalue", input.shape, (axis,) if input.ndim else ())
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")


@op(kernel="kth", out=("output values must be of same type as input", "output indices must be of scalar type Long"),
    out_alias="refuse",
    **along("kthvalue") | {"check": check_rank},
    samples=lambda t: [t.args(far(t, 3, 4), 2), t.args(far(t, 3, 4), 1, 0), t.args(far(t, 3, 4), 4, -1, True),
                       t.args(t(), 1)],
    errors=lambda t: [(t.args(t(3), 4), RuntimeError, "kthvalue(): selected number k out of range for dimension 0"),
                      (t.args(t(2, dtype="bool"), 1), NotImplementedError,
                       "\"kthvalue_cpu\" not implemented for 'Bool'")])
def kthvalue(xp, input: Tensor, k: int, dim: int = -1, keepdim: bool = False):
    """The k-th smallest element (counted from 1) along an axis, and its index. NaN counts as the largest."""
    if not input.ndim:
        return lone(xp, input)
    need(input, NUMBERS, "kthvalue_cpu")
    return ranked(xp, input, k - 1, axis_of(dim, input.ndim), keepdim)
kthvalue.rule(input=picked)


def check_mode(input: Tensor, dim: int) -> None:
    if not input.ndim:
        no_complex_gradient("mode", input)
    need_elements("mode", input.shape, (axis_of(dim, input.ndim),) if input.ndim else ())


@op(kernel="mode", **along("mode") | {"check": check_mode},
    out=("expected scalar type '{0.legacy}' but got '{1.legacy}' for values output",
         "expected scalar type '{0.legacy}' but got '{1.legacy}' for indices output"),
    samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(6, dtype="int64"), -1, True), t.args(t())],
    errors=lambda t: [(t.args(t(0)), IndexError, "mode(): Expected reduction dim 0 to have non-zero size.")])
def mode(xp, input: Tensor, dim: int = -1, keepdim: bool = False):
    """The most frequent element along an axis (of several, the smallest), and the index of its last occurrence."""
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return lone(xp, input)
    need(input, ORDERED, "mode_cpu")
    if input.dtype.kind == "f" and input.shape[axis] <= FEW and xp.isnan(input).any():
        order = xp.apply_along_axis(
            lambda line: order_beside_nan(len(line), lambda i, j: bool(line[i] < line[j])), axis, input)
    else:
        order = xp.argsort(input, axis=axis, kind="stable")
    line = xp.moveaxis(xp.take_along_axis(input, order, axis), axis, -1)
    place = xp.broadcast_to(xp.arange(line.shape[-1]), line.shape)
    fresh = xp.ones(line.shape, bool)
    fresh[..., 1:] = line[..., 1:] != line[..., :-1]
    run = place - xp.maximum.accumulate(xp.where(fresh, place, 0), axis=-1)       # how many equal ones stand before
    at = xp.moveaxis(xp.argmax(run, axis=-1, keepdims=True), -1, axis)
    return pick(xp, input, xp.take_along_axis(order, at, axis), axis, keepdim)
mode.rule(input=picked)
