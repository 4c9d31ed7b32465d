"""Margin losses over several classes: the right ones should score higher than the others, by a margin."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int64
from claygrad.ops._losses import functional, private, reduced, reduction_of
from claygrad.ops._registry import composite, constant, missing, op

if TYPE_CHECKING:
    from claygrad.core import Tensor


def examples(array):
    """(examples, classes): a single example has one axis, or none."""
    return array.reshape(1, -1) if array.ndim < 2 else array


def check_scores(input: Tensor) -> None:
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)}")


def check_kind(input: Tensor, kernel: str, target: Tensor) -> None:
    if input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.legacy}'")
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.legacy}")


def result_shape(input: Tensor, reduction: str) -> tuple[int, ...]:
    return tuple(input.shape[:1]) if reduction == "none" and input.ndim == 2 else ()


def shape_of(loss, input, reduction: str):
    """A loss for every example, or for the only one without an axis."""
    return loss.reshape(()) if reduction == "none" and input.ndim < 2 else loss


def share(xp, grad_output, reduction: str, count: int):
    """The gradient of the loss of every example."""
    each = grad_output.reshape(-1, 1)
    return each / grad_output.dtype.type(count) if reduction == "mean" else each


# One right class

def check_multi_margin(input, target, weight) -> None:
    check_scores(input)
    count = input.shape[0] if input.ndim == 2 else 1
    if target.ndim > 1 or target.numel() != count:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
                           f"samples (batch size). Expected target size [{count}], but got {list(target.shape)}. Input "
                           f"has shape {list(input.shape)}.")
    classes = input.shape[-1] if input.ndim else 1
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    check_kind(input, "multi_margin_loss_cpu_kernel", target)
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {weight.dtype.legacy}")


def excesses(xp, x, target, margin: float):
    """By how much every class comes nearer than the margin to the right one, which itself counts 0."""
    if target.size and (target.min() < 0 or target.max() >= x.shape[1]):
        raise RuntimeError("target out of range")
    rows = xp.arange(len(x))
    over = xp.maximum(x - x[rows, target][:, None] + x.dtype.type(margin), x.dtype.type(0))
    over[rows, target] = 0
    return rows, over


@op(kernel="multi_margin_loss", name="_multi_margin_loss", node="MultiMarginLossBackward0", check=check_multi_margin,
    meta=lambda target, reduction: tuple(target.shape) if reduction == "none" else (), **private,
    samples=lambda t: [t.args(t(3, 4), t.index((3,), 4), 1, 1.0, None, "mean")])
def multi_margin(xp, input: Tensor, target: Tensor, p: int, margin: float, weight: Tensor | None, reduction: str):
    "The mean over the classes of max(0, margin - x[target] + x) ** p, weighted and reduced."
    x, shape, target = examples(input), target.shape, target.reshape(-1)
    _, over = excesses(xp, x, target, margin)
    loss = (over if p == 1 else over * over).sum(axis=1) / x.dtype.type(x.shape[1])
    loss = loss if weight is None else loss * weight.reshape(-1)[target]
    return loss.reshape(shape) if reduction == "none" else reduced(xp, loss, reduction)


def multi_margin_grad(g, input, target, p, margin, weight, reduction):
    return multi_margin_backward(g, input, target, p, margin, weight, reduction)


multi_margin.rule(input=multi_margin_grad, target=constant, weight=constant)


@op(kernel="multi_margin_loss_backward", name="multi_margin_loss_backward", node="NotImplemented",
    meta=lambda input: input.shape, **private)
def multi_margin_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor, p: int, margin: float,
                          weight: Tensor | None, reduction: str):
    "The gradient of multi_margin_loss."
    x, target = examples(input), target.reshape(-1)
    rows, over = excesses(xp, x, target, margin)
    grad = ((over > 0).astype(x.dtype) if p == 1 else 2 * over) / x.dtype.type(x.shape[1])
    grad = grad if weight is None else grad * weight.reshape(-1)[target][:, None]
    grad[rows, target] = -grad.sum(axis=1)
    return (grad * share(xp, grad_output, reduction, len(x))).reshape(input.shape)


multi_margin_backward.rule(grad_output=missing, input=missing, target=constant, weight=constant)


@composite(**functional, native="multi_margin", parts=(multi_margin,),
           samples=lambda t: [t.args(t(3, 4), t.index((3,), 4), reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(t(3, 4), t.index((3,), 4), p=2, margin=0.5, weight=t(4, low=0.1, requires_grad=False)),
              t.args(t(4), t.index((), 4)), t.args(t(4), t.index((1,), 4), reduction="none")],
           errors=lambda t: [(t.args(t(3, 4), t.index((3,), 4), p=3), ValueError, "only p == 1 and p == 2 supported"),
                             (t.args(t(3, 4), t.index((2,), 4)), RuntimeError,
                              "multi_margin_loss: target tensor should be 1-D with size equal to the number of input"),
                             (t.args(t(3, 4), t.index((3,), 1).add(4)), RuntimeError, "target out of range")])
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "The mean over the wrong classes of max(0, margin - input[target] + input) ** p, weighted by class; then reduced."
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    return multi_margin(input, target, p, margin, weight, reduction)


# Several right classes

def check_multilabel(input, target) -> None:
    check_scores(input)
    if input.shape != target.shape and (input.ndim == 2 or target.ndim > 1 or target.numel() != input.numel()):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    check_kind(input, "multilabel_margin_loss_forward_out_frame", target)


def labels(xp, x, target):
    """The listed classes up to the first -1 with a mask of them, and whether each class is listed."""
    if target.size and (target.min() < -1 or target.max() >= x.shape[1]):
        raise RuntimeError("argument #2 'target' is out of range")
    counts = xp.cumprod(target != -1, axis=1).astype(bool)
    listed = xp.zeros(x.shape, dtype=bool)
    rows, indices = xp.nonzero(counts)
    listed[rows, target[rows, indices]] = True
    longest = int(counts.sum(axis=1).max()) if counts.size else 0
    return [(target[:, j], counts[:, j]) for j in range(longest)], listed


def shortfalls(xp, x, target):
    """For each place of the lists: the classes there, and what the unlisted ones lack to the margin of 1."""
    lists, listed = labels(xp, x, target)
    rows = xp.arange(len(x))
    for right, counts in lists:
        lack = xp.maximum(1 - x[rows, right][:, None] + x, x.dtype.type(0))
        lack[listed | ~counts[:, None]] = 0
        yield rows, right, lack


@op(kernel="multilabel_margin_loss", name="_multilabel_margin_loss", node="MultilabelMarginLossBackward0",
    check=check_multilabel, meta=result_shape,
    **private, samples=lambda t: [t.args(t(3, 4), t.index((3, 4), 4), "mean")])
def multilabel_margin(xp, input: Tensor, target: Tensor, reduction: str):
    "The sum over right and wrong classes of max(0, 1 - x[right] + x[wrong]) over the number of classes, reduced."
    x = examples(input)
    loss = xp.zeros(len(x), dtype=x.dtype)
    for _, _, lack in shortfalls(xp, x, target.reshape(x.shape)):
        loss += lack.sum(axis=1)
    return shape_of(reduced(xp, loss / x.dtype.type(x.shape[1]), reduction), input, reduction)


multilabel_margin.rule(input=lambda g, input, target, reduction: multilabel_backward(g, input, target, reduction),
                       target=constant)


@op(kernel="multilabel_margin_loss_backward", name="multilabel_margin_loss_backward", node="NotImplemented",
    meta=lambda input: input.shape, **private)
def multilabel_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor, reduction: str):
    "The gradient of multilabel_margin_loss."
    x = examples(input)
    grad = xp.zeros(x.shape, dtype=x.dtype)
    for rows, right, lack in shortfalls(xp, x, target.reshape(x.shape)):
        short = lack > 0
        grad += short
        grad[rows, right] -= short.sum(axis=1)
    return (grad / x.dtype.type(x.shape[1]) * share(xp, grad_output, reduction, len(x))).reshape(input.shape)


multilabel_backward.rule(grad_output=missing, input=missing, target=constant)


@composite(**functional, native="multilabel", parts=(multilabel_margin,),
           samples=lambda t: [t.args(t(3, 4), t.index((3, 4), 5) - 1, reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(t(4), t.index((4,), 4))],
           errors=lambda t: [(t.args(t(3, 4), t.index((2, 4), 4)), RuntimeError,
                              "inconsistent target size: [2, 4] for input of size: [3, 4]"),
                             (t.args(t(3, 4), t.index((3, 4), 1).add(4)), RuntimeError,
                              "argument #2 'target' is out of range")])
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None,
                           reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "For lists of right classes that end at -1: the sum of max(0, 1 - input[right] + input[wrong]), over the classes."
    return multilabel_margin(input, target, reduction_of(size_average, reduce, reduction))
