"""The loss of connectionist temporal classification: a sequence of labels against frames, aligned in every way.

Labels are interleaved with blanks; an alignment stays at a place, goes on by one, or, between different labels, skips
the blank. `log_alpha[b, t, s]` is the log-probability of all alignments of the first t + 1 frames that end at place s;
-inf behind the frames and positions of an example.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor
from claygrad.ops._losses import reduction_of
from claygrad.ops._registry import composite, constant, missing, op

if TYPE_CHECKING:
    from collections.abc import Sequence

    ints = int | tuple[int, ...] | list[int]

inner = {"function": False, "method": False, "out": False}
ALLOCATE = "(while checking arguments for ctc_loss_allocate_outputs)"
MINUS = float("-inf")


def checked(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int],
            blank: int) -> None:
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.legacy}'")
    if log_probs.ndim != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument "
                           f"#1 'log_probs' {ALLOCATE}")
    if not 1 <= targets.ndim <= 2:
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 "
                           f"'targets' {ALLOCATE}")
    frames, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, lengths, limit in (("target_lengths", target_lengths, None), ("input_lengths", input_lengths, frames)):
        for length in lengths:
            if length < 0:
                raise RuntimeError(f"Expected {name} to have value at least 0, but got value {length} {ALLOCATE}")
            if limit is not None and length > limit:
                raise RuntimeError(f"Expected {name} to have value at most {limit}, but got value {length} {ALLOCATE}")
    longest = max(target_lengths)
    if targets.ndim == 1 and targets.numel() != sum(target_lengths):
        raise RuntimeError(f"Expected tensor to have size {sum(target_lengths)} at dimension 0, but got size "
                           f"{targets.numel()} for argument #2 'targets' {ALLOCATE}")
    if targets.ndim == 2 and targets.shape[0] != batch:
        raise RuntimeError(f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for "
                           f"argument #2 'targets' {ALLOCATE}")
    if targets.ndim == 2 and targets.shape[1] < longest:
        raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                           f"{targets.shape[1]} for argument #2 'targets' {ALLOCATE}")


def labels_and_skips(xp, targets, target_lengths: tuple[int, ...], blank: int, classes: int):
    """(batch, 2 * longest + 1): the label of every place, blank where there is none; and where a skip may end."""
    longest = max(target_lengths)
    labels = xp.full((len(target_lengths), 2 * longest + 1), blank, dtype=xp.int64)
    start = 0
    for row, length in enumerate(target_lengths):
        own = targets[row, :length] if targets.ndim == 2 else targets[start:start + length]
        labels[row, 1:2 * length:2] = own
        start += length
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise IndexError(f"ctc_loss: a target is not a class, from 0 to {classes - 1}")
    skips = xp.zeros(labels.shape, dtype=bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, skips


def spoken(xp, log_probs, labels):
    """(frames, batch, positions): the log-probability of every position's label in every frame."""
    return xp.take_along_axis(log_probs, xp.broadcast_to(labels, (log_probs.shape[0], *labels.shape)), axis=2)


def moved(xp, row, by: int):
    """The row shifted along the positions, -inf coming in."""
    out = xp.full(row.shape, MINUS, dtype=row.dtype)
    if by > 0:
        out[:, by:] = row[:, :-by]
    else:
        out[:, :by] = row[:, -by:]
    return out


def onward(xp, row, skips):
    """One step of the recursion: to stay, to come from the place before, or over a blank."""
    both = xp.logaddexp(row, moved(xp, row, 1)) if row.shape[1] > 1 else row
    if row.shape[1] < 3:
        return both
    return xp.logaddexp(both, xp.where(skips, moved(xp, row, 2), MINUS))


@op(kernel="ctc_loss", name="_ctc_loss", node="CtcLossBackward0", differentiable=(0,), **inner,
    meta=lambda log_probs, target_lengths: [
        (log_probs.shape[1:2], log_probs.dtype),
        ((log_probs.shape[1], log_probs.shape[0], 2 * max(target_lengths) + 1), log_probs.dtype)])
