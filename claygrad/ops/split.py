"""Splitting: a tensor as several views along an axis."""
from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.core import host_array
from claygrad.ops._geometry import axis, sizes, text
from claygrad.ops._registry import composite
from claygrad.ops._registry import view as view_op
from claygrad.ops.join import cat, stack
from claygrad.ops.part import slice_view

if TYPE_CHECKING:
    from claygrad.core import Tensor
    from claygrad.ops.part import Geometry

    ints = int | tuple[int, ...] | list[int]


def _pieces(input: Tensor, dim: int, lengths: list[int]) -> list[Geometry]:
    shape, strides, offset = tuple(input.shape), input.stride(), input.storage_offset()
    before, after, step = shape[:dim], shape[dim + 1:], strides[dim]
    out = []
    for length in lengths:
        out.append(((*before, length, *after), strides, offset))
        offset += length * step
    return out


def _joined(gs: tuple, input_shape: tuple[int, ...], dim: int, lengths: list[int]) -> Tensor:
    """The gradients of pieces side by side; a piece that nobody used counts as zeros."""
    if all(g is not None for g in gs):
        return cat(gs, dim)
    some = next(g for g in gs if g is not None)
    shape = list(input_shape)
    filled = []
    for g, length in zip(gs, lengths):
        shape[dim] = length
        filled.append(some.new_zeros(shape) if g is None else g)
    return cat(filled, dim)


