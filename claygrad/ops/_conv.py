"""Convolution of arrays as matrix products: forward, the gradient of its input, the gradient of its weight.

Note [Columns]
Every window of the input is unrolled into a column of length K = channels of a group * elements of the kernel, the
columns of some images stand side by side, and one product with the weight does them all. Images are taken in blocks
whose columns fit the cache, so memory does not grow with the batch. Layouts: input (N, C, *size), weight
(O, C / groups, *kernel), output (N, O, *out); a group has its own rows of all of them.
"""
from __future__ import annotations

from itertools import product as every
from typing import TYPE_CHECKING

from claygrad.ops._formats import channels_last, channels_last_3d, element_strides, product, suggested_format

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Ints = Sequence[int]

BLOCK = 1 << 21            # bytes of columns made at a time
SMALL = 1 << 12            # elements below which one call of NumPy more counts for more than the work it does


def out_sizes(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> tuple[int, ...]:
    """How many windows there are along every axis."""
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1
                  for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)])


def transposed_sizes(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
                     output_padding: Ints) -> tuple[int, ...]:
    """The size of the input that has `size` windows, the smallest one plus `output_padding`."""
    return tuple([(n - 1) * s - 2 * p + d * (k - 1) + 1 + extra
                  for n, k, s, p, d, extra in zip(size, kernel, stride, padding, dilation, output_padding)])


def padded(xp, x, padding: Ints, value: float = 0):
    """The array with `padding` elements on both sides of its last axes."""
    if not any(padding):
        return x
    n = len(padding)
    lead = x.ndim - n
    shape = (*x.shape[:lead], *[size + 2 * p for size, p in zip(x.shape[lead:], padding)])
    out = xp.zeros(shape, x.dtype) if value == 0 else xp.full(shape, value, x.dtype)
    out[(..., *[slice(p, p + size) for size, p in zip(x.shape[lead:], padding)])] = x
    return out


def effective_steps(steps: Ints, counts: Ints) -> tuple[int, ...]:
    """Strides, or dilations, along axes with so many positions: with one position no step is taken, however large."""
    return tuple([1 if n == 1 else step for step, n in zip(steps, counts)])


def windows(xp, x, kernel: Ints, stride: Ints, dilation: Ints, out: Ints):
    """A view (N, C, *kernel, *out) of the windows of a padded input."""
    steps = x.strides
    stride, dilation = effective_steps(stride, out), effective_steps(dilation, kernel)
    for n, k, s, d, o in zip(x.shape[2:], kernel, stride, dilation, out, strict=True):
        if (o - 1) * s + (k - 1) * d >= n:
            raise RuntimeError(f"{o} windows of size {k} with stride {s} and dilation {d} do not fit {n} elements")
    spatial = steps[2:]
    return xp.lib.stride_tricks.as_strided(
        x, (*x.shape[:2], *kernel, *out),
        (*steps[:2], *[s * d for s, d in zip(spatial, dilation)], *[s * d for s, d in zip(spatial, stride)]))


