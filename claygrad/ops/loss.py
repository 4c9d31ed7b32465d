"""Losses of numbers and of probabilities: how far a prediction is from what it should have been."""
from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops._losses import (
    functional,
    numbers,
    private,
    reduce,
    reduced,
    reduced_shape,
    reduction_of,
    same_sizes,
    shared,
    weighted,
)
from claygrad.ops._registry import composite, op, pointwise
from claygrad.ops._words import FLOATS, need

if TYPE_CHECKING:
    from claygrad.core import Tensor


def pair(t) -> tuple[Tensor, Tensor]:
    return t(3, 4), t(3, 4)


def three(t, **options) -> list:
    "One sample for every reduction."
    return [t.args(*pair(t), reduction=r, **options) for r in ("mean", "sum", "none")]


# Distances

@op(name="_mse_loss", kernel="squared", node="MseLossBackward0", promote="common", meta=reduced_shape, strides="like",
    **private,
    samples=lambda t: [t.args(*pair(t), r) for r in ("mean", "sum", "none")])
def squared_error(xp, input: Tensor, target: Tensor, reduction: str):
    "The square of the difference, reduced."
    need(input, FLOATS, "mse_cpu")
    error = input - target
    return reduced(xp, error * error, reduction)


@squared_error.rules
def squared_error_grads(g, input, target, reduction, needs):
    grad = mse_loss_backward(shared(g, reduction, input.numel()), input, target)
    return grad if needs[0] else None, -grad if needs[1] else None


# Gradients of single losses in the input. That in the target is its opposite, to every order.

slope = {**private, "inplace": False, "samples": lambda t: [t.args(t(3, 4), *pair(t)), t.args(t(), *pair(t))]}


@pointwise(kernel="squared_backward", **slope)
def mse_loss_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor):
    "The slope of the squared error: 2 * (input - target), times grad_output."
    return (input - target) * (grad_output * 2)
mse_loss_backward.rule(grad_output=lambda g, input, target: mse_loss_backward(g, input, target),
                       input=lambda g, grad_output: g * (grad_output * 2),
                       target=lambda g, grad_output: g * (grad_output * -2))


@composite(**functional, native="loss", parts=(squared_error,),
           samples=lambda t: [*three(t), t.args(*pair(t), weight=t(3, 4, low=0.1))],
           errors=lambda t: [(t.args(t(2), t(2), reduction="x"), ValueError, "x is not a valid value for reduction"),
                             (t.args(t(2), t(2), weight=t(3)), ValueError,
                              "Weights and input must have the same size.")])
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:
    """The mean squared error: the mean of (input - target) ** 2; with `reduction` 'sum' or 'none' the sum or each
    element."""
    reduction = reduction_of(size_average, reduce, reduction)
    a, b = same_sizes(input, target)
    if weight is not None:
        return weighted((a - b) ** 2, weight, reduction, input)
    return squared_error(*numbers(a, b), reduction)


@composite(**functional, samples=lambda t: [*three(t), t.args(*pair(t), weight=t(3, 4, low=0.1))])
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean",
            weight: Tensor | None = None) -> Tensor:
    "The mean absolute error: the mean of |input - target|; with `reduction` 'sum' or 'none' the sum or each element."
    reduction = reduction_of(size_average, reduce, reduction)
    a, b = same_sizes(input, target)
    error = (a - b).abs()
    return reduce_loss(error, reduction) if weight is None else weighted(error, weight, reduction, input)


reduce_loss = reduce         # the losses have a parameter named `reduce`


@op(name="_smooth_l1_loss", kernel="smooth", kernel_if={"beta": ...}, node="SmoothL1LossBackward0", promote="common",
    meta=reduced_shape, strides="like", **private,
    samples=lambda t: [t.args(*pair(t), "mean", 0.7)])
def smooth_error(xp, input: Tensor, target: Tensor, reduction: str, beta: float):
    "A parabola up to beta, a line beyond."
    need(input, FLOATS, "smooth_l1_cpu")
    size = xp.absolute(input - target)
    return reduced(xp, xp.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta).astype(input.dtype),
                   reduction)


@smooth_error.rules
def smooth_error_grads(g, input, target, reduction, beta, needs):
    grad = smooth_l1_loss_backward(shared(g, reduction, input.numel()), input, target, beta)
    return grad if needs[0] else None, -grad if needs[1] else None


sloped = {**slope, "samples": lambda t: [t.args(t(3, 4), *pair(t), 0.7), t.args(t(), *pair(t), 1.0)]}


