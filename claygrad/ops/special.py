"""Special functions: error function, normal distribution, gamma function and derivatives, modified Bessel functions."""
from __future__ import annotations

from math import log, pi, sqrt
from typing import TYPE_CHECKING

from claygrad.core import default_dtype
from claygrad.ops import _special
from claygrad.ops._registry import composite, pointwise
from claygrad.ops._words import FLOATS, is_number, need, no_derivative
from claygrad.ops.arithmetic import scaled

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

EPSILON = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}      # the step at 1 is 2 ** -this


# The error function

@pointwise(kernel="erf", promote="float", namespace=("torch", "special"),
           samples=lambda t: [t.args(t(3, 4)), t.args(t())])
def erf(xp, input: Tensor):
    "The error function: out = 2 / sqrt(pi) * integral of e ** -t ** 2 from 0 to input."
    need(input, FLOATS, "erf_vml_cpu")
    return _special.erf(xp, input)
erf.rule(input=lambda g, input: erf_backward(g, input))


@pointwise(kernel="erf_backward", function=False, method=False, inplace=False, samples=lambda t: [t.args(t(4), t(4))])
def erf_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of erf: grad_output * 2 / sqrt(pi) * e ** -input ** 2."
    return grad_output * xp.exp(-input * input) * input.dtype.type(2 / sqrt(pi))
erf_backward.rule(grad_output=lambda g, input: erf_backward(g, input),
                  input=lambda g, grad_output, input: erf_backward(g * grad_output, input) * (input * -2))


@pointwise(kernel="erfc", promote="float", namespace=("torch", "special"),
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, low=2, high=9))])
def erfc(xp, input: Tensor):
    "The complementary error function, exact in the tail: out = 1 - erf(input)."
    need(input, FLOATS, "erfc_vml_cpu")
    return _special.erfc(xp, input)
erfc.rule(input=lambda g, input: g * (-input * input).exp() * (-2 / sqrt(pi)))


@pointwise(kernel="erfinv", promote="float", namespace=("torch", "special"),
           samples=lambda t: [t.args(t(3, 4, low=-0.95, high=0.95)), t.args(t(low=0, high=1))])
def erfinv(xp, input: Tensor):
    "The inverse of the error function: erf(out) = input."
    need(input, FLOATS, "erfinv_vml_cpu")
    return _special.erfinv(xp, input)
erfinv.rule(input=lambda g, out: g * (out * out).exp() * (sqrt(pi) / 2))


@pointwise(kernel="erfcx", promote="float", namespace="special", method=False, inplace=False,
           node="SpecialErfcxBackward0",
           samples=lambda t: [t.args(t(3, 4))])
def erfcx(xp, input: Tensor):
    "The scaled complementary error function: out = e ** input ** 2 * erfc(input)."
    need(input, FLOATS, "erfcx_cpu")
    return _special.erfcx(xp, input)
erfcx.rule(input=lambda g, input, out: g * (2 * input * out - 2 / sqrt(pi)))


@composite(namespace="special", method=False, samples=lambda t: [t.args(t(3, 4))])
def ndtr(input: Tensor) -> Tensor:
    "The area under the normal curve left of the element: out = (1 + erf(input / sqrt(2))) / 2."
    return scaled((input * sqrt(0.5)).erf() + 1, 0.5)


@pointwise(kernel="ndtri", promote="float", namespace="special", method=False, inplace=False,
           node="SpecialNdtriBackward0",
           samples=lambda t: [t.args(t(3, 4, low=0.05, high=0.95))])
def ndtri(xp, input: Tensor):
    "The inverse of ndtr: the quantile of the normal distribution."
    need(input, FLOATS, "ndtri_cpu")
    return _special.ndtri(xp, input)
ndtri.rule(input=lambda g, out: g * (out * out / 2).exp() * sqrt(2 * pi))


@pointwise(kernel="log_ndtr", promote="float", namespace="special", method=False, inplace=False,
           node="SpecialLogNdtrBackward0",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, low=-20, high=-2))])
def log_ndtr(xp, input: Tensor):
    "The logarithm of ndtr, exact in the left tail."
    need(input, FLOATS, "log_ndtr_cpu")
    t = input * sqrt(0.5)
    left = xp.log(_special.erfcx(xp, xp.maximum(-t, 0)) / 2) - t * t
    return xp.where(input < -1, left, xp.log1p(-_special.erfc(xp, t) / 2))
log_ndtr.rule(input=lambda g, input: g * sqrt(2 / pi) / erfcx(input * -sqrt(0.5)))


