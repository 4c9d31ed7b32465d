"""Variance, standard deviation and norms."""
from __future__ import annotations

import warnings
from math import inf
from operator import index
from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.core import promote_types
from claygrad.core.user_warnings import warn
from claygrad.ops._out import EXACT
from claygrad.ops._reducing import count, reduced, restored, shared, spread, total
from claygrad.ops._registry import composite, reduction
from claygrad.ops._words import refuse_gradient

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, dtype

    ints = int | tuple[int, ...] | list[int]
    Axes = tuple[int, ...] | None


WIDE = {"f": "float64", "c": "complex128"}
TINY = 1e-36                # of a variance: the squares have lost digits


# Variance: sum(|x - mean|^2) / (count - correction)

def squares(xp, x):
    return xp.square(x.real) + xp.square(x.imag) if x.dtype.kind == "c" else xp.square(x)


def moments(xp, name: str, input, dim: Axes, keepdim: bool, correction: float):
    """Mean and variance, in two passes."""
    n = count(input.shape, dim)
    if n - correction <= 0:
        warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
             "factor (input numel divided by output numel).")
    mean = xp.divide(total(xp, input, dim, True), n)
    if n:                           # equal elements are their own mean, however it was rounded
        first = input[tuple(slice(0, 1) if dim is None or axis in dim else slice(None) for axis in range(input.ndim))]
        mean = xp.where((input == first).all(axis=dim, keepdims=True), first, mean)
    out = xp.divide(total(xp, squares(xp, input - mean), dim, keepdim), max(n - correction, 0))
    return out, mean.reshape(out.shape)


def var_gradient(g: Tensor, input: Tensor, dim: Axes, keepdim: bool, correction: float) -> Tensor:
    g = restored(g, input.shape, dim, keepdim)
    freedom = count(input.shape, dim) - correction
    centred = input - (input.mean() if dim is None else input.mean(dim, keepdim=True))
    if freedom <= 0:                        # the variance is infinite or NaN, and so is its gradient
        return g * (centred.abs() * inf)
    return (g * (2 / freedom)) * centred


def std_gradient(g: Tensor, input: Tensor, out: Tensor, dim: Axes, keepdim: bool, correction: float) -> Tensor:
    # 0 where all elements are equal: there the square root has no slope.
    g = (g / (out * 2)).masked_fill(out == 0, 0)
    return var_gradient(g, input, dim, keepdim, correction)


def spread_of(input: Tensor, dim: Axes, keepdim: bool) -> tuple:
    return reduced(input.shape, dim, keepdim), input.dtype.to_real()


def spread_and_mean_of(input: Tensor, dim: Axes, keepdim: bool) -> list[tuple]:
    return [spread_of(input, dim, keepdim), (reduced(input.shape, dim, keepdim), input.dtype)]


@reduction(kernel="variance", name="var", function=False, method=False, node="VarBackward0", meta=spread_of)
def variance(xp, input: Tensor, dim: ints | None, keepdim: bool, correction: Number):
    return moments(xp, "var", input, dim, keepdim, correction)[0]
variance.rule(input=var_gradient)


def deviation_and_mean_of(xp, name: str, input, dim: Axes, keepdim: bool, correction: float):
    var, mean = moments(xp, name, input, dim, keepdim, correction)
    # The root of a square that is too large or too small may be neither.
    if var.dtype.itemsize == 4 and not (xp.isfinite(var) & (var >= TINY)).all():
        with warnings.catch_warnings(action="ignore"):
            var, mean = moments(xp, name, input.astype(WIDE[input.dtype.kind]), dim, keepdim, correction)
        return xp.sqrt(var).astype(input.real.dtype), mean.astype(input.dtype)
    return xp.sqrt(var), mean


@reduction(kernel="variance", name="std", function=False, method=False, node="StdBackward0", meta=spread_of)
def deviation(xp, input: Tensor, dim: ints | None, keepdim: bool, correction: Number):
    return deviation_and_mean_of(xp, "std", input, dim, keepdim, correction)[0]
deviation.rule(input=std_gradient)


@reduction(kernel="moments", name="var_mean", function=False, method=False, node="VarMeanBackward0",
           meta=spread_and_mean_of)
def variance_and_mean(xp, input: Tensor, dim: ints | None, keepdim: bool, correction: Number):
    return moments(xp, "var_mean", input, dim, keepdim, correction)


@reduction(kernel="moments", name="std_mean", function=False, method=False, node="StdMeanBackward0",
           meta=spread_and_mean_of)
def deviation_and_mean(xp, input: Tensor, dim: ints | None, keepdim: bool, correction: Number):
    return deviation_and_mean_of(xp, "std_mean", input, dim, keepdim, correction)