def _even(n: int, size: int) -> list[int]:
    """Lengths of pieces of `size`, the last one shorter."""
    count = max(-(-n // size), 1) if size else 1
    return [min(size, n - i * size) for i in range(count)] if size else [0]


@view_op(multi=True, geometry="split_evenly", method=False, function=False, node="SplitBackward0",
         samples=lambda t: [t.args(t(5, 3), 2, 0)])
def split_evenly(input: Tensor, split_size: int, dim: int):
    "Pieces of `split_size` entries along `dim`."
    return _pieces(input, dim, _even(input.shape[dim], split_size))
split_evenly.rule(input=lambda gs, input_shape, split_size, dim:
                  _joined(gs, input_shape, dim, _even(input_shape[dim], split_size)))


@view_op(multi=True, geometry="split_with_sizes",
         samples=lambda t: [t.args(t(5, 3), [2, 3]), t.args(t(5, 3), (1, 0, 2), 1)],
         errors=lambda t: [(t.args(t(4), [1, 2]), RuntimeError,
                            "split_with_sizes expects split_sizes to sum exactly to 4"),
                           (t.args(t(4), [-1, 5]), RuntimeError,
                            "split_with_sizes expects split_sizes have only non-negative entries")])
def split_with_sizes(input: Tensor, split_sizes: ints, dim: int = 0):
    "Splits a tensor into views of the given sizes along `dim`."
    if isinstance(split_sizes, int):
        raise TypeError("split_with_sizes(): argument 'split_sizes' (position 1) must be tuple of ints, not int")
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim, lengths = axis(dim, input.ndim), list(split_sizes)
    if any(n < 0 for n in lengths):
        raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
                           f"split_sizes={text(lengths)}")
    if sum(lengths) != input.shape[dim]:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {input.shape[dim]} (input "
                           f"tensor's size at dimension {dim}), but got split_sizes={text(lengths)}")
    return _pieces(input, dim, lengths)
split_with_sizes.rule(input=lambda gs, input_shape, split_sizes, dim:
                      _joined(gs, input_shape, axis(dim, len(input_shape)), list(split_sizes)))


def _split(tensor: Tensor, size: object, dim: int) -> tuple[Tensor, ...]:
    if not hasattr(size, "__index__"):
        if not isinstance(size, (tuple, list)):
            raise TypeError("split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
                            f"{type(size).__name__}")
        for i, n in enumerate(size):
            if not hasattr(n, "__index__"):
                raise TypeError("split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, but "
                                f"found element of type {type(n).__name__} at pos {i}")
        return split_with_sizes(tensor, sizes(size), dim)
    size = size.__index__()
    if tensor.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = axis(dim, tensor.ndim)
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and tensor.shape[dim]:
        raise RuntimeError("split_size can only be 0 if dimension size is 0, but got dimension size of "
                           f"{tensor.shape[dim]}")
    return split_evenly(tensor, size, dim)


@composite(native="split",
           method=False, samples=lambda t: [t.args(t(5, 3), 2), t.args(t(5, 3), [1, 2], 1), t.args(t(0, 3), 2)],
           errors=lambda t: [(t.args(t(4), 0), RuntimeError, "split_size can only be 0 if dimension size is 0"),
                             (t.args(t(4), -1), RuntimeError, "split expects split_size be non-negative")])
def split(tensor: Tensor, split_size_or_sections: object, dim: int = 0) -> tuple[Tensor, ...]:
    "Splits a tensor into views along `dim`: of one size (the last may be smaller), or of a list of sizes."
    return _split(tensor, split_size_or_sections, dim)


@composite(native="split_method", name="split", function=False, samples=lambda t: [t.args(t(5, 3), 2)])
def split_method(input: Tensor, split_size: object, dim: int = 0) -> tuple[Tensor, ...]:
    "Splits a tensor into views along `dim`: of one size (the last may be smaller), or of a list of sizes."
    return _split(input, split_size, dim)


@composite(native="chunk", samples=lambda t: [t.args(t(5, 3), 2), t.args(t(5, 6), 4, 1), t.args(t(0, 3), 2)],
           errors=lambda t: [(t.args(t(4), 0), RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"),
                             (t.args(t(), 1), RuntimeError, "chunk expects at least a 1-dimensional tensor")])
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    "Splits a tensor into at most `chunks` views along `dim`, all of the same size but the last, which may be smaller."
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = axis(dim, input.ndim)
    n = input.shape[dim]
    if n == 0:                                  # as many empty pieces as asked for
        if chunks > 1 << 27:
            raise RuntimeError(f"std::bad_alloc\n  {chunks} pieces are more than memory has room for")
        return split_with_sizes(input, (0,) * chunks, dim)
    return split_evenly(input, -(-n // chunks), dim)


def _split_at(input: Tensor, where: object, dim: int) -> tuple[Tensor, ...]:
    """Pieces between positions, or a number of pieces that differ by at most one."""
    n = input.shape[dim]
    if hasattr(where, "__index__") and not isinstance(where, (tuple, list)):
        sections = where.__index__()
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        if sections >= 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        if sections > 1 << 27:                  # each piece is an object of hundreds of bytes
            raise RuntimeError(f"std::bad_alloc\n  {sections} pieces are more than memory has room for")
        small, larger = divmod(n, sections)
        starts = [0]
        for i in range(sections):
            starts.append(starts[-1] + small + (i < larger))
        return tuple(slice_view(input, dim, a, b) for a, b in pairwise(starts))
    edges = [0, *sizes(where), n]
    return tuple(slice_view(input, dim, a, b) for a, b in pairwise(edges))


def _first_given(*values: object) -> object:
    return next((value for value in values if value is not None), None)


def _where(name: str, given: object) -> object:
    """A number of sections or a tuple of positions, from a number, a sequence or a tensor of either."""
    if isinstance(given, TensorType):
        if given.dtype.name != "int64":
            raise RuntimeError(f"{name} expected tensor_indices_or_sections to have dtype of long, but got "
                               f"{given.dtype.legacy}")
        if given.ndim > 1:
            raise RuntimeError(f"{name} expected tensor_indices_or_sections to be a zero-dimensional or "
                               f"one-dimensional tensor, but got a tensor with {given.ndim} dims")
        return int(given) if given.ndim == 0 else tuple(host_array(given).tolist())
    if not isinstance(given, (int, tuple, list)):
        got = f"got (Tensor, {type(given).__name__})"
        raise TypeError(f"{name}() received an invalid combination of arguments - {got}, but expected one of:\n"
                        " * (tuple of ints indices, int dim = 0)\n"
                        " * (Tensor tensor_indices_or_sections, int dim = 0)\n * (int sections, int dim = 0)\n")
    return given


@composite(native="tensor_split",
           samples=lambda t: [t.args(t(7, 2), 3), t.args(t(7, 2), (1, 5)), t.args(t(2, 7), (-2, 9), 1),
                              t.args(t(2), 4)],
           errors=lambda t: [(t.args(t(4), 0), RuntimeError, "number of sections must be larger than 0, got 0"),
                             (t.args(t(), 1), RuntimeError, "tensor_split expected at least a 1-dimensional tensor")])
def tensor_split(input: Tensor, indices_or_sections: object = None, dim: int = 0, *, indices: object = None,
                 sections: object = None, tensor_indices_or_sections: object = None) -> tuple[Tensor, ...]:
    """A number of pieces that differ by at most one in length, or the pieces between given positions, along `dim`.

    PyTorch's names by kind, `indices`, `sections` and `tensor_indices_or_sections`, are accepted.
    """
    where = _first_given(indices_or_sections, indices, sections, tensor_indices_or_sections)
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    return _split_at(input, _where("tensor_split", where), axis(dim, input.ndim))


def _split_fixed(name: str, input: Tensor, given: object, dim: int, min_ndim: int) -> tuple[Tensor, ...]:
    if input.ndim < min_ndim:
        raise RuntimeError(f"torch.{name} requires a tensor with at least {min_ndim} dimension, but got a tensor with "
                           f"{input.ndim} dimensions!")
    where, n = _where(name, given), input.shape[dim]
    if isinstance(where, int) and (where == 0 or n % where):
        raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {n} "
                           f"is not divisible by the split_size {where}!")
    return _split_at(input, where, dim)


@composite(native="fixed_split", samples=lambda t: [t.args(t(4, 6), 2), t.args(t(6), (1, 4))],
           errors=lambda t: [(t.args(t(), 1), RuntimeError,
                              "torch.hsplit requires a tensor with at least 1 dimension")])
def hsplit(input: Tensor, indices_or_sections: object = None, *, indices: object = None,
           sections: object = None) -> tuple[Tensor, ...]:
    "Splits a tensor horizontally: along the second axis, a vector along the first."
    return _split_fixed("hsplit", input, _first_given(indices_or_sections, indices, sections),
                        min(max(input.ndim - 1, 0), 1), 1)


@composite(native="fixed_split", samples=lambda t: [t.args(t(4, 6), 2), t.args(t(4, 6), (1, 3))],
           errors=lambda t: [(t.args(t(4), 2), RuntimeError,
                              "torch.vsplit requires a tensor with at least 2 dimension")])
def vsplit(input: Tensor, indices_or_sections: object = None, *, indices: object = None,
           sections: object = None) -> tuple[Tensor, ...]:
    "Splits a tensor vertically: along the first axis."
    return _split_fixed("vsplit", input, _first_given(indices_or_sections, indices, sections), 0, 2)


@composite(native="fixed_split", samples=lambda t: [t.args(t(2, 3, 4), 2), t.args(t(2, 3, 4), (1, 3))],
           errors=lambda t: [(t.args(t(4, 6), 2), RuntimeError,
                              "torch.dsplit requires a tensor with at least 3 dimension")])
def dsplit(input: Tensor, indices_or_sections: object = None, *, indices: object = None,
           sections: object = None) -> tuple[Tensor, ...]:
    "Splits a tensor along the third axis."
    return _split_fixed("dsplit", input, _first_given(indices_or_sections, indices, sections), 2, 3)


@view_op(multi=True, geometry="unbind", samples=lambda t: [t.args(t(3, 2)), t.args(t(3, 2), 1), t.args(t(3))],
         errors=lambda t: [(t.args(t()), IndexError, "Dimension specified as 0 but tensor has no dimensions")])
def unbind(input: Tensor, dim: int = 0):
    "Splits a tensor into views without the axis `dim`: `x[0], x[1], ...` for dim 0."
    dim = axis(dim, input.ndim, scalar=False)
    shape, strides, offset = tuple(input.shape), input.stride(), input.storage_offset()
    rest, steps, step = shape[:dim] + shape[dim + 1:], strides[:dim] + strides[dim + 1:], strides[dim]
    return [(rest, steps, offset + i * step) for i in range(shape[dim])]


def _unbound(gs: tuple, input_shape: tuple[int, ...], dim: int) -> Tensor:
    shape = list(input_shape)
    del shape[dim]
    some = next(g for g in gs if g is not None)
    return stack([some.new_zeros(shape) if g is None else g for g in gs], dim)


unbind.rule(input=_unbound)