@pointwise(kernel="entr", promote="float", namespace="special", method=False, inplace=False,
           node="SpecialEntrBackward0",
           samples=lambda t: [t.args(t(3, 4, low=0.1)), t.args(t(3, low=0.5, high=3))])
def entr(xp, input: Tensor):
    "The entropy of the element: out = -input * log(input), 0 at 0 and -inf below it."
    need(input, FLOATS, "entr_cpu")
    return xp.where(input > 0, -input * xp.log(input),
                    xp.where(input == 0, 0, xp.where(input < 0, -xp.inf, input))).astype(input.dtype)
entr.rule(input=lambda g, input: g * (-input.log() - 1))


@pointwise(kernel="xlog1py", overloads=True, promote="float", namespace="special", method=False, inplace=False,
           node=lambda input, other: f"SpecialXlog1PyBackward{1 if is_number(input) else 2 if is_number(other) else 0}",
           samples=lambda t: [t.args(t(3, 4), t(4, low=-0.8)), t.args(t(3), 2.5), t.args(2, t(3, low=-0.8))])
def xlog1py(xp, input: Tensor | Number, other: Tensor | Number):
    "out = input * log(1 + other), and 0 where input is 0 unless other is nan."
    need(input, FLOATS, "xlog1py_cpu")
    return xp.where((input == 0) & ~xp.isnan(other), 0, input * xp.log1p(other)).astype(input.dtype)


def xlog1py_grad(g, input, other):
    if is_number(other):
        return xlog1py(g, other) if other > -1 else xlog1py(g, other).masked_fill(input == 0, 0)
    return xlog1py(g, other).masked_fill((input == 0) & (other <= -1), 0)


xlog1py.rule(input=xlog1py_grad, other=lambda g, input, other: g * input / (other + 1))


# The gamma function

@pointwise(kernel="lgamma", promote="float", names=("special.gammaln",),
           samples=lambda t: [t.args(t(3, 4, low=0.2, high=5)), t.args(t(4, low=-0.9, high=-0.1))])
def lgamma(xp, input: Tensor):
    "The logarithm of the absolute value of the gamma function."
    need(input, FLOATS, "lgamma_vml_cpu")
    return _special.lgamma(xp, input)
lgamma.rule(input=lambda g, input: g * input.digamma())


@pointwise(kernel="digamma", promote="float", namespace=("torch", "special"), names=("special.psi",),
           samples=lambda t: [t.args(t(3, 4, low=0.2, high=5)), t.args(t(4, low=-0.9, high=-0.1))])
def digamma(xp, input: Tensor):
    "The derivative of lgamma."
    need(input, FLOATS, "digamma")
    return _special.digamma(xp, input)
digamma.rule(input=lambda g, input: g * polygamma(1, input))


def check_polygamma(n) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


@pointwise(kernel="polygamma", kernel_if={"n": ...}, promote="float", namespace=("torch", "special"), method=False,
           inplace=False,
           check=check_polygamma,
           samples=lambda t: [t.args(1, t(3, 4, low=0.3, high=5)), t.args(3, t(4, low=0.3, high=5)),
                              t.args(0, t(3, low=0.3))],
           errors=lambda t: [(t.args(-1, t(2)), RuntimeError, "polygamma(n, x) does not support negative n.")])
def polygamma(xp, n: int, input: Tensor):
    "The derivative of order n of digamma."
    need(input, FLOATS, {0: "digamma", 1: "trigamma"}.get(n, "polygamma"))
    if n < 2:
        return (_special.trigamma if n else _special.digamma)(xp, input)
    return _special.polygamma(xp, input, n)
polygamma.rule(input=lambda g, n, input: g * polygamma(n + 1, input))


@composite(name="polygamma", function=False, samples=lambda t: [t.args(t(3, low=0.3, high=5), 1)])
def polygamma_method(input: Tensor, n: int) -> Tensor:
    "The derivative of order n of digamma, as a method: the order comes second."
    return polygamma(n, input)


@composite(function=False)
def polygamma_(input: Tensor, n: int) -> Tensor:
    "The derivative of order n of digamma, in place."
    out = polygamma(n, input)
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"result type {out.dtype.legacy} can't be cast to the desired output type "
                           f"{input.dtype.legacy}")
    return input.copy_(out)


MAX_ORDERS = 1 << 17          # of the multivariate gamma function, one pass over the elements for each