def mean_gradient(g: Tensor, input: Tensor, dim: Axes, keepdim: bool) -> Tensor:
    return spread(g / count(input.shape, dim), input.shape, dim, keepdim)


@variance_and_mean.rules
def variance_and_mean_gradient(gs, input: Tensor, dim: Axes, keepdim: bool, correction: float) -> tuple[Tensor | None]:
    of_var, of_mean = gs
    out = None if of_var is None else var_gradient(of_var, input, dim, keepdim, correction)
    if of_mean is not None:
        slope = mean_gradient(of_mean, input, dim, keepdim)
        out = slope if out is None else out + slope
    return (out,)


@deviation_and_mean.rules
def deviation_and_mean_gradient(gs, input: Tensor, outs, dim: Axes, keepdim: bool,
                                correction: float) -> tuple[Tensor | None]:
    of_std, of_mean = gs
    out = None if of_std is None else std_gradient(of_std, input, outs[0], dim, keepdim, correction)
    if of_mean is not None:
        slope = mean_gradient(of_mean, input, dim, keepdim)
        out = slope if out is None else out + slope
    return (out,)


def dim_and_correction(name: str, dim, unbiased: bool | None, correction: Number | None) -> tuple[ints | None, Number]:
    """`dim` and `correction` from PyTorch's overloads: f(x, unbiased), f(x, dim, unbiased), f(x, dim, correction=)."""
    if ((unbiased is not None and not isinstance(unbiased, bool))
            or isinstance(dim, bool) + (unbiased is not None) + (correction is not None) > 1):
        got = ", ".join([type(value).__name__ for value in (dim, unbiased) if value is not None]
                        + ([] if correction is None else [f"correction={type(correction).__name__}"]))
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                        " * (tuple of ints dim, bool unbiased = True, bool keepdim = False)\n"
                        " * (tuple of ints dim = None, *, Number correction = None, bool keepdim = False)\n"
                        " * (bool unbiased = True)")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    refuse_gradient("var", "correction", correction)
    if isinstance(dim, TensorType):
        dim = index(dim)
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, correction


def need_fractions(input: Tensor, text: str) -> None:
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"{text} floating point and complex dtypes")


def moment_samples(t):
    return [t.args(t(3, 4)), t.args(t(3, 4), 0), t.args(t(3, 4), False), t.args(t(2, 3, 4), (0, 2), False, True),
            t.args(t(5), 0, correction=0.5, keepdim=True)]


@composite(native="moments", parts=(variance,), out=True, samples=moment_samples,
           errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                                                   "std and var only support floating point and complex dtypes")])
def var(input: Tensor, dim: ints | bool | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: Number | None = None) -> Tensor:
    """The variance: out = sum(|input - mean|^2) / (count - correction), correction 1 by default (`unbiased`)."""
    dim, correction = dim_and_correction("var", dim, unbiased, correction)
    need_fractions(input, "std and var only support")
    return variance(input, dim, keepdim, correction)


@composite(native="moments", parts=(deviation,), out=True, samples=moment_samples,
           errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                                                   "std and var only support floating point and complex dtypes")])
def std(input: Tensor, dim: ints | bool | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: Number | None = None) -> Tensor:
    """The standard deviation: out = sqrt(var(input)). Its gradient is 0 where all elements are equal."""
    dim, correction = dim_and_correction("std", dim, unbiased, correction)
    need_fractions(input, "std and var only support")
    return deviation(input, dim, keepdim, correction)


@composite(native="moments", parts=(variance_and_mean,), method=False, samples=moment_samples,
           errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                                                       "var_mean only support floating point and complex dtypes")])
def var_mean(input: Tensor, dim: ints | bool | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: Number | None = None) -> tuple[Tensor, Tensor]:
    """Variance and mean together."""
    dim, correction = dim_and_correction("var_mean", dim, unbiased, correction)
    need_fractions(input, "var_mean only support")
    return variance_and_mean(input, dim, keepdim, correction)


@composite(native="moments", parts=(deviation_and_mean,), method=False, samples=moment_samples,
           errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                                                       "std_mean only support floating point and complex dtypes")])
