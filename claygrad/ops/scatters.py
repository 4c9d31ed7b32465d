"""Copies with a part replaced: `select_scatter` and the like; and `fill_diagonal_`."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._geometry import axis, sizes, text
from claygrad.ops._registry import composite, op
from claygrad.ops.part import _bounds, _positions, relay, slice_view

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]


def _need_shape(src, seen) -> None:
    if tuple(src.shape) != tuple(seen.shape):
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {text(src.shape)}, "
                           f"slice size = {text(seen.shape)}")


def _slice(input: Tensor, *at: int | None) -> Tensor:
    if not input.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    return slice_view(input, *at)


def _replaced(xp, input, src, view):
    """A copy of `input` with `src` where view(copy) looks."""
    out = input.copy(order="K")
    seen = view(out)
    _need_shape(src, seen)
    seen[...] = src
    return out


@op(strides="like",
    kernel="diagonal_scatter", half="raw", meta=lambda input: input.shape,
    check=lambda input, src, offset, dim1, dim2: _need_shape(src, input.diagonal(offset, dim1, dim2)),
    samples=lambda t: [t.args(t(3, 4), t(3)), t.args(t(3, 4), t(2), 2), t.args(t(2, 3, 4), t(3, 2), 0, 0, 2)],
    errors=lambda t: [(t.args(t(3, 3), t(2)), RuntimeError,
                       "expected src to have a size equal to the slice of self. src size = [2], slice size = [3]")])
def diagonal_scatter(xp, input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1):
    "A copy of `input` with `src` on a diagonal."
    def view(out):
        n = src.shape[-1]
        moved = xp.moveaxis(out, (axis(dim1, out.ndim), axis(dim2, out.ndim)), (-2, -1))
        moved = moved[..., max(-offset, 0):, max(offset, 0):]
        return xp.lib.stride_tricks.as_strided(moved, (*moved.shape[:-2], n),
                                               (*moved.strides[:-2], moved.strides[-2] + moved.strides[-1]))
    return _replaced(xp, input, src, view)
diagonal_scatter.rule(
    input=lambda g, src_shape, offset, dim1, dim2: diagonal_scatter(g, g.new_zeros(src_shape), offset, dim1, dim2),
    src=lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2))


@op(strides="like",
    kernel="select_scatter", half="raw", meta=lambda input: input.shape,
    check=lambda input, src, dim, index: _need_shape(src, input.select(dim, index)),
    samples=lambda t: [t.args(t(3, 4), t(4), 0, 1), t.args(t(3, 4), t(3), -1, -2)],
    errors=lambda t: [(t.args(t(3, 4), t(3), 0, 1), RuntimeError,
                       "expected src to have a size equal to the slice of self. src size = [3], slice size = [4]")])
def select_scatter(xp, input: Tensor, src: Tensor, dim: int, index: int):
    "A copy of `input` with `src` as one entry of an axis."
    at = (slice(None),) * axis(dim, input.ndim)
    return _replaced(xp, input, src, lambda out: out[(*at, index, ...)])
select_scatter.rule(input=lambda g, src_shape, dim, index: select_scatter(g, g.new_zeros(src_shape), dim, index),
                    src=lambda g, dim, index: g.select(dim, index))


@op(strides="like",
    kernel="slice_scatter", out="exact", half="raw", meta=lambda input: input.shape,
    check=lambda input, src, dim, start, end, step: _need_shape(src, _slice(input, dim, start, end, step)),
    samples=lambda t: [t.args(t(5, 3), t(2, 3), 0, 1, 5, 2), t.args(t(5, 3), t(5, 3)), t.args(t(5), t(2), 0, -2)],
    errors=lambda t: [(t.args(t(3, 4), t(3, 4), 0, 1), RuntimeError,
                       "expected src to have a size equal to the slice of self. src size = [3, 4]")])
def slice_scatter(xp, input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1):
    "A copy of `input` with `src` in every `step`-th entry of a part of an axis."
    dim = axis(dim, input.ndim)
    first, length = _bounds(input.shape[dim], start, end, step)
    key = (*(slice(None),) * dim, slice(first, first + length * step, step))
    return _replaced(xp, input, src, lambda out: out[key])
slice_scatter.rule(
    input=lambda g, src_shape, dim, start, end, step: slice_scatter(g, g.new_zeros(src_shape), dim, start, end, step),
    src=lambda g, dim, start, end, step: slice_view(g, dim, start, end, step))


@op(kernel="lay_over",
    function=False, method=False, half="raw", node="AsStridedScatterBackward0", meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), t(2, 2), (4, 1), (2, 2), (1, 5), 0)])
def lay_over(xp, input: Tensor, src: Tensor, own: ints, size: ints, stride: ints, offset: int):
    "`input` and then `src` written to memory, each under its own strides, and read back as `input`."
    low = min(offset, 0)
    here, there = _positions(xp, input.shape, own, -low), _positions(xp, size, stride, offset - low)
    memory = xp.zeros(1 + max(int(at.max()) if at.size else 0 for at in (here, there)), input.dtype)
    memory[here] = input
    memory[there] = src.astype(input.dtype)
    return memory[here]
lay_over.rule(
    input=lambda g, src_shape, own, size, stride, offset:
    lay_over(g, g.new_zeros(src_shape), own, size, stride, offset),
    src=lambda g, own, size, stride, offset: relay(g, tuple(g.shape), own, 0, size, stride, offset))


@composite(out=True, samples=lambda t: [t.args(t(12), t(3, 3), (3, 3), (3, 1), 1),
                                        t.args(t(3, 4), t(2, 2), (2, 2), (1, 5))],
           errors=lambda t: [(t.args(t(4), t(3), (2,), (1,)), RuntimeError,
                              "expected src to have a size equal to the slice of self. src size = [3]")])
def as_strided_scatter(input: Tensor, src: Tensor, size: ints, stride: ints,
                       storage_offset: int | None = None) -> Tensor:
    "A copy of `input` with `src` where `as_strided` would look."
    _need_shape(src, input.detach().as_strided(size, stride, storage_offset))
    offset = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return lay_over(input, src, tuple(input.stride()), sizes(size), sizes(stride), offset)


@composite(function=False)
def fill_diagonal_(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """One number on the main diagonal, in place. `wrap`: it starts again below a square with one row between."""
    if input.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    height, width = input.shape[0], input.shape[1]
    if input.ndim > 2 and any(n != height for n in input.shape):
        raise RuntimeError("all dimensions of input must be of equal length")
    step, n, start = sum(input.stride()), min(height, width), input.storage_offset()
    input.as_strided((n,), (step,), start).fill_(fill_value)
    if wrap and input.ndim == 2 and height > width + 1:
        rest = -(-input.numel() // (width + 1)) - n
        input.as_strided((rest,), (step,), start + input.stride(0) * (width + 1)).fill_(fill_value)
    return input
