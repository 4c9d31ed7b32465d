"""Views as copies: `expand_copy` and the like, and `unsafe_split`."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._geometry import axis
from claygrad.ops._registry import composite, op
from claygrad.ops.part import narrow as narrow_op
from claygrad.ops.part import slice_view
from claygrad.ops.split import chunk, split, split_with_sizes

if TYPE_CHECKING:
    from claygrad.core import Tensor, dtype

    ints = int | tuple[int, ...] | list[int]

copied = {"method": False, "out": "exact"}


@op(kernel="named_copy",
    function=False, method=False, half="raw", node=lambda input, name: name, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), "CloneBackward0")])
def named_copy(xp, input: Tensor, name: str):
    "A copy in row-major order, by a node of a given name."
    return xp.array(input, order="C")
named_copy.rule(input=lambda g: g)


@composite(**copied, samples=lambda t: [t.args(t(3, 4)), t.args(t())])
def alias_copy(input: Tensor) -> Tensor:
    "A copy."
    return named_copy(input, "AliasBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 4, requires_grad=False))])
def detach_copy(input: Tensor) -> Tensor:
    "A copy outside of the graph."
    return input.detach().clone()


@composite(**copied, samples=lambda t: [t.args(t(12), (3, 3), (2, 1), 1), t.args(t(3, 4), (2, 2), (1, 5))])
def as_strided_copy(input: Tensor, size: ints, stride: ints, storage_offset: int | None = None) -> Tensor:
    "The elements that `as_strided` sees, copied."
    return named_copy(input.as_strided(size, stride, storage_offset), "AsStridedBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 4)), t.args(t(2, 3, 4), 1, 0, 2)])
def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    "A diagonal, copied."
    return named_copy(input.diagonal(offset, dim1, dim2), "DiagonalBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 1), (2, 3, 4)), t.args(t(), (2,))])
def expand_copy(input: Tensor, size: ints, *, implicit: bool = False) -> Tensor:
    "Stretched to a shape, copied. `implicit` changes nothing."
    return named_copy(input.expand(size), "ExpandBackward0_copy")


@composite(method=True, samples=lambda t: [t.args(t(5, 3), 0, 1, 2), t.args(t(5, 3), -1, -2, 1)],
           out="Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be "
               "improved?  If so, please report an enhancement request to PyTorch.)",
           errors=lambda t: [(t.args(t(4), 0, 3, 2), RuntimeError,
                              "start (3) + length (2) exceeds dimension size (4).")])
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    "A part of an axis, copied."
    if dim >= max(input.ndim, 1):
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could "
                           "this error message be improved?  If so, please report an enhancement request to PyTorch.)")
    if length < 0 and input.ndim:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[dim]}).")
    return named_copy(narrow_op(input, dim, start, length), "NarrowCopyBackward0")


@composite(**copied, samples=lambda t: [t.args(t(2, 3, 4), (2, 0, 1))])
def permute_copy(input: Tensor, dims: ints) -> Tensor:
    "The axes in another order, copied."
    return named_copy(input.permute(dims), "PermuteBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 4), 0, 1), t.args(t(3, 4), -1, -2)])
def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    "One entry of an axis, copied."
    return named_copy(input.select(dim, index), "SelectBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(5, 3), 0, 1, 4, 2), t.args(t(5))])
def slice_copy(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    "Every `step`-th entry of a part of an axis, copied."
    return named_copy(slice_view(input, dim, start, end, step), "SliceBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(1, 3, 1)), t.args(t(1, 3, 1), 0), t.args(t(1, 3, 1), (0, 2))])
def squeeze_copy(input: Tensor, dim: ints | None = None) -> Tensor:
    "Without axes of one entry, copied."
    kind = 0 if dim is None else 1 if isinstance(dim, int) else 2
    return named_copy(input.squeeze() if dim is None else input.squeeze(dim), f"SqueezeBackward{kind}_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 4)), t.args(t(3))])
def t_copy(input: Tensor) -> Tensor:
    "A matrix transposed, copied."
    return named_copy(input.t(), "TBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(2, 3, 4), 0, 2)])
def transpose_copy(input: Tensor, dim0: int, dim1: int) -> Tensor:
    "Two axes swapped, copied."
    return named_copy(input.transpose(dim0, dim1), "TransposeBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(7), 0, 3, 2), t.args(t(4, 5), 1, 2, 1)])
def unfold_copy(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    "The windows along an axis, copied."
    return named_copy(input.unfold(dimension, size, step), "UnfoldBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 4), 1), t.args(t(), -1)])
def unsqueeze_copy(input: Tensor, dim: int) -> Tensor:
    "With an axis of one entry, copied."
    return named_copy(input.unsqueeze(dim), "UnsqueezeBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 4), (2, -1)), t.args(t(3, 4), (12,))])
def view_copy(input: Tensor, size: ints | dtype) -> Tensor:
    "In another shape or, bit by bit, in another dtype; copied."
    if isinstance(size, (int, tuple, list)):
        return named_copy(input.reshape(size), "ViewBackward0_copy")
    return named_copy(input.view(size), "ViewBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, dtype="complex64", requires_grad=False))])
def view_as_real_copy(input: Tensor) -> Tensor:
    "Real and imaginary parts along a last axis, copied."
    from claygrad.ops.complex import view_as_real
    return named_copy(view_as_real(input.resolve_conj()), "ViewAsRealBackward0_copy")


@composite(**copied, samples=lambda t: [t.args(t(3, 2))])
def view_as_complex_copy(input: Tensor) -> Tensor:
    "Complex numbers from pairs along the last axis, copied."
    from claygrad.ops.complex import view_as_complex
    return named_copy(view_as_complex(input), "ViewAsComplexBackward0_copy")


# --- several pieces ----------------------------------------------------------------------------------------------
def _copies(pieces: tuple[Tensor, ...], name: str) -> tuple[Tensor, ...]:
    return tuple(named_copy(piece, name) for piece in pieces)


@composite(method=False, out=True, samples=lambda t: [t.args(t(5, 3), 2), t.args(t(5, 3), 2, 1)])
def split_copy(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    "Pieces of one length, copied."
    return _copies(split(input, split_size, dim), "SplitBackward0_copy")


@composite(method=False, out="exact", samples=lambda t: [t.args(t(5, 3), [2, 3]), t.args(t(5, 3), (1, 0, 2), 1)])
def split_with_sizes_copy(input: Tensor, split_sizes: ints, dim: int = 0) -> tuple[Tensor, ...]:
    "Pieces of the given lengths, copied."
    return _copies(split_with_sizes(input, split_sizes, dim), "SplitWithSizesBackward0_copy")


@composite(method=False, out="exact", samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 1)])
def unbind_copy(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    "The entries of an axis, copied."
    return _copies(input.unbind(dim), "UnbindBackward0_copy")


@composite(native="unsafe_chunk", samples=lambda t: [t.args(t(5, 3), 2), t.args(t(5, 6), 4, 1)],
           errors=lambda t: [(t.args(t(4), 0), RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0")])
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    "`chunk` into pieces with memory of their own, which may be written to."
    empty = input.ndim and not input.shape[axis(dim, input.ndim)]
    return _copies(chunk(input, chunks, dim), "UnsafeSplitWithSizesBackward0" if empty else "UnsafeSplitBackward0")


@composite(native="unsafe_split", samples=lambda t: [t.args(t(5, 3), 2), t.args(t(5, 3), 2, 1)])
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    "`split` into pieces with memory of their own, which may be written to."
    return _copies(split(input, split_size, dim), "UnsafeSplitBackward0")


@composite(samples=lambda t: [t.args(t(5, 3), [2, 3])])
def unsafe_split_with_sizes(input: Tensor, split_sizes: ints, dim: int = 0) -> tuple[Tensor, ...]:
    "`split_with_sizes` into pieces with memory of their own, which may be written to."
    return _copies(split_with_sizes(input, split_sizes, dim), "UnsafeSplitWithSizesBackward0")
