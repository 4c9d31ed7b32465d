"""Activation functions: the rectifiers and their smooth relatives, thresholds and gates."""
from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

from claygrad.core import float64
from claygrad.ops import _special
from claygrad.ops._out import FOUND
from claygrad.ops._registry import composite, conj, constant, op, pointwise, zero
from claygrad.ops._words import FLOATS, INTS, need, refuse_complex

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

functional = {"namespace": "nn.functional", "method": False}
private = {"function": False, "method": False, "inplace": False}


def line(t) -> list:
    return [t.args(t(3, 4, low=-5, high=5, nonzero=True)), t.args(t())]


# Rectifiers. Note [inplace=]: an op that declares `inplace` writes into its input when that is true; the machinery
# sees to it, so forwards take the flag and leave it alone.

@pointwise(kernel="relu", namespace=("torch", "nn.functional"),
           samples=lambda t: [*line(t), t.args(t(4, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, dtype="bool")), RuntimeError, "Boolean inputs not supported for relu")])
def relu(xp, input: Tensor, inplace: bool = False):
    "The positive part: out = max(input, 0), with gradient 0 at 0."
    if input.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    refuse_complex(input, "clamp is not supported for complex types")
    return xp.maximum(input.dtype.type(0), input)
relu.rule(input=lambda g, out: relu_backward(g, out))


@pointwise(kernel="relu_backward", node="ThresholdBackwardBackward0", **private, samples=lambda t: [t.args(t(4), t(4))])
def relu_backward(xp, grad_output: Tensor, result: Tensor):
    "The gradient of relu: grad_output where result is above 0."
    return xp.where(result <= 0, grad_output.dtype.type(0), grad_output)
relu_backward.rule(grad_output=lambda g, result: relu_backward(g, result), result=zero)


def renamed_in_place(name: str):
    """Node names of three activations end in 1 when they write into their input."""
    return lambda inplace: f"{name}Backward{1 if inplace else 0}"


@pointwise(kernel="leaky_relu_plain", kernel_if={"negative_slope": 0.01}, **functional,
           node=renamed_in_place("LeakyRelu"), samples=lambda t: [*line(t), t.args(t(4), 0.3), t.args(t(4), -0.5)])
def leaky_relu(xp, input: Tensor, negative_slope: Number = 0.01, inplace: bool = False):
    "out = input above 0, negative_slope * input below."
    need(input, FLOATS, "leaky_relu_cpu")
    return xp.where(input > 0, input, input * input.dtype.type(negative_slope))
leaky_relu.rule(input=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope))


@pointwise(kernel="leaky_relu_backward", kernel_if={"negative_slope": 0.01}, **private,
           samples=lambda t: [t.args(t(4), t(4), 0.01), t.args(t(4), t(4), 0.3)])
def leaky_relu_backward(xp, grad_output: Tensor, input: Tensor, negative_slope: float):
    "The gradient of leaky_relu: grad_output where input is above 0, negative_slope * grad_output elsewhere."
    return xp.where(input > 0, grad_output, grad_output * grad_output.dtype.type(negative_slope))
leaky_relu_backward.rule(grad_output=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
                         input=zero)


@composite(**functional, samples=lambda t: [*line(t), t.args(t(5, low=4, high=8))])
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    "out = min(max(input, 0), 6)."
    return hardtanh(input, 0.0, 6.0, inplace)


def bent(xp, input, alpha: float, scale: float, rate: float):
    "scale * input above 0, scale * alpha * (e ** (rate * input) - 1) below."
    return xp.where(input <= 0, xp.expm1(input * rate) * (alpha * scale), input * scale).astype(input.dtype)


def bent_slope(input: Tensor, alpha: float, scale: float, rate: float) -> Tensor:
    below = (input * rate).clamp(max=0).exp() * (alpha * scale * rate)      # clamped: no inf * 0 in second derivatives
    return below.where(~(input > 0), scale)


@pointwise(kernel="elu_plain", kernel_if={"alpha": 1.0}, **functional, node=renamed_in_place("Elu"),
           samples=lambda t: [*line(t), t.args(t(4), 0.7)])
def elu(xp, input: Tensor, alpha: float = 1.0, inplace: bool = False):
    "out = input above 0, alpha * (e ** input - 1) below."
    need(input, FLOATS, "elu_cpu")
    return bent(xp, input, alpha, 1.0, 1.0)