def offsets(kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Iterator[tuple[tuple[int, ...], tuple]]:
    """For every element of the kernel: its place, and the slices of a padded input that it meets."""
    for place in every(*map(range, kernel)):
        yield place, tuple([slice(i * d, i * d + (o - 1) * s + 1, s)
                            for i, d, o, s in zip(place, dilation, out, stride)])


def blocks(n: int, bytes_each: int) -> Iterator[tuple[int, int]]:
    step = max(1, min(n, BLOCK // max(bytes_each, 1)))
    for low in range(0, n, step):
        yield low, min(n, low + step)


def is_pointwise(kernel: Ints, padding: Ints) -> bool:
    return all(k == 1 for k in kernel) and not any(padding)


def same_format(xp, out, *givers):
    """The result in row-major order, or with its channels last in memory if those of one of the arrays that it was
    made from are."""
    if out.ndim in (4, 5):
        for x in givers:
            if not x.flags.c_contiguous and suggested_format(x.shape, element_strides(x)) in (channels_last,
                                                                                              channels_last_3d):
                last = xp.ascontiguousarray(xp.moveaxis(out, 1, -1))
                return xp.moveaxis(last, -1, 1)
    return xp.ascontiguousarray(out)


def columns(view, cols, low: int, high: int, n: int) -> None:
    """Write the windows of images low to high as columns: (C, *kernel, images, *out)."""
    axes = (1, *range(2, 2 + n), 0, *range(2 + n, 2 + 2 * n))
    cols[...] = view[low:high].transpose(axes)


def conv_forward(xp, x, w, stride: Ints, padding: Ints, dilation: Ints, groups: int, bias=None):
    """The convolution (N, O, *out) of an input with a weight, plus a bias (O)."""
    shape = (x.shape[0], w.shape[0], *out_sizes(x.shape[2:], w.shape[2:], stride, padding, dilation))
    stride, dilation = effective_steps(stride, shape[2:]), effective_steps(dilation, w.shape[2:])
    if not product(shape) * product(w.shape[1:]):
        out = xp.zeros(shape, x.dtype)
    else:
        out = _by_products(xp, x, w, stride, padding, dilation, groups, shape[2:])
    if bias is not None:
        out += bias.reshape(-1, *[1] * (x.ndim - 2))
    return out


def _by_products(xp, x, w, stride: Ints, padding: Ints, dilation: Ints, groups: int, size: Ints):
    n, c = x.shape[:2]
    o, kernel = w.shape[0], w.shape[2:]
    length, depth, dims = product(size), product(w.shape[1:]), len(size)
    if c == groups > 1:
        return _by_channel(xp, x, w, stride, padding, dilation, size)
    weight = w.reshape(groups, o // groups, depth)
    if is_pointwise(kernel, padding) and (length >= 16 or n == 1):
        selected = x if not any(s != 1 for s in stride) else x[(..., *[slice(None, None, s) for s in stride])]
        return xp.matmul(weight, selected.reshape(n, groups, depth, length)).reshape(n, o, *size)
    view = windows(xp, padded(xp, x, padding), kernel, stride, dilation, size)
    out = xp.empty((n, o, *size), x.dtype)
    for low, high in blocks(n, groups * depth * length * x.itemsize):
        cols = xp.empty((c, *kernel, high - low, *size), x.dtype)
        columns(view, cols, low, high, dims)
        result = xp.matmul(weight, cols.reshape(groups, depth, -1))
        out[low:high] = result.reshape(o, high - low, *size).swapaxes(0, 1)
    return out


def conv_input_grad(xp, g, w, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int):
    """The transpose of the convolution in its input: g (N, O, *out) spread to (N, C, *size)."""
    n, o = g.shape[:2]
    kernel, out = w.shape[2:], g.shape[2:]
    stride, dilation = effective_steps(stride, out), effective_steps(dilation, kernel)
    c, depth, length = w.shape[1] * groups, product(w.shape[1:]), product(out)
    if not n * o * length * depth:
        return xp.zeros((n, c, *size), g.dtype)
    transposed = w.reshape(groups, o // groups, depth).swapaxes(1, 2)
    if is_pointwise(kernel, padding) and tuple(size) == tuple(out) and length >= 16:
        return xp.matmul(transposed, g.reshape(n, groups, o // groups, length)).reshape(n, c, *size)
    if g.size < SMALL and all(s == 1 for s in stride) and tuple(size) == transposed_sizes(
            out, kernel, stride, padding, dilation, (0,) * len(out)) and xp.isfinite(w).all():
        return _by_flipped_kernel(xp, g, w, padding, dilation, groups)
    spread = xp.zeros((n, c, *[s + 2 * p for s, p in zip(size, padding)]), g.dtype)
    inner = (..., *[slice(p, p + s) for s, p in zip(size, padding)]) if any(padding) else ...
    if w.shape[1] == 1 and groups > 1:
        by_group = g.reshape(n, groups, o // groups, *out)
        for place, part in offsets(kernel, stride, dilation, out):
            taps = w[(slice(None), 0, *place)].reshape(groups, o // groups, *[1] * len(out))
            spread[(..., *part)] += (by_group * taps).sum(2) if o > groups else by_group[:, :, 0] * taps[:, 0]
        return spread[inner]
    for low, high in blocks(n, groups * depth * length * g.itemsize):
        m = high - low
        rows = g[low:high].reshape(m, groups, o // groups, length).transpose(1, 2, 0, 3)
        cols = xp.matmul(transposed, rows.reshape(groups, o // groups, m * length)).reshape(c, *kernel, m, *out)
        into = spread[low:high].swapaxes(0, 1)
        for place, part in offsets(kernel, stride, dilation, out):
            into[(..., *part)] += cols[(slice(None), *place)]
    return spread[inner]


def conv_weight_grad(xp, g, x, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int):
    """The transpose of the convolution in its weight: (O, C / groups, *kernel)."""
    n, o = g.shape[:2]
    c, out = x.shape[1], g.shape[2:]
    stride, dilation = effective_steps(stride, out), effective_steps(dilation, kernel)
    shape = (o, c // groups, *kernel)
    length, depth, dims = product(out), product(shape[1:]), len(out)
    if not n * o * length * depth:
        return xp.zeros(shape, g.dtype)
    wide = padded(xp, x, padding)
    if c == groups > 1:
        grad = xp.empty(shape, g.dtype)
        by_group = g.reshape(n, groups, o // groups, *out)
        over = (0, *range(3, 3 + dims))
        for place, part in offsets(kernel, stride, dilation, out):
            grad[(slice(None), 0, *place)] = (by_group * wide[(..., *part)][:, :, None]).sum(over).reshape(o)
        return grad
    view = windows(xp, wide, kernel, stride, dilation, out)
    total = None
    for low, high in blocks(n, groups * depth * length * x.itemsize):
        m = high - low
        cols = xp.empty((c, *kernel, m, *out), x.dtype)
        columns(view, cols, low, high, dims)
        rows = g[low:high].reshape(m, groups, o // groups, length).transpose(1, 2, 0, 3)
        part = xp.matmul(rows.reshape(groups, o // groups, m * length),
                         cols.reshape(groups, depth, m * length).swapaxes(1, 2))
        total = part if total is None else xp.add(total, part, out=total)
    return total.reshape(shape)


def _by_flipped_kernel(xp, g, w, padding: Ints, dilation: Ints, groups: int):
    """With a stride of 1 the transpose is a convolution too, with the kernel flipped and its channels swapped.
    For finite weights only: they meet the zeros around g."""
    o, c, *kernel = w.shape
    transposed = xp.flip(w, tuple(range(2, w.ndim))).reshape(groups, o // groups, c, *kernel).swapaxes(1, 2)
    reach = [d * (k - 1) - p for k, d, p in zip(kernel, dilation, padding)]
    if min(reach) < 0:                        # more padding than the kernel reaches: those windows saw nothing else
        g = g[(..., *[slice(max(-r, 0), n - max(-r, 0)) for r, n in zip(reach, g.shape[2:])])]
    return conv_forward(xp, g, transposed.reshape(groups * c, o // groups, *kernel), (1,) * len(kernel),
                        [max(r, 0) for r in reach], dilation, groups)


def _by_channel(xp, x, w, stride: Ints, padding: Ints, dilation: Ints, size: Ints):
    """Depthwise: no sum over channels to make a product of, but one pass for every element of the kernel."""
    n, groups = x.shape[:2]
    each = w.shape[0] // groups
    wide = padded(xp, x, padding)
    out = term = None
    for place, part in offsets(w.shape[2:], stride, dilation, size):
        taps = w[(slice(None), 0, *place)].reshape(groups, each, *[1] * len(size))
        met = wide[(..., *part)][:, :, None]
        if out is None:
            out = met * taps
        else:
            term = xp.multiply(met, taps, out=term)
            out += term
    return out.reshape(n, groups * each, *size)
