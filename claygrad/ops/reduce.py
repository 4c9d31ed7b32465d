"""Reductions: many elements to one, over all axes or some."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import DTYPES, dtype_of_numpy, uint8
from claygrad.core import bool as boolean
from claygrad.ops._out import EXACT, MATCHING
from claygrad.ops._reducing import count, need_elements, reduced, restored, shared, shift, spread, total
from claygrad.ops._registry import composite, conj, op, reduction
from claygrad.ops._words import need

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor, dtype

    ints = int | tuple[int, ...] | list[int]

ORDERED = "fiubV"          # NumPy's kinds of numbers that can be compared


# Sums and products

@reduction(kernel="sum", promote="sum", out="dtype", node=lambda dim: "SumBackward0" if dim is None else "SumBackward1",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(2, 3, 4), (0, -1), keepdim=True),
                              t.args(t()), t.args(t(), 0), t.args(t(0, 3), 0), t.args(t(3, 0))],
           errors=lambda t: [(t.args(t(2, 3), 2), IndexError,
                              "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
                             (t.args(t(2, 3), (0, -2)), RuntimeError,
                              "dim 0 appears multiple times in the list of dims")])
def sum(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """The sum of the elements, of all or along the axes `dim`. Booleans and integers are summed as int64."""
    return total(xp, input, dim, keepdim)
sum.rule(input=lambda g, input_shape, dim, keepdim: spread(g, input_shape, dim, keepdim))


def check_nansum(input: Tensor, dtype: dtype | None) -> None:
    if input.is_complex():
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if dtype is not None and dtype.is_complex and input.is_floating_point():
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{dtype.legacy}'")


@reduction(kernel="nansum", promote="sum", check=check_nansum,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(2, 3), (0, 1), True), t.args(t())])
def nansum(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """The sum of the elements that are not NaN."""
    if input.dtype.kind == "f":
        input = xp.where(xp.isnan(input), xp.zeros((), input.dtype), input)
        if dtype is not None and dtype.numpy.kind in "iub":
            input = input.astype(dtype.numpy)
    return total(xp, input, dim, keepdim)
nansum.rule(input=lambda g, input, dim, keepdim: spread(g, input.shape, dim, keepdim) * input.isnan().logical_not())


@reduction(promote="none", out="exact",
           meta=lambda input, dim, keepdim: (reduced(input.shape, dim, keepdim), DTYPES["uint64"]),
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4, dtype="int64"), 1),
                              t.args(t(2, 3), (0, 1), keepdim=True)])
def hash_tensor(xp, input: Tensor, dim: ints | None = None, *, keepdim: bool = False, mode: int = 0):
    """The bits of the elements as 64-bit numbers, combined by exclusive or: a hash that no order changes."""
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    need_elements("hash_tensor", input.shape, dim, call="")
    wide = xp.float64 if input.dtype.kind in "fV" else xp.uint64 if input.dtype.kind in "ub" else xp.int64
    if input.dtype.kind == "c":
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{dtype_of_numpy(input.dtype).legacy}'")
    return xp.bitwise_xor.reduce(input.astype(wide).view(xp.uint64), axis=dim, keepdims=keepdim)


def check_mean(input: Tensor, dtype: dtype | None) -> None:
    which, asked = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if not (asked.is_floating_point or asked.is_complex):
        raise RuntimeError(f"mean(): could not infer output dtype. {which} dtype must be either a floating point or "
                           f"complex dtype. Got: {asked.legacy}")


@reduction(kernel="mean", check=check_mean, node=lambda dim: "MeanBackward0" if dim is None else "MeanBackward1",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(2, 3, 4), (0, 2), True), t.args(t()),
                              t.args(t(), -1)],
           errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                              "mean(): could not infer output dtype. Input dtype must be")])
def mean(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """The mean of the elements, of all or along the axes `dim`. The mean of no elements is NaN."""
    return xp.divide(total(xp, input, dim, keepdim), count(input.shape, dim))
# Divided last, as in torch: what is broadcast could not be written by whoever gets it.
mean.rule(input=lambda g, input_shape, dim, keepdim: spread(g, input_shape, dim, keepdim) / count(input_shape, dim))


@composite(out="dtype", samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0, True)],
           errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                              "nanmean(): expected input to have floating point or complex dtype but got Long")])
def nanmean(input: Tensor, dim: ints | None = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The mean of the elements that are not NaN."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but got "
                           f"{input.dtype.legacy}")
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("nanmean(): could not infer output dtype. Optional dtype must be either a floating point or "
                           f"complex dtype. Got: {dtype.legacy}")
    known = input.detach().isnan().logical_not().sum(dim, keepdim)
    return input.nansum(dim, keepdim, dtype=dtype) / known


@reduction(kernel="prod", promote="sum", out="dtype",
           node=lambda dim: "ProdBackward0" if dim is None else "ProdBackward1",
           samples=lambda t: [t.args(t(3, 2)), t.args(t(3, 4), 0), t.args(t(3, 4), -1, True), t.args(t()),
                              t.args(t(0, 3), 0)])
def prod(xp, input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """The product of the elements, of all or along the axis `dim`. Booleans and integers are multiplied as int64."""
    return xp.prod(input, axis=dim, keepdims=keepdim)


def prod_gradient(g: Tensor, input: Tensor, out: Tensor, dim: tuple[int, ...] | None,
                  keepdim: bool) -> Tensor | None:
    if not input.ndim:
        return g
    if input.device.type != "meta" and bool((input.detach() != 0).all()):
        return spread(g, input.shape, dim, keepdim) * conj(spread(out, input.shape, dim, keepdim) / input)
    again = g.requires_grad or input.requires_grad          # only then PyTorch multiplies zeros out
    if dim is None and not again and input.device.type != "meta" and int((input == 0).sum()) > 1:
        return None
    # Beside a zero there is no dividing: what stands before an element times what stands behind it.
    line, axis = (input.reshape(-1), 0) if dim is None else (input, dim[0])
    if line.shape[axis] == 1:                                # the input itself
        return spread(g, input.shape, dim, keepdim)
    before = shift(line, axis, 1, 1.0).cumprod(axis)
    behind = shift(line, axis, -1, 1.0).flip(axis).cumprod(axis).flip(axis)
    return spread(g, input.shape, dim, keepdim) * conj((before * behind).reshape(input.shape))


prod.rule(input=prod_gradient)


# Extremes. Where several elements attain the extreme, they share the gradient.

def attained(g: Tensor, input: Tensor, out: Tensor, dim: tuple[int, ...] | None, keepdim: bool) -> Tensor:
    g, out = restored(g, input.shape, dim, keepdim), restored(out, input.shape, dim, keepdim)
    return shared(g, input == out, dim or None)


@reduction(out=MATCHING, kernel="amax", check=lambda input, dim: need_elements("amax", input.shape, dim),
           names_given_dims=True,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(2, 3, 4), (0, 2), True), t.args(t())],
           errors=lambda t: [(t.args(t(0)), RuntimeError,
                              "amax(): Expected reduction dim to be specified for input.numel() == 0."),
                             (t.args(t(2, 0), 1), IndexError,
                              "amax(): Expected reduction dim 1 to have non-zero size.")])
def amax(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False):
    """The largest element, of all or along the axes `dim`. NaN propagates. Equal maxima share the gradient."""
    need(input, ORDERED, "max_values_cpu")
    return xp.amax(input, axis=dim, keepdims=keepdim)
amax.rule(input=attained)


@reduction(out=MATCHING, kernel="amin", check=lambda input, dim: need_elements("amin", input.shape, dim),
           names_given_dims=True,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(2, 3, 4), (0, 2), True), t.args(t())],
           errors=lambda t: [(t.args(t(0)), RuntimeError,
                              "amin(): Expected reduction dim to be specified for input.numel() == 0."),
                             (t.args(t(2, 0), 1), IndexError,
                              "amin(): Expected reduction dim 1 to have non-zero size.")])
def amin(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False):
    """The smallest element, of all or along the axes `dim`. NaN propagates. Equal minima share the gradient."""
    need(input, ORDERED, "min_values_cpu")
    return xp.amin(input, axis=dim, keepdims=keepdim)
amin.rule(input=attained)


def check_aminmax(input: Tensor, dim: tuple[int, ...] | None) -> None:
    if dim is None and input.numel() == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    for axis in dim or ():
        if input.shape[axis] == 0:
            raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")


@reduction(kernel="both", out=EXACT, returns=("min", "max"), check=check_aminmax,
           meta=lambda input, dim, keepdim: [(reduced(input.shape, dim, keepdim), input.dtype)] * 2,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), dim=0), t.args(t(3, 4), dim=1, keepdim=True)],
           errors=lambda t: [(t.args(t(0)), RuntimeError,
                              "aminmax(): cannot compute aminmax over an empty dimension"),
                             (t.args(t(2, 0), dim=1), IndexError,
                              "aminmax: Expected reduction dim 1 to have non-zero size.")])
def aminmax(xp, input: Tensor, *, dim: int | None = None, keepdim: bool = False):
    """The smallest and the largest element."""
    need(input, ORDERED, "aminmax_cpu")
    return xp.amin(input, axis=dim, keepdims=keepdim), xp.amax(input, axis=dim, keepdims=keepdim)


@aminmax.rules
def aminmax_gradient(gs, input: Tensor, outs, dim, keepdim: bool) -> tuple[Tensor | None]:
    parts = [attained(g, input, out, dim, keepdim) for g, out in zip(gs, outs) if g is not None]
    return (parts[0] if len(parts) == 1 else parts[0] + parts[1] if parts else None,)


# Logic and counting

def truth(input: Tensor, dim: tuple[int, ...] | None, keepdim: bool) -> tuple:
    return reduced(input.shape, dim, keepdim), uint8 if input.dtype == uint8 else boolean


def truth_samples(t):
    return [t.args(t(3, 4)), t.args(t(3, 4, dtype="bool"), 0), t.args(t(2, 3), (0, 1), True), t.args(t()), t.args(t(0)),
            t.args(t(3, dtype="uint8"))]


def _check_truth(name: str) -> Callable[[Tensor, Tensor], None]:
    def check(out: Tensor, result: Tensor) -> None:
        if out.dtype not in (boolean, uint8):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.dtype.legacy}")

    return check


@reduction(kernel="all", no_dims="keep", check_out=_check_truth("all"), promote="bool", meta=truth,
           samples=truth_samples)
def all(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False):
    """Whether all elements are True (not zero), of all or along the axes `dim`."""
    out = xp.all(input, axis=dim, keepdims=keepdim)
    return out.astype(input.dtype) if input.dtype.name == "uint8" else out


@reduction(kernel="any", no_dims="keep", check_out=_check_truth("any"), promote="bool", meta=truth,
           samples=truth_samples)
def any(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False):
    """Whether any element is True (not zero), of all or along the axes `dim`."""
    out = xp.any(input, axis=dim, keepdims=keepdim)
    return out.astype(input.dtype) if input.dtype.name == "uint8" else out


@reduction(kernel="count", promote="index", out=False,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4, dtype="bool"), 0), t.args(t(2, 3, 4), (0, 1)),
                              t.args(t())])
def count_nonzero(xp, input: Tensor, dim: ints | None = None):
    """The number of nonzero elements, of all or along the axes `dim`."""
    if dim is None:
        return xp.asarray(xp.count_nonzero(input != 0), dtype=xp.int64)
    return xp.sum(input != 0, axis=dim, dtype=xp.int64)


# Sums in the log domain

@reduction(kernel="logsumexp", promote="float", namespace=("torch", "special"),
           samples=lambda t: [t.args(t(3, 4), 0), t.args(t(3, 4), (0, 1)), t.args(t(2, 3, 4), -1, True),
                              t.args(t(), 0)])
def logsumexp(xp, input: Tensor, dim: ints, keepdim: bool = False):
    """The logarithm of the sum of exponentials along the axes `dim`, computed without overflow: out =
    log(sum(exp(input)))."""
    if 0 in input.shape:
        return xp.log(total(xp, xp.exp(input), dim, keepdim))
    top = xp.amax(input.real, axis=dim, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros((), top.dtype))
    out = xp.log(total(xp, xp.exp(input - top), dim, True)) + top
    return out if keepdim else xp.squeeze(out, axis=dim)


@op(strides="like",
    kernel="logsumexp_slope", function=False, method=False, out=False, node="LogsumexpBackward0",
    meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3), t(3, 4), t(3))])
def logsumexp_slope(xp, grad: Tensor, input: Tensor, total: Tensor):
    """grad * exp(input - total), with an element of grad and total for each row along the last axes of the input."""
    shape = (*total.shape, *(1,) * (input.ndim - total.ndim))
    return grad.reshape(shape) * xp.exp(input - total.reshape(shape))


@logsumexp_slope.rules
def logsumexp_second(g: Tensor, grad: Tensor, input: Tensor, total: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    shape = (*total.shape, *(1,) * (input.ndim - total.ndim))
    axes = tuple(range(total.ndim, input.ndim))
    share = g * (input - total.reshape(shape)).exp()
    slope = share * grad.reshape(shape)
    return share.sum(axes), slope, -slope.sum(axes)


def logsumexp_gradient(g: Tensor, input: Tensor, out: Tensor, dim: tuple[int, ...] | None, keepdim: bool) -> Tensor:
    axes = dim if dim is not None else tuple(range(input.ndim))
    kept = input.ndim - len(axes)
    if input.is_floating_point() and axes and sorted(axes)[0] == kept:
        shape = input.shape[:kept]
        return logsumexp_slope(g.reshape(shape), input, out.reshape(shape))
    return spread(g, input.shape, dim, keepdim) * conj((input - restored(out, input.shape, dim, keepdim)).exp())


logsumexp.rule(input=logsumexp_gradient)
