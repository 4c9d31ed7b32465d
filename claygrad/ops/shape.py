"""Copies, flips, rolls, repetitions and diagonals: new tensors with the elements of one tensor."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.ops._formats import (
    check_format,
    common_format,
    contiguous_format,
    empty_array,
    empty_array_like,
    is_contiguous_in,
    preserve_format,
    strides_for,
    strides_like,
)
from claygrad.ops._geometry import axes, axis, sizes, text
from claygrad.ops._registry import composite, constant, op
from claygrad.ops.part import diagonal_backward

if TYPE_CHECKING:
    from claygrad.core import Tensor
    from claygrad.ops._formats import memory_format

    ints = int | tuple[int, ...] | list[int]


@op(kernel="clone", half="raw", out=False, meta=lambda input: input.shape,
    strides=lambda input, memory_format: tuple(strides_like(input.shape, input.stride(), memory_format)),
    samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4).t()), t.args(t()), t.args(t(0, 3))])
def clone(xp, input: Tensor, *, memory_format: memory_format | None = preserve_format):
    """A copy of the tensor. Gradients flow through it to the input. It keeps the strides of the input unless a memory
    format is given.

    >>> claygrad.ones(2, 3).t().clone().stride()
    (1, 3)
    """
    check_format("clone", memory_format)
    if memory_format is contiguous_format:
        return input.copy()
    out = empty_array_like(xp, input, memory_format)
    out[...] = input
    return out
clone.rule(input=lambda g: g)


@composite(native="contiguous",
           function=False, samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4).t()), t.args(t(2, 3, 1, 2))])
def contiguous(input: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    "The tensor itself if it is contiguous (in the given memory format), otherwise a contiguous copy."
    if memory_format is contiguous_format:
        return input if input.is_contiguous() else clone(input, memory_format=contiguous_format)
    check_format("contiguous", memory_format)
    if is_contiguous_in(input.shape, input.stride(), memory_format):
        return input
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return clone(input, memory_format=memory_format)


@composite(function=False, samples=lambda t: [t.args(t(2, 3)), t.args(t(2, 3).t()), t.args(t())])
def is_contiguous(input: Tensor, *, memory_format: memory_format = contiguous_format) -> bool:
    "Whether the tensor is contiguous: without gaps and in row-major order, or in the order of the given memory format."
    check_format("is_contiguous", memory_format)
    return is_contiguous_in(input.shape, input.stride(), memory_format)


# --- flips and rolls ----------------------------------------------------------------------------------------------
@op(strides="like",
    kernel="flip", half="raw", out=False, varargs="dims", meta=lambda input, dims: input.shape,
    samples=lambda t: [t.args(t(3, 4), (0,)), t.args(t(3, 4), (0, -1)), t.args(t(3, 4).t(), (1,)), t.args(t(), ()),
                       t.args(t(0, 3), (0,))],
    errors=lambda t: [(t.args(t(2, 3), (0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
                      (t.args(t(2, 3), (2,)), IndexError,
                       "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def flip(xp, input: Tensor, dims: ints):
    "A copy with the elements in reverse order along each of `dims`."
    selected = axes(dims, input.ndim)
    out = empty_array_like(xp, input)
    out[...] = xp.flip(input, selected) if input.ndim else input
    return out
flip.rule(input=lambda g, dims: g.flip(dims))


@composite(samples=lambda t: [t.args(t(3, 4))],
           errors=lambda t: [(t.args(t(3)), RuntimeError, "Input must be >= 2-d.")])
def fliplr(input: Tensor) -> Tensor:
    "A copy with the columns (axis 1) in reverse order."
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@composite(samples=lambda t: [t.args(t(3, 4)), t.args(t(3))],
           errors=lambda t: [(t.args(t()), RuntimeError, "Input must be >= 1-d.")])
def flipud(input: Tensor) -> Tensor:
    "A copy with the rows (axis 0) in reverse order."
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


def _rolled(xp, input, shift: int, dim: int):
    """Rolled along one axis: two parts are exchanged. Channels that lie last in both stay there."""
    shift %= input.shape[dim]
    before = (slice(None),) * dim
    start = input.shape[dim] - shift
    first, last = input[*before, slice(start)], input[*before, slice(start, None)]
    out = empty_array(xp, input.shape, strides_for(input.shape, common_format((first, last))), input.dtype)
    for to, part in ((slice(shift, None), first), (slice(None, shift), last)):
        out[*before, to] = part
    return out


@op(kernel="roll", half="raw", out=False, meta=lambda input, shifts, dims: input.shape,
    samples=lambda t: [t.args(t(3, 4), 1), t.args(t(3, 4), -2, 1), t.args(t(3, 4), (1, 2), (0, 1)), t.args(t(), 1),
                       t.args(t(0, 3), 1, 0)],
    errors=lambda t: [(t.args(t(3, 4), 1, (0, 1)), RuntimeError, "shifts and dimensions must align. shifts: 1, dims:2"),
                      (t.args(t(3, 4), ()), RuntimeError, "`shifts` required")])
def roll(xp, input: Tensor, shifts: ints, dims: ints = ()):
    """Moves the elements by `shifts` along `dims`; elements that leave at the end enter at the front.

    Without `dims` the flattened tensor is rolled, and given its shape again.
    """
    shifts, dims = sizes(shifts), sizes(dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and not (len(shifts) == 1 and not dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if input.size == 0:
        return xp.empty(input.shape, input.dtype)
    if not dims and input.flags.c_contiguous:
        return _rolled(xp, input.reshape(-1), shifts[0], 0).reshape(input.shape)
    if not dims:
        return xp.roll(input, shifts[0]).reshape(input.shape)
    for shift, dim in zip(shifts, [axis(dim, input.ndim, scalar=False) for dim in dims]):
        input = _rolled(xp, input, shift, dim)
    return input


def _unroll(g: Tensor, shifts: ints, dims: ints) -> Tensor:
    return g.roll(tuple(-shift for shift in sizes(shifts)), dims)


roll.rule(input=_unroll)


def _rotated_shape(input: Tensor, k: int, dims: ints) -> tuple[int, ...]:
    shape = list(input.shape)
    if k % 2:
        a, b = (axis(dim, len(shape)) for dim in dims)
        shape[a], shape[b] = shape[b], shape[a]
    return tuple(shape)


def _rotated_strides(input: Tensor, k: int, dims: ints) -> tuple[int, ...] | None:
    """As the input's, with two axes exchanged when it is rotated by 90 degrees."""
    if k % 4 == 0:
        return None
    steps = list(strides_like(input.shape, input.stride(), preserve_format))
    if k % 2:
        a, b = (axis(dim, input.ndim) for dim in sizes(dims))
        steps[a], steps[b] = steps[b], steps[a]
    return tuple(steps)


