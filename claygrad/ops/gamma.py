"""Incomplete gamma functions, nextafter and frexp."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int32
from claygrad.ops._registry import op, pointwise, zero
from claygrad.ops._scipy import need as need_scipy
from claygrad.ops._words import FLOATS, need, no_derivative

if TYPE_CHECKING:
    from claygrad.core import Tensor


def _incomplete(xp, name: str, which: str, a, x, all_of_it: float):
    """SciPy's value; at infinity what PyTorch says even beside a NaN."""
    need(a, FLOATS, f"{name}_cpu")
    out = getattr(need_scipy("special", f"torch.{name}", a, x), which)(a.astype("float64"), x.astype("float64"))
    out = xp.where(xp.isnan(a) & (x == xp.inf), all_of_it, out)
    return xp.where((a == xp.inf) & xp.isnan(x), 1 - all_of_it, out).astype(a.dtype)


def _slope(g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return g * ((input - 1) * other.log() - other - input.lgamma()).exp()


@pointwise(kernel="igamma", names=("special.gammainc",),
           samples=lambda t: [t.args(t(3, 4, low=0.2, high=3, requires_grad=False), t(4, low=0.2, high=3)),
                              t.args(t(3, low=5, high=20, requires_grad=False), t(3, low=5, high=20))],
           errors=lambda t: [(t.args(t(3, dtype="int64"), t(3, dtype="int64")), NotImplementedError,
                              "\"igamma_cpu\" not implemented for 'Long'")])
def igamma(xp, input: Tensor, other: Tensor):
    "The lower incomplete gamma function: the integral of t ** (input - 1) e ** -t from 0 to other, over gamma(input)."
    return _incomplete(xp, "igamma", "gammainc", input, other, 1.0)
igamma.rule(input=no_derivative("igamma: input"), other=_slope)


@pointwise(kernel="igammac", names=("special.gammaincc",),
           samples=lambda t: [t.args(t(3, 4, low=0.2, high=3, requires_grad=False), t(4, low=0.2, high=3)),
                              t.args(t(3, low=5, high=20, requires_grad=False), t(3, low=5, high=20))])
def igammac(xp, input: Tensor, other: Tensor):
    "The upper incomplete gamma function: 1 - igamma(input, other), exact in the tail."
    return _incomplete(xp, "igammac", "gammaincc", input, other, 0.0)
igammac.rule(input=no_derivative("igammac: input"), other=lambda g, input, other: -_slope(g, input, other))


@pointwise(kernel="nextafter", half="raw",
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(3), t(3, requires_grad=False))],
           errors=lambda t: [(t.args(t(3, dtype="int64"), t(3, dtype="int64")), NotImplementedError,
                              "\"nextafter_cpu\" not implemented for 'Long'")])
def nextafter(xp, input: Tensor, other: Tensor):
    "The next number of the dtype after input on the way to other."
    need(input, FLOATS, "nextafter_cpu")
    if input.dtype.kind == "f" and input.dtype.itemsize > 2:
        return xp.nextafter(input, other)
    return _next_half(xp, input, other)


def _next_half(xp, x, y):
    """Of 16-bit floats: their bits count up with the distance from zero."""
    x, y = xp.broadcast_arrays(x, y)
    bits = x.copy().view("int16")
    a, b = x.astype("float32"), y.astype("float32")
    away = (a < b) == (a > 0)
    moved = xp.where(a == 0, xp.where(b > 0, 1, -32767), xp.where(away, bits + 1, bits - 1)).astype("int16")
    out = xp.where(a == b, y.copy().view("int16"), moved).view(x.dtype)
    return xp.where(xp.isnan(a) | xp.isnan(b), x.dtype.type("nan"), out)


nextafter.rule(input=lambda g, input, other: g * (input != other), other=zero)


def _check_frexp(input: Tensor) -> None:
    if not input.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")


def _check_parts(out: Tensor, result: Tensor) -> None:
    if out.dtype != result.dtype:
        words = "exponent to have int dtype"
        if result.dtype != int32:
            words = f"mantissa to have dtype {result.dtype.c_name}"
        raise RuntimeError(f"torch.frexp() expects {words} but got {out.dtype.c_name}")


@op(strides="like",
    kernel="frexp", returns=("mantissa", "exponent"), differentiable=(0,), check=_check_frexp, check_out=_check_parts,
    meta=lambda input: [(input.shape, input.dtype), (input.shape, int32)],
    samples=lambda t: [t.args(t(3, 4, low=-9, high=9, nonzero=True)), t.args(t())],
    errors=lambda t: [(t.args(t(3, dtype="int64")), RuntimeError,
                       "torch.frexp() only supports floating-point dtypes")])
def frexp(xp, input: Tensor):
    "input as mantissa * 2 ** exponent, with a mantissa of 1/2 to 1."
    mantissa, exponent = xp.frexp(input)
    return mantissa, xp.where(xp.isfinite(input), exponent, 0).astype("int32")
frexp.rule(input=lambda g, outs: g / _power_of_two(outs[1], g))


def _power_of_two(exponent: Tensor, like: Tensor) -> Tensor:
    return like.new_full(exponent.shape, 2).pow(exponent)
