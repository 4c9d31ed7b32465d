"""Windows that move over an input: their number, what is refused, and pooling axis by axis.

Note [Pooling by axes]
Sums and maxima over a window are sums and maxima over its rows of those over its columns, so an axis is pooled at a
time: one pass for every element of the kernel along it, kH + kW passes instead of kH * kW.
"""
from __future__ import annotations

from itertools import product as every
from typing import TYPE_CHECKING

from claygrad.ops._formats import product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

    Ints = Sequence[int]

COUNTS = {1: "one", 2: "two", 3: "three"}


def out_size(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    """How many windows fit; with `ceil` one more that hangs over the end, if it starts before it."""
    count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    return count - 1 if ceil and (count - 1) * s >= n + p else count


def out_sizes(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool) -> tuple[int, ...]:
    return tuple([out_size(n, k, s, p, d, ceil)
                  for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)])


def in_reach(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
             out: Ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The kernel and the padding without the elements of the kernel that see padding alone in all windows: they do not
    count for maxima and sums, and a kernel may be much larger than the input."""
    kernels, paddings = [], []
    for n, k, s, p, d, o in zip(size, kernel, stride, padding, dilation, out):
        first = max(0, (p - (o - 1) * s) // d) if k > n + 2 else 0
        kernels.append(max(1, min(k, (n - 1 + p) // d + 1) - first) if k > n + 2 else k)
        paddings.append(p - first * d)
    return tuple(kernels), tuple(paddings)


# Arguments

def every_axis(name: str, word: str, value: int | Ints, dims: int, verb: str = "must either be") -> tuple[int, ...]:
    """One number for each axis; `verb` because PyTorch's sentences differ."""
    if isinstance(value, int):
        return (value,) * dims
    if len(value) == 1:
        return (value[0],) * dims
    if len(value) != dims:
        raise RuntimeError(f"{name}: {word} {verb} a single int, or a tuple of {COUNTS[dims]} ints")
    return tuple(value)


def arguments(name: str, dims: int, kernel: int | Ints, stride: int | Ints | None, padding: int | Ints,
              dilation: int | Ints = 1) -> list[tuple[int, ...]]:
    """Kernel, stride (by default the kernel), padding and dilation of every axis."""
    k = every_axis(name, "kernel_size", kernel, dims)
    given = stride is not None and stride != [] and stride != ()
    s = every_axis(name, "stride", stride, dims, "must either be omitted,") if given else k
    verb = "must be" if name == "avg_pool3d" else "must either be"
    return [k, s, every_axis(name, "padding", padding, dims, verb),
            every_axis(name, "dilation", dilation, dims, "must be either")]


def check_axes(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
    """What PyTorch refuses while it counts windows."""
    for k, s, p, d in zip(kernel, stride, padding, dilation):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError("pad should be at most half of effective kernel size, but got "
                               f"pad={p}, kernel_size={k} and dilation={d}")


def check_pool(input: Tensor, name: str, dims: int, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
               ceil: bool) -> None:
    shape = list(input.shape)
    if input.ndim not in (dims + 1, dims + 2):
        if name == "avg_pool2d" and input.ndim < 3:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], "
                             "but got -3)")
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    check_axes(shape[-dims:], kernel, stride, padding, dilation)
    letters = ("T", "H", "W")[-dims:]
    for values, said, letter in ((kernel, "kernel size", "k"), (stride, "stride", "d"),
                                 (dilation, "dilation", "dilation")):
        if min(values) <= 0:
            named = " ".join([f"{letter}{axis}: {v}" for axis, v in zip(letters, values)])
            raise RuntimeError(f"{said} should be greater than zero, but got {named}")
    first = input.ndim - dims - 1
    if 0 in shape[first:]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{shape}" if dims == 2 else
            f"{name}{'_with_indices' * name.startswith('max')}_out_cpu{'_template' * name.startswith('max')}(): "
            f"Expected input's non-batch dimensions to have positive length, but input has a shape of {shape} and "
            f"non-batch dimension 0 has length zero!")
    out = out_sizes(shape[-dims:], kernel, stride, padding, dilation, ceil)
    if name == "avg_pool3d" and any(n + 2 * p < k for n, k, p in zip(shape[-3:], kernel, padding)):
        given = " ".join([f"{axis}: {n}" for axis, n in zip(letters, shape[-3:])])
        raise RuntimeError(f"input image ({given}) smaller than kernel size "
                           f"({' '.join([f'k{axis}: {k}' for axis, k in zip(letters, kernel)])})")
    if min(out) < 1:
        channels = shape[first]
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, [channels, *shape[-dims:]]))}). Calculated output "
                           f"size: ({'x'.join(map(str, [channels, *out]))}). Output size is too small")


