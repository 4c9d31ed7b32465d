"""Activation functions: the rectifiers, logarithms of exponentials, and gates."""
from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from claygrad.core import float64
from claygrad.ops._out import FOUND
from claygrad.ops._registry import composite, constant, op, pointwise, zero
from claygrad.ops._words import FLOATS, need, refuse_complex

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

functional = {"namespace": "nn.functional", "method": False}
private = {"function": False, "method": False, "inplace": False}


def line(t) -> list:
    return [t.args(t(3, 4, low=-5, high=5, nonzero=True)), t.args(t())]


# Rectifiers. Note [inplace=]: an op that declares `inplace` writes into its input when that is true; the machinery
# sees to it, so forwards take the flag and leave it alone.

@pointwise(kernel="relu", namespace=("torch", "nn.functional"), out=False,
           samples=lambda t: [*line(t), t.args(t(4, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, dtype="bool")), RuntimeError, "Boolean inputs not supported for relu")])
def relu(xp, input: Tensor, inplace: bool = False):
    "The rectified linear unit: out = max(input, 0), with gradient 0 at 0."
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


@pointwise(kernel="leaky_relu", kernel_if={"negative_slope": ...}, **functional,
           node=renamed_in_place("LeakyRelu"), samples=lambda t: [*line(t), t.args(t(4), 0.3), t.args(t(4), -0.5)])
def leaky_relu(xp, input: Tensor, negative_slope: Number = 0.01, inplace: bool = False):
    "The leaky rectified linear unit: input where it is positive, negative_slope * input elsewhere."
    need(input, FLOATS, "leaky_relu_cpu")
    return xp.where(input > 0, input, input * input.dtype.type(negative_slope))
leaky_relu.rule(input=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope))


@pointwise(kernel="leaky_relu_backward", kernel_if={"negative_slope": ...}, **private,
           samples=lambda t: [t.args(t(4), t(4), 0.01), t.args(t(4), t(4), 0.3)])
def leaky_relu_backward(xp, grad_output: Tensor, input: Tensor, negative_slope: float):
    "The gradient of leaky_relu: grad_output where input is above 0, negative_slope * grad_output elsewhere."
    return xp.where(input > 0, grad_output, grad_output * grad_output.dtype.type(negative_slope))
leaky_relu_backward.rule(grad_output=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
                         input=zero)


def elu_of(xp, input, alpha: float, scale: float, rate: float):
    "scale * input above 0, scale * alpha * (e ** (rate * input) - 1) below."
    return xp.where(input <= 0, xp.expm1(input * rate) * (alpha * scale), input * scale).astype(input.dtype)


def elu_second(g, grad_output, input, alpha: float, scale: float, rate: float):
    below = (input * rate).clamp(max=0).exp() * (alpha * scale * rate * rate)       # clamped: no inf * 0
    return g * grad_output * below.where(~(input >= 0), 0)


@pointwise(kernel="elu", kernel_if={"alpha": ...}, **functional, node=renamed_in_place("Elu"),
           samples=lambda t: [*line(t), t.args(t(4), 0.7)])
def elu(xp, input: Tensor, alpha: float = 1.0, inplace: bool = False):
    "The exponential linear unit: input where it is positive, alpha * (e ** input - 1) elsewhere."
    need(input, FLOATS, "elu_cpu")
    return elu_of(xp, input, alpha, 1.0, 1.0)
elu.rule(input=lambda g, input, alpha: elu_backward(g, input, alpha))


@pointwise(kernel="elu_backward", kernel_if={"alpha": ...}, **private,
           samples=lambda t: [t.args(t(4), t(4), 1.0), t.args(t(4), t(4), 0.7)])
def elu_backward(xp, grad_output: Tensor, input: Tensor, alpha: float):
    "The gradient of elu: grad_output above 0, grad_output * alpha * e ** input elsewhere."
    return xp.where(input > 0, grad_output, grad_output * (input.dtype.type(alpha) * xp.exp(input)))


elu_backward.rule(grad_output=lambda g, input, alpha: elu_backward(g, input, alpha),
                  input=lambda g, grad_output, input, alpha: elu_second(g, grad_output, input, alpha, 1.0, 1.0))

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@pointwise(kernel="selu", namespace=("torch", "nn.functional"), method=False, out=False, node=renamed_in_place("Elu"),
           samples=line)
def selu(xp, input: Tensor, inplace: bool = False):
    "The elu that keeps mean 0 and variance 1: out = 1.0507 * elu(input, 1.6733)."
    need(input, FLOATS, "elu_cpu")
    return elu_of(xp, input, SELU_ALPHA, SELU_SCALE, 1.0)
selu.rule(input=lambda g, input: selu_backward(g, input))


