"""Losses of classification: a distribution over classes against the right class or the right distribution."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import float32, float64, int64, uint8
from claygrad.ops._losses import functional, private, reduce, reduction_of
from claygrad.ops._registry import composite, constant, op
from claygrad.ops._words import FLOATS, need
from claygrad.ops.arithmetic import divided, scaled

if TYPE_CHECKING:
    from claygrad.core import Tensor

reduce_loss = reduce         # the losses have a parameter named `reduce`


# Note [Classes]
# The class axis is 1, or 0 for a single example (one axis, a 0-dim target). The target holds one class for every place
# of the other axes; targets equal to `ignore_index` count for nothing.

def class_axis(input) -> int:
    return 0 if input.ndim == 1 else 1


def target_shape(input: Tensor) -> tuple[int, ...]:
    return tuple(n for d, n in enumerate(input.shape) if d != class_axis(input))


def sorted_out(xp, target, weight, ignore_index: int, classes: int):
    """The classes with the ignored ones replaced by 0, and the weight of every place (0 where ignored)."""
    counted = target != ignore_index
    wrong = counted & ((target < 0) | (target >= classes))
    if xp.any(wrong):
        raise IndexError(f"Target {int(target[wrong].reshape(-1)[0])} is out of bounds.")
    safe = xp.where(counted, target, 0).astype("int64")
    return safe, counted if weight is None else counted * weight[safe]


def nll_result_shape(input: Tensor, reduction: str) -> tuple[int, ...]:
    return target_shape(input) if reduction == "none" else ()


@op(kernel="nll_loss", name="_nll_loss",
    node=lambda input: "NllLossBackward0" if input.dim() <= 2 else "NllLoss2DBackward0",
    meta=nll_result_shape, **private,
    samples=lambda t: [t.args(t(3, 4), t.index((3,), 4), None, "mean", -100)])
def picked_loss(xp, input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int):
    "Minus the input at the target class, weighted, reduced; the mean is over the weights."
    need(input, FLOATS, "nll_loss_out_frame" if input.ndim <= 2 else "nll_loss2d_forward_out_frame")
    axis = class_axis(input)
    safe, weights = sorted_out(xp, target, weight, ignore_index, input.shape[axis])
    loss = -xp.take_along_axis(input, xp.expand_dims(safe, axis), axis).squeeze(axis)
    loss = xp.where(weights != 0, loss * weights, 0).astype(input.dtype)          # an ignored infinity is still ignored
    if reduction == "none":
        return xp.ascontiguousarray(loss) if loss.ndim else loss
    return loss.sum() if reduction == "sum" else xp.true_divide(loss.sum(), weights.sum()).astype(input.dtype)


def picked_grad(g, input_shape, target, weight, reduction, ignore_index):
    return placed_grad(g, target, weight, reduction, ignore_index, tuple(input_shape))


picked_loss.rule(input=picked_grad, target=constant, weight=constant)


@op(kernel="nll_loss_backward", name="_nll_loss_backward", node="NllLossBackwardBackward0", meta=lambda shape: shape,
    **private,
    samples=lambda t: [t.args(t(), t.index((3,), 4), None, "mean", -100, (3, 4))])
def placed_grad(xp, grad_output: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int,
                shape: tuple[int, ...]):
    "The gradient of the picked loss: minus the weight at the target class, zero elsewhere."
    axis = 0 if len(shape) == 1 else 1
    safe, weights = sorted_out(xp, target, weight, ignore_index, shape[axis])
    each = -grad_output * weights
    if reduction == "mean":
        each = each / weights.sum()
    each = xp.where(weights != 0, each, 0)               # zero, not 0 / 0, when everything is ignored
    out = xp.zeros(shape, dtype=grad_output.dtype)
    xp.put_along_axis(out, xp.expand_dims(safe, axis), xp.expand_dims(each, axis).astype(out.dtype), axis)
    return out


def placed_second(g, target, weight, reduction, ignore_index):
    return picked_loss(g, target, weight, reduction, ignore_index)


placed_grad.rule(grad_output=placed_second, target=constant, weight=constant)


def check_nll(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if input.dim() == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    axis = class_axis(input)
    wanted = target_shape(input)
    if input.dim() != 1 and (target.dim() == 0 or input.shape[0] != target.shape[0]):
        count = target.shape[0] if target.dim() else 1
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({count}).")
    if input.dim() <= 2 and target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dtype not in (int64, uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.legacy}")
    if input.dim() == 1 and target.dim() == 1 and target.shape[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    if input.dim() == 4 and target.dim() != 3:
        raise RuntimeError("only batches of spatial targets supported (3D tensors) "
                           f"but got targets of dimension: {target.dim()}")
    if input.dim() == 4 and tuple(target.shape) != wanted:
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}")
    if input.dim() > 2 and tuple(target.shape) != wanted:
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")
    if weight is not None:
        if weight.dim() != 1 or weight.numel() != input.shape[axis]:
            raise RuntimeError(f"weight tensor should be defined either for all {input.shape[axis]} classes or "
                               f"no classes but got weight tensor of shape: {list(weight.shape)}")
        if weight.dtype != input.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {weight.dtype.legacy}")


def negative_log_likelihood(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str,
                            ignore_index: int) -> Tensor:
    check_nll(input, target, weight)
    if input.dim() == 1 and target.dim() == 1:          # one example, its class in a list of one
        target = target.reshape(())
    return picked_loss(input, target, weight, reduction, ignore_index)


def examples(t) -> list:
    reductions = [t.args(t(3, 4), t.index((3,), 4), reduction=r) for r in ("mean", "sum", "none")]
    return [*reductions, t.args(t(3, 4), t.index((3,), 4), t(4, low=0.1, requires_grad=False)),
            t.args(t(4), t.index((), 4)),
            t.args(t(3, 4), t.index((3,), 2), ignore_index=1, reduction="sum"), t.args(t(2, 4, 3), t.index((2, 3), 4)),
            t.args(t(2, 4, 3, 2), t.index((2, 3, 2), 4), t(4, low=0.1, requires_grad=False), reduction="none")]


def mistakes(t) -> list:
    return [(t.args(t(2, 3), t.index((2,), 1).add(5)), IndexError, "Target 5 is out of bounds."),
            (t.args(t(2, 3), t.index((3,), 3)), ValueError,
             "Expected input batch_size (2) to match target batch_size (3)."),
            (t.args(t(2, 3), t.index((2,), 3), t(2, requires_grad=False)), RuntimeError,
             "weight tensor should be defined either for all 3 classes or no classes"),
            (t.args(t(2, 3), t(2, dtype="float32", requires_grad=False)), RuntimeError,
             "expected target dtype to be Long or Byte, but got Float")]


@composite(**functional, native="nll", parts=(picked_loss,), samples=examples, errors=lambda t: [
    *mistakes(t), (t.args(t(2), t.index((2,), 2)), ValueError, "For 1D input, 1D target must have size 1, but got")])
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100,
             reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "The negative log likelihood: minus the log-probability that `input` gives the target class, weighted and reduced."
    return negative_log_likelihood(input, target, weight, reduction_of(size_average, reduce, reduction), ignore_index)


# Cross entropy

# Note [Cross entropy of rows]
# Class numbers for a matrix of scores, the common case, are one operation: it keeps the highest score and the logarithm
# of the sum of every row (2, rows), from which its gradient, scale * (softmax(input) - target), is made in one pass.

@op(kernel="cross_entropy", name="_cross_entropy", node="NllLossBackward0", differentiable=(0,), **private,
    meta=lambda input, reduction: [(input.shape[:1] if reduction == "none" else (), input.dtype),
                                   ((2, input.shape[0]), input.dtype)],
    samples=lambda t: [t.args(t(3, 4), t.index((3,), 4), r, -100) for r in ("mean", "sum", "none")])
def rows_loss(xp, input: Tensor, target: Tensor, reduction: str, ignore_index: int):
    "nll_loss(log_softmax(input)), and what its gradient needs."
    safe, counted = sorted_out(xp, target, None, ignore_index, input.shape[1])
    top = input.max(axis=1) if input.shape[1] else xp.full(input.shape[:1], -xp.inf, input.dtype)
    scores = input - top[:, None]
    logs = xp.log(xp.exp(scores).sum(axis=1))
    picked = xp.take_along_axis(scores, safe[:, None], 1)[:, 0] if len(safe) else logs
    loss = xp.where(counted, logs - picked, 0).astype(input.dtype)
    if reduction != "none":
        loss = loss.sum() if reduction == "sum" else xp.true_divide(loss.sum(), counted.sum()).astype(input.dtype)
    return loss, xp.stack([top, logs])


def rows_grad(g, aux, input, target, reduction, ignore_index):
    return rows_backward(g, input, target, aux[0], reduction, ignore_index)


rows_loss.rule(input=rows_grad, target=constant)


@op(kernel="cross_entropy_backward", name="_cross_entropy_backward", node="NllLossBackwardBackward0",
    meta=lambda input: input.shape, **private)
def rows_backward(xp, grad_output: Tensor, input: Tensor, target: Tensor, kept: Tensor, reduction: str,
                  ignore_index: int):
    "The gradient of the scores."
    safe, counted = sorted_out(xp, target, None, ignore_index, input.shape[1])
    scale = grad_output * counted
    if reduction == "mean":
        scale = scale / counted.sum()
    out = xp.exp(input - kept[0][:, None] - kept[1][:, None]) * scale[:, None]
    out[xp.arange(len(safe)), safe] -= scale
    return xp.where(counted[:, None], out, 0).astype(input.dtype)


@rows_backward.rules(constant=("target", "kept"))
def rows_second(g, grad_output, input, target, reduction, ignore_index):
    counted = target != ignore_index
    share = counted.to(input.dtype)
    if reduction == "mean":
        share = share / counted.sum().clamp(min=1)
    chances = input.softmax(1)
    along = (g * chances).sum(1, keepdim=True)
    change = (along - g.gather(1, target.masked_fill(~counted, 0).unsqueeze(1))).squeeze(1) * share
    to_input = (g - along) * chances * (grad_output * share).unsqueeze(1)
    return change if reduction == "none" else change.sum(), to_input, None, None


def by_rows(input: Tensor, target: Tensor) -> bool:
    return (target.dtype is int64 and input.dim() == 2 and target.dim() == 1 and input.dtype in (float32, float64)
            and input.shape[0] == target.shape[0] and input.shape[1] > 0)


@composite(**functional, native="cross_entropy", parts=(rows_loss,), errors=mistakes, samples=lambda t: [
    *examples(t), t.args(t(3, 4), t.index((3,), 4), label_smoothing=0.1), t.args(t(3, 4), t(3, 4, low=0.1, high=0.9)),
    t.args(t(2, 4, 3), t(2, 4, 3, low=0.1, high=0.9), t(4, low=0.1, requires_grad=False), label_smoothing=0.2,
           reduction="none"),
    t.args(t(3, 4), t.index((3,), 2), t(4, low=0.1, requires_grad=False), ignore_index=1, label_smoothing=0.3)])
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100,
                  reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy between scores (logits) and targets, which are class indices or probabilities.

    It equals nll_loss(log_softmax(input, 1), target). `label_smoothing` mixes the targets with the uniform
    distribution. Targets equal to `ignore_index` do not count.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if label_smoothing == 0 and weight is None and by_rows(input, target):
        return rows_loss(input, target, reduction, ignore_index)[0]
    axis = class_axis(input)
    if input.shape == target.shape:
        return against_probabilities(input, target, weight, reduction, ignore_index, label_smoothing, axis)
    scores = input.log_softmax(axis)
    loss = negative_log_likelihood(scores, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    uniform = uniform_loss(scores, target, weight, reduction, ignore_index, axis)
    return scaled(loss, 1 - label_smoothing) + scaled(uniform, label_smoothing / input.shape[axis])


def per_class(weight: Tensor, input: Tensor, axis: int) -> Tensor:
    return weight.view([-1 if d == axis else 1 for d in range(input.dim())])


def against_probabilities(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int,
                          smoothing: float, axis: int):
    if not target.is_floating_point():
        raise RuntimeError("Expected floating point type for target with class probabilities, "
                           f"got {target.dtype.legacy}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input.shape[axis] if input.dim() else 1
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
                           f"no classes but got weight tensor of shape: {list(weight.shape)}")
    scores = input.log_softmax(axis)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    products = scores * target if weight is None else scores * target * per_class(weight, input, axis)
    if reduction == "mean":
        return divided(-products.sum(), input.numel() / classes if classes else 0.0)
    return -products.sum(axis) if reduction == "none" else -products.sum()


def uniform_loss(scores: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int,
                 axis: int) -> Tensor:
    """The loss against all classes alike, where the target is not ignored."""
    if scores.dim() == 1 and target.dim() == 1:
        target = target.reshape(())
    ignored = target == ignore_index
    loss = -(scores if weight is None else scores * per_class(weight, scores, axis)).sum(axis).masked_fill(ignored, 0)
    if reduction != "mean":
        return reduce_loss(loss, reduction)
    if weight is None:
        return loss.sum() / (~ignored).sum()
    return loss.sum() / weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0).sum()
