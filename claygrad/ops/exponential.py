"""Exponentials, logarithms, trigonometric and hyperbolic functions, the logistic function."""
from __future__ import annotations

from math import log as log_of
from math import pi
from typing import TYPE_CHECKING

from claygrad.ops._registry import conj, pointwise
from claygrad.ops._words import FLOATS, is_number, need, refuse_complex

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

LN2, LN10 = log_of(2), log_of(10)


def line(t) -> list:
    "Samples for a function of any number, complex ones included."
    return [t.args(t(3, 4)), t.args(t()), t.args(t(3, dtype="complex128"))]


def half_line(t) -> list:
    "Samples for a function of positive numbers."
    return [t.args(t(3, 4, low=0.2, high=4)), t.args(t(low=0.2)), t.args(t(3, dtype="complex128", nonzero=True))]


def unit(t) -> list:
    "Samples for a function of numbers between -1 and 1."
    return [t.args(t(3, 4, low=-0.9, high=0.9)), t.args(t(low=-0.9, high=0.9)), t.args(t(3, dtype="complex128"))]


# Exponentials and logarithms

@pointwise(kernel="exp", promote="float", samples=line)
def exp(xp, input: Tensor):
    "The exponential: out = e ** input."
    return xp.exp(input)
exp.rule(input=lambda g, out: g * conj(out))


@pointwise(kernel="exp2", promote="float", namespace=("torch", "special"), samples=line)
def exp2(xp, input: Tensor):
    "The power of two: out = 2 ** input."
    return xp.exp2(input)
exp2.rule(input=lambda g, out: g * conj(out) * LN2)


@pointwise(kernel="expm1", promote="float", namespace=("torch", "special"), samples=line)
def expm1(xp, input: Tensor):
    "The exponential minus one, exact near zero: out = e ** input - 1."
    return xp.expm1(input)
expm1.rule(input=lambda g, out: g * (conj(out) + 1))


@pointwise(kernel="log", promote="float", samples=half_line)
def log(xp, input: Tensor):
    "The natural logarithm."
    return xp.log(input)
log.rule(input=lambda g, input: g / conj(input))


@pointwise(kernel="log2", promote="float", samples=half_line)
def log2(xp, input: Tensor):
    "The logarithm to base 2."
    return xp.log2(input)
log2.rule(input=lambda g, input: g / (conj(input) * LN2))


@pointwise(kernel="log10", promote="float", samples=half_line)
def log10(xp, input: Tensor):
    "The logarithm to base 10."
    return xp.log10(input)
log10.rule(input=lambda g, input: g / (conj(input) * LN10))


@pointwise(kernel="log1p", promote="float", namespace=("torch", "special"), node="Log1PBackward0", samples=half_line)
def log1p(xp, input: Tensor):
    "The natural logarithm of one plus the element, exact near zero: out = log(1 + input)."
    if input.dtype.kind != "c":
        return xp.log1p(input)
    z = input.astype(xp.complex128)
    x, y = z.real, z.imag
    # log|1 + z| is half of log1p(|1 + z|^2 - 1), whose terms cancel only where the result is small beside both.
    near = xp.abs(z) < 0.5
    square = xp.where(near, x * (2 + x) + y * y, 0)
    size = xp.where(near, 0.5 * xp.log1p(square), xp.log(xp.abs(xp.where(near, 1, 1 + z))))
    out = xp.empty(z.shape, z.dtype)
    out.real, out.imag = size, xp.arctan2(y, 1 + x)
    return out.astype(input.dtype)
log1p.rule(input=lambda g, input: g / (conj(input) + 1))


@pointwise(kernel="logaddexp", inplace=False,
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(), t(3)),
                              t.args(t(3, dtype="complex128"), t(3, dtype="complex128"))])
