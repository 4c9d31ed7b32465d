"""Smooth rectifiers, the input times a share of it: gelu, silu and mish."""
from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

from claygrad.ops import _special
from claygrad.ops._out import FOUND
from claygrad.ops._registry import composite, conj, constant, pointwise
from claygrad.ops._words import FLOATS, need
from claygrad.ops.activation import functional, line, log1pexp, private, softplus

if TYPE_CHECKING:
    from claygrad.core import Tensor


# Note [From the result]
# gelu and silu are their input times a share between 0 and 1. The gradient asks for that share again; the result has
# it: divided by the input, without an exponential. What follows a rectifier mostly keeps its result anyway. Halves have
# too few digits for this, and few elements are not worth it: they take the operation declared as `plain`. All are
# functions of the input alone; the kernels of the others trust that the result is that of this input.

def with_result(t) -> list:
    return [t.args(t(4), t(4), t(4))]


def gelu_slope(xp, input):
    "Phi(input) + input * phi(input)."
    area = 0.5 + 0.5 * _special.erf(xp, input * input.dtype.type(sqrt(0.5)))
    return area + input * xp.exp(-0.5 * input * input) * input.dtype.type(1 / sqrt(2 * pi))


@pointwise(name="_gelu", kernel="gelu", node="GeluBackward0", **private, samples=line)
def gelu_exact(xp, input: Tensor):
    "input times the area under the normal curve left of it."
    need(input, FLOATS, "GeluKernelImpl")
    return input * (0.5 + 0.5 * _special.erf(xp, input * input.dtype.type(sqrt(0.5))))
gelu_exact.rule(input=lambda g, input, out: gelu_from(g, input, out))


@pointwise(kernel="gelu_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def gelu_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of gelu: grad_output * (Phi(input) + input * phi(input))."
    return grad_output * gelu_slope(xp, input)


@pointwise(kernel="gelu_from", without_last=gelu_backward, node="GeluBackwardBackward0", **private, samples=with_result)
def gelu_from(xp, grad_output: Tensor, input: Tensor, result: Tensor):
    "The gradient of gelu when its result is known."
    return grad_output * gelu_slope(xp, input)


def gelu_second(g, grad_output, input):
    square = input * input
    return g * grad_output * (square * -0.5).exp() * (2 - square) / sqrt(2 * pi)


gelu_backward.rule(grad_output=lambda g, input: gelu_backward(g, input), input=gelu_second)
gelu_from.rule(grad_output=lambda g, input, result: gelu_from(g, input, result), input=gelu_second, result=constant)

BEND, CUBE = sqrt(2 / pi), 0.044715


def gelu_tanh_slope(xp, input):
    square = input * input
    tanh = xp.tanh(BEND * (input + CUBE * square * input))
    return 0.5 * (1 + tanh) + 0.5 * input * (1 - tanh * tanh) * (BEND * (1 + 3 * CUBE * square))


@pointwise(name="_gelu_tanh", kernel="gelu_tanh", node="GeluBackward0", **private, samples=line)
def gelu_tanh(xp, input: Tensor):
    "gelu with the area approximated through tanh."
    need(input, FLOATS, "GeluKernelImpl")
    return 0.5 * input * (1 + xp.tanh(BEND * (input + CUBE * input * input * input)))


gelu_tanh.rule(input=lambda g, input, out: gelu_tanh_from(g, input, out))


@pointwise(kernel="gelu_tanh_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def gelu_tanh_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of gelu with the area approximated through tanh."
    return grad_output * gelu_tanh_slope(xp, input)


@pointwise(kernel="gelu_tanh_from", without_last=gelu_tanh_backward, node="GeluBackwardBackward0", **private,
           samples=with_result)
def gelu_tanh_from(xp, grad_output: Tensor, input: Tensor, result: Tensor):
    "The gradient of gelu with the area approximated through tanh, when its result is known."
    return grad_output * gelu_tanh_slope(xp, input)


def gelu_tanh_second(g, grad_output, input):
    square = input * input
    tanh = (BEND * (input + CUBE * square * input)).tanh()
    slope = BEND * (1 + 3 * CUBE * square)
    return g * grad_output * (1 - tanh * tanh) * (slope + input * (3 * BEND * CUBE * input - tanh * slope * slope))


gelu_tanh_backward.rule(grad_output=lambda g, input: gelu_tanh_backward(g, input), input=gelu_tanh_second)
gelu_tanh_from.rule(grad_output=lambda g, input, result: gelu_tanh_from(g, input, result), input=gelu_tanh_second,
                    result=constant)


@composite(**functional, out=FOUND, samples=lambda t: [*line(t), t.args(t(3, 4), approximate="tanh")],
           errors=lambda t: [(t.args(t(2), approximate="x"), RuntimeError,
                              "approximate argument must be either none or tanh.")])
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit: out = input * Φ(input), Φ being the distribution function of the normal
    distribution.

    With approximate="tanh", Φ is approximated by a formula with tanh.
    """
    if approximate == "none":
        return gelu_exact(input)
    if approximate == "tanh":
        return gelu_tanh(input)
    raise RuntimeError("approximate argument must be either none or tanh.")


@pointwise(kernel="silu", **functional,
           samples=lambda t: [*line(t), t.args(t(3, dtype="complex128", requires_grad=False))])
def silu(xp, input: Tensor, inplace: bool = False):
    "The sigmoid linear unit: out = input * sigmoid(input)."
    need(input, FLOATS + "c", "silu_cpu")
    return input / (1 + xp.exp(-input))
silu.rule(input=lambda g, input, out: silu_from(g, input, out))


def silu_slope(xp, input):
    s = 1 / (1 + xp.exp(-input))
    return s * (1 + input * (1 - s))


@pointwise(kernel="silu_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def silu_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of silu: grad_output * conj(s * (1 + input * (1 - s))), s = sigmoid(input)."
    return grad_output * xp.conj(silu_slope(xp, input))


@pointwise(kernel="silu_from", without_last=silu_backward, node="SiluBackwardBackward0", **private, samples=with_result)
def silu_from(xp, grad_output: Tensor, input: Tensor, result: Tensor):
    "The gradient of silu when its result is known."
    return grad_output * xp.conj(silu_slope(xp, input))


def silu_second(g, grad_output, input):
    s = input.sigmoid()
    return conj(g) * grad_output * conj(s * (1 - s) * (2 + input * (1 - 2 * s)))


silu_backward.rule(grad_output=lambda g, input: silu_backward(g, conj(input)), input=silu_second)
silu_from.rule(grad_output=lambda g, input, result: silu_from(g, conj(input), conj(result)), input=silu_second,
               result=constant)


@pointwise(kernel="mish", **functional, samples=line)
def mish(xp, input: Tensor, inplace: bool = False):
    "out = input * tanh(softplus(input))."
    need(input, FLOATS, "mish_cpu")
    return input * xp.tanh(log1pexp(xp, input))


mish.rule(input=lambda g, input: mish_backward(g, input))


@pointwise(kernel="mish_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def mish_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of mish: grad_output * (t + input * sigmoid(input) * (1 - t ** 2)), t = tanh(softplus(input))."
    tanh = xp.tanh(log1pexp(xp, input))
    return grad_output * (tanh + input / (1 + xp.exp(-input)) * (1 - tanh * tanh))


def mish_second(g, grad_output, input):
    tanh, s = softplus(input).tanh(), input.sigmoid()
    return g * grad_output * (1 - tanh * tanh) * s * (2 + input * (1 - s - 2 * tanh * s))


mish_backward.rule(grad_output=lambda g, input: mish_backward(g, input), input=mish_second)
