"""What the normalisations share: moments over some axes, the gradient through them, and the gradient of that.

All work on arrays whose axes have been grouped: `axes` are those a mean is taken over, and weight, mean and rstd
(the reciprocal of the standard deviation) have a size of 1 wherever they are spread out.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.dispatch.convert_half import recast
from claygrad.core.graph.intercept import differentiated

if TYPE_CHECKING:
    from claygrad.core import Tensor, dtype

LETTERS = "abcdefgh"
HALF_DTYPES = ("float16", "bfloat16")


def wide(array):
    """Halves are computed in float32."""
    return recast(array, "float32") if array is not None and array.dtype.itemsize == 2 else array


def dot(xp, a, b, axes: tuple[int, ...]):
    """sum(a * b) over axes, which stay with size 1, without a temporary for the product."""
    every = LETTERS[:a.ndim]
    kept = "".join(letter for axis, letter in enumerate(every) if axis not in axes)
    sums = xp.einsum(f"{every},{every}->{kept}", a, b)
    return sums.reshape([1 if axis in axes else n for axis, n in enumerate(a.shape)])


def over(array, axes: tuple[int, ...]) -> int:
    """How many elements one mean is over."""
    count = 1
    for axis in axes:
        count *= array.shape[axis]
    return count


def moments(xp, x, axes: tuple[int, ...]):
    """x minus its mean, the mean, and the variance; float32 sums of many numbers are taken in double."""
    count = over(x, axes)
    if not count:
        none = xp.zeros_like(x.sum(axis=axes, keepdims=True))
        return x, none, none
    kind = "float64" if count > 4096 or len(axes) > 1 else x.dtype
    mean = x.mean(axis=axes, keepdims=True, dtype=kind).astype(x.dtype)
    centred = x - mean
    return centred, mean, dot(xp, centred, centred, axes) / x.dtype.type(count)


def affine(xp, unit, weight, bias):
    """unit * weight + bias, written into unit."""
    if weight is not None:
        unit *= weight
    if bias is not None:
        unit += bias
    return unit


def input_grad(xp, g, unit, rstd, weight, axes: tuple[int, ...], centred: bool = True):
    """The gradient through the moments, for g that of unit * weight."""
    h = g if weight is None else g * weight
    count = h.dtype.type(over(h, axes))
    out = unit * (dot(xp, h, unit, axes) / -count)
    out += h
    if centred:
        out -= h.sum(axis=axes, keepdims=True) / count
    out *= rstd
    return out


def through(v: Tensor, unit: Tensor, rstd: Tensor, axes: tuple[int, ...], centred: bool) -> Tensor:
    """The symmetric map from a gradient of unit to one of the input."""
    inner = v - unit * (v * unit).mean(axes, keepdim=True)
    return rstd * (inner - v.mean(axes, keepdim=True) if centred else inner)


def second(a: Tensor | None, b: Tensor | None, c: Tensor | None, g: Tensor, x: Tensor, weight: Tensor | None,
           mean: Tensor | None, rstd: Tensor, axes: tuple[int, ...], frozen: bool = False):
    """Gradients of the gradients: a, b and c belong to those of input, weight and bias.

    Returns what g, x and weight get; the last still has to be summed to the weight's shape. With h = g * weight,
    the first gradient of x is through(h); `frozen` moments do not depend on x.
    """
    centred = mean is not None
    unit = (x - mean if centred else x) * rstd
    h = g if weight is None else g * weight
    to_g = to_x = to_weight = None
    if a is not None:
        passed = rstd * a if frozen else through(a, unit, rstd, axes, centred)
        to_g = passed if weight is None else passed * weight
        to_weight = None if weight is None else g * passed
    if b is not None:
        to_g = b * unit if to_g is None else to_g + b * unit
    if c is not None:
        to_g = c + g * 0 if to_g is None else to_g + c
    if frozen:
        return to_g, None if b is None else b * g * rstd, to_weight
    to_unit = None if b is None else b * g
    if a is not None:
        along_a, along_h = (a * unit).mean(axes, keepdim=True), (h * unit).mean(axes, keepdim=True)
        through_rstd = -rstd * (a * along_h + h * along_a)
        to_unit = through_rstd if to_unit is None else to_unit + through_rstd
        spread = (a * h).mean(axes, keepdim=True) - along_a * along_h
        if centred:
            spread = spread - a.mean(axes, keepdim=True) * h.mean(axes, keepdim=True)
        to_x = -spread * rstd * rstd * unit
    if to_unit is not None:
        through_rstd = through(to_unit, unit, rstd, axes, centred)
        to_x = through_rstd if to_x is None else to_x + through_rstd
    return to_g, to_x, to_weight


def live(x: Tensor) -> bool:
    """Whether a rule is itself recorded: then moments must be computed anew, as functions of x."""
    return differentiated(x)


def check_parameters(kernel: str, input: Tensor, *parameters: Tensor | None) -> None:
    """All of the input's dtype, or float32 beside a half-precision input."""
    kind = input.dtype
    if kind.is_floating_point and all(p is None or p.dtype is kind for p in parameters):
        return
    if not input.dtype.is_floating_point and (kernel == "batch_norm" or not mixed(input, parameters)):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.legacy}'")
    if mixed(input, parameters):
        if input.dtype.name not in HALF_DTYPES:
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
        if any(p is not None and p.dtype.name != "float32" for p in parameters):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    for p in parameters:
        if p is not None and p.dtype != input.dtype and not mixed(input, parameters):
            raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {p.dtype.legacy}")


def mixed(input: Tensor, parameters: tuple) -> bool:
    first = next((p for p in parameters if p is not None), None)
    return first is not None and first.dtype != input.dtype


def statistics_dtype(input, *parameters) -> dtype:
    """The dtype of saved moments: that of the parameters."""
    return next((p.dtype for p in parameters if p is not None), input.dtype)
