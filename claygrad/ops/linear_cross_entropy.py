"""A linear map and the cross entropy of its scores: with options chunk by chunk, without all scores at once."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from claygrad.core import DTYPES
from claygrad.core.graph.intercept import differentiated
from claygrad.core.user_warnings import warn
from claygrad.ops._recurrent import gradients_again, linear
from claygrad.ops._registry import NAMESPACES, composite, constant, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

inner = {"function": False, "method": False, "out": False}
functional = NAMESPACES["nn.functional"]


def chunks(count: int, size: int):
    return [slice(at, min(at + size, count)) for at in range(0, count, size)]


def scores_of(xp, input, linear_weight, linear_bias):
    out = input @ linear_weight.T
    if linear_bias is not None:
        out += linear_bias
    return out


# loss = share * (log(sum(exp(scores))) - scores[target]), row by row; backward computes the scores anew
@op(name="_linear_cross_entropy", node="LinearCrossEntropyBackward0", **inner, differentiable=(0,),
    meta=lambda input: [((input.shape[0],), input.dtype)] * 2,
    samples=lambda t: [t.args(t(5, 3), t(4, 3), t(4), t.index((5,), 4), t(5, low=0.1, requires_grad=False), 2),
                       t.args(t(3, 3), t(4, 3), None, t.index((3,), 4), t(3, low=0.1, requires_grad=False), 8)])
def chunked(xp, input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, target: Tensor, share: Tensor,
            size: int):
    loss, normal = xp.empty((2, input.shape[0]), dtype=input.dtype)
    for rows in chunks(input.shape[0], size):
        scores = scores_of(xp, input[rows], linear_weight, linear_bias)
        top = scores.max(axis=1)
        target_scores = xp.take_along_axis(scores, target[rows, None], 1)[:, 0]
        scores -= top[:, None]
        normal[rows] = xp.log(xp.exp(scores, out=scores).sum(axis=1)) + top
        loss[rows] = (normal[rows] - target_scores) * share[rows]
    return loss, normal


def at_once(input, linear_weight, linear_bias, target, share):
    "The same by tensor operations."
    scores = linear(input, linear_weight, linear_bias).log_softmax(1)
    return (-scores.gather(1, target.unsqueeze(1)).squeeze(1) * share,)


@chunked.rules
def chunked_grads(g, aux, input, linear_weight, linear_bias, target, share, size, needs):
    needs = needs[:3]
    if differentiated():
        return (*gradients_again(at_once, (input, linear_weight, linear_bias), needs, (g,), target, share), None, None)
    out = chunked_backward(g, aux[0], input, linear_weight, linear_bias, target, share, size, needs)
    return (*(x if need else None for x, need in zip(out, needs)), None, None)


@op(name="_linear_cross_entropy_backward", **inner, meta="data")
def chunked_backward(xp, g: Tensor, normal: Tensor, input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None,
                     target: Tensor, share: Tensor, size: int, needs: tuple):
    to_input = xp.empty_like(input) if needs[0] else input[:0]
    to_weight = xp.zeros_like(linear_weight) if needs[1] else linear_weight[:0]
    to_bias = xp.zeros_like(linear_bias) if needs[2] else input[:0]
    for rows in chunks(input.shape[0], size):
        scores = scores_of(xp, input[rows], linear_weight, linear_bias)
        scores -= normal[rows, None]
        xp.exp(scores, out=scores)
        scores[xp.arange(scores.shape[0]), target[rows]] -= 1
        scores *= (g[rows] * share[rows])[:, None]
        if needs[0]:
            to_input[rows] = scores @ linear_weight
        if needs[1]:
            to_weight += scores.T @ input[rows]
        if needs[2]:
            to_bias += scores.sum(axis=0)
    return to_input, to_weight, to_bias


chunked_backward.rule(**dict.fromkeys(("g", "normal", "input", "linear_weight", "linear_bias", "target", "share"),
                                      constant))


def in_chunks(input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None,
              reduction: str, ignore_index: int, options: Any) -> Tensor:
    batched = input.dim() == 2
    if not batched:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    classes = linear_weight.shape[0]
    fitted = options._adjust(num_batches=input.shape[0], in_features=input.shape[1], num_classes=classes,
                             dtype=input.dtype, device=input.device)
    is_half = input.dtype.name in ("float16", "bfloat16") and fitted.acc_dtype.name == "float32"
    if fitted.acc_dtype is not input.dtype and not is_half:
        raise RuntimeError("linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, but got "
                           f"{fitted.acc_dtype} acc_dtype and {input.dtype} inputs.")
    kept = target != ignore_index
    safe = target.masked_fill(~kept, 0)
    wrong = (safe < 0) | (safe >= classes)
    if wrong.any():
        raise IndexError(f"Target {safe[wrong][0].item()} is out of bounds.")
    share = kept.to(input.dtype) if weight is None else weight.detach()[safe] * kept
    loss = chunked(input, linear_weight, linear_bias, safe, share, fitted.batch_chunk_size)[0]
    if reduction == "mean":
        loss = loss.sum() / share.sum()
    elif reduction == "sum":
        loss = loss.sum()
    return loss if batched or reduction != "none" else loss.squeeze(0)


def check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively")
    shape = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != shape:
        raise RuntimeError(f"expected linear_bias shape {shape}, got {tuple(linear_bias.shape)}")
    if len(shape) > 1 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
                           f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
                           f"{tuple(input.shape)}")


@composite(namespace="nn.functional", method=False,
           samples=lambda t: [t.args(t(3, 4), t(5, 4), t.index((3,), 5), linear_bias=t(5)),
                              t.args(t(3, 4), t(5, 4), t.index((3,), 5), reduction="sum", label_smoothing=0.1)],
           errors=lambda t: [(t.args(t(3, 4), t(5, 3), t.index((3,), 5)), RuntimeError,
                              "expected equal input and linear_weight last dimensions (in_features), got 4 and 3"),
                             (t.args(t(3, 4), t(5), t.index((3,), 5)), RuntimeError,
                              "expected linear_weight with dimensionality at least 2, got 1")])
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
                         weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0, options: Any = None) -> Tensor:
    "cross_entropy(linear(input, linear_weight, linear_bias), target); with `options`, without all scores at once."
    check(input, linear_weight, linear_bias)
    classes, *further = linear_weight.shape[:-1]
    shape = (*input.shape[:-1], classes, *further)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None:
        if (not further and reduction in ("mean", "sum", "none") and label_smoothing == 0
                and target.dtype is DTYPES["int64"]):
            return in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignore_index, options)
        warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
             "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). Got "
             f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
             f"out_features={tuple(further)}, tracing=False, linear_bias.shape="
             f"{None if linear_bias is None else tuple(linear_bias.shape)}.")
    if further:
        rows = math.prod(further, start=classes)
        linear_weight = linear_weight.reshape(rows, linear_weight.shape[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(rows)
    scores = functional["linear"](input, linear_weight, linear_bias).reshape(shape)
    return functional["cross_entropy"](scores, target, weight=weight, reduction=reduction, ignore_index=ignore_index,
                                       label_smoothing=label_smoothing)
