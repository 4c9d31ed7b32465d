"""Losses with a margin, and losses of pairs and triplets."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._losses import functional, private, reduce, reduced, reduced_shape, reduction_of, shared
from claygrad.ops._registry import composite, conj, constant, op

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor

reduce_loss = reduce         # the losses have a parameter named `reduce`


def signs(t, *shape):
    """A tensor of 1 and -1."""
    return t.index(shape, 2) * 2 - 1


@composite(**functional,
           samples=lambda t: [t.args(t(3, 4), signs(t, 3, 4), reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(t(5), signs(t, 5), 0.3)])
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "A distance where target is 1, max(0, margin - distance) where it is -1; then reduced."
    reduction = reduction_of(size_average, reduce, reduction)
    if not (input.is_floating_point() or input.is_complex()):
        margin = bool(margin) if input.dtype.name == "bool" else int(margin)      # integers stay integers
    far = (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    return reduce_loss(far + input.masked_fill(target == -1, 0), reduction)


@composite(**functional,
           samples=lambda t: [t.args(t(4), t(4), signs(t, 4), reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(t(4), t(4), signs(t, 4), 0.5)],
           errors=lambda t: [(t.args(t(2), t(2, 3), t(2)), RuntimeError,
                              "margin_ranking_loss : All input tensors should have same dimension")])
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                        size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "max(0, -target * (input1 - input2) + margin), reduced: input1 should be larger where target is 1, smaller at -1."
    reduction = reduction_of(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                           f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} ")
    return reduce_loss((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


def check_soft_margin(input) -> None:
    if input.dtype.name == "bool":
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. "
                           "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.legacy}")


@op(strides="like",
    name="_soft_margin_loss", kernel="soft_margin", node="SoftMarginLossBackward0", check=check_soft_margin,
    promote="common", meta=reduced_shape, **private,
    samples=lambda t: [t.args(t(4), signs(t, 4), "mean")])
def soft_margin(xp, input: Tensor, target: Tensor, reduction: str):
    "log(1 + e ** (-target * input)), reduced."
    return reduced(xp, xp.log1p(xp.exp(-target * input)), reduction)


def soft_margin_grad(g, input, target, reduction):
    return shared(g, reduction, input.numel()) * conj(-target * (-target * input).sigmoid())


soft_margin.rule(input=soft_margin_grad, target=constant)


@composite(**functional, native="loss", parts=(soft_margin,),
           samples=lambda t: [t.args(t(3, 4), signs(t, 3, 4), reduction=r) for r in ("mean", "sum", "none")])
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean") -> Tensor:
    "The logistic loss of signs: log(1 + e ** (-target * input)), reduced."
    reduction = reduction_of(size_average, reduce, reduction)
    if input.shape != target.shape:
        from claygrad.ops.view import broadcast_tensors
        input, target = broadcast_tensors(input, target)
    return soft_margin(input, target, reduction)


@composite(**functional,
           samples=lambda t: [t.args(t(3, 4), t(3, 4, low=0.1, high=0.9), reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(t(3, 4), t(3, 4, low=0.1, high=0.9), t(4, low=0.1))])
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "The mean over the classes of the cross entropy of sigmoid(input), one label per class; reduced over the examples."
    from claygrad.ops.activation import logsigmoid
    if size_average is None and reduce is None and reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    reduction = reduction_of(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduce_loss(loss.sum(-1) / input.shape[-1], reduction)


def check_cosine(input1: Tensor, input2: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, "
                           f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")


@composite(**functional,
           samples=lambda t: [t.args(t(3, 4), t(3, 4), signs(t, 3), reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(t(4), t(4), signs(t)), t.args(t(5, 4), t(5, 4), signs(t, 5), 0.2)],
           errors=lambda t: [(t.args(t(3), t(3), signs(t, 2)), RuntimeError,
                              "1D target tensor expects 2D input tensors, but found inputs with")])
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                          size_average: bool | None = None,
                          reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    "1 - cos(input1, input2) where target is 1, max(0, cos(input1, input2) - margin) where it is -1; then reduced."
    reduction = reduction_of(size_average, reduce, reduction)
    check_cosine(input1, input2, target)
    sizes = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / sizes.sqrt()
    loss = (1 - cosine).masked_fill(target != 1, 0) + (cosine - margin).clamp_min(0).masked_fill(target != -1, 0)
    return reduce_loss(loss, reduction)


# Triplets: the anchor should be nearer to the positive example than to the negative one, by a margin

def check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.dim()}D, "
                           f"positive {positive.dim()}D, and negative {negative.dim()}D inputs")


def triplet(distance: Callable[[Tensor, Tensor], Tensor], anchor: Tensor, positive: Tensor, negative: Tensor,
            margin: float, swap: bool,
            reduction: str) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduce_loss((margin + near - far).clamp_min(0), reduction)


def three(t) -> tuple:
    return t(3, 4), t(3, 4), t(3, 4)


@composite(**functional, samples=lambda t: [t.args(*three(t), reduction=r) for r in ("mean", "sum", "none")]
           + [t.args(*three(t), swap=True), t.args(*three(t), margin=0.5, p=1)],
           errors=lambda t: [(t.args(*three(t), margin=0), ValueError, "margin must be greater than 0, got 0")])
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6,
                        swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Tensor:
    "max(0, margin + |anchor - positive| - |anchor - negative|), reduced; `swap` also tries |positive - negative|."
    reduction = reduction_of(size_average, reduce, reduction)
    check_triplet(anchor, positive, negative, margin)
    return triplet(lambda a, b: (a - b + eps).norm(p, -1), anchor, positive, negative, margin, swap, reduction)


@composite(**functional, samples=lambda t: [t.args(*three(t)), t.args(*three(t), swap=True, reduction="none")])
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean") -> Tensor:
    "triplet_margin_loss with a distance of one's own; the Euclidean one by default."
    reduction = reduction_of(None, None, reduction)
    check_triplet(anchor, positive, negative, margin)
    distance = distance_function or (lambda a, b: (a - b + 1e-6).norm(2, -1))
    return triplet(distance, anchor, positive, negative, margin, swap, reduction)
