"""Gradients of absolute values and powers of real numbers, each in one pass over the elements."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._registry import pointwise, zero

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

private = {"function": False, "method": False, "inplace": False}


@pointwise(kernel="abs_backward", **private, samples=lambda t: [t.args(t(4), t(4, nonzero=True))])
def abs_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of abs: grad_output * sign(input), the sign of nan being 0."
    return grad_output * xp.where(input != input, input.dtype.type(0), xp.sign(input))
abs_backward.rule(grad_output=lambda g, input: abs_backward(g, input), input=zero)


@pointwise(kernel="pow_backward", kernel_if={"exponent": ...}, **private,
           samples=lambda t: [t.args(t(4), t(4, low=0.2), e) for e in (2, 3, 0.5, -1, 1.5, 2.7)])
def pow_backward(xp, grad_output: Tensor, input: Tensor, exponent: Number):
    "The gradient of a power: grad_output * exponent * input ** (exponent - 1)."
    return grad_output * (exponent * xp.power(input, exponent - 1)).astype(grad_output.dtype)


def pow_second(g, grad_output, input, exponent):
    h = g * (grad_output * exponent)
    return h if exponent == 2 else pow_backward(h, input, exponent - 1)


pow_backward.rule(grad_output=lambda g, input, exponent: pow_backward(g, input, exponent), input=pow_second)