def logaddexp(xp, input: Tensor, other: Tensor):
    "The logarithm of a sum of exponentials: out = log(e ** input + e ** other)."
    need(input, FLOATS + "c", "logaddexp_cpu")
    if input.dtype.kind != "c":
        return xp.logaddexp(input, other)
    first = input.real >= other.real
    largest = xp.where(first, input, other)
    out = largest + xp.log1p(xp.exp(xp.where(first, other - input, input - other)))
    infinite = xp.isinf(input.real) & (input.real == other.real)         # where a difference would be NaN
    if infinite.any():
        out = xp.where(infinite, xp.where(input.real < 0, largest, xp.log(xp.exp(input) + xp.exp(other))), out)
    return out
logaddexp.rule(input=lambda g, input, other: g / conj((other - input).exp() + 1),
               other=lambda g, input, other: g / conj((input - other).exp() + 1))


@pointwise(kernel="logaddexp2", inplace=False, samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(), t(3))])
def logaddexp2(xp, input: Tensor, other: Tensor):
    "The logarithm of a sum of powers of two: out = log2(2 ** input + 2 ** other)."
    need(input, FLOATS, "logaddexp2_cpu")
    return xp.logaddexp2(input, other)
logaddexp2.rule(input=lambda g, input, other: g / ((other - input).exp2() + 1),
                other=lambda g, input, other: g / ((input - other).exp2() + 1))


def scalar_second(name: str):
    """Node names of x log(y): 0 for two tensors, 1 for a number first, 2 for a number second."""
    return lambda input, other: f"{name}Backward{1 if is_number(input) else 2 if is_number(other) else 0}"


@pointwise(kernel="xlogy", promote="float", overloads=True, namespace=("torch", "special"), node=scalar_second("Xlogy"),
           samples=lambda t: [t.args(t(3, 4), t(4, low=0.2)), t.args(t(3), 2.5), t.args(2, t(3, low=0.2))])
def xlogy(xp, input: Tensor | Number, other: Tensor | Number):
    "out = input * log(other), and 0 where input is 0 unless other is nan."
    need(input, FLOATS, "xlogy_cpu")
    return xp.where((input == 0) & ~xp.isnan(other), 0, input * xp.log(other)).astype(input.dtype)


def xlogy_grad(g, input, other):
    if is_number(other):
        return g * log_of(other) if other > 0 else xlogy(g, other).masked_fill(input == 0, 0)
    return xlogy(g, other).masked_fill((input == 0) & (other <= 0), 0)


xlogy.rule(input=xlogy_grad, other=lambda g, input, other: g * input / other)


# Circular functions

@pointwise(kernel="sin", promote="float", samples=line)
def sin(xp, input: Tensor):
    "The sine of an angle in radians."
    return xp.sin(input)
sin.rule(input=lambda g, input: g * conj(input.cos()))


@pointwise(kernel="cos", promote="float", samples=line)
def cos(xp, input: Tensor):
    "The cosine of an angle in radians."
    return xp.cos(input)
cos.rule(input=lambda g, input: g * -conj(input.sin()))


@pointwise(kernel="tan", promote="float", samples=unit)
def tan(xp, input: Tensor):
    "The tangent of an angle in radians."
    return xp.tan(input)
tan.rule(input=lambda g, out: g * conj(out * out + 1))


@pointwise(kernel="asin", promote="float", names=("arcsin",), samples=unit)
def asin(xp, input: Tensor):
    "The angle between -pi/2 and pi/2 whose sine is the element."
    return xp.arcsin(input)
asin.rule(input=lambda g, input: g * conj((1 - input * input).rsqrt()))


@pointwise(kernel="acos", promote="float", names=("arccos",), samples=unit)
def acos(xp, input: Tensor):
    "The angle between 0 and pi whose cosine is the element."
    return xp.arccos(input)
acos.rule(input=lambda g, input: g * -conj((1 - input * input).rsqrt()))


@pointwise(kernel="atan", promote="float", names=("arctan",), samples=line)
def atan(xp, input: Tensor):
    "The angle between -pi/2 and pi/2 whose tangent is the element."
    return xp.arctan(input)