elu.rule(input=lambda g, input, alpha: elu_backward(g, input, alpha))


@pointwise(kernel="elu_backward", kernel_if={"alpha": 1.0}, **private,
           samples=lambda t: [t.args(t(4), t(4), 1.0), t.args(t(4), t(4), 0.7)])
def elu_backward(xp, grad_output: Tensor, input: Tensor, alpha: float):
    "The gradient of elu: grad_output above 0, grad_output * alpha * e ** input elsewhere."
    return xp.where(input > 0, grad_output, grad_output * (input.dtype.type(alpha) * xp.exp(input)))


def elu_second(g, grad_output, input, alpha):
    return g * grad_output * (input.clamp(max=0).exp() * alpha).where(~(input > 0), 0)


elu_backward.rule(grad_output=lambda g, input, alpha: elu_backward(g, input, alpha), input=elu_second)

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@pointwise(namespace=("torch", "nn.functional"), method=False, node=renamed_in_place("Elu"), samples=line)
def selu(xp, input: Tensor, inplace: bool = False):
    "The elu that keeps mean 0 and variance 1: out = 1.0507 * elu(input, 1.6733)."
    need(input, FLOATS, "elu_cpu")
    return bent(xp, input, SELU_ALPHA, SELU_SCALE, 1.0)
selu.rule(input=lambda g, input: g * bent_slope(input, SELU_ALPHA, SELU_SCALE, 1.0))


def check_celu(alpha) -> None:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