@pointwise(kernel="smooth_backward", kernel_if={"beta": ...}, **sloped)
def smooth_l1_loss_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor, beta: float):
    "The slope of the smooth error: (input - target) / beta, from -1 to 1, times grad_output."
    return xp.clip((input - target) / beta, -1, 1) * grad_output


def smooth_second(g, grad_output, input, target, beta):
    return (g * grad_output / beta).where((input - target).abs() < beta, 0)


smooth_l1_loss_backward.rule(
    grad_output=lambda g, input, target, beta: smooth_l1_loss_backward(g, input, target, beta), input=smooth_second,
    target=lambda g, grad_output, input, target, beta: -smooth_second(g, grad_output, input, target, beta))


@composite(**functional, native="loss", parts=(smooth_error,),
           samples=lambda t: [*three(t), t.args(*pair(t), beta=0.3), t.args(*pair(t), beta=0.0)],
           errors=lambda t: [(t.args(t(2), t(2), beta=-1.0), RuntimeError,
                              "smooth_l1_loss does not support negative values for beta.")])
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    "With d = |input - target|: d ** 2 / (2 * beta) where d < beta, d - beta / 2 elsewhere; then reduced."
    reduction = reduction_of(size_average, reduce, reduction)
    a, b = same_sizes(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return reduce_loss((a - b).abs(), reduction) if beta == 0 else smooth_error(*numbers(a, b), reduction, beta)


def check_result(written: Tensor, other: Tensor) -> None:
    """Losses that PyTorch computes in the memory of one operand refuse a float result in integers."""
    if other.dtype.is_floating_point and not (written.dtype.is_floating_point or written.dtype.is_complex):
        raise RuntimeError(f"result type {other.dtype.legacy} can't be cast to the desired output type "
                           f"{written.dtype.legacy}")


@op(name="_huber_loss", kernel="huber", kernel_if={"delta": ...}, node="HuberLossBackward0",
    check=lambda input, target: check_result(input, target), meta=reduced_shape, strides="like", **private,
    samples=lambda t: [t.args(*pair(t), "mean", 0.7)])
def huber_error(xp, input: Tensor, target: Tensor, reduction: str, delta: float):
    "A parabola up to delta, a line beyond, with slope delta."
    need(input, FLOATS, "huber_cpu")
    size = xp.absolute(input - target)
    return reduced(xp, xp.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta)).astype(input.dtype),
                   reduction)


@huber_error.rules
def huber_error_grads(g, input, target, reduction, delta, needs):
    grad = huber_loss_backward(shared(g, reduction, input.numel()), input, target, delta)
    return grad if needs[0] else None, -grad if needs[1] else None


@pointwise(kernel="huber_backward", kernel_if={"delta": ...}, **sloped)
def huber_loss_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor, delta: float):
    "The slope of the Huber error: input - target, from -delta to delta, times grad_output."
    return xp.clip(input - target, -delta, delta) * grad_output


def huber_second(g, grad_output, input, target, delta):
    return (g * grad_output).where((input - target).abs() < delta, 0)


huber_loss_backward.rule(
    grad_output=lambda g, input, target, delta: huber_loss_backward(g, input, target, delta), input=huber_second,
    target=lambda g, grad_output, input, target, delta: -huber_second(g, grad_output, input, target, delta))


@composite(**functional, native="loss", parts=(huber_error,),
           samples=lambda t: [*three(t), t.args(*pair(t), delta=0.3), t.args(*pair(t), weight=t(3, 4, low=0.1))],
           errors=lambda t: [(t.args(t(2), t(2), delta=0.0), RuntimeError,
                              "huber_loss does not support non-positive values for delta.")])
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:
    "With d = |input - target|: d ** 2 / 2 where d <= delta, delta * (d - delta / 2) elsewhere; then reduced."
    reduction = reduction_of(None, None, reduction)
    a, b = same_sizes(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return huber_error(a, b, reduction, delta)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduce_loss(huber_error(a, b, "none", delta) * weight, reduction)


# Probabilities

def check_bce(input, target, weight) -> None:
    for other in (target, weight):
        if other is not None and other.dtype != input.dtype:
            raise RuntimeError(f"Found dtype {other.dtype.legacy} but expected {input.dtype.legacy}")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"binary_cross_entropy\" not implemented for '{input.dtype.legacy}'")


