"""What the loss functions share: the ways to reduce, the old arguments, and the warnings about sizes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import bool as bool_dtype
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from claygrad.core import Tensor

functional = {"namespace": "nn.functional", "method": False}
private = {"function": False, "method": False, "out": False}


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction asked for: 'none', 'mean' or 'sum'. The two old flags win over the name, with a warning."""
    if size_average is not None or reduce is not None:
        average, reduced = size_average is None or bool(size_average), reduce is None or bool(reduce)
        name = "mean" if average and reduced else "sum" if reduced else "none"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.")
        return name
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def same_sizes(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors in their common shape; a warning if that takes broadcasting."""
    if input.shape == target.shape:
        return input, target
    from claygrad.ops.view import broadcast_tensors
    warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
         "This will likely lead to incorrect results due to broadcasting. "
         "Please ensure they have the same size.")
    return broadcast_tensors(input, target)


def numbers(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors, a boolean one in the dtype of the other: booleans cannot be subtracted."""
    if a.dtype == bool_dtype or b.dtype == bool_dtype:
        return (a.to(b.dtype), b) if a.dtype == bool_dtype else (a, b.to(a.dtype))
    return a, b


def reduced(xp, loss, reduction: str):
    """An array of losses reduced; the mean of nothing is nan."""
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else xp.true_divide(loss.sum(), loss.size).astype(loss.dtype)


def reduced_shape(input: Tensor, reduction: str) -> tuple[int, ...]:
    return tuple(input.shape) if reduction == "none" else ()


def shared(g: Tensor, reduction: str, count: int) -> Tensor:
    """The gradient of each single loss, given that of the reduced one."""
    return g / count if reduction == "mean" else g


def reduce(loss: Tensor, reduction: str) -> Tensor:
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def weighted(loss: Tensor, weight: Tensor, reduction: str, input: Tensor) -> Tensor:
    """Losses times weights, reduced; the mean is over the weights."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce(loss, reduction)