atan.rule(input=lambda g, input: g / conj(input * input + 1) if input.dtype.is_complex else atan_backward(g, input))


@pointwise(kernel="atan_backward", function=False, method=False, inplace=False, samples=lambda t: [t.args(t(4), t(4))])
def atan_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of atan: grad_output / (input ** 2 + 1)."
    return grad_output / (input * input + 1)


def atan_second(g, grad_output, input):
    return atan_backward(g, input) * atan_backward(grad_output, input) * (input * -2)


atan_backward.rule(grad_output=lambda g, input: atan_backward(g, input), input=atan_second)


@pointwise(kernel="atan2", promote="float", names=("arctan2",),
           samples=lambda t: [t.args(t(3, 4, nonzero=True), t(4, nonzero=True)),
                              t.args(t(nonzero=True), t(3, nonzero=True))])
def atan2(xp, input: Tensor, other: Tensor):
    "The angle of the point (other, input) seen from the origin, between -pi and pi."
    need(input, FLOATS, "atan2_cpu")
    return xp.arctan2(input, other)
atan2.rule(input=lambda g, input, other: g * other * inverse_square(input, other),
           other=lambda g, input, other: g * -input * inverse_square(input, other))


def inverse_square(x: Tensor, y: Tensor) -> Tensor:
    """1 / (x^2 + y^2), and 0 at the origin, where the angle is a constant by agreement."""
    square = x * x + y * y
    return square.reciprocal().masked_fill(square == 0, 0)


@pointwise(kernel="sinc", promote="float", namespace=("torch", "special"),
           samples=lambda t: [t.args(t(3, 4, nonzero=True)), t.args(t(3, dtype="complex128", nonzero=True))])
def sinc(xp, input: Tensor):
    "The cardinal sine: out = sin(pi * input) / (pi * input), and 1 at 0."
    return xp.sinc(input).astype(input.dtype)


def sinc_grad(g, input):
    angle = input * pi
    square = angle * input
    return g * conj((angle * angle.cos() - angle.sin()) / square).masked_fill(square == 0, 0)


sinc.rule(input=sinc_grad)


@pointwise(kernel="deg2rad", promote="float", node="Deg2RadBackward0",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, dtype="int64"))])
def deg2rad(xp, input: Tensor):
    "Degrees to radians: out = input * pi / 180."
    refuse_complex(input, "deg2rad is not supported for complex tensors.", RuntimeError)
    return input * (pi / 180)
deg2rad.rule(input=lambda g: g * (pi / 180))


@pointwise(kernel="rad2deg", promote="float", node="Rad2DegBackward0",
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, dtype="int64"))])
def rad2deg(xp, input: Tensor):
    "Radians to degrees: out = input * 180 / pi."
    refuse_complex(input, "rad2deg is not supported for complex tensors.", RuntimeError)
    return input * (180 / pi)
rad2deg.rule(input=lambda g: g * (180 / pi))


# Hyperbolic functions

@pointwise(kernel="sinh", promote="float", samples=line)
def sinh(xp, input: Tensor):
    "The hyperbolic sine: out = (e ** input - e ** -input) / 2."
    return xp.sinh(input)
sinh.rule(input=lambda g, input: g * conj(input.cosh()))


@pointwise(kernel="cosh", promote="float", samples=line)
def cosh(xp, input: Tensor):
    "The hyperbolic cosine: out = (e ** input + e ** -input) / 2."
    return xp.cosh(input)
cosh.rule(input=lambda g, input: g * conj(input.sinh()))


@pointwise(kernel="tanh", promote="float", namespace=("torch", "nn.functional"), samples=unit)
def tanh(xp, input: Tensor):
    "The hyperbolic tangent: out = sinh(input) / cosh(input)."
    return xp.tanh(input)
tanh.rule(input=lambda g, out: tanh_backward(g, out))