@op(kernel="binary_cross_entropy", name="_binary_cross_entropy", node="BinaryCrossEntropyBackward0", check=check_bce,
    meta=reduced_shape, strides="like", **private,
    samples=lambda t: [t.args(t(3, low=0.1, high=0.9), t(3, low=0.1, high=0.9), None, "mean")])
def bce(xp, input: Tensor, target: Tensor, weight: Tensor | None, reduction: str):
    "The cross entropy of two-way probabilities, its logarithms bounded by -100."
    for name, values in (("input", input), ("target", target)):
        if not xp.all((values >= 0) & (values <= 1)):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    loss = (target - 1) * xp.maximum(xp.log1p(-input), -100) - target * xp.maximum(xp.log(input), -100)
    return reduced(xp, (loss if weight is None else loss * weight).astype(input.dtype), reduction)


@bce.rules(constant=("weight",))
def bce_grads(g, input, target, weight, reduction, needs):
    each = shared(g, reduction, input.numel())
    each = each if weight is None else each * weight
    return (bce_backward(each, input, target) if needs[0] else None,
            each * ((-input).log1p().clamp(min=-100) - input.log().clamp(min=-100)) if needs[1] else None, None)


@pointwise(kernel="bce_backward", **slope | {"samples": lambda t: [
    t.args(t(3, 4), t(3, 4, low=0.1, high=0.9), t(3, 4)), t.args(t(), t(3, 4, low=0.1, high=0.9), t(3, 4))]})
def bce_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor):
    "The slope of the cross entropy of probabilities: (input - target) / (input * (1 - input)), times grad_output."
    return grad_output * (input - target) / xp.maximum((1 - input) * input, 1e-12)


def bce_second(g, grad_output, input, target):
    product = (1 - input) * input
    size = product.clamp(min=1e-12)
    curved = ((input - target) * (1 - 2 * input) / size).masked_fill(product < 1e-12, 0)
    return g * grad_output * (1 - curved) / size


bce_backward.rule(
    grad_output=lambda g, input, target: bce_backward(g, input, target), input=bce_second,
    target=lambda g, grad_output, input: -g * grad_output / ((1 - input) * input).clamp(min=1e-12))


@composite(**functional, native="weighted_loss", parts=(bce,),
           samples=lambda t: [t.args(t(3, 4, low=0.1, high=0.9), t(3, 4, low=0.1, high=0.9), reduction=r)
                              for r in ("mean", "sum", "none")]
           + [t.args(t(3, 4, low=0.1, high=0.9), t(3, 4, low=0.1, high=0.9),
                     weight=t(4, low=0.1, requires_grad=False))],
           errors=lambda t: [(t.args(t(2, low=2, high=3), t(2, low=0, high=1)), RuntimeError,
                              "all elements of input should be between 0 and 1"),
                             (t.args(t(2, low=0, high=1, dtype="float32"), t(2, low=0, high=1, dtype="float64")),
                              RuntimeError, "Found dtype Double but expected Float"),
                             (t.args(t(2, low=0, high=1), t(3, low=0, high=1)), ValueError, "Using a target size (")])
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "The cross entropy of probabilities: -(target * log(input) + (1 - target) * log(1 - input)), reduced."
    reduction = reduction_of(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) "
                         "is deprecated. Please ensure they have the same size.")
    return bce(input, target, weight if weight is None else weight.expand(input.shape), reduction)


def check_bce_logits(input, target) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"log_sigmoid_cpu\" not implemented for '{input.dtype.legacy}'")
    check_result(target, input)


@op(name="_binary_cross_entropy_with_logits", kernel="logits", kernel_if={"weight": None, "pos_weight": None},
    node="BinaryCrossEntropyWithLogitsBackward0", check=check_bce_logits, promote="common", meta=reduced_shape,
    strides="like",
    **private, samples=lambda t: [t.args(t(3), t(3, low=0.1, high=0.9), None, None, "mean")])
def bce_logits(xp, input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str):
    "The cross entropy of sigmoid(input), computed without ever forming it."
    minus_log = xp.log1p(xp.exp(-xp.absolute(input))) - xp.minimum(input, 0)          # -log(sigmoid(input))
    loss = (1 - target) * input + (minus_log if pos_weight is None else (1 + (pos_weight - 1) * target) * minus_log)
    return reduced(xp, loss if weight is None else loss * weight, reduction)