# Along one axis

def along(axis: int, part) -> tuple:
    return (*[slice(None)] * axis, part)


def steps(k: int, s: int, d: int, out: int) -> list[slice]:
    """For every element of the kernel, the elements of a padded axis that it meets."""
    return [slice(j * d, j * d + (out - 1) * s + 1, s) for j in range(k)]


def widened(xp, x, axis: int, before: int, length: int, value):
    """The array with `before` elements put before an axis and as many after it as make it `length` long."""
    n = x.shape[axis]
    if not before and length <= n:
        return x
    wide = xp.full((*x.shape[:axis], max(length, before + n), *x.shape[axis + 1:]), value, x.dtype)
    wide[along(axis, slice(before, before + n))] = x
    return wide


def summed(xp, x, kernel: Ints, stride: Ints, padding: Ints, out: Ints):
    """The sums of windows, an axis at a time."""
    first = x.ndim - len(kernel)
    kernel, padding = in_reach(x.shape[first:], kernel, stride, padding, (1,) * len(kernel), out)
    for i in reversed(range(len(kernel))):
        k, s, axis = kernel[i], stride[i], first + i
        wide = widened(xp, x, axis, padding[i], (out[i] - 1) * s + k, 0)
        parts = steps(k, s, 1, out[i])
        x = wide[along(axis, parts[0])].copy()
        for part in parts[1:]:
            x += wide[along(axis, part)]
    return x


def spread(xp, g, size: Ints, kernel: Ints, stride: Ints, padding: Ints):
    """The transpose of `summed`: every element added to all of its window."""
    first = g.ndim - len(kernel)
    kernel, padding = in_reach(size, kernel, stride, padding, (1,) * len(kernel), g.shape[first:])
    for i in range(len(kernel)):
        k, s, p, axis = kernel[i], stride[i], padding[i], first + i
        out = g.shape[axis]
        wide = xp.zeros((*g.shape[:axis], max((out - 1) * s + k, p + size[i]), *g.shape[axis + 1:]), g.dtype)
        for part in steps(k, s, 1, out):
            wide[along(axis, part)] += g
        g = wide[along(axis, slice(p, p + size[i]))]
    return g


def lowest(xp, dtype):
    """What no element is below."""
    return -xp.inf if dtype.kind == "f" else xp.iinfo(dtype).min


def largest(xp, x, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints):
    """The largest elements of windows; NaN is larger than all."""
    first, bottom = x.ndim - len(kernel), lowest(xp, x.dtype)
    kernel, padding = in_reach(x.shape[first:], kernel, stride, padding, dilation, out)
    for i in reversed(range(len(kernel))):
        k, s, d, axis = kernel[i], stride[i], dilation[i], first + i
        wide = widened(xp, x, axis, padding[i], (out[i] - 1) * s + d * (k - 1) + 1, bottom)
        parts = steps(k, s, d, out[i])
        x = wide[along(axis, parts[0])].copy()
        for part in parts[1:]:
            xp.maximum(x, wide[along(axis, part)], out=x)
    return x


def takes_over(xp, new, best, unknown: bool):
    """Where an element that comes later takes the place: if it is larger, or NaN."""
    over = new > best
    return over | (new != new) if unknown else over


