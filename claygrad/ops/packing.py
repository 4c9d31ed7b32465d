"""Sequences of different lengths in one tensor, step by step without padding."""
from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from claygrad.core import int64
from claygrad.ops._registry import constant, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

_UNSORTED = ("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
             "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
             "do not need ONNX exportability.")


def _check_lengths(input: Tensor, lengths: Tensor, batch_first: bool) -> None:
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.ndim != 1 or lengths.dtype is not int64 or not lengths.is_cpu:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D "
                           f"{lengths.device.type} {lengths.dtype.legacy} tensor")
    batch, time = (input.size(0), input.size(1)) if batch_first else (input.size(1), input.size(0))
    given = lengths.tolist()
    if len(given) != batch:
        raise RuntimeError("Expected `len(lengths)` to be equal to batch_size, but got "
                           f"{len(given)} (batch_size={batch})")
    if min(given) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
                           "<= 0")
    if any(a < b for a, b in pairwise(given)):
        raise RuntimeError(_UNSORTED)
    if given[0] > time:         # PyTorch packs such a batch without a word, and it cannot be unpacked again
        raise RuntimeError(f"Expected every length to be at most the number of steps, {time}, but got {given[0]}")


def _rows(batch_sizes: Tensor, batch: int) -> Tensor:
    """Where the packed steps lie in a padded tensor of shape (time, batch, ...), counted over both axes."""
    present = batch_sizes.new_tensor(range(batch)) < batch_sizes.unsqueeze(1)
    return present.reshape(-1).nonzero().squeeze(1)


def unpacked(data: Tensor, batch_sizes: Tensor, steps: int, value: float) -> Tensor:
    """Packed steps in a tensor (time, batch, ...), with `value` where a sequence has ended."""
    batch = int(batch_sizes[0])
    rest = data.shape[1:]
    padded = data.new_full((steps * batch, *rest), value).index_copy(0, _rows(batch_sizes, batch), data)
    return padded.reshape(steps, batch, *rest)


def _padded_again(g: Tensor, batch_sizes: Tensor, shape: tuple[int, ...], batch_first: bool) -> Tensor:
    g = unpacked(g, batch_sizes, shape[1] if batch_first else shape[0], 0)
    return g.transpose(0, 1) if batch_first else g


@op(method=False, out=False, differentiable=(0,), meta="data", check=_check_lengths, node="PackPaddedSequenceBackward0",
    samples=lambda t: [t.args(t(4, 3, 2), (t.index((3,), 1) + 1).cumsum(0).flip(0) + 1, False),
                       t.args(t(2, 3), t.index((2,), 1) + 3, True)])
def _pack_padded_sequence(xp, input: Tensor, lengths: Tensor, batch_first: bool):
    """The steps of padded sequences, the first of all, then the second, and so on; and how many there are of each."""
    if batch_first:
        input = input.swapaxes(0, 1)
    steps = int(lengths[0])
    present = lengths > xp.arange(steps)[:, None]
    return input[:steps][present], present.sum(1)
_pack_padded_sequence.rule(
    input=lambda g, outs, input_shape, batch_first: _padded_again(g, outs[1], input_shape, batch_first),
    lengths=constant)