def aligned(xp, log_probs: Tensor, targets: Tensor, input_lengths: tuple, target_lengths: tuple, blank: int,
            zero_infinity: bool):
    "Minus the log-probability of all alignments of every example; and log_alpha."
    frames, batch, classes = log_probs.shape
    labels, skips = labels_and_skips(xp, targets, target_lengths, blank, classes)
    said = spoken(xp, log_probs, labels)
    alpha = xp.full((frames, *labels.shape), MINUS, dtype=log_probs.dtype)
    lengths = xp.asarray(target_lengths)
    alpha[0, :, :1] = said[0, :, :1]
    if labels.shape[1] > 1:
        alpha[0, :, 1] = xp.where(lengths > 0, said[0, :, 1], MINUS)
    for t in range(1, frames):
        alpha[t] = onward(xp, alpha[t - 1], skips) + said[t]
    rows, last = xp.arange(batch), xp.asarray(input_lengths) - 1
    ends = alpha[last, rows, 2 * lengths]
    before = xp.where(lengths > 0, alpha[last, rows, xp.maximum(2 * lengths - 1, 0)], MINUS)
    loss = -xp.logaddexp(ends, before)
    loss = xp.where(last < 0, xp.where(lengths > 0, float("inf"), -0.0), loss).astype(log_probs.dtype)
    alpha[xp.arange(frames)[:, None] > last] = MINUS
    alpha[:, xp.arange(labels.shape[1]) > 2 * lengths[:, None]] = MINUS
    return loss, xp.ascontiguousarray(alpha.transpose(1, 0, 2))


