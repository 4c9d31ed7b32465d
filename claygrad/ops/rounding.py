"""Rounding, signs and bounds: operations that move a number to a whole one, to its sign, or into a range."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._out import FOUND
from claygrad.ops._registry import constant, missing, pointwise, zero
from claygrad.ops._words import FLOATS, INTS, is_number, need, refuse_complex, zeros

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


# Whole numbers. An integer is its own floor; the derivative is zero, and the node stays in the graph.

@pointwise(out=FOUND, kernel="floor", samples=lambda t: [t.args(t(3, 4)), t.args(t(4, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, dtype="complex64")), NotImplementedError,
                              "floor is not supported for complex inputs")])
def floor(xp, input: Tensor):
    "The largest integer not above each element."
    refuse_complex(input, "floor is not supported for complex inputs")
    need(input, FLOATS + INTS, "floor_vml_cpu")
    return xp.floor(input) if input.dtype.kind in FLOATS else input.copy()
floor.rule(input=zero)


@pointwise(out=FOUND, kernel="ceil", samples=lambda t: [t.args(t(3, 4)), t.args(t(4, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, dtype="complex64")), NotImplementedError,
                              "ceil is not supported for complex inputs")])
def ceil(xp, input: Tensor):
    "The smallest integer not below each element."
    refuse_complex(input, "ceil is not supported for complex inputs")
    need(input, FLOATS + INTS, "ceil_vml_cpu")
    return xp.ceil(input) if input.dtype.kind in FLOATS else input.copy()
ceil.rule(input=zero)


@pointwise(out=FOUND, kernel="trunc", names=("fix",), samples=lambda t: [t.args(t(3, 4)), t.args(t(4, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, dtype="complex64")), NotImplementedError,
                              "trunc is not supported for complex inputs")])
def trunc(xp, input: Tensor):
    "The integer part of each element: rounds towards zero."
    refuse_complex(input, "trunc is not supported for complex inputs")
    need(input, FLOATS + INTS, "trunc_vml_cpu")
    return xp.trunc(input) if input.dtype.kind in FLOATS else input.copy()
trunc.rule(input=zero)


@pointwise(kernel="round_decimals", kernel_if={"decimals": ...}, function=False, method=False, inplace=False,
           samples=lambda t: [t.args(t(4, requires_grad=False), 2), t.args(t(4, requires_grad=False), -1)])
def to_decimals(xp, input: Tensor, decimals: int):
    "The nearest multiple of 10 ** -decimals: round with decimals."
    power = 10.0 ** abs(decimals) if abs(decimals) < 309 else xp.inf
    return xp.rint(input / power) * power if decimals < 0 else xp.rint(input * power) / power
to_decimals.rule(input=zero)


@pointwise(out=FOUND, kernel="round", kernel_if={"decimals": 0}, variants=("decimals", {...: to_decimals}),
           namespace=("torch", "special"),
           node=lambda decimals: "RoundBackward1" if decimals else "RoundBackward0",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(4), decimals=2), t.args(t(4, low=-99, high=99), decimals=-1),
                              t.args(t(4, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, dtype="int64"), decimals=1), NotImplementedError,
                              "\"round_cpu\" not implemented for 'Long'")])
def round(xp, input: Tensor, *, decimals: int = 0):
    "Rounds each element to a multiple of 10 ** -decimals. Ties are rounded to the even neighbour."
    need(input, FLOATS if decimals else FLOATS + INTS, "round_cpu" if decimals else "round_vml_cpu")
    if input.dtype.kind not in FLOATS:
        return input.copy()
    return to_decimals.forward(xp, input, decimals) if decimals else xp.rint(input)
round.rule(input=zero)


@pointwise(out=FOUND, kernel="frac", samples=lambda t: [t.args(t(3, 4))])
def frac(xp, input: Tensor):
    "The fractional part of each element, with its sign: out = input - trunc(input)."
    need(input, FLOATS, "frac_cpu")
    return input - xp.trunc(input)
frac.rule(input=lambda g: g)


LARGEST_BFLOAT16 = 3.3895313892515355e38     # NumPy's finfo does not know the type


@pointwise(kernel="nan_to_num", kernel_if={"nan": ..., "posinf": ..., "neginf": ...},
           out="nan_to_num: dtype of out: {1.legacy} should be same as input: {0.legacy}", half="raw",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3), nan=1.0, posinf=2.0, neginf=3.0)])
def nan_to_num(xp, input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None):
    """Replaces NaN by `nan` (default 0), inf by `posinf` (default the largest number) and -inf by `neginf` (default the
    lowest)."""
    if input.dtype.kind == "c":
        parts = [nan_to_num.forward(xp, part, nan, posinf, neginf) for part in (input.real, input.imag)]
        return parts[0] + parts[1] * xp.asarray(1j, dtype=input.dtype)
    if input.dtype.kind not in FLOATS:
        return input.copy()
    largest = xp.finfo(input.dtype).max if input.dtype.kind == "f" else LARGEST_BFLOAT16
    out = input.copy()
    out[xp.isnan(input)] = 0 if nan is None else nan
    out[input == float("inf")] = largest if posinf is None else posinf
    out[input == -float("inf")] = -largest if neginf is None else neginf
    return out
nan_to_num.rule(input=lambda g, input: g * input.isfinite())


# Signs

@pointwise(out=FOUND, kernel="sign", samples=lambda t: [t.args(t(3, 4)), t.args(t(4, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, dtype="complex64")), NotImplementedError,
                              "Unlike NumPy, torch.sign is not intended")])
def sign(xp, input: Tensor):
    "The sign of each element: -1, 0 or 1. The sign of NaN is 0."
    refuse_complex(input,
                   "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")
    if input.dtype.kind == "b":
        return input.copy()
    return (input > 0).astype(input.dtype) - (input < 0).astype(input.dtype)
sign.rule(input=zero)


@pointwise(out=FOUND, kernel="sgn",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, dtype="complex128", nonzero=True))])
def sgn(xp, input: Tensor):
    "The sign of complex numbers: out = input / |input|, and 0 at 0. For real numbers it is `sign`."
    if input.dtype.kind != "c":
        return sign.forward(xp, input)
    size = xp.absolute(input)
    return xp.where(size == 0, 0, input / size).astype(input.dtype)


def sgn_grad(g, input, out):
    if not input.dtype.is_complex:
        return zeros(g)
    size = input.abs()
    return ((g - g.conj() * out * out) / (2 * size)).masked_fill(size == 0, 0)


sgn.rule(input=sgn_grad)


@pointwise(kernel="copysign", overloads=True, promote="float",
           node=lambda other: "CopysignBackward1" if is_number(other) else "CopysignBackward0",
           samples=lambda t: [t.args(t(3, 4, nonzero=True), t(4, nonzero=True)), t.args(t(3, nonzero=True), -1.0)])
def copysign(xp, input: Tensor, other: Tensor | Number):
    "The magnitude of `input` with the sign of `other`."
    need(input, FLOATS, "copysign_cpu")
    return xp.copysign(input, other)
copysign.rule(input=lambda g, input, out: g * (out / input).masked_fill(input == 0, 0), other=zero)


def check_heaviside(input, values) -> None:
    if input.dtype.is_complex or values.dtype.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@pointwise(kernel="heaviside", check_of="dtypes",
           out="heaviside is not yet implemented for tensors with different dtypes.",
           node="torch::autograd::NotImplemented", check=check_heaviside,
           samples=lambda t: [t.args(t(3, 4, requires_grad=False), t(4, requires_grad=False))],
           errors=lambda t: [(t.args(t(2), t(2, dtype="int64")), RuntimeError,
                              "heaviside is not yet implemented for tensors with different")])
def heaviside(xp, input: Tensor, values: Tensor):
    "The Heaviside step function: 0 for negative elements, 1 for positive ones, `values` at 0. It has no derivative."
    return xp.where(input == 0, values, (input > 0).astype(input.dtype))
heaviside.rule(input=missing, values=missing)


# Larger and smaller. A tie sends half of the gradient to each side; fmax and fmin prefer numbers to nan, and the first
# on a tie.

@pointwise(kernel="maximum", inplace=False,
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(3, dtype="int64"), t(3)), t.args(t(), t(3))],
           errors=lambda t: [(t.args(t(2, dtype="complex64"), t(2)), RuntimeError,
                              "maximum not implemented for complex tensors.")])
def maximum(xp, input: Tensor, other: Tensor):
    "The elementwise maximum of two tensors. NaN propagates."
    refuse_complex(input, "maximum not implemented for complex tensors.", RuntimeError)
    return xp.maximum(other, input)         # in this order: of two equal zeros, NumPy takes the second
maximum.rule(input=lambda g, input, other: halved(g, input, other).masked_fill(input < other, 0),
             other=lambda g, input, other: halved(g, input, other).masked_fill(input > other, 0))


@pointwise(kernel="minimum", inplace=False,
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(3, dtype="int64"), t(3)), t.args(t(), t(3))],
           errors=lambda t: [(t.args(t(2, dtype="complex64"), t(2)), RuntimeError,
                              "minimum not implemented for complex tensors.")])
def minimum(xp, input: Tensor, other: Tensor):
    "The elementwise minimum of two tensors. NaN propagates."
    refuse_complex(input, "minimum not implemented for complex tensors.", RuntimeError)
    return xp.minimum(other, input)
minimum.rule(input=lambda g, input, other: halved(g, input, other).masked_fill(input > other, 0),
             other=lambda g, input, other: halved(g, input, other).masked_fill(input < other, 0))


def halved(g, input, other):
    return (g / 2).where(input == other, g)


@pointwise(kernel="fmax", inplace=False,
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(3, dtype="int64"), t(3))],
           errors=lambda t: [(t.args(t(2, dtype="complex64"), t(2)), RuntimeError,
                              "fmax not implemented for complex tensors.")])
def fmax(xp, input: Tensor, other: Tensor):
    "The elementwise maximum of two tensors. If one element is NaN, the other is the result."
    refuse_complex(input, "fmax not implemented for complex tensors.", RuntimeError)
    return xp.fmax(other, input)
fmax.rule(input=lambda g, input, other: g.masked_fill(~((input >= other) | other.isnan()), 0),
          other=lambda g, input, other: g.masked_fill((input >= other) | other.isnan(), 0))


@pointwise(kernel="fmin", inplace=False,
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(3, dtype="int64"), t(3))],
           errors=lambda t: [(t.args(t(2, dtype="complex64"), t(2)), RuntimeError,
                              "fmin not implemented for complex tensors.")])
def fmin(xp, input: Tensor, other: Tensor):
    "The elementwise minimum of two tensors. If one element is NaN, the other is the result."
    refuse_complex(input, "fmin not implemented for complex tensors.", RuntimeError)
    return xp.fmin(other, input)
fmin.rule(input=lambda g, input, other: g.masked_fill(~((input <= other) | other.isnan()), 0),
          other=lambda g, input, other: g.masked_fill((input <= other) | other.isnan(), 0))


# Bounds. The gradient passes at the bounds themselves.

def check_clamp(min, max) -> None:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if min is None or max is None:
        return
    tensors = [bound for bound in (min, max) if not is_number(bound)]
    if len(tensors) == 1 and (tensors[0].ndim or tensors[0].requires_grad):      # others are taken for numbers
        got = ", ".join(type(bound).__name__ for bound in (min, max))
        raise TypeError(f"clamp() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                        " * (Tensor input, Tensor min = None, Tensor max = None)\n"
                        " * (Tensor input, Number min = None, Number max = None)")


@pointwise(kernel="clamp_both", check_of="dtypes",
           out=lambda input, min, max: FOUND if all(v is None or is_number(v) for v in (min, max)) else True,
           names=("clip",), check=check_clamp,
           node=lambda min, max: "ClampBackward1" if not any(v is not None and not is_number(v) for v in (min, max))
           else "ClampBackward0",
           samples=lambda t: [t.args(t(3, 4), -0.5, 0.5), t.args(t(3, 4), min=0.0), t.args(t(3, 4), max=0.0),
                              t.args(t(3), 1.0, -1.0),
                              t.args(t(3, 4), t(4), t(3, 1)), t.args(t(3, 4), max=t(4)),
                              t.args(t(5, dtype="int64"), 0, 1)],
           errors=lambda t: [(t.args(t(2)), RuntimeError,
                              "torch.clamp: At least one of 'min' or 'max' must not be None"),
                             (t.args(t(2, dtype="complex64"), 0, 1), NotImplementedError,
                              "clamp is not supported for complex types")])
def clamp(xp, input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None):
    "Clamps each element to a range: out = min(max(input, min), max). Either bound may be None."
    refuse_complex(input, "clamp is not supported for complex types")
    if min is not None and max is not None:
        need(input, FLOATS + INTS, "clamp_cpu")
    out = input if min is None else xp.maximum(min, input)
    return out.copy() if max is None else xp.minimum(max, out)


@pointwise(kernel="clamp_backward", function=False, method=False, inplace=False, keep=("min", "max"),
           samples=lambda t: [t.args(t(4), t(4, requires_grad=False), -0.5, 0.5),
                              t.args(t(4), t(4, requires_grad=False), t(4, requires_grad=False), None)])
def clamp_backward(xp, grad_output: Tensor, input: Tensor, min: Tensor | Number | None, max: Tensor | Number | None):
    "The gradient of clamp: grad_output at elements within the bounds, 0 elsewhere."
    inside = input == input if min is None else input >= min
    return xp.where(inside if max is None else inside & (input <= max), grad_output, grad_output.dtype.type(0))
clamp_backward.rule(grad_output=lambda g, input, min, max: clamp_backward(g, input, min, max), input=constant,
                    min=constant, max=constant)


def clamp_min_grad(g, input, min, max):
    below = input < min if max is None else (input < min) & (min < max)
    return g.masked_fill(~below, 0)


def clamp_max_grad(g, input, min, max):
    above = input > max if min is None else (input > max) | (min > max)
    return g.masked_fill(~above, 0)


clamp.rule(input=lambda g, input, min, max: clamp_backward(g, input, min, max), min=clamp_min_grad, max=clamp_max_grad)


@pointwise(kernel="clamp_min", out=lambda input, min: FOUND if is_number(min) else True, overloads=True,
           node=lambda min: "ClampMinBackward0" if is_number(min) else "ClampMinBackward1",
           samples=lambda t: [t.args(t(3, 4), 0.1), t.args(t(3, 4), t(4)), t.args(t(4, dtype="int64"), 0.5)])
def clamp_min(xp, input: Tensor, min: Tensor | Number):
    "Clamps each element from below: out = max(input, min)."
    if min.ndim:
        need(input, FLOATS + INTS + "b", "maximum_cpu")
    refuse_complex(input, "clamp is not supported for complex types")
    return xp.maximum(min, input)
clamp_min.rule(input=lambda g, input, min: clamp_backward(g, input, min, None),
               min=lambda g, input, min: g.masked_fill(~(input < min), 0))


@pointwise(kernel="clamp_max", out=lambda input, max: FOUND if is_number(max) else True, overloads=True,
           node=lambda max: "ClampMaxBackward0" if is_number(max) else "ClampMaxBackward1",
           samples=lambda t: [t.args(t(3, 4), 0.1), t.args(t(3, 4), t(4)), t.args(t(4, dtype="int64"), 0.5)])
def clamp_max(xp, input: Tensor, max: Tensor | Number):
    "Clamps each element from above: out = min(input, max)."
    if max.ndim:
        need(input, FLOATS + INTS + "b", "minimum_cpu")
    refuse_complex(input, "clamp is not supported for complex types")
    return xp.minimum(max, input)
clamp_max.rule(input=lambda g, input, max: clamp_backward(g, input, None, max),
               max=lambda g, input, max: g.masked_fill(~(input > max), 0))