def std_mean(input: Tensor, dim: ints | bool | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: Number | None = None) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean together."""
    dim, correction = dim_and_correction("std_mean", dim, unbiased, correction)
    need_fractions(input, "std_mean only support")
    return deviation_and_mean(input, dim, keepdim, correction)


# Norms

def check_norm_dtype(name: str, input: Tensor, dtype: dtype | None) -> None:
    """Whether a norm may be computed in the dtype that is asked for."""
    if dtype is None:
        return
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype.legacy}")
    if input.is_complex() != dtype.is_complex:
        words = "complex for complex" if input.is_complex() else "real for real"
        raise RuntimeError(f"{name}: dtype should be {words} inputs, but got {dtype.legacy}")
    if promote_types(input.dtype, dtype) is not dtype:
        raise RuntimeError(f"{name}: the dtype of the input ({input.dtype.legacy}) should be convertible without "
                           f"narrowing to the specified dtype ({dtype.legacy})")


def check_norm(input: Tensor, ord: Number, dim: Axes, dtype: dtype | None = None) -> None:
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{input.dtype.legacy}")
    check_norm_dtype("linalg.vector_norm", input, dtype)
    if 0 not in input.shape or 0 <= ord < inf:
        return
    # The largest of nothing, and a negative power of nothing, are no numbers.
    words = f"linalg.vector_norm cannot compute the {ord} norm on "
    if dim is None:
        raise RuntimeError(f"{words}an empty tensor because the operation does not have an identity")
    for axis in dim:
        if input.shape[axis] == 0:
            raise RuntimeError(f"{words}the dimension {axis}because this dimension is empty and the operation does not "
                               "have an identity")


@reduction(kernel="vector_norm", out=EXACT, namespace="linalg", method=False,
           node="LinalgVectorNormBackward0", check=check_norm,
           meta=lambda input, dim, keepdim, dtype: (reduced(input.shape, dim, keepdim),
                                                    (dtype or input.dtype).to_real()),
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 1, 0), t.args(t(3, 4), 3, (0, 1), True),
                              t.args(t(3, 4), inf, 1), t.args(t(5), 0.5), t.args(t(5), -1), t.args(t(5), 0),
                              t.args(t())])
def vector_norm(xp, input: Tensor, ord: Number = 2, dim: ints | None = None, keepdim: bool = False, *,
                dtype: dtype | None = None):
    """The length of a vector: out = sum(|input|^ord)^(1/ord).

    ord = inf: the largest |input|; -inf: the smallest; 0: how many elements are not zero. The gradient at 0 is 0.
    """
    size = xp.abs(input)
    if ord == inf:
        return xp.amax(size, axis=dim, keepdims=keepdim)
    if ord == -inf:
        return xp.amin(size, axis=dim, keepdims=keepdim)
    if ord == 0:
        return xp.sum(size != 0, axis=dim, keepdims=keepdim).astype(size.dtype)
    if count(input.shape, dim) == 1:                    # no power, which could overflow
        return size.reshape(reduced(input.shape, dim, keepdim))
    if ord == 1:
        return total(xp, size, dim, keepdim)
    if ord == 2:
        return xp.sqrt(total(xp, squares(xp, input), dim, keepdim))
    return total(xp, size ** ord, dim, keepdim) ** (1 / ord)


def norm_gradient(g: Tensor, input: Tensor, ord: float, out: Tensor, dim: Axes, keepdim: bool) -> Tensor | None:
    g, out = restored(g, input.shape, dim, keepdim), restored(out, input.shape, dim, keepdim)
    if ord == 0:
        return None
    if ord == 1:
        return input.sgn() * g
    if ord == 2:
        return input * (g * out.reciprocal().masked_fill(out == 0, 0))
    size = input.abs()
    if ord in (inf, -inf):
        axes = dim if dim is not None else tuple(range(input.ndim))
        return input.sgn() * shared(g, size == (size.amax if ord > 0 else size.amin)(axes, keepdim=True), axes or None)
    # sgn(x) * (|x| / out)^(ord - 1). Zeros are replaced before the power, which has no slope there.
    ratio = (size.masked_fill(size == 0, 1) / out.masked_fill(out == 0, 1)) ** (ord - 1)
    return input.sgn() * (ratio * g).masked_fill(out == 0, 0)


vector_norm.rule(input=norm_gradient)


@composite(native="norm", parts=(vector_norm,), out=EXACT,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 1, 0), t.args(t(3, 4), "fro", (0, 1), True),
                                        t.args(t(3, 4), dim=1), t.args(t(3, 4), float("inf"))],
           errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                              "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long")])
def norm(input: Tensor, p: Number | str | None = "fro", dim: ints | None = None, keepdim: bool = False, *,
         dtype: dtype | None = None) -> Tensor:
    """The p-norm of all elements or along `dim`: out = sum(|input|^p)^(1/p). "fro" is p = 2. Its gradient at 0 is 0.

    "nuc" is the sum of the singular values of matrices, which take two axes.
    """
    if p is None or (p == "fro" and (dim is None or isinstance(dim, int) or len(dim) <= 2)):
        p = 2
    elif isinstance(p, str):
        from claygrad.ops.linalg_norm import matrix_norm
        return matrix_norm(input, p, tuple(range(input.ndim)) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, p, dim, keepdim, dtype=dtype)