@pointwise(kernel="selu_backward", node="EluBackwardBackward0", **private, samples=lambda t: [t.args(t(4), t(4))])
def selu_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of selu: grad_output * 1.0507 above 0, times 1.6733 * e ** input elsewhere."
    number = input.dtype.type
    return grad_output * xp.where(input > 0, number(SELU_SCALE), xp.exp(input) * number(SELU_ALPHA * SELU_SCALE))
selu_backward.rule(grad_output=lambda g, input: selu_backward(g, input),
                   input=lambda g, grad_output, input: elu_second(g, grad_output, input, SELU_ALPHA, SELU_SCALE, 1.0))


def check_celu(alpha) -> None:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


@pointwise(kernel="celu", kernel_if={"alpha": ...}, namespace=("torch", "nn.functional"), method=False, out=False,
           check=check_celu, node=renamed_in_place("Celu"),
           samples=lambda t: [*line(t), t.args(t(4), 2.0)],
           errors=lambda t: [(t.args(t(2), 0.0), RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU")])
def celu(xp, input: Tensor, alpha: float = 1.0, inplace: bool = False):
    "The smooth elu: out = input above 0, alpha * (e ** (input / alpha) - 1) below."
    need(input, FLOATS, "elu_cpu")
    return elu_of(xp, input, alpha, 1.0, 1.0 / alpha)
celu.rule(input=lambda g, input, alpha: celu_backward(g, input, alpha))


@pointwise(kernel="celu_backward", kernel_if={"alpha": ...}, node="EluBackwardBackward0", **private,
           samples=lambda t: [t.args(t(4), t(4), 1.0), t.args(t(4), t(4), 2.0)])
def celu_backward(xp, grad_output: Tensor, input: Tensor, alpha: float):
    "The gradient of celu: grad_output above 0, grad_output * e ** (input / alpha) elsewhere."
    return xp.where(input > 0, grad_output, grad_output * xp.exp(input * input.dtype.type(1.0 / alpha)))
celu_backward.rule(grad_output=lambda g, input, alpha: celu_backward(g, input, alpha),
                   input=lambda g, grad_output, input, alpha: elu_second(g, grad_output, input, alpha, 1.0,
                                                                          1.0 / alpha))


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


@pointwise(kernel="prelu", **private, node="PreluKernelBackward0", samples=lambda t: [t.args(t(2, 3), t(1, 3))])
def prelu_kernel(xp, input: Tensor, weight: Tensor):
    "out = input above 0, weight * input below."
    need(input, FLOATS, "prelu_cpu")
    return xp.where(input > 0, input, weight * input)
prelu_kernel.rule(input=lambda g, input, weight: prelu_to_input(g, input, weight),
                  weight=lambda g, input: prelu_to_weight(g, input))


@pointwise(kernel="prelu_to_input", node="PreluKernelBackwardBackward0", **private,
           samples=lambda t: [t.args(t(2, 3), t(2, 3), t(1, 3)), t.args(t(2, 3), t(2, 3), t(1, 1))])
def prelu_to_input(xp, grad_output: Tensor, input: Tensor, weight: Tensor):
    "The gradient of prelu in its input: grad_output above 0, weight * grad_output elsewhere."
    return xp.where(input > 0, grad_output, grad_output * weight)
prelu_to_input.rule(grad_output=lambda g, input, weight: prelu_to_input(g, input, weight), input=zero,
                    weight=lambda g, grad_output, input: (g * grad_output).masked_fill(input > 0, 0))


@pointwise(kernel="prelu_to_weight", node="PreluKernelBackwardBackward0", **private,
           samples=lambda t: [t.args(t(2, 3), t(2, 3))])
def prelu_to_weight(xp, grad_output: Tensor, input: Tensor):
    "The gradient of prelu in its weight, before it is summed: grad_output * input where input is not above 0."
    return xp.where(input > 0, input.dtype.type(0), grad_output * input)
prelu_to_weight.rule(grad_output=lambda g, input: prelu_to_weight(g, input),
                     input=lambda g, grad_output, input: (g * grad_output).masked_fill(input > 0, 0))


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
    for bound, value in (("lower", lower), ("upper", upper)):
        if not isfinite(value):
            raise RuntimeError(f"rrelu: {bound} bound must be finite, got {value}")
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


@pointwise(kernel="leaky_relu", kernel_if={"slope": ...}, node="RreluWithNoiseBackward0", **private,
           samples=lambda t: [t.args(t(4), 0.3)])
def scaled_below(xp, input: Tensor, slope: float):
    "rrelu outside training: out = input above 0, slope * input below."
    need(input, FLOATS, "leaky_relu_cpu")
    return xp.where(input > 0, input, input * input.dtype.type(slope))
scaled_below.rule(input=lambda g, input, slope: leaky_relu_backward(g, input, slope))


# Logarithms of exponentials

def log1pexp(xp, x):
    return xp.logaddexp(x, x.dtype.type(0))


@pointwise(kernel="softplus", kernel_if={"beta": ..., "threshold": ...}, out=FOUND, **functional, inplace=False,
           samples=lambda t: [*line(t), t.args(t(4), 2.0, 1.0), t.args(t(4), beta=0.5)])
def softplus(xp, input: Tensor, beta: float = 1, threshold: float = 20):
    "A smooth relu: out = log(1 + e ** (beta * input)) / beta, and input itself where beta * input > threshold."
    need(input, FLOATS, "softplus_cpu")
    scaled = input * input.dtype.type(beta)
    return xp.where(scaled > threshold, input, xp.log1p(xp.exp(scaled)) / input.dtype.type(beta))
softplus.rule(input=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold))


@pointwise(kernel="softplus_backward", kernel_if={"beta": ..., "threshold": ...}, **private,
           samples=lambda t: [t.args(t(4), t(4), 1, 20), t.args(t(4), t(4), 2.0, 1.0)])
def softplus_backward(xp, grad_output: Tensor, input: Tensor, beta: float, threshold: float):
    "The gradient of softplus: grad_output * sigmoid(beta * input), grad_output itself above the threshold."
    scaled = input * input.dtype.type(beta)
    return xp.where(scaled > threshold, grad_output, grad_output / (1 + xp.exp(-scaled)))


def softplus_second(g, grad_output, input, beta, threshold):
    scaled = input * beta
    s = scaled.sigmoid()
    return g * grad_output * (s * (1 - s) * beta).masked_fill(scaled >= threshold, 0)


softplus_backward.rule(grad_output=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold),
                       input=softplus_second)


@pointwise(kernel="log_sigmoid", out="expected scalar type {0.legacy} but found {1.legacy}", **functional,
           node="LogSigmoidBackward0", inplace=False, samples=line)
def logsigmoid(xp, input: Tensor):
    "The logarithm of sigmoid: out = -log(1 + e ** -input)."
    need(input, FLOATS, "log_sigmoid_cpu")
    return xp.minimum(input, input.dtype.type(0)) - xp.log1p(xp.exp(-xp.absolute(input)))
logsigmoid.rule(input=lambda g, input: log_sigmoid_backward(g, input))


@pointwise(kernel="log_sigmoid_backward", **private, samples=lambda t: [t.args(t(4), t(4))])
def log_sigmoid_backward(xp, grad_output: Tensor, input: Tensor):
    "The gradient of logsigmoid: grad_output * sigmoid(-input)."
    return grad_output / (1 + xp.exp(input))


def log_sigmoid_second(g, grad_output, input):
    s = input.sigmoid()
    return g * grad_output * (s * (s - 1))


log_sigmoid_backward.rule(grad_output=lambda g, input: log_sigmoid_backward(g, input), input=log_sigmoid_second)


@composite(**functional, samples=line)
def softsign(input: Tensor) -> Tensor:
    "out = input / (1 + |input|)."
    return input / (input.abs() + 1)


@composite(**functional, samples=line)
def tanhshrink(input: Tensor) -> Tensor:
    "out = input - tanh(input)."
    return input - input.tanh()


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


@op(strides="like",
    kernel="glu_halves", **functional, check=check_glu, meta=halved,
    samples=lambda t: [t.args(t(4)), t.args(t(3, 4)), t.args(t(4, 3), 0)],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"),
                      (t.args(t()), RuntimeError, "glu does not support scalars because halving size must be even")])
