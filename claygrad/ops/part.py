"""Views of a part of a tensor: rows, slices, pieces, diagonals, windows."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.ops._geometry import axis, sizes, text
from claygrad.ops._registry import composite, op
from claygrad.ops._registry import view as view_op

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]
    Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def sliced(input: Tensor, dim: int, start: int, length: int, step: int = 1) -> Geometry:
    shape, strides = list(input.shape), list(input.stride())
    offset = input.storage_offset() + start * strides[dim]
    shape[dim] = length
    if length > 1 or step < 2**31:           # of at most one entry the stride is free, and might be out of range
        strides[dim] *= step
    return tuple(shape), tuple(strides), offset


# --- the gradients: each puts its input back into zeros, and taking the part is its own gradient -----------------
@op(kernel="select_backward", method=False, function=False, half="raw", meta=lambda shape: shape,
    samples=lambda t: [t.args(t(3), (2, 3), 0, 1)])
def select_backward(xp, g: Tensor, shape: ints, dim: int, index: int):
    "Zeros of `shape` with `g` as entry `index` along `dim`."
    out = xp.zeros(shape, g.dtype)
    out[(slice(None),) * dim + (index,)] = g
    return out
select_backward.rule(g=lambda g, dim, index: g.select(dim, index))


@op(kernel="slice_backward", method=False, function=False, half="raw", meta=lambda shape: shape,
    samples=lambda t: [t.args(t(2, 3), (5, 3), 0, 1, 5, 2)])
def slice_backward(xp, g: Tensor, shape: ints, dim: int, start: int, end: int, step: int):
    "Zeros of `shape` with `g` at start, start + step, ... along `dim`."
    out = xp.zeros(shape, g.dtype)
    out[(slice(None),) * dim + (slice(start, end, step),)] = g
    return out
slice_backward.rule(g=lambda g, dim, start, end, step: slice_view(g, dim, start, end, step))


@op(kernel="diagonal_backward", method=False, function=False, half="raw", meta=lambda shape: shape,
    samples=lambda t: [t.args(t(2), (3, 4), 2, 0, 1)])
def diagonal_backward(xp, g: Tensor, shape: ints, offset: int, dim1: int, dim2: int):
    "Zeros of `shape` with `g` on a diagonal."
    out = xp.zeros(shape, g.dtype)
    n = g.shape[-1]
    rows, columns = xp.arange(n) + max(-offset, 0), xp.arange(n) + max(offset, 0)
    xp.moveaxis(out, (dim1, dim2), (-2, -1))[..., rows, columns] = g
    return out
diagonal_backward.rule(g=lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2))


@op(method=False, function=False, meta=lambda shape: shape, samples=lambda t: [t.args(t(3, 2), (4,), 0, 2, 1)])
def unfold_backward(xp, g: Tensor, shape: ints, dim: int, size: int, step: int):
    "The windows `g` added up where they overlap, in zeros of `shape`."
    if step < 1:
        raise ValueError(f"step is {step} but must be > 0")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    out = xp.zeros(shape, g.dtype)
    if not shape:
        return out + g.sum()
    dim = axis(dim, len(shape))
    line, pieces = xp.moveaxis(out, dim, -1), xp.moveaxis(g, dim, -2)        # (..., n), (..., count, size)
    each, count = line.strides[-1], pieces.shape[-2]
    if size != pieces.shape[-1] or (count and (count - 1) * step + size > line.shape[-1]):
        raise RuntimeError(f"{count} windows of size {size}, {step} apart, do not fit {line.shape[-1]} elements")
    # Pieces of the windows, no longer than the way to the next: they do not meet.
    for start in range(0, size, step):
        part = pieces[..., start:start + step]
        if part.size:
            at = xp.lib.stride_tricks.as_strided(line[..., start:], part.shape, (*line.strides[:-1], step * each, each))
            at += part
    return out
unfold_backward.rule(g=lambda g, dim, size, step: g.unfold(dim, size, step))


@op(method=False, function=False, meta=lambda to_size: to_size,
    samples=lambda t: [t.args(t(3, 2), (3, 2), (1, 1), 0, (5,), (1,), 0)])
def relay(xp, g: Tensor, size: ints, stride: ints, offset: int, to_size: ints, to_stride: ints, to_offset: int):
    "`g` written to memory under one geometry, elements that meet added up, and read under another."
    start = min(offset, to_offset)
    if min((start, *size, *stride, *to_size, *to_stride)) < 0:
        raise RuntimeError("as_strided: sizes, strides and offsets must be non-negative, but got "
                           f"{text(size)}, {text(stride)}, {offset} and {text(to_size)}, {text(to_stride)}, "
                           f"{to_offset}")
    memory = xp.zeros(max(_reach(size, stride, offset - start), _reach(to_size, to_stride, to_offset - start)), g.dtype)

    def seen(size: ints, stride: ints, offset: int):
        strides = [step * memory.itemsize for step in stride]
        return xp.lib.stride_tricks.as_strided(memory[offset - start:], size, strides)

    if _apart(size, stride):
        seen(size, stride, offset)[...] = g
    else:
        xp.add.at(memory, _positions(xp, size, stride, offset - start), g)
    read = seen(to_size, to_stride, to_offset)
    return memory.reshape(to_size) if read.size == memory.size and read.flags.c_contiguous else read.copy()


def _reach(size: ints, stride: ints, offset: int) -> int:
    return 0 if 0 in size else offset + 1 + sum((n - 1) * step for n, step in zip(size, stride))


def _apart(size: ints, stride: ints) -> bool:
    """Whether no two elements can meet: each axis steps over all that the smaller ones reach."""
    reach = 0
    for step, n in sorted((step, n) for step, n in zip(stride, size) if n > 1):
        if step <= reach:
            return False
        reach += (n - 1) * step
    return True


def _positions(xp, size: ints, stride: ints, offset: int):
    at = xp.full(size, offset, xp.int64)
    for i, (n, step) in enumerate(zip(size, stride)):
        at += (xp.arange(n) * step).reshape((n,) + (1,) * (len(size) - i - 1))
    return at


relay.rule(g=lambda g, size, stride, offset, to_size, to_stride, to_offset:
           relay(g, to_size, to_stride, to_offset, size, stride, offset))


@view_op(geometry="select",
         samples=lambda t: [t.args(t(3, 4), 0, 1), t.args(t(3, 4), -1, -2), t.args(t(3), 0, 2)],
         errors=lambda t: [(t.args(t(4, 6), 0, 4), IndexError,
                            "select(): index 4 out of range for tensor of size [4, 6]"),
                           (t.args(t(), 0, 0), IndexError, "select() cannot be applied to a 0-dim tensor.")])
def select(input: Tensor, dim: int, index: int):
    "A view of the entry `index` along `dim`, without that axis: `select(x, 0, 2)` is `x[2]`."
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = axis(dim, input.ndim)
    n = input.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {text(input.shape)} at dimension "
                         f"{dim}")
    shape, strides = tuple(input.shape), input.stride()
    start = input.storage_offset() + (index + n if index < 0 else index) * strides[dim]
    return shape[:dim] + shape[dim + 1:], strides[:dim] + strides[dim + 1:], start


def _unselect(g: Tensor, input_shape: tuple[int, ...], dim: int, index: int) -> Tensor:
    dim = axis(dim, len(input_shape))
    return select_backward(g, tuple(input_shape), dim, index % input_shape[dim])


select.rule(input=_unselect)


def _bounds(n: int, start: int | None, end: int | None, step: int) -> tuple[int, int]:
    """First position and number of positions of a slice of n, with PyTorch's clamping."""
    start, stop, _ = slice(start, end).indices(n)
    return start, max(0, -(-(stop - start) // step))


@view_op(name="slice", geometry="slice", method=False, function=False, node="SliceBackward0",
         samples=lambda t: [t.args(t(5, 3), 0, 1, 4, 2), t.args(t(5), 0, -3, None, 1), t.args(t(5), 0, 4, 2, 1)])
def slice_view(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1):
    "Every `step`-th entry from `start` up to `end` along `dim`: what `x[start:end:step]` is made of."
    if input.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    dim = axis(dim, input.ndim)
    first, length = _bounds(input.shape[dim], start, end, step)
    return sliced(input, dim, first, length, step)


def _unslice(g: Tensor, input_shape: tuple[int, ...], dim: int, start: int | None, end: int | None,
             step: int) -> Tensor:
    dim = axis(dim, len(input_shape))
    first, length = _bounds(input_shape[dim], start, end, step)
    return slice_backward(g, tuple(input_shape), dim, first, first + length * step, step)


slice_view.rule(input=_unslice)


@view_op(geometry="narrow", method=False, function=False, node="SliceBackward0",
         samples=lambda t: [t.args(t(5), 0, 1, 3)])
def narrow_view(input: Tensor, dim: int, start: int, length: int):
    "`length` entries from `start` along `dim`, both already checked."
    return sliced(input, dim, start, length)
narrow_view.rule(input=lambda g, input_shape, dim, start, length:
                 slice_backward(g, tuple(input_shape), dim, start, start + length, 1))


@composite(native="narrow",
           samples=lambda t: [t.args(t(5, 3), 0, 1, 2), t.args(t(5, 3), -1, -2, 1), t.args(t(5), 0, 5, 0)],
           errors=lambda t: [(t.args(t(4), 0, 3, 2), RuntimeError,
                              "start (3) + length (2) exceeds dimension size (4)."),
                             (t.args(t(4), 0, 0, -1), RuntimeError, "narrow(): length must be non-negative."),
                             (t.args(t(), 0, 0, 0), RuntimeError, "narrow() cannot be applied to a 0-dim tensor.")])
def narrow(input: Tensor, dim: int, start: object, length: int) -> Tensor:
    "A view of `length` entries from `start` on along `dim`."
    if isinstance(start, TensorType):
        if start.ndim or start.dtype.is_floating_point or start.dtype.is_complex or start.dtype.name == "bool":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    elif not isinstance(start, int):
        got = ", ".join(type(a).__name__ for a in (dim, start, length))
        raise TypeError(f"narrow() received an invalid combination of arguments - got ({got}), but expected one of:\n "
                        "* (int dim, Tensor start, int length)\n * (int dim, int start, int length)\n")
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = axis(dim, input.ndim)
    n = input.shape[dim]
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return narrow_view(input, dim, start, length)


@view_op(geometry="diagonal",
         samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 1), t.args(t(3, 4), -1), t.args(t(2, 3, 4), 1, 0, 2),
                            t.args(t(3, 4), 9)],
         errors=lambda t: [(t.args(t(3, 4), 0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical 0, 0")])
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """A view of a diagonal of the matrices in axes `dim1` and `dim2`, as a new last axis. `offset` counts diagonals
    above the main one."""
    given, ndim = (dim1, dim2), input.ndim
    dim1, dim2 = axis(dim1, ndim), axis(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {given[0]}, {given[1]}")
    shape, strides = input.shape, input.stride()
    rows, columns = max(-offset, 0), max(offset, 0)
    n = max(min(shape[dim1] - rows, shape[dim2] - columns), 0)
    start = input.storage_offset() + (rows * strides[dim1] + columns * strides[dim2] if n else 0)
    kept = [i for i in range(ndim) if i not in (dim1, dim2)]
    return ((*(shape[i] for i in kept), n), (*(strides[i] for i in kept), strides[dim1] + strides[dim2]), start)
diagonal.rule(input=lambda g, input_shape, offset, dim1, dim2:
              diagonal_backward(g, tuple(input_shape), offset, dim1, dim2))


def _strided(input: Tensor, size: ints, stride: ints, storage_offset: int | None) -> Geometry:
    size, stride = sizes(size), sizes(stride)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {text(stride)}")
    offset = input.storage_offset() if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={text(size)} and strides={text(stride)}")
    have = input.untyped_storage().nbytes()
    need = 0 if 0 in size else (offset + 1 + sum((n - 1) * step for n, step in zip(size, stride))) * input.itemsize
    if need >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={text(size)} and strides={text(stride)}")
    if need > have:
        raise RuntimeError(f"setStorage: sizes {text(size)}, strides {text(stride)}, storage offset {offset}, and "
                           f"itemsize {input.itemsize} requiring a storage size of {need} are out of bounds for "
                           f"storage of size {have}")
    return size, stride, offset


@view_op(geometry="as_strided",
         samples=lambda t: [t.args(t(12), (3, 2), (4, 1)), t.args(t(12), (3, 3), (2, 1), 1),
                            t.args(t(3, 4), (2, 2), (1, 5))],
         errors=lambda t: [(t.args(t(4), (2,), (1, 2)), RuntimeError, "mismatch in length of strides and shape"),
                           (t.args(t(4), (2,), (-1,)), RuntimeError, "as_strided: Negative strides are not supported"),
                           (t.args(t(4), (5,), (1,)), RuntimeError,
                            "setStorage: sizes [5], strides [1], storage offset 0"),
                           (t.args(t(4), (2,), (2**62,)), RuntimeError, "Storage size calculation overflowed with")])
def as_strided(input: Tensor, size: ints, stride: ints, storage_offset: int | None = None):
    "A view with any shape, strides and offset on the tensor's storage. Elements may overlap."
    return _strided(input, size, stride, storage_offset)


def _unstrided(g: Tensor, input_shape: tuple[int, ...], input_stride: tuple[int, ...], input_offset: int, size: ints,
               stride: ints, storage_offset: int | None) -> Tensor | None:
    if not g.numel():
        return None
    offset = input_offset if storage_offset is None else storage_offset
    own = (tuple(input_shape), tuple(input_stride), input_offset)
    out = relay(g, sizes(size), sizes(stride), offset, *own)
    if any(step == 0 and n > 1 for n, step in zip(input_shape, input_stride)):
        # Elements of the input that share memory share its gradient.
        out = out / relay(out.new_ones(input_shape), *own, *own)
    return out


as_strided.rule(input=_unstrided)


@view_op(geometry="unfold", function=False,
         samples=lambda t: [t.args(t(7), 0, 3, 2), t.args(t(4, 5), 1, 2, 1), t.args(t(), 0, 1, 1),
                            t.args(t(4), 0, 0, 1)],
         errors=lambda t: [(t.args(t(6), 0, 7, 1), RuntimeError,
                            "maximum size for tensor at dimension 0 is 6 but size is 7"),
                           (t.args(t(6), 0, 2, 0), RuntimeError, "step is 0 but must be > 0")])
def unfold(input: Tensor, dimension: int, size: int, step: int):
    "A view of all windows of `size` elements along `dimension`, `step` apart, as a new last axis."
    dim = axis(dimension, input.ndim)
    n, stride = (input.shape[dim], input.stride()[dim]) if input.ndim else (1, 1)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if input.ndim == 0:
        return (size,), (1,), input.storage_offset()
    shape, strides, offset = sliced(input, dim, 0, (n - size) // step + 1, step)
    return (*shape, size), (*strides, stride), offset
unfold.rule(input=lambda g, input_shape, dimension, size, step:
            unfold_backward(g, tuple(input_shape), axis(dimension, len(input_shape)), size, step))