def aligned_grad(g, outs, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    return ctc_backward(g, log_probs, targets, outs[0], outs[1], input_lengths, target_lengths, blank, zero_infinity)


aligned.rule(log_probs=aligned_grad, targets=constant)


@op(kernel="ctc_loss_backward", name="_ctc_loss_backward", node="NotImplemented",
    meta=lambda log_probs: log_probs.shape, **inner)
def ctc_backward(xp, grad_output: Tensor, log_probs: Tensor, targets: Tensor, loss: Tensor, log_alpha: Tensor,
                 input_lengths: tuple, target_lengths: tuple, blank: int, zero_infinity: bool):
    """The gradient of log_probs, given that they are a log_softmax.

    It is exp(log_probs) minus the probability that an alignment says the class in the frame: what the softmax before
    passes on is the same as for the derivative proper, which is minus the latter.
    """
    frames, _, classes = log_probs.shape
    labels, skips = labels_and_skips(xp, targets, target_lengths, blank, classes)
    said = spoken(xp, log_probs, labels)
    lengths, last = xp.asarray(target_lengths), xp.asarray(input_lengths) - 1
    beta = backward_rows(xp, said, skips, lengths, last)
    share = xp.exp(log_alpha.transpose(1, 0, 2) + beta - said + loss[:, None])
    named = (labels[:, :, None] == xp.arange(classes)).astype(log_probs.dtype)
    named *= (xp.arange(labels.shape[1]) <= 2 * lengths[:, None])[:, :, None]
    share[:, xp.arange(labels.shape[1]) > 2 * lengths[:, None]] = 0
    grad = xp.exp(log_probs) - xp.matmul(share.transpose(1, 0, 2), named).transpose(1, 0, 2)
    grad *= grad_output[:, None]
    grad[xp.arange(frames)[:, None] > last] = 0
    if zero_infinity:
        grad[:, xp.isinf(loss)] = 0
    return grad


def backward_rows(xp, said, skips, lengths, last):
    """log_beta: the log-probability of all alignments of the frames from t on that start at a place."""
    beta = xp.full(said.shape, MINUS, dtype=said.dtype)
    rows = xp.arange(said.shape[1])
    leaps = xp.zeros(skips.shape, dtype=bool)
    leaps[:, :-2] = skips[:, 2:]
    within = xp.arange(said.shape[2]) <= 2 * lengths[:, None]
    for t in range(len(said) - 1, -1, -1):
        if t + 1 < len(said):
            after = beta[t + 1]
            both = xp.logaddexp(after, moved(xp, after, -1)) if after.shape[1] > 1 else after
            if after.shape[1] > 2:
                both = xp.logaddexp(both, xp.where(leaps, moved(xp, after, -2), MINUS))
            beta[t] = xp.where(within & (t < last)[:, None], both + said[t], MINUS)
        ending = rows[last == t]
        for back in (0, 1):
            at = 2 * lengths[ending] - back
            ok = at >= 0
            beta[t, ending[ok], at[ok]] = said[t, ending[ok], at[ok]]
    return beta


ctc_backward.rule(grad_output=missing, log_probs=missing, targets=constant, loss=constant, log_alpha=constant)


# The public forms

def as_lengths(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, Tensor):
        return tuple(value)
    if value.dtype.is_floating_point or value.dtype.is_complex:
        raise RuntimeError(f"{name} must be integral")
    return tuple(value.reshape(-1).tolist())


def loss_of(log_probs: Tensor, targets: Tensor, input_lengths: object, target_lengths: object, blank: int,
            reduction: str, zero_infinity: bool) -> Tensor:
    if isinstance(input_lengths, Tensor) != isinstance(target_lengths, Tensor):
        kinds = ", ".join(type(x).__name__ for x in (log_probs, targets, input_lengths, target_lengths, blank, 1,
                                                     zero_infinity))
        raise TypeError(f"ctc_loss() received an invalid combination of arguments - got ({kinds}), but expected one "
                        "of:\n"
                        " * (Tensor log_probs, Tensor targets, tuple of ints input_lengths, tuple of ints "
                        "target_lengths, int blank = 0, int reduction = 1, bool zero_infinity = False)\n"
                        " * (Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
                        "int blank = 0, int reduction = 1, bool zero_infinity = False)\n")
    frames = as_lengths("input_lengths", input_lengths)
    lengths = as_lengths("target_lengths", target_lengths)
    single = log_probs.ndim != 3
    log_probs = log_probs.unsqueeze(1) if single else log_probs
    checked(log_probs, targets, frames, lengths, blank)
    loss = aligned(log_probs, targets.detach().long(), frames, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = loss.new_zeros(()).where(loss.detach() == float("inf"), loss)
    if reduction == "mean":
        return (loss / loss.new_tensor(lengths).clamp_min(1)).mean()
    loss = loss.sum() if reduction == "sum" else loss
    return loss.squeeze(0) if single and reduction == "none" else loss


@composite(namespace="nn.functional", method=False,
           errors=lambda t: [(t.args(t(5, 2, 4), t.index((2, 3), 3), (5, 5), (3, 3), blank=5), RuntimeError,
                              "blank must be in label range"),
                             (t.args(t(5, 2, 4), t.index((2, 3), 3), (6, 5), (3, 3)), RuntimeError,
                              "Expected input_lengths to have value at most 5, but got value 6"),
                             (t.args(t(5, 2, 4), t.index((2, 3), 3), (5,), (3, 3)), RuntimeError,
                              "input_lengths must be of size batch_size")])
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | ints, target_lengths: Tensor | ints,
             blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """Minus the log-probability that the frames say the labels, however they are aligned; reduced.

    `log_probs` is (frames, examples, classes), a log_softmax; `targets` (examples, labels), or all labels in one row.
    The mean is of the losses over their numbers of labels. `zero_infinity` makes losses that no alignment exists for 0.
    """
    return loss_of(log_probs, targets, input_lengths, target_lengths, blank, reduction_of(None, None, reduction),
                   zero_infinity)


@composite(name="ctc_loss", method=False)
def torch_ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | ints, target_lengths: Tensor | ints,
                   blank: int = 0, reduction: int = 0, zero_infinity: bool = False) -> Tensor:
    "nn.functional.ctc_loss with the reduction as a number: 0 none, 1 mean, 2 sum."
    return loss_of(log_probs, targets, input_lengths, target_lengths, blank, ("none", "mean", "sum")[reduction],
                   zero_infinity)