@pointwise(namespace=("torch", "nn.functional"), method=False, check=check_celu, node=renamed_in_place("Celu"),
           samples=lambda t: [*line(t), t.args(t(4), 2.0)],
           errors=lambda t: [(t.args(t(2), 0.0), RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU")])
def celu(xp, input: Tensor, alpha: float = 1.0, inplace: bool = False):
    "The smooth elu: out = input above 0, alpha * (e ** (input / alpha) - 1) below."
    need(input, FLOATS, "elu_cpu")
    return bent(xp, input, alpha, 1.0, 1.0 / alpha)
celu.rule(input=lambda g, input, alpha: g * bent_slope(input, alpha, 1.0, 1.0 / alpha))


def check_prelu(input: Tensor, weight: Tensor) -> None:
    if input.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.legacy} and {weight.dtype.legacy}")
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError("Mismatch of parameter numbers and input channel size. "
                               f"Found parameter numbers = {weight.numel()} and channel size = {channels}.")
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")


@composite(namespace=("torch", "nn.functional"),
           samples=lambda t: [t.args(t(2, 3), t(3)), t.args(t(2, 3, 2), t(1)), t.args(t(3), t(1)),
                              t.args(t(2, 3), t())],
           errors=lambda t: [(t.args(t(2, 3), t(2)), RuntimeError,
                              "Mismatch of parameter numbers and input channel size.")])
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    "The leaky relu with learnt slopes, one for all or one per channel (axis 1)."
    check_prelu(input, weight)
    if input.dim() != weight.dim():
        weight = weight.view([weight.numel() if d == 1 else 1 for d in range(input.dim())] if weight.numel() > 1
                             else [1] * input.dim())
    return prelu_kernel(input, weight)


@pointwise(**private, node="PreluKernelBackward0", samples=lambda t: [t.args(t(2, 3), t(1, 3))])
def prelu_kernel(xp, input: Tensor, weight: Tensor):
    "out = input above 0, weight * input below."
    need(input, FLOATS, "prelu_cpu")
    return xp.where(input > 0, input, weight * input)
prelu_kernel.rule(input=lambda g, input, weight: g.where(input > 0, g * weight),
                  weight=lambda g, input: (g * input).masked_fill(input > 0, 0))


def rrelu_slopes(input: Tensor, lower: float, upper: float) -> Tensor:
    """One for positive elements, a random slope for each of the others, drawn in PyTorch's order."""
    below = input.detach() <= 0
    slopes = input.detach().new_ones(input.shape)
    rounded = input.dtype.numpy.type
    drawn = slopes.new_empty((int(below.sum()),), dtype=float64).uniform_(float(rounded(lower)), float(rounded(upper)))
    slopes[below] = drawn.to(slopes.dtype)
    return slopes


@composite(namespace=("torch", "nn.functional"), method=False, samples=lambda t: [*line(t), t.args(t(4), 0.1, 0.2)],
           errors=lambda t: [(t.args(t(2), 0.5, 0.1), RuntimeError,
                              "Lower bound should be less than or equal to the upper bound")])
def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:
    "The leaky relu whose slope is random between lower and upper in training, and their mean otherwise."
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if training and upper - lower > 1e-6:
        slopes = rrelu_slopes(input, lower, upper)
        return input.mul_(slopes) if inplace else scaled_by(input, slopes)
    slope = (lower + upper) / 2
    return leaky_relu(input, slope, True) if inplace else scaled_below(input, slope)


@composite(namespace=("torch", "nn.functional"), method=False, samples=lambda t: [t.args(t(4, requires_grad=False))])
def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    "The in-place form of rrelu."
    return rrelu(input, lower, upper, training, True)


@pointwise(node="RreluWithNoiseBackward0", **private, samples=lambda t: [t.args(t(4), t(4, requires_grad=False))])
def scaled_by(xp, input: Tensor, slopes: Tensor):
    "A training step of rrelu: out = input * slopes."
    need(input, FLOATS, "rrelu_with_noise_out_cpu")
    return input * slopes
scaled_by.rule(input=lambda g, slopes: g * slopes, slopes=constant)


@pointwise(node="RreluWithNoiseBackward0", **private, samples=lambda t: [t.args(t(4), 0.3)])
def scaled_below(xp, input: Tensor, slope: float):
    "rrelu outside training: out = input above 0, slope * input below."
    need(input, FLOATS, "leaky_relu_cpu")
    return xp.where(input > 0, input, input * input.dtype.type(slope))
scaled_below.rule(input=lambda g, input, slope: g.where(input > 0, g * slope))


# Smooth rectifiers

@pointwise(name="_gelu", kernel="gelu", node="GeluBackward0", **private, samples=line)
def gelu_exact(xp, input: Tensor):
    "input times the area under the normal curve left of it."
    need(input, FLOATS, "GeluKernelImpl")
    return input * (0.5 + 0.5 * _special.erf(xp, input * input.dtype.type(sqrt(0.5))))
gelu_exact.rule(input=lambda g, input: gelu_backward(g, input))


@pointwise(kernel="gelu_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def gelu_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of gelu: grad_output * (Phi(input) + input * phi(input))."
    area = 0.5 + 0.5 * _special.erf(xp, input * input.dtype.type(sqrt(0.5)))
    return grad_output * (area + input * xp.exp(-0.5 * input * input) * input.dtype.type(1 / sqrt(2 * pi)))


def gelu_second(g, grad_output, input):
    square = input * input
    return g * grad_output * (square * -0.5).exp() * (2 - square) / sqrt(2 * pi)


gelu_backward.rule(grad_output=lambda g, input: gelu_backward(g, input), input=gelu_second)

BEND, CUBE = sqrt(2 / pi), 0.044715


@pointwise(name="_gelu_tanh", kernel="gelu_tanh", node="GeluBackward0", **private, samples=line)
def gelu_tanh(xp, input: Tensor):
    "gelu with the area approximated through tanh."
    need(input, FLOATS, "GeluKernelImpl")
    return 0.5 * input * (1 + xp.tanh(BEND * (input + CUBE * input * input * input)))


gelu_tanh.rule(input=lambda g, input: gelu_tanh_backward(g, input))


@pointwise(kernel="gelu_tanh_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def gelu_tanh_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of gelu with the area approximated through tanh."
    square = input * input
    bent = xp.tanh(BEND * (input + CUBE * square * input))
    return grad_output * (0.5 * (1 + bent) + 0.5 * input * (1 - bent * bent) * (BEND * (1 + 3 * CUBE * square)))


def gelu_tanh_second(g, grad_output, input):
    square = input * input
    bent = (BEND * (input + CUBE * square * input)).tanh()
    slope = BEND * (1 + 3 * CUBE * square)
    return g * grad_output * (1 - bent * bent) * (slope + input * (3 * BEND * CUBE * input - bent * slope * slope))


gelu_tanh_backward.rule(grad_output=lambda g, input: gelu_tanh_backward(g, input), input=gelu_tanh_second)


@composite(**functional, out=FOUND, samples=lambda t: [*line(t), t.args(t(3, 4), approximate="tanh")],
           errors=lambda t: [(t.args(t(2), approximate="x"), RuntimeError,
                              "approximate argument must be either none or tanh.")])
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    "The Gaussian error linear unit: out = input * Phi(input), Phi being the normal distribution or an approximation."
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
silu.rule(input=lambda g, input: silu_backward(g, input))


@pointwise(kernel="silu_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def silu_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of silu: grad_output * conj(s * (1 + input * (1 - s))), s = sigmoid(input)."
    s = 1 / (1 + xp.exp(-input))
    return grad_output * xp.conj(s * (1 + input * (1 - s)))


def silu_second(g, grad_output, input):
    s = input.sigmoid()
    return conj(g) * grad_output * conj(s * (1 - s) * (2 + input * (1 - 2 * s)))


silu_backward.rule(grad_output=lambda g, input: silu_backward(g, conj(input)), input=silu_second)


def log1pexp(xp, x):
    return xp.logaddexp(x, x.dtype.type(0))


@pointwise(**functional, samples=line)
def mish(xp, input: Tensor, inplace: bool = False):
    "out = input * tanh(softplus(input))."
    need(input, FLOATS, "mish_cpu")
    return input * xp.tanh(log1pexp(xp, input))


def mish_grad(g, input):
    bent = softplus(input).tanh()
    return g * (bent + input * input.sigmoid() * (1 - bent * bent))


mish.rule(input=mish_grad)


@pointwise(kernel="softplus_plain", kernel_if={"beta": 1, "threshold": 20}, out=FOUND, **functional, inplace=False,
           samples=lambda t: [*line(t), t.args(t(4), 2.0, 1.0), t.args(t(4), beta=0.5)])
def softplus(xp, input: Tensor, beta: float = 1, threshold: float = 20):
    "The smooth relu: out = log(1 + e ** (beta * input)) / beta, and input itself where beta * input > threshold."
    need(input, FLOATS, "softplus_cpu")
    scaled = input * input.dtype.type(beta)
    return xp.where(scaled > threshold, input, xp.log1p(xp.exp(scaled)) / input.dtype.type(beta))
softplus.rule(input=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold))


@pointwise(kernel="softplus_backward", kernel_if={"beta": 1, "threshold": 20}, **private,
           samples=lambda t: [t.args(t(4), t(4), 1, 20), t.args(t(4), t(4), 2.0, 1.0)])
def softplus_backward(xp, grad_output: Tensor, input: Tensor, beta: float, threshold: float):
    "The gradient of softplus: grad_output * sigmoid(beta * input), grad_output itself above the threshold."
    scaled = input * input.dtype.type(beta)
    return xp.where(scaled > threshold, grad_output, grad_output / (1 + xp.exp(-scaled)))


def softplus_second(g, grad_output, input, beta, threshold):
    scaled = input * beta
    s = scaled.sigmoid()
    return g * grad_output * (s * (1 - s) * beta).masked_fill(scaled > threshold, 0)


softplus_backward.rule(grad_output=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold),
                       input=softplus_second)


@pointwise(out="expected scalar type {0.legacy} but found {1.legacy}", **functional,
           node="LogSigmoidBackward0", inplace=False, samples=line)
def logsigmoid(xp, input: Tensor):
    "The logarithm of sigmoid: out = -log(1 + e ** -input)."
    need(input, FLOATS, "log_sigmoid_cpu")
    return xp.minimum(input, input.dtype.type(0)) - xp.log1p(xp.exp(-xp.absolute(input)))
logsigmoid.rule(input=lambda g, input: g * (-input).sigmoid())


@composite(**functional, samples=line)
def softsign(input: Tensor) -> Tensor:
    "out = input / (1 + |input|)."
    return input / (input.abs() + 1)


@composite(**functional, samples=line)
def tanhshrink(input: Tensor) -> Tensor:
    "out = input - tanh(input)."
    return input - input.tanh()


# Thresholds. The gradient is 0 at the edges themselves, unlike clamp's.

def check_hardtanh(input, min_val, max_val) -> None:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.dtype.name == "bool":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype.name == "uint8" and (int(min_val) < 0 or int(max_val) < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


@pointwise(**functional, check=check_hardtanh,
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
hardtanh.rule(input=lambda g, input, min_val, max_val: g.masked_fill(~((input > min_val) & (input < max_val)), 0))


@pointwise(**functional, samples=line)
def hardsigmoid(xp, input: Tensor, inplace: bool = False):
    "The sigmoid in straight lines: out = min(max(input + 3, 0), 6) / 6."
    need(input, FLOATS, "hardsigmoid_cpu")
    number = input.dtype.type
    return xp.minimum(xp.maximum(input + number(3), number(0)), number(6)) / number(6)
hardsigmoid.rule(input=lambda g, input: (g / 6).masked_fill(~((input > -3) & (input < 3)), 0))


@pointwise(**functional, samples=line)
def hardswish(xp, input: Tensor, inplace: bool = False):
    "The silu in straight lines: out = input * min(max(input + 3, 0), 6) / 6."
    need(input, FLOATS, "hardswish_cpu")
    number = input.dtype.type
    return input * xp.minimum(xp.maximum(input + number(3), number(0)), number(6)) / number(6)


def hardswish_grad(g, input):
    return (g * (input / 3 + 0.5)).where(~(input.abs() >= 3), g.masked_fill(input < 0, 0))


hardswish.rule(input=hardswish_grad)


@pointwise(out=FOUND, namespace=("torch", "nn.functional"), inplace=False,
           samples=lambda t: [*line(t), t.args(t(4), 1.0)])
def hardshrink(xp, input: Tensor, lambd: float = 0.5):
    "out = 0 between -lambd and lambd, input elsewhere."
    need(input, FLOATS, "hardshrink_cpu")
    return xp.where((input >= -lambd) & (input <= lambd), input.dtype.type(0), input)
hardshrink.rule(input=lambda g, input, lambd: g.masked_fill(~((input < -lambd) | (input > lambd)), 0))

LARGEST = {"float16": 65504, "bfloat16": 3.38953e38, "float32": 3.40282e38, "float64": 1.79769e308}


def check_softshrink(input, lambd) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"softshrink_check\" not implemented for '{input.dtype.legacy}'")
    if not 0 <= lambd <= LARGEST[input.dtype.name]:
        raise RuntimeError(f"lambda must be in range [0, {LARGEST[input.dtype.name]:g}] for input dtype "
                           f"{input.dtype.legacy}, but found {lambd:g}")


@pointwise(out=FOUND, **functional, inplace=False, check=check_softshrink,
           samples=lambda t: [*line(t), t.args(t(4), 1.0)],
           errors=lambda t: [(t.args(t(2, dtype="float32"), -1.0), RuntimeError,
                              "lambda must be in range [0, 3.40282e+38] for input dtype Float")])
def softshrink(xp, input: Tensor, lambd: float = 0.5):
    "The element moved towards 0 by lambd, and 0 if it is nearer than that."
    number = input.dtype.type(lambd)
    return xp.where(input > number, input - number, xp.where(input < -number, input + number, input * 0))
softshrink.rule(input=lambda g, input, lambd: g.masked_fill(~((input < -lambd) | (input > lambd)), 0))


@pointwise(namespace=("torch", "nn.functional"), method=False,
           samples=lambda t: [t.args(t(3, 4), 0.5, 7.0), t.args(t(), 0.0, 0.0), t.args(t(4, dtype="int64"), 0, 5)])
def threshold(xp, input: Tensor, threshold: Number, value: Number, inplace: bool = False):
    "out = input above threshold, value elsewhere."
    need(input, FLOATS + INTS, "threshold_cpu")
    number = input.dtype.type
    return xp.where(input <= number(threshold), number(value), input)
threshold.rule(input=lambda g, input, threshold: g.masked_fill(input <= threshold, 0))


# Gates

def check_glu(input, dim) -> None:
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    size = input.size(dim)
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input.dim()} is size {size}")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"glu_cpu\" not implemented for '{input.dtype.legacy}'")


def halved(input: Tensor, dim: int) -> list[int]:
    return [n // 2 if d == dim % input.dim() else n for d, n in enumerate(input.shape)]


@op(**functional, check=check_glu, meta=halved,
    samples=lambda t: [t.args(t(4)), t.args(t(3, 4)), t.args(t(4, 3), 0)],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"),
                      (t.args(t()), RuntimeError, "glu does not support scalars because halving size must be even")])
def glu(xp, input: Tensor, dim: int = -1):
    "The gated linear unit: out = a * sigmoid(b), a and b being the halves of input along dim."
    a, b = xp.split(input, 2, axis=dim)
    return a / (1 + xp.exp(-b))


def glu_grad(g, input, dim):
    from claygrad.ops.join import cat
    a, b = input.chunk(2, dim)
    gate = b.sigmoid()
    return cat([g * gate, g * a * gate * (1 - gate)], dim)


glu.rule(input=glu_grad)
