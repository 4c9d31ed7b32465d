"""Batches of sequences of different lengths: padded to one length, or packed without padding."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from claygrad.core import DTYPES, Tensor
from claygrad.ops._registry import NAMESPACES
from claygrad.ops.packing import unpacked

if TYPE_CHECKING:
    from typing import Self

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]

_ops: dict[str, Any] = NAMESPACES["torch"]
_int64 = DTYPES["int64"]


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """The steps of a batch of sequences: first all first steps, then all second ones, of as many sequences as have one.

    `batch_sizes` tells how many that are. Sequences lie in order of decreasing length; `sorted_indices` tells which of
    the batch they were, `unsorted_indices` where each of the batch is.
    Made by `pack_sequence` and `pack_padded_sequence`.
    """

    def __new__(cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                             "manually. They should be instantiated by functions like pack_sequence and "
                             "pack_padded_sequences in nn.utils.rnn. "
                             "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, move: Any) -> Self:
        indices = (None if t is None else move(t) for t in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast the data as a tensor's `to` does; indices only move."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda t: t.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a GPU."""
        return self.to(*args, **{"device": "cuda", **kwargs}) if not args else self.to(*args, **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Move to the memory of the CPU."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    def pin_memory(self) -> Self:
        """Put everything into pinned memory."""
        return self._with(self.data.pin_memory(), lambda t: t.pin_memory())

    def double(self) -> Self:
        """Cast the data to float64."""
        return self.to(dtype=DTYPES["float64"])

    def float(self) -> Self:
        """Cast the data to float32."""
        return self.to(dtype=DTYPES["float32"])

    def half(self) -> Self:
        """Cast the data to float16."""
        return self.to(dtype=DTYPES["float16"])

    def long(self) -> Self:
        """Cast the data to int64."""
        return self.to(dtype=_int64)

    def int(self) -> Self:
        """Cast the data to int32."""
        return self.to(dtype=DTYPES["int32"])

    def short(self) -> Self:
        """Cast the data to int16."""
        return self.to(dtype=DTYPES["int16"])

    def char(self) -> Self:
        """Cast the data to int8."""
        return self.to(dtype=DTYPES["int8"])

    def byte(self) -> Self:
        """Cast the data to uint8."""
        return self.to(dtype=DTYPES["uint8"])

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data lies in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    >>> claygrad.nn.utils.rnn.invert_permutation(claygrad.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    indices = _ops["arange"](0, permutation.numel(), device=permutation.device)
    return _ops["empty_like"](permutation).contiguous().scatter_(0, permutation, indices)


# --- packing -----------------------------------------------------------------------------------------------------
def pack_padded_sequence(input: Tensor, lengths: Tensor | list[int], batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences, in a tensor (time, batch, ...) or, with `batch_first`, (batch, time, ...).

    Unless `enforce_sorted`, they may come in any order of lengths, and come back in it when unpacked.
    """
    if isinstance(lengths, Tensor):
        sizes = lengths.to(dtype=_int64)
    else:
        sizes = _ops["as_tensor"](lengths, dtype=_int64, device="cpu")
    order = None
    if not enforce_sorted:
        sizes, order = sizes.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = _ops["_pack_padded_sequence"](input, sizes, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences, tensors (time, ...).

    >>> claygrad.nn.utils.rnn.pack_sequence([claygrad.tensor([1, 2]), claygrad.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = _ops["as_tensor"]([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Unpack into a padded tensor and the lengths; `total_length` pads further than the longest sequence."""
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but "
                             f"got total_length={total_length} and max sequence length being {steps}")
        steps = total_length
    padded = unpacked(sequence.data, sequence.batch_sizes, steps, padding_value)
    sizes = sequence.batch_sizes
    lengths = (_ops["arange"](int(sizes[0])).unsqueeze(1) < sizes).sum(1)
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is None:
        return padded, lengths
    order = sequence.unsorted_indices
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# --- padding -----------------------------------------------------------------------------------------------------
def pad_sequence(sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Sequences (time, ...) in one tensor (time, batch, ...) or, with `batch_first`, (batch, time, ...).

    >>> claygrad.nn.utils.rnn.pad_sequence([claygrad.tensor([1, 2]), claygrad.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    rows = tuple(sequences)
    for i, row in enumerate(rows):
        if not isinstance(row, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(row).__name__}")
    if not rows:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not all(row.ndim for row in rows):
        raise RuntimeError("pad_sequence: Expected sequences of one axis or more, but got a tensor without axes")
    steps = max(row.size(0) for row in rows)
    shape = (len(rows), steps) if batch_first else (steps, len(rows))
    out = rows[0].new_full((*shape, *rows[0].shape[1:]), padding_value)
    for i, row in enumerate(rows):
        n = row.size(0)
        place = slice(0, n) if padding_side == "right" else slice(steps - n, steps)
        out[(i, place) if batch_first else (place, i)].copy_(row)
    return out


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, without what lies behind their ends."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    if len(rows) != len(lengths):
        raise ValueError(f"zip() argument 2 is {'shorter' if len(lengths) < len(rows) else 'longer'} than argument 1")
    steps = _ops["arange"](rows.shape[1], device=lengths.device)
    return [row[steps < length] for row, length in zip(rows, lengths)]