def glu(xp, input: Tensor, dim: int = -1):
    "The gated linear unit: out = a * sigmoid(b), a and b being the halves of input along dim."
    a, b = xp.split(input, 2, axis=dim)
    return a / (1 + xp.exp(-b))


glu.rule(input=lambda g, input, dim: glu_backward(g, input, dim))


@op(strides="like",
    kernel="glu_backward", **private, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 2), t(3, 4), -1), t.args(t(2, 3), t(4, 3), 0)])
def glu_backward(xp, grad_output: Tensor, input: Tensor, dim: int):
    "The gradient of glu: grad_output * s for the half a, grad_output * a * s * (1 - s) for b, s being sigmoid(b)."
    a, b = xp.split(input, 2, axis=dim)
    gate = 1 / (1 + xp.exp(-b))
    return xp.concatenate([grad_output * gate, grad_output * gate * a * (1 - gate)], dim)


@glu_backward.rules
def glu_second(g, grad_output, input, dim, needs):
    from claygrad.ops.join import cat
    (first, second), (a, b) = g.chunk(2, dim), input.chunk(2, dim)
    gate = b.sigmoid()
    slope = gate * (1 - gate)
    return (first * gate + second * a * slope if needs[0] else None,
            cat([second * grad_output * slope, grad_output * slope * (first + second * a * (1 - 2 * gate))], dim)
            if needs[1] else None)