def check_mvlgamma(input, p, inplace) -> None:
    if input.dtype.name == "bool":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if p > MAX_ORDERS:                          # PyTorch makes a tensor of p elements for each of the input
        raise RuntimeError(f"Storage size calculation overflowed with sizes={[*input.shape, p]}\n"
                           f"  p is {p}, at most {MAX_ORDERS} logarithms are added up for an element")
    if inplace and not input.dtype.is_floating_point:
        raise RuntimeError(f"mvlgamma: result type {input.dtype.legacy} can't be cast to the desired output type "
                           f"{default_dtype().legacy}")


@pointwise(kernel="mvlgamma", kernel_if={"p": ...}, promote="float", names=("special.multigammaln",),
           check=check_mvlgamma,
           samples=lambda t: [t.args(t(3, 4, low=2.2, high=5), 2), t.args(t(3, low=3, high=5), 4)],
           errors=lambda t: [(t.args(t(2), 0), RuntimeError, "p has to be greater than or equal to 1")])
def mvlgamma(xp, input: Tensor, p: int):
    "The logarithm of the multivariate gamma function: p(p-1)/4 log(pi) + the sum over j < p of lgamma(input - j/2)."
    need(input, FLOATS, "lgamma_vml_cpu")
    return sum(_special.lgamma(xp, input - j / 2) for j in range(p)) + p * (p - 1) / 4 * log(pi)
mvlgamma.rule(input=lambda g, input, p: g * sum((input + (0.0 - j / 2)).digamma() for j in range(p)))


@pointwise(kernel="zeta", overloads=True, promote="float", namespace="special", method=False, inplace=False,
           node=lambda input, other: f"SpecialZetaBackward{1 if is_number(input) else 2 if is_number(other) else 0}",
           samples=lambda t: [t.args(t(3, 4, low=1.5, high=5, requires_grad=False), t(4, low=0.3)),
                              t.args(2.5, t(3, low=0.3))])
def zeta(xp, input: Tensor | Number, other: Tensor | Number):
    "Hurwitz's zeta function: out = the sum over k >= 0 of (other + k) ** -input."
    need(input, FLOATS, "zeta_cpu")
    return _special.zeta(xp, input, other)
zeta.rule(input=no_derivative("zeta"), other=lambda g, input, other: g * -input * zeta(input + 1, other))


# Modified Bessel functions

@pointwise(kernel="i0", promote="float", namespace=("torch", "special"),
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, low=10, high=30))])
def i0(xp, input: Tensor):
    "The modified Bessel function of the first kind, order 0."
    need(input, FLOATS, "i0_vml_cpu")
    return _special.i0(xp, input)
i0.rule(input=lambda g, input: g * i1(input))


@pointwise(kernel="i0e", promote="float", namespace="special", method=False, inplace=False, node="SpecialI0EBackward0",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, low=10, high=30))])
def i0e(xp, input: Tensor):
    "The scaled form of i0: out = e ** -|input| * i0(input)."
    need(input, FLOATS, "i0e_cpu")
    return _special.i0e(xp, input)
i0e.rule(input=lambda g, input, out: g * (i1e(input) - input.sgn() * out))


@pointwise(kernel="i1", promote="float", namespace="special", method=False, inplace=False, node="SpecialI1Backward0",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, low=10, high=30))])
def i1(xp, input: Tensor):
    "The modified Bessel function of the first kind, order 1."
    need(input, FLOATS, "i1_cpu")
    return _special.i1(xp, input)


def away_from_zero(input: Tensor) -> tuple[Tensor, Tensor]:
    """Where elements are large enough to divide by, and the elements with the others replaced by the smallest such."""
    eps = 2.0 ** -EPSILON[input.dtype.name]
    large = input.abs() > eps
    return large, input.masked_fill(~large, eps)


def i1_grad(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    large, safe = away_from_zero(input)
    return g * (safe.i0() - out / safe).masked_fill(~large, 0.5)


i1.rule(input=i1_grad)


@pointwise(kernel="i1e", promote="float", namespace="special", method=False, inplace=False, node="SpecialI1EBackward0",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, low=10, high=30))])
def i1e(xp, input: Tensor):
    "The scaled form of i1: out = e ** -|input| * i1(input)."
    need(input, FLOATS, "i1e_cpu")
    return _special.i1e(xp, input)


def i1e_grad(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    large, safe = away_from_zero(input)
    return g * (i0e(safe) - out * (safe.sgn() + safe.reciprocal())).masked_fill(~large, 0.5)


i1e.rule(input=i1e_grad)