@pointwise(kernel="tanh_backward", function=False, method=False,
           samples=lambda t: [t.args(t(3), t(3, low=-0.9, high=0.9))])
def tanh_backward(xp, grad_output: Tensor, output: Tensor):
    "The gradient of tanh: grad_output * conj(1 - output ** 2)."
    return grad_output * xp.conj(1 - output * output)
tanh_backward.rule(grad_output=lambda g, output: tanh_backward(g, conj(output)),
                   output=lambda g, grad_output, output: conj(g) * grad_output * conj(output) * -2)


@pointwise(kernel="asinh", promote="float", names=("arcsinh",), samples=line)
def asinh(xp, input: Tensor):
    "The number whose hyperbolic sine is the element."
    return xp.arcsinh(input)
asinh.rule(input=lambda g, input: g * conj((input * input + 1).rsqrt()))


@pointwise(kernel="acosh", promote="float", names=("arccosh",),
           samples=lambda t: [t.args(t(3, 4, low=1.2, high=4)), t.args(t(3, dtype="complex128"))])
def acosh(xp, input: Tensor):
    "The number, not negative, whose hyperbolic cosine is the element."
    return xp.arccosh(input)


def acosh_grad(g, input):
    if input.dtype.is_complex:              # two roots: one alone would take the wrong branch
        return g * ((input - 1).rsqrt() * (input + 1).rsqrt()).conj()
    return g * (input * input - 1).rsqrt()


acosh.rule(input=acosh_grad)


@pointwise(kernel="atanh", promote="float", names=("arctanh",), samples=unit)
def atanh(xp, input: Tensor):
    "The number whose hyperbolic tangent is the element."
    return xp.arctanh(input)
atanh.rule(input=lambda g, input: g / conj(1 - input * input))


# The logistic curve

@pointwise(kernel="sigmoid", promote="float", namespace=("torch", "nn.functional"), names=("special.expit",),
           samples=unit)
def sigmoid(xp, input: Tensor):
    "The logistic function: out = 1 / (1 + e ** -input)."
    return 1 / (1 + xp.exp(-input))
sigmoid.rule(input=lambda g, out: sigmoid_backward(g, out))


@pointwise(kernel="sigmoid_backward", function=False, method=False,
           samples=lambda t: [t.args(t(3), t(3, low=0.1, high=0.9))])
def sigmoid_backward(xp, grad_output: Tensor, output: Tensor):
    "The gradient of sigmoid: grad_output * conj((1 - output) * output)."
    return grad_output * xp.conj((1 - output) * output)
sigmoid_backward.rule(grad_output=lambda g, output: sigmoid_backward(g, conj(output)),
                      output=lambda g, grad_output, output: conj(g) * grad_output * (1 - 2 * conj(output)))


@pointwise(kernel="logit", kernel_if={"eps": ...}, promote="float", namespace=("torch", "special"),
           samples=lambda t: [t.args(t(3, 4, low=0.1, high=0.9)), t.args(t(5, low=-0.2, high=1.2), 0.1),
                              t.args(t(5, low=-0.2, high=1.2), eps=0.3)])
def logit(xp, input: Tensor, eps: float | None = None):
    "The inverse of sigmoid: out = log(input / (1 - input)), input being clamped to [eps, 1 - eps] if eps is given."
    need(input, FLOATS, "logit_cpu")
    x = input if eps is None or eps < 0 else xp.clip(input, input.dtype.type(eps), input.dtype.type(1 - eps))
    return xp.log(x / (1 - x))


def logit_grad(g, input, eps):
    slope = g / (input * (1 - input)).abs()           # at -0.0 as at 0; beyond 0 and 1 it is replaced
    if eps is None or eps < 0:
        return slope.masked_fill((input < 0) | (input > 1), float("nan"))
    return slope.masked_fill((input < eps) | (input > 1 - eps), 0)


logit.rule(input=logit_grad)