@bce_logits.rules(constant=("weight", "pos_weight"))
def bce_logits_grads(g, input, target, weight, pos_weight, reduction, needs):
    from claygrad.ops.activation import logsigmoid
    count = input.numel()
    each = shared(g, reduction, count)
    each = each if weight is None else each * weight
    if pos_weight is None:
        return (bce_logits_backward(each, input, target) if needs[0] else None, each * -input if needs[1] else None,
                None, None)
    positive = pos_weight * target
    return (each * ((positive + 1 - target) * input.sigmoid() - positive) if needs[0] else None,
            each * (-input - (pos_weight - 1) * logsigmoid(input)) if needs[1] else None, None, None)


@pointwise(kernel="logits_backward", **slope)
def bce_logits_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor):
    "The slope of the cross entropy of sigmoid(input): sigmoid(input) - target, times grad_output."
    return grad_output * (1 / (1 + xp.exp(-input)) - target)


def bce_logits_second(g, grad_output, input):
    s = input.sigmoid()
    return g * grad_output * (s * (1 - s))


bce_logits_backward.rule(grad_output=lambda g, input, target: bce_logits_backward(g, input, target),
                         input=bce_logits_second, target=lambda g, grad_output: g * -grad_output)


@composite(**functional, native="weighted_loss", parts=(bce_logits,),
           samples=lambda t: [*three(t), t.args(*pair(t), weight=t(4, low=0.1, requires_grad=False)),
                              t.args(*pair(t), pos_weight=t(4, low=0.1, requires_grad=False))],
           errors=lambda t: [(t.args(t(2), t(3)), ValueError, "Target size (")])
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: bool | None = None,
                                     reduce: bool | None = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """The binary cross entropy of sigmoid(input), computed without overflow. `pos_weight` multiplies the loss of
    positive targets."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return bce_logits(input, target, weight, pos_weight, reduction)


@composite(**functional,
           samples=lambda t: [t.args(t(3, 4), t(3, 4, low=0.1), reduction=r)
                              for r in ("mean", "sum", "none", "batchmean")]
           + [t.args(t(3, 4), t(3, 4), reduction="sum", log_target=True)],
           errors=lambda t: [(t.args(t(2, dtype="int64"), t(2, dtype="int64"), reduction="sum"), RuntimeError,
                              "kl_div: Integral inputs not supported.")])
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    "The Kullback-Leibler divergence of log-probabilities from a target: target * (log(target) - input), reduced."
    if size_average is None and reduce is None and reduction == "mean":
        warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
             "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
             "'mean' will be changed to behave the same as 'batchmean' in the next major release.")
    batch_mean = size_average is None and reduce is None and reduction == "batchmean"
    reduction = "sum" if batch_mean else reduction_of(size_average, reduce, reduction)
    loss = divergence(input, target, reduction, log_target)
    return loss / input.shape[0] if batch_mean and input.dim() else loss


def divergence(input: Tensor, target: Tensor, reduction: str, log_target: bool) -> Tensor:
    if input.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    return reduce_loss(loss, reduction)


@composite(**functional, samples=lambda t: [*three(t), t.args(t(3, 4), t(3, 4, low=0.5, high=5), full=True),
                                            t.args(t(3, 4, low=0.1), t(3, 4, low=0.1), log_input=False)])
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None,
                     eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "The Poisson likelihood: e ** input - target * input (input is the log of the rate); `full` adds Stirling's term."
    reduction = reduction_of(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (target * (2 * pi)).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


@composite(**functional,
           samples=lambda t: [t.args(*pair(t), t(3, 4, low=0.2), reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(*pair(t), t(3, low=0.2), full=True), t.args(*pair(t), 0.5),
              t.args(*pair(t), t(3, 4, low=0.2), eps=0.5)],
           errors=lambda t: [(t.args(t(2), t(2), -1.0), ValueError, "var has negative entry/entries"),
                             (t.args(t(2, 3), t(2, 3), t(3, low=0.1)), ValueError, "var is of incorrect size")])
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False,
                      eps: Tensor | float = 1e-6, reduction: str = "mean") -> Tensor:
    "The normal likelihood: (log(var) + (input - target) ** 2 / var) / 2, var at least eps; `full` adds log(2 pi) / 2."
    if isinstance(var, (int, float)):
        var = input.detach().new_ones(input.shape) * var
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.dim() == var.dim() and sum(v for n, v in zip(input.shape, var.shape) if n != v) == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if not (var.is_floating_point() or var.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {var.dtype.c_name}")
    smallest = eps if isinstance(eps, (int, float)) else eps.detach()
    var = var + (smallest - var.detach()).clamp(min=0)       # at least eps, with the gradient of var itself
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduce_loss(loss + 0.5 * log(2 * pi) if full else loss, reduction)


