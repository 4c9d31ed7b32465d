"""Piecewise linear activation functions: bounded ones, shrinks and thresholds."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import dtype_of_numpy
from claygrad.ops._numbers import refuse_overflow
from claygrad.ops._out import FOUND
from claygrad.ops._registry import composite, pointwise, zero
from claygrad.ops._words import FLOATS, INTS, need, refuse_complex
from claygrad.ops.activation import functional, line, private

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


# Thresholds. The gradient is 0 at the edges themselves, unlike clamp's.

def check_hardtanh(input, min_val, max_val) -> None:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.dtype.name == "bool":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype.numpy.kind == "u" and (int(min_val) < 0 or int(max_val) < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


@pointwise(kernel="clamp", kernel_if={"min_val": ..., "max_val": ...}, **functional, check=check_hardtanh,
           samples=lambda t: [*line(t), t.args(t(4), -0.5, 0.7),
                              t.args(t(4, low=-5, high=5, dtype="int64"), -1.5, 2.5)],
           errors=lambda t: [(t.args(t(2), 2.0, 1.0), ValueError, "min_val cannot be greater than max_val"),
                             (t.args(t(2, dtype="uint8")), RuntimeError,
                              "cannot do hardtanh on an unsigned type with negative limits")])
def hardtanh(xp, input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
    "out = min(max(input, min_val), max_val)."
    refuse_complex(input, "clamp is not supported for complex types")
    number = input.dtype.type
    return xp.minimum(number(max_val), xp.maximum(number(min_val), input))
hardtanh.rule(input=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val))


@pointwise(kernel="inside_backward", kernel_if={"min_val": ..., "max_val": ...}, **private,
           samples=lambda t: [t.args(t(4), t(4), -1.0, 1.0)])
def hardtanh_backward(xp, grad_output: Tensor, input: Tensor, min_val: float, max_val: float):
    "The gradient of hardtanh: grad_output between the edges and at NaN, 0 elsewhere."
    return xp.where((input <= min_val) | (input >= max_val), grad_output.dtype.type(0), grad_output)
hardtanh_backward.rule(grad_output=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
                       input=zero)


@composite(**functional, samples=lambda t: [*line(t), t.args(t(5, low=4, high=8))])
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    "out = min(max(input, 0), 6)."
    return hardtanh(input, 0.0, 6.0, inplace)


@pointwise(kernel="hard_sigmoid", **functional, samples=line)
def hardsigmoid(xp, input: Tensor, inplace: bool = False):
    "The sigmoid in straight lines: out = min(max(input + 3, 0), 6) / 6."
    need(input, FLOATS, "hardsigmoid_cpu")
    number = input.dtype.type
    return xp.minimum(xp.maximum(input + number(3), number(0)), number(6)) / number(6)
hardsigmoid.rule(input=lambda g, input: hardsigmoid_backward(g, input))


@pointwise(kernel="hard_sigmoid_backward", **private, samples=lambda t: [t.args(t(4), t(4, low=-5, high=5))])
def hardsigmoid_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of hardsigmoid: grad_output / 6 between -3 and 3, 0 elsewhere."
    number = grad_output.dtype.type
    return xp.where((input > -3) & (input < 3), grad_output / number(6), number(0))
hardsigmoid_backward.rule(grad_output=lambda g, input: hardsigmoid_backward(g, input), input=zero)


@pointwise(kernel="hard_swish", **functional, samples=line)
def hardswish(xp, input: Tensor, inplace: bool = False):
    "The silu in straight lines: out = input * min(max(input + 3, 0), 6) / 6."
    need(input, FLOATS, "hardswish_cpu")
    number = input.dtype.type
    return input * xp.minimum(xp.maximum(input + number(3), number(0)), number(6)) / number(6)


hardswish.rule(input=lambda g, input: hardswish_backward(g, input))


@pointwise(kernel="hard_swish_backward", **private, samples=lambda t: [t.args(t(4), t(4, low=-5, high=5))])
def hardswish_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of hardswish: grad_output * (input / 3 + 1 / 2) between -3 and 3, 0 below, grad_output above."
    number = grad_output.dtype.type
    bend = grad_output * (input / number(3) + number(0.5))
    return xp.where(input <= -3, number(0), xp.where(input >= 3, grad_output, bend))


def hardswish_second(g, grad_output, input):
    return (g * grad_output / 3).where(input.abs() < 3, 0)


hardswish_backward.rule(grad_output=lambda g, input: hardswish_backward(g, input), input=hardswish_second)


@pointwise(kernel="hard_shrink", kernel_if={"lambd": ...}, half="raw", out=FOUND, namespace=("torch", "nn.functional"),
           inplace=False, samples=lambda t: [*line(t), t.args(t(4), 1.0)])
def hardshrink(xp, input: Tensor, lambd: float = 0.5):
    "out = 0 between -lambd and lambd, input elsewhere."
    need(input, FLOATS, "hardshrink_cpu")
    edge = input.dtype.type(lambd)              # in the dtype of the elements, which are compared with it
    return xp.where((input >= -edge) & (input <= edge), input.dtype.type(0), input)
hardshrink.rule(input=lambda g, input, lambd: shrink_backward(g, input, lambd))


@pointwise(kernel="outside_backward", kernel_if={"lambd": ...}, half="raw", **private,
           node="HardshrinkBackwardBackward0", samples=lambda t: [t.args(t(4), t(4), 0.5)])
def shrink_backward(xp, grad_output: Tensor, input: Tensor, lambd: float):
    "The gradient of both shrinks: 0 between -lambd and lambd, grad_output elsewhere."
    edge = input.dtype.type(lambd)
    return xp.where((input >= -edge) & (input <= edge), grad_output.dtype.type(0), grad_output)
shrink_backward.rule(grad_output=lambda g, input, lambd: shrink_backward(g, input, lambd), input=zero)


LARGEST = {"float16": 65504, "bfloat16": 3.38953e38, "float32": 3.40282e38, "float64": 1.79769e308}


def check_softshrink(input, lambd) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"softshrink_check\" not implemented for '{input.dtype.legacy}'")
    if not 0 <= lambd <= LARGEST[input.dtype.name]:
        raise RuntimeError(f"lambda must be in range [0, {LARGEST[input.dtype.name]:g}] for input dtype "
                           f"{input.dtype.legacy}, but found {lambd:g}")


@pointwise(kernel="soft_shrink", kernel_if={"lambd": ...}, out=FOUND, **functional, inplace=False,
           check=check_softshrink, samples=lambda t: [*line(t), t.args(t(4), 1.0)],
           errors=lambda t: [(t.args(t(2, dtype="float32"), -1.0), RuntimeError,
                              "lambda must be in range [0, 3.40282e+38] for input dtype Float")])
def softshrink(xp, input: Tensor, lambd: float = 0.5):
    "The element moved towards 0 by lambd, and 0 if it is nearer than that."
    number = input.dtype.type(lambd)
    return xp.where(input > number, input - number, xp.where(input < -number, input + number, input * 0))
softshrink.rule(input=lambda g, input, lambd: shrink_backward(g, input, lambd))


@pointwise(kernel="threshold", kernel_if={"threshold": ..., "value": ...}, namespace=("torch", "nn.functional"),
           overlap="ok", method=False,
           samples=lambda t: [t.args(t(3, 4), 0.5, 7.0), t.args(t(), 0.0, 0.0), t.args(t(4, dtype="int64"), 0, 5)])
def threshold(xp, input: Tensor, threshold: Number, value: Number, inplace: bool = False):
    "out = input above threshold, value elsewhere."
    need(input, FLOATS + INTS, "threshold_cpu")
    for given in (threshold, value):
        refuse_overflow(given, dtype_of_numpy(input.dtype))
    threshold, value = (xp.asarray(given).astype(input.dtype) for given in (threshold, value))
    return xp.where(input <= threshold, value, input)
threshold.rule(input=lambda g, input, threshold: threshold_backward(g, input, threshold))


@pointwise(kernel="threshold_backward", kernel_if={"threshold": ...}, **private,
           samples=lambda t: [t.args(t(4), t(4), 0.5)])
def threshold_backward(xp, grad_output: Tensor, input: Tensor, threshold: float):
    "The gradient of threshold: grad_output above it, 0 elsewhere."
    return xp.where(input <= threshold, grad_output.dtype.type(0), grad_output)
threshold_backward.rule(grad_output=lambda g, input, threshold: threshold_backward(g, input, threshold), input=zero)