def has_nan(xp, x) -> bool:
    return x.dtype.kind == "f" and bool(x.size) and bool(xp.isnan(xp.max(x)))


def largest_at(xp, x, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints):
    """The largest elements of windows, and their indices in the flattened input: the first of equals, the last NaN."""
    dims, size = len(kernel), x.shape[x.ndim - len(kernel):]
    first, bottom = x.ndim - dims, lowest(xp, x.dtype)
    kernel, padding = in_reach(size, kernel, stride, padding, dilation, out)
    unknown = has_nan(xp, x)
    if not unknown and product(kernel) <= 25:
        return largest_found(xp, x, kernel, stride, padding, dilation, out)
    small = xp.int32 if product(size) < 1 << 31 else xp.int64
    index, flat = None, 1
    for i in reversed(range(dims)):
        k, s, p, d, axis = kernel[i], stride[i], padding[i], dilation[i], first + i
        length = (out[i] - 1) * s + d * (k - 1) + 1
        wide = widened(xp, x, axis, p, length, bottom)
        indices = ((xp.arange(wide.shape[axis]) - p) * flat).reshape(-1, *[1] * (dims - 1 - i)).astype(small)
        indices = xp.broadcast_to(indices, wide.shape) if index is None else \
            widened(xp, index, axis, p, length, 0) + indices
        parts = steps(k, s, d, out[i])
        x, index = wide[along(axis, parts[0])].copy(), indices[along(axis, parts[0])].copy()
        for part in parts[1:]:
            new = wide[along(axis, part)]
            over = takes_over(xp, new, x, unknown)
            xp.copyto(x, new, where=over)
            xp.copyto(index, indices[along(axis, part)], where=over)
        flat *= size[i]
    if any(padding):
        index = first_of_lowest(xp, x, index, bottom, size, stride, padding, dilation, out)
    return x, index.astype(xp.int64)


def largest_found(xp, x, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints):
    """As `largest_at` for numbers alone: the maxima first, then which element of the kernel, the last one first, is
    equal to them; its number is a byte, which moves faster than an index does."""
    dims = len(kernel)
    best = largest(xp, x, kernel, stride, padding, dilation, out)
    first, size, bottom = x.ndim - dims, x.shape[x.ndim - dims:], lowest(xp, x.dtype)
    for i in range(dims):
        x = widened(xp, x, first + i, padding[i], (out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1, bottom)
    indices = list(every(*map(range, kernel)))
    code = xp.empty(best.shape, xp.uint8)
    for number in reversed(range(len(indices))):
        part = tuple([slice(j * d, j * d + (o - 1) * s + 1, s)
                      for j, d, o, s in zip(indices[number], dilation, out, stride)])
        xp.copyto(code, number, where=x[(..., *part)] == best)
    moves = [0] * len(indices)
    base = xp.zeros((), xp.int64)
    for i, n in enumerate(size):
        moves = [step * n + place[i] * dilation[i] for step, place in zip(moves, indices)]
        base = xp.expand_dims(base, -1) * n + (xp.arange(out[i]) * stride[i] - padding[i])
    index = xp.take(xp.array(moves, dtype=xp.int64), code)
    index += base
    if any(padding):
        index = first_of_lowest(xp, best, index, bottom, size, stride, padding, dilation, out)
    return best, index


def first_of_lowest(xp, x, index, bottom, size: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints):
    """Where nothing in a window is above the lowest value, the place is its first element that is not padding."""
    none = x == bottom
    if not none.any():
        return index
    start = xp.zeros((), index.dtype)
    for n, s, p, d, o in zip(size, stride, padding, dilation, out):
        at = xp.arange(o) * s - p
        at = xp.where(at < 0, at + -(at // d) * d, at)
        start = xp.expand_dims(start, -1) * n + at
    return xp.where(none, start, index)


# Windows that share an axis out: as many as are wanted, of about the same size

def shares(n: int, out: int) -> list[tuple[int, int]]:
    """Beginnings and ends of the windows of adaptive pooling; who asks has made room for the results before."""
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]