@op(strides=lambda input, k, dims: _rotated_strides(input, k, dims),
    kernel="rot90", half="raw", out=False, meta=_rotated_shape,
    samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 2), t.args(t(2, 3, 4), -1, (0, 2)), t.args(t(3, 4), 0)],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "expected total dims >= 2, but got total dims = 1"),
                      (t.args(t(3, 4), 1, (0, 0)), RuntimeError,
                       "expected rotation dims to be different, but got dim0 = 0 and dim1 = 0")])
def rot90(xp, input: Tensor, k: int = 1, dims: ints = (0, 1)):
    "Rotates the tensor `k` times by 90 degrees in the plane of two axes, from the first towards the second."
    dims = sizes(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = (axis(dim, input.ndim) for dim in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    out = empty_array_like(xp, input, contiguous_format if k == 0 else preserve_format)
    out[...] = xp.flip(input, ((), (b,), (a, b), (a,))[k])
    return xp.swapaxes(out, a, b) if k % 2 else out
rot90.rule(input=lambda g, k, dims: g.rot90(-k, dims))


# --- repetitions --------------------------------------------------------------------------------------------------
def _repeated(shape: tuple[int, ...], repeats: ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape with as many axes as `repeats`, and that of the result."""
    repeats = sizes(repeats)
    if len(repeats) < len(shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    padded = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    out = tuple(n * times for n, times in zip(padded, repeats))
    for n in out:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {text(out)}")
    return padded, out


@op(kernel="repeat",
    function=False, half="raw", varargs="repeats", meta=lambda input, repeats: _repeated(input.shape, repeats)[1],
    samples=lambda t: [t.args(t(2, 3), 2, 3), t.args(t(3), 2, 1, 2), t.args(t(2, 3), 0, 1), t.args(t(), 3)],
    errors=lambda t: [(t.args(t(2, 3), 2), RuntimeError,
                       "Number of dimensions of repeat dims can not be smaller than number of dimen")])
def repeat(xp, input: Tensor, repeats: ints):
    """Repeats the tensor `repeats[i]` times along axis i. If there are more repeats than axes, new axes are added in
    front."""
    xp.empty(_repeated(input.shape, repeats)[1], input.dtype)          # NumPy's tile does not look whether it fits
    return xp.array(xp.tile(input, sizes(repeats)), order="C", copy=None)


def _unrepeat(g: Tensor, input_shape: tuple[int, ...], repeats: ints) -> Tensor:
    padded, _ = _repeated(input_shape, repeats)
    if 0 in sizes(repeats):
        return g.new_zeros(input_shape)
    pairs = [n for pair in zip(sizes(repeats), padded) for n in pair]       # (times, n) per axis
    return g.reshape(pairs).sum(tuple(range(0, len(pairs), 2))).reshape(input_shape) if pairs else g


repeat.rule(input=_unrepeat)


@composite(varargs="dims", samples=lambda t: [t.args(t(2, 3), (2,)), t.args(t(3), (2, 2)), t.args(t(2, 3), ())])
def tile(input: Tensor, dims: ints) -> Tensor:
    "Repeats the tensor along its axes, as `repeat` does; missing numbers of repetitions count as 1."
    dims = sizes(dims)
    return repeat(input, (1,) * (input.ndim - len(dims)) + dims)


@op(method=False, function=False, meta="data", samples=lambda t: [t.args(t.index((3,), 4), None)])
def interleaved(xp, repeats: Tensor, output_size: int | None):
    "0 repeats[0] times, 1 repeats[1] times, ..."
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
    total = sum(repeats.tolist()) if repeats.size and int(repeats.max()) > (1 << 62) // repeats.size else 0
    if total >= 1 << 59:                         # NumPy's own sum may wrap around
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{total}]")
    out = xp.repeat(xp.arange(len(repeats), dtype=repeats.dtype), repeats)
    if output_size is not None and output_size != len(out) and repeats.size:
        raise RuntimeError("allocated size does not match required size")
    return out
interleaved.rule(repeats=constant)


@composite(samples=lambda t: [t.args(t(2, 3), 2), t.args(t(2, 3), 2, 1), t.args(t(3, 2), t.index((3,), 3), 0),
                              t.args(t(2), 0)],
           errors=lambda t: [(t.args(t(3), -1), RuntimeError, "Repeats must be non-negative"),
                             (t.args(t(4), t.index((2,), 3), 0), RuntimeError,
                              "repeats must have the same size as input along dim")])
def repeat_interleave(input: Tensor, repeats: object = None, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """Repeats each element along `dim` (without `dim`: of the flattened tensor), by one number or by a number for each
    element.

    With the numbers alone, the positions: `repeat_interleave(tensor([1, 0, 2]))` is `tensor([0, 2, 2])`.
    """
    if repeats is None:
        input, repeats, positions = None, input, True
    else:
        positions = False
    if isinstance(repeats, TensorType):
        if repeats.dtype.name not in ("int32", "int64"):
            raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.legacy}'")
        if positions:
            return interleaved(repeats, output_size)
        return _repeat_each(input, repeats, dim, output_size)
    if not isinstance(repeats, int):
        raise TypeError("repeat_interleave() received an invalid combination of arguments - got "
                        f"({type(repeats).__name__}), but expected one of:\n * (Tensor repeats, int dim = None, *, "
                        "int output_size = None)\n * (int repeats, int dim = None, *, int output_size = None)\n")
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if dim is None:
        input, dim = input.flatten(), 0
    dim = axis(dim, input.ndim)
    if input.ndim == 0:
        axis(dim + 1, 0)                        # a scalar has no axis to repeat along: PyTorch's words for it
    n = input.shape[dim]
    if output_size is not None and output_size != n * repeats:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {n * repeats} but got {output_size}")
    shape = tuple(input.shape)
    wide = input.unsqueeze(dim + 1).expand(*shape[:dim + 1], repeats, *shape[dim + 1:])
    return clone(wide, memory_format=contiguous_format).flatten(dim, dim + 1)


def _repeat_each(input: Tensor, repeats: Tensor, dim: int | None, output_size: int | None) -> Tensor:
    if dim is None:
        input, dim = input.flatten(), 0
    n = input.shape[axis(dim, input.ndim)]
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.ndim == 0 or len(repeats) == 1:
        repeats = repeats.reshape(1).expand(n)
    elif len(repeats) != n:
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{len(repeats)} and input.size({dim}) = {n}")
    return input.index_select(dim, interleaved(repeats, output_size))


# --- diagonals ----------------------------------------------------------------------------------------------------
def _embedded_shape(input: Tensor, offset: int, dim1: int, dim2: int) -> tuple[int, ...]:
    ndim = input.ndim + 1
    given, (dim1, dim2) = (dim1, dim2), (axis(dim1, ndim), axis(dim2, ndim))
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {given[0]}, {given[1]}")
    rest = iter(input.shape[:-1])
    n = input.shape[-1] + abs(offset)
    return tuple(n if i in (dim1, dim2) else next(rest) for i in range(ndim))


@op(kernel="diag_embed", half="raw", out=False, meta=_embedded_shape,
    samples=lambda t: [t.args(t(3)), t.args(t(2, 3), 1), t.args(t(2, 3), -2, 0, 2), t.args(t(0))],
    errors=lambda t: [(t.args(t(3), 0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical 0, 0")])
def diag_embed(xp, input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1):
    "Matrices in axes `dim1`, `dim2` with the last axis of the input on a diagonal and zeros elsewhere."
    shape = _embedded_shape(input, offset, dim1, dim2)
    out = xp.zeros(shape, input.dtype)
    n = input.shape[-1]
    rows, columns = xp.arange(n) + max(-offset, 0), xp.arange(n) + max(offset, 0)
    xp.moveaxis(out, (dim1, dim2), (-2, -1))[..., rows, columns] = input
    return out
diag_embed.rule(input=lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2))


@op(kernel="diagonal_copy",
    method=False, function=False, half="raw", node="DiagonalBackward0_copy", samples=lambda t: [t.args(t(3, 4), 1)])
def diagonal_copy(xp, input: Tensor, offset: int):
    "A copy of a diagonal of a matrix."
    return xp.diagonal(input, offset).copy()
diagonal_copy.rule(input=lambda g, input_shape, offset: diagonal_backward(g, tuple(input_shape), offset, 0, 1))


def _check_diagonal(out: Tensor, result: Tensor) -> None:
    if result.ndim == 2 and result.dtype.category > out.dtype.category:
        raise RuntimeError(f"diag: result type {result.dtype.legacy} can't be cast to the desired out= type "
                           f"{out.dtype.legacy}")
    if result.dtype != out.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype.c_name}, but got {out.dtype.c_name} "
                           "instead")


@composite(out=True, check_out=_check_diagonal,
           samples=lambda t: [t.args(t(3)), t.args(t(3), -1), t.args(t(3, 4)), t.args(t(3, 4), 1)],
           errors=lambda t: [(t.args(t(2, 3, 4)), RuntimeError, "diag(): Supports 1D or 2D tensors. Got 3D")])
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    "A copy of a diagonal of a matrix; for a vector, a matrix with the vector on that diagonal."
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim == 2:
        return diagonal_copy(input, diagonal)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


@composite(samples=lambda t: [t.args(t(3)), t.args(t(2, 2), 1), t.args(t())])
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    "A matrix with all elements of the input on a diagonal."
    return diag_embed(input.contiguous().view(-1), offset)
