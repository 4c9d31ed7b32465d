"""Cumulative operations: sums, products, maxima and minima along an axis, and differences."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import bool as boolean
from claygrad.core import int64
from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._out import SCALAR
from claygrad.ops._reducing import no_complex_gradient, selected, shift
from claygrad.ops._registry import composite, conj, op, pointwise
from claygrad.ops._words import need

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, dtype

ORDERED = "fiubV"           # NumPy's kinds of numbers that can be compared
PAIR = ("values", "indices")
WIDE = {"f": "float64", "V": "float64", "c": "complex128"}


def running(xp, accumulate, input, dim: int, dtype: dtype | None):
    """`accumulate` along an axis, in double precision, rounded once at the end."""
    axis = axis_of(dim, input.ndim)
    wanted = dtype.numpy if dtype is not None else xp.dtype("int64") if input.dtype.kind in "iub" else input.dtype
    if input.dtype.kind == "c" and wanted.kind != "c":
        input = input.real                                # who asked for it has been warned
    input = input.astype(wanted, order="C")
    if not input.ndim:
        return input
    return accumulate(input, axis=axis, dtype=WIDE.get(wanted.kind, wanted)).astype(wanted)


def same_shape(input: Tensor, dim: int, dtype: dtype | None) -> tuple:
    axis_of(dim, input.ndim)
    small = not (input.is_floating_point() or input.is_complex())
    return input.shape, dtype or (int64 if small else input.dtype)


def check_scan(name: str, input: Tensor, dtype: dtype | None, inplace: bool) -> None:
    if inplace and dtype is not None and dtype != input.dtype:
        raise RuntimeError(f"Bad in-place call: input tensor dtype {input.dtype.c_name} and output tensor dtype "
                           f"{dtype.c_name} should match")
    if input.ndim and input.numel() and (dtype or (input.dtype if inplace else None)) == boolean:
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")


def backwards(f, dim: int, *tensors: Tensor) -> Tensor:
    """f run along the axis from its end."""
    return f(*(t.flip(dim) for t in tensors)).flip(dim)


# Sums and products

@op(kernel="running_sum", inplace=True, out="dtype", meta=same_shape,
    check=lambda input, dtype, inplace: check_scan("cumsum", input, dtype, inplace),
    samples=lambda t: [t.args(t(3, 4), 0), t.args(t(3, 4), -1), t.args(t(), 0),
                                                      t.args(t(0, 2), 0)],
    errors=lambda t: [(t.args(t(2, 3), 2), IndexError,
                       "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def cumsum(xp, input: Tensor, dim: int, *, dtype: dtype | None = None):
    """The cumulative sum along an axis: out[i] = input[0] + ... + input[i]. Booleans and integers are summed as int64.
    """
    return running(xp, xp.cumsum, input, dim, dtype)
cumsum.rule(input=lambda g, dim: cumsum_from_end(g, dim))


@op(kernel="running_sum", function=False, method=False, out=False, node="CumsumBackward0",
    meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 0), t.args(t(3, 4), -1), t.args(t(), 0), t.args(t(0, 2), 0)])
def cumsum_from_end(xp, input: Tensor, dim: int):
    """The running sum from the end of the axis: out[i] = input[i] + ... + input[-1]."""
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return input
    return xp.ascontiguousarray(xp.flip(running(xp, xp.cumsum, xp.flip(input, axis), axis, None), axis))
cumsum_from_end.rule(input=lambda g, dim: g.cumsum(dim))


@op(kernel="running_prod", inplace=True, out="dtype", meta=same_shape,
    check=lambda input, dtype, inplace: check_scan("cumprod", input, dtype, inplace),
    samples=lambda t: [t.args(t(3, 4), 0), t.args(t(3, 4), -1), t.args(t(), 0),
                                                      t.args(t(0, 2), 0)],
    errors=lambda t: [(t.args(t(2, 3), 2), IndexError,
                       "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def cumprod(xp, input: Tensor, dim: int, *, dtype: dtype | None = None):
    """The cumulative product along an axis: out[i] = input[0] * ... * input[i]. Booleans and integers are multiplied as
    int64."""
    return running(xp, xp.cumprod, input, dim, dtype)


def cumprod_gradient(g: Tensor, input: Tensor, out: Tensor, dim: int) -> Tensor:
    if input.numel() <= 1 or input.shape[dim] == 1:          # the input itself
        return g
    if input.device.type != "meta" and bool((input.detach() != 0).all()):
        return cumsum_from_end(g * conj(out), dim) / conj(input)
    # Beside a zero there is no dividing. What stands before each element, times the sum over all later
    # outputs of g and what stands between, by Horner's rule from the end.
    axis = axis_of(dim, input.ndim)
    before = shift(input, axis, 1, 1.0).cumprod(axis)
    rest = backwards(lambda f, h: recurrence(f, h, axis), axis, conj(shift(input, axis, -1, 0.0)), g)
    return conj(before) * rest


cumprod.rule(input=cumprod_gradient)


@op(promote="common", function=False, method=False, samples=lambda t: [t.args(t(5), t(5), 0),
                                                                       t.args(t(2, 3), t(2, 3), 1)])
def recurrence(xp, factor: Tensor, term: Tensor, dim: int):
    """The solution of out[i] = factor[i] * out[i-1] + term[i]. Its derivatives are recurrences again."""
    factor, out = factor.copy(), term.copy()
    at, step = (slice(None),) * dim, 1
    while step < out.shape[dim]:            # every round doubles how far back each element has looked
        ahead, behind = (*at, slice(step, None)), (*at, slice(None, -step))
        out[ahead] = out[ahead] + factor[ahead] * out[behind]
        factor[ahead] = factor[ahead] * factor[behind]
        step *= 2
    return out


@recurrence.rules
def recurrence_gradient(g: Tensor, factor: Tensor, out: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    back = backwards(lambda f, h: recurrence(f, h, dim), dim, conj(shift(factor, dim, -1, 0.0)), g)
    return back * conj(shift(out, dim, 1, 0.0)), back


def added_logs(xp, x, y):
    """log(e ** x + e ** y) of complex numbers; the angle goes on from that of the larger one, beyond pi."""
    swap = x.real < y.real
    low, high = xp.where(swap, x, y), xp.where(swap, y, x)
    gap = low - high
    small = xp.exp(xp.where(xp.isfinite(gap.real), gap, -xp.inf))
    out = xp.log1p(small) + high
    same = xp.isinf(high.real) & (low.real == high.real)
    out = xp.where(same, xp.where(low.real < 0, low, xp.log(xp.exp(x) + xp.exp(y))), out)
    return xp.where(xp.isnan(x) | xp.isnan(y), complex("nan+nanj"), out)


@op(kernel="running_logs", out=SCALAR, check=lambda input, dim: axis_of(dim, input.ndim),
    meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 0), t.args(t(3, 4), -1), t.args(t(), 0)],
    errors=lambda t: [(t.args(t(2, dtype="int64"), 0), NotImplementedError,
                       "\"logcumsumexp_out_cpu\" not implemented for 'Long'")])
def logcumsumexp(xp, input: Tensor, dim: int):
    """The cumulative logsumexp along an axis: out[i] = log(exp(input[0]) + ... + exp(input[i]))."""
    need(input, "fcV", "logcumsumexp_out_cpu")
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return input.copy()
    if input.dtype.kind == "f":
        return xp.logaddexp.accumulate(input, axis=axis, dtype="float64").astype(input.dtype, order="C")
    rows = xp.moveaxis(input, axis, 0).astype("complex128")
    for i in range(1, len(rows)):
        rows[i] = added_logs(xp, rows[i], rows[i - 1])
    return xp.moveaxis(rows, 0, axis).astype(input.dtype, order="C")


def logcumsumexp_gradient(g: Tensor, input: Tensor, out: Tensor, dim: int) -> Tensor:
    if not g.ndim:
        return g
    axis = axis_of(dim, g.ndim)
    fade = conj((out - shift(out, axis, -1,
                             float("inf"))).exp())        # how little of out[i+1] is out[i]: never above 1
    return conj((input - out).exp()) * backwards(lambda f, h: recurrence(f, h, axis), axis, fade, g)


logcumsumexp.rule(input=logcumsumexp_gradient)


# Extremes

def check_record(name: str, input: Tensor, dim: int) -> None:
    if not input.ndim and dim not in (-1, 0):
        raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
    if not input.ndim or not input.numel():
        no_complex_gradient(name, input)


def record(xp, name: str, accumulate, input, dim: int):
    """The running extreme and the last place that attained it. NaN wins and stays."""
    axis = axis_of(dim, input.ndim)
    if not input.ndim or not input.size:
        return input.copy(), xp.zeros(input.shape, "int64")
    need(input, ORDERED, f"{name}_cpu")
    input = xp.ascontiguousarray(input)
    values = accumulate(input, axis=axis)
    hit = input == values
    if input.dtype.kind == "f":
        hit |= xp.isnan(input)
    place = xp.arange(input.shape[axis]).reshape((-1,) + (1,) * (input.ndim - axis - 1))
    return values, xp.maximum.accumulate(xp.where(hit, place, 0), axis=axis)


def running_pair(input: Tensor, dim: int) -> list[tuple]:
    axis_of(dim, input.ndim)
    return [(input.shape, input.dtype), (input.shape, int64)]


recording = {"out": SCALAR, "returns": PAIR, "differentiable": (0,), "meta": running_pair,
             "samples": lambda t: [t.args(t(3, 4), 0), t.args(t(3, 4), -1), t.args(t(), 0), t.args(t(0), 0)]}


@op(kernel="running_max", check=lambda input, dim: check_record("cummax", input, dim), **recording)
def cummax(xp, input: Tensor, dim: int):
    """The cumulative maximum along an axis, and the index of its last occurrence so far."""
    return record(xp, "cummax", xp.maximum.accumulate, input, dim)
cummax.rule(input=lambda g, outs, input_shape, dim: selected(g, outs[1], input_shape, dim))


@op(kernel="running_min", check=lambda input, dim: check_record("cummin", input, dim), **recording)
def cummin(xp, input: Tensor, dim: int):
    """The cumulative minimum along an axis, and the index of its last occurrence so far."""
    return record(xp, "cummin", xp.minimum.accumulate, input, dim)
cummin.rule(input=lambda g, outs, input_shape, dim: selected(g, outs[1], input_shape, dim))


# Differences and areas

def _check_neighbour(input: Tensor, other: Tensor, axis: int) -> None:
    if other.ndim != input.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for d, (own, theirs) in enumerate(zip(input.shape, other.shape, strict=True)):
        if own != theirs and d != axis:
            raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input except "
                               "along the "
                               f"differencing dimension; input.size({d}) = {own}, but got tensor.size({d}) = {theirs}")


@composite(out=True, samples=lambda t: [t.args(t(5)), t.args(t(3, 5), 2),
                                        t.args(t(3, 4), dim=0, prepend=t(1, 4), append=t(2, 4)),
                                        t.args(t(4, dtype="bool"))],
           errors=lambda t: [(t.args(t()), RuntimeError, "diff expects input to be at least one-dimensional"),
                             (t.args(t(3), -1), RuntimeError, "order must be non-negative but got -1")])
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    """The difference of neighbouring elements along an axis, taken `n` times: out[i] = input[i+1] - input[i]."""
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = axis_of(dim, input.ndim)
    for other in (prepend, append):
        if other is not None:
            _check_neighbour(input, other, axis)
    if n == 0:
        return input.clone()
    if prepend is not None or append is not None:
        input = _joined(prepend, input, append, axis)
    for _ in range(min(n, input.shape[axis])):
        ahead, behind = input.narrow(axis, 1, input.shape[axis] - 1), input.narrow(axis, 0, input.shape[axis] - 1)
        input = ahead.logical_xor(behind) if input.dtype == boolean else ahead - behind
    return input


def _joined(prepend: Tensor | None, input: Tensor, append: Tensor | None, axis: int) -> Tensor:
    from claygrad.ops.join import cat
    for extra in (prepend, append):
        if extra is not None and extra.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    return cat([part for part in (prepend, input, append) if part is not None], axis)


# PyTorch multiplies and divides by plain numbers here, which gives nodes of their own.

@pointwise(promote="float", node="MulBackward1", function=False, method=False, inplace=False,
           samples=lambda t: [t.args(t(3), 0.5)])
def scaled(xp, input: Tensor, number: float):
    return xp.multiply(input, number)
scaled.rule(input=lambda g, number: g * number)


@pointwise(promote="float", node="DivBackward1", function=False, method=False, inplace=False,
           samples=lambda t: [t.args(t(3))])
def halved(xp, input: Tensor):
    return xp.divide(input, 2)
halved.rule(input=lambda g: g / 2)


def check_spacing(name: str, x: Tensor | None, dx: Number | None) -> None:
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: give x or dx, not both")
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")


def refuse_booleans(name: str, y: Tensor, x: Tensor | None = None) -> None:
    if y.dtype == boolean or (x is not None and x.dtype == boolean):
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")


def areas(y: Tensor, x: Tensor | None, dim: int, name: str) -> Tensor:
    """Twice the areas of the strips between neighbours, of width 1 where no x is given."""
    refuse_booleans(name, y, x)
    axis = axis_of(dim, y.ndim)
    n = y.shape[axis]
    pairs = y.narrow(axis, 0, max(n - 1, 0)) + y.narrow(axis, min(1, n), max(n - 1, 0))
    if x is None:
        return pairs
    if x.ndim == 1:
        if x.shape[0] != n:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        return pairs * x.diff().reshape((-1,) + (1,) * (y.ndim - axis - 1))
    at = axis - y.ndim + x.ndim if x.ndim < y.ndim else axis
    return pairs * x.diff(dim=at)


@composite(names=("trapz",), method=False, samples=lambda t: [t.args(t(5)), t.args(t(3, 5), t(5)),
                                                              t.args(t(3, 4), dx=0.5, dim=0)])
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """The integral by the trapezoidal rule: out = sum((y[i] + y[i+1]) / 2 * (x[i+1] - x[i]))."""
    check_spacing("trapezoid", x, dx)
    if not y.size(dim):
        return y.new_zeros([n for i, n in enumerate(y.shape) if i != axis_of(dim, y.ndim)])
    if x is not None:
        return halved(areas(y, x, dim, "trapezoid").sum(dim))
    refuse_booleans("trapezoid", y)
    ends = scaled(y.select(dim, 0) + y.select(dim, -1), 0.5)
    return scaled(y.sum(dim) - ends, 1 if dx is None else dx)         # sums are int64, pairs of neighbours would wrap


@composite(method=False, samples=lambda t: [t.args(t(5)), t.args(t(3, 5), t(5)), t.args(t(3, 4), dx=0.5, dim=0)])
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """The cumulative integral by the trapezoidal rule."""
    check_spacing("cumulative_trapezoid", x, dx)
    strips = areas(y, x, dim, "cumulative_trapezoid")
    return scaled(strips, (1 if dx is None else dx) / 2).cumsum(dim) if x is None else halved(strips.cumsum(dim))
