"""Adaptive pooling: the size of the result is given, and each axis shared out in so many windows."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import adopt, int64, on_storage
from claygrad.ops import _pool
from claygrad.ops._conv import same_format
from claygrad.ops._formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    product,
    strides_for,
    suggested_format,
)
from claygrad.ops._registry import composite, op
from claygrad.ops.pool_max import maxima_back
from claygrad.ops.reduce import mean

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

hidden = {"function": False, "method": False, "out": False}
functional = {"namespace": "nn.functional", "method": False}


def check_empty(name: str, input: Tensor) -> None:
    for axis in range(1, input.ndim):
        if input.shape[axis] == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
                               f"has sizes {list(input.shape)} with dimension {axis} being empty")


def check_empty_back(name: str, grad_output: Tensor, dims: int) -> None:
    """PyTorch takes a line for an image of height 1."""
    shape = list(grad_output.shape)
    if dims == 1:
        shape.insert(-1, 1)
    if 0 in shape[1:]:
        raise RuntimeError(f"{name}{max(dims, 2)}d_backward(): Expected grad_output to have non-zero size for "
                           f"non-batch "
                           f"dimensions, but grad_output has sizes {shape} with dimension {shape.index(0, 1)} being "
                           f"empty")


def check_floats(name: str, input: Tensor) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy}'")


# Means

def check_means(input: Tensor, size: ints) -> None:
    dims = len(size)
    name = f"adaptive_avg_pool{dims}d"
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(input.shape)}")
    if min(size) < 0:
        listed = ", ".join(map(str, size[:2])) + "".join([f",{n}" for n in size[2:]])
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received "
                           f"{{{listed}}}")
    check_empty(name, input)
    if input.numel():
        check_floats(name if dims == 2 else f"{name}_cpu", input)


def counts(xp, full: ints, size: ints):
    """How many elements each window has."""
    result = xp.ones((), xp.int64)
    for n, out in zip(full, size):
        lengths = [end - start for start, end in _pool.shares(n, out)]
        result = xp.expand_dims(result, -1) * xp.array(lengths, dtype="int64")
    return result


@op(kernel="adaptive_avg_pool", name="_adaptive_avg_pool", node=lambda size: f"AdaptiveAvgPool{len(size)}DBackward0",
    **hidden, check=check_means,
    meta=lambda input, size: (*input.shape[:-len(size)], *size),
    samples=lambda t: [t.args(t(2, 5, 4), (3, 2)), t.args(t(1, 2, 3, 4, 5), (3, 1, 7))])
def shared_means(xp, input: Tensor, size: ints):
    """The means of as many windows along the last axes as wanted."""
    first, out = input.ndim - len(size), input
    room = xp.empty((*input.shape[:first], *size), input.dtype)              # before windows are counted
    if not room.size:
        return room
    for axis in reversed(range(first, input.ndim)):
        n, wanted = input.shape[axis], size[axis - first]
        if wanted and n % wanted == 0:
            step = n // wanted
            parts = [out[_pool.along(axis, slice(j, None, step))] for j in range(step)] if step < 16 else None
            out = out.reshape(*out.shape[:axis], wanted, step, *out.shape[axis + 1:]).sum(axis + 1) \
                if parts is None else sum(parts[1:], parts[0])
            continue
        result = xp.empty((*out.shape[:axis], wanted, *out.shape[axis + 1:]), input.dtype)
        for i, (start, end) in enumerate(_pool.shares(n, wanted)):
            result[_pool.along(axis, i)] = out[_pool.along(axis, slice(start, end))].sum(axis)
        out = result
    return same_format(xp, (out / counts(xp, input.shape[first:], size)).astype(input.dtype), input)


@op(kernel="adaptive_avg_pool_backward", name="_adaptive_avg_pool_backward",
    node=lambda shape: "AdaptiveAvgPool2DBackwardBackward0", **hidden,
    meta=lambda shape: shape, samples=lambda t: [t.args(t(2, 3, 2), (2, 5, 4), 2)])
def shared_means_back(xp, grad_output: Tensor, shape: ints, dims: int):
    """The gradient of the means: each shared out over its window."""
    size = grad_output.shape[-dims:]
    if not xp.empty(shape, grad_output.dtype).size:          # before anything is repeated
        return xp.zeros(shape, grad_output.dtype)
    out = grad_output / counts(xp, shape[-dims:], size).astype(grad_output.dtype)
    first = out.ndim - dims
    for axis in range(first, out.ndim):
        n, had = shape[axis], out.shape[axis]
        if had and n % had == 0:
            out = xp.repeat(out, n // had, axis=axis)
            continue
        result = xp.zeros((*out.shape[:axis], n, *out.shape[axis + 1:]), out.dtype)
        for i, (start, end) in enumerate(_pool.shares(n, had)):
            result[_pool.along(axis, slice(start, end))] += out[_pool.along(axis, slice(i, i + 1))]
        out = result
    return same_format(xp, out, grad_output)


def means_gradient(g, input_shape, size):
    check_empty_back("adaptive_avg_pool", g, len(size))
    return shared_means_back(g, tuple(input_shape), len(size))


shared_means.rule(input=means_gradient)
shared_means_back.rule(grad_output=lambda g, grad_output_shape, dims: shared_means(
    g, tuple(grad_output_shape[-dims:])))


native_form = {"native": "adaptive_avg_pool", "parts": (shared_means, mean)}


def sizes_of(input: Tensor, output_size, dims: int, said: str) -> tuple[int, ...]:
    """The size of the result along every axis; None keeps that of the input."""
    if isinstance(output_size, int):
        return (output_size,) * dims
    if input.ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(output_size) != dims:
        if len(output_size) == 1 and dims > 1:
            return (output_size[0],) * dims
        raise RuntimeError(said)
    return tuple([input.shape[i - dims] if n is None else n for i, n in enumerate(output_size)])


def one_size(name: str, input: Tensor, output_size) -> int:
    if input.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 "
                           f"'self' (while checking arguments for {name})")
    if isinstance(output_size, int):
        return output_size
    if len(output_size) != 1:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
    return output_size[0]


def means(dims: int, input, output_size) -> Tensor:
    size = sizes_of(input, output_size, dims, f"adaptive_avg_pool{dims}d: output_size must be {dims}")
    if all(n == 1 for n in size) and input.ndim in (dims + 1, dims + 2) and 0 not in input.shape[1:]:
        out = input.mean(tuple(range(-dims, 0)), keepdim=True)
        if suggested_format(input.shape, input.stride()) is contiguous_format:
            return out
        strides = strides_for(out.shape, channels_last if dims == 2 else channels_last_3d)
        return adopt(out, on_storage(out.untyped_storage(), out.dtype, out.shape, strides, 0), record=False)
    return shared_means(input, size)


def samples_of(dims: int):
    size = (6, 5, 4)[:dims]

    def samples(t) -> list:
        return [t.args(t(2, 3, *size), 3), t.args(t(2, *size), 2), t.args(t(1, 2, *size), 1), t.args(t(1, 2, *size), 7),
                t.args(t(0, 2, *size), 2)]
    return samples


def line_mistakes(t) -> list:
    return [(t.args(t(5), 2), RuntimeError, "Expected 2 to 3 dimensions, but got 1-dimensional tensor"),
            (t.args(t(1, 2, 5), ()), RuntimeError, "adaptive_")]


@composite(namespace=("torch", "nn.functional"), method=False, **native_form, samples=samples_of(1),
           errors=line_mistakes)
def adaptive_avg_pool1d(input: Tensor, output_size: ints) -> Tensor:
    """Adaptive average pooling over sequences (N, C, L) or (C, L): the means of `output_size` windows."""
    n = one_size("adaptive_avg_pool1d", input, output_size)
    return means(2, input.unsqueeze(-2), (1, n)).squeeze(-2)


@composite(**functional, **native_form, samples=lambda t: [*samples_of(2)(t), t.args(t(1, 2, 6, 5), (None, 3))],
           errors=lambda t: [(t.args(t(5, 5), 2), RuntimeError, "adaptive_avg_pool2d(): Expected 3D or 4D tensor"),
                             (t.args(t(1, 2, 5, 5), ()), RuntimeError, "adaptive_avg_pool2d: output_size must be 2"),
                             (t.args(t(1, 2, 5, 5), -1), RuntimeError, "adaptive_avg_pool2d: elements of output_size")])
def adaptive_avg_pool2d(input: Tensor, output_size: tuple[int | None, ...] | int) -> Tensor:
    """Adaptive average pooling over images (N, C, H, W) or (C, H, W): the mean of each window. None keeps the size of
    an axis."""
    return means(2, input, output_size)


@composite(**functional, **native_form, samples=samples_of(3),
           errors=lambda t: [(t.args(t(5, 5, 5), 2), RuntimeError, "adaptive_avg_pool3d(): Expected 4D or 5D tensor")])
def adaptive_avg_pool3d(input: Tensor, output_size: tuple[int | None, ...] | int) -> Tensor:
    """Adaptive average pooling over volumes (N, C, D, H, W) or (C, D, H, W): the means of `output_size` windows."""
    return means(3, input, output_size)


# Maxima

def check_maxima(input: Tensor, size: ints) -> None:
    dims = len(size)
    name = f"adaptive_max_pool{dims}d"
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input.shape)}")
    check_empty(name, input)
    if min(size) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: "
                           f"{[*input.shape[:-dims], *size]}")
    if input.numel():
        check_floats(name if dims == 2 else f"{name}_cpu", input)


def maxima_shapes(input, size) -> list:
    shape = (*input.shape[:-len(size)], *size)
    return [(shape, input.dtype), (shape, int64)]


@op(kernel="adaptive_max_pool", name="_adaptive_max_pool", node=lambda size: f"AdaptiveMaxPool{len(size)}DBackward0",
    **hidden,
    check=check_maxima, meta=maxima_shapes, differentiable=(0,),
    samples=lambda t: [t.args(t(2, 5, 4), (3, 2)), t.args(t(1, 2, 3, 4, 5), (3, 1, 7))])
def shared_maxima(xp, input: Tensor, size: ints):
    """The largest elements of as many windows along the last axes as wanted, and their indices."""
    first, unknown = input.ndim - len(size), _pool.has_nan(xp, input)
    whole = (*input.shape[:first], *size)
    room = xp.empty(whole, input.dtype), xp.empty(whole, xp.int64)           # before windows are counted
    if not room[0].size:
        return room
    out, index = input, xp.arange(product(input.shape[first:])).reshape(input.shape[first:])
    index = xp.broadcast_to(index, input.shape)
    for axis in reversed(range(first, input.ndim)):
        wanted = size[axis - first]
        shape = (*out.shape[:axis], wanted, *out.shape[axis + 1:])
        best, at = xp.empty(shape, input.dtype), xp.empty(shape, xp.int64)
        for i, (start, end) in enumerate(_pool.shares(input.shape[axis], wanted)):
            part, there = _pool.along(axis, slice(start, end)), _pool.along(axis, slice(i, i + 1))
            place = last_place(xp, out[part], axis, unknown)
            best[there] = xp.take_along_axis(out[part], place, axis)
            at[there] = xp.take_along_axis(index[part], place, axis)
        out, index = best, at
    return same_format(xp, out, input), same_format(xp, index, input)


def last_place(xp, window, axis: int, unknown: bool):
    """Where the maximum along an axis is: the first of equals, the last NaN."""
    place = xp.argmax(window, axis=axis, keepdims=True)
    if not unknown:
        return place
    nan = xp.isnan(window)
    last = window.shape[axis] - 1 - xp.argmax(xp.flip(nan, axis), axis=axis, keepdims=True)
    return xp.where(nan.any(axis, keepdims=True), last, place)


def maxima_gradient(g, outs, input_shape, size):
    check_empty_back("adaptive_max_pool", g, len(size))
    return maxima_back(g, outs[1], tuple(input_shape), len(size))


shared_maxima.rule(input=maxima_gradient)


native_max_pool = {"native": "adaptive_max_pool", "parts": (shared_maxima,)}


def maxima(dims: int, input, output_size, return_indices: bool):
    said = f"adaptive_max_pool{dims}d(): internal error: output_size.size() must be {dims}"
    out = shared_maxima(input, sizes_of(input, output_size, dims, said))
    return out if return_indices else out[0]


def line_maxima(input, output_size, return_indices: bool):
    n = one_size("adaptive_max_pool1d", input, output_size)
    check_empty("adaptive_max_pool1d", input)
    out = [x.squeeze(-2) for x in shared_maxima(input.unsqueeze(-2), (1, n))]
    return tuple(out) if return_indices else out[0]


def with_indices(dims: int):
    return lambda t: [*samples_of(dims)(t), t.args(t(2, 3, *(6, 5, 4)[:dims]), 3, True)]


@composite(**functional, **native_max_pool, samples=with_indices(1), errors=line_mistakes)
def adaptive_max_pool1d(input: Tensor, output_size: ints, return_indices: bool = False) -> Tensor:
    """The largest elements of `output_size` windows that share out the last axis, and on request their indices."""
    return line_maxima(input, output_size, return_indices)


@composite(**functional, **native_max_pool, samples=with_indices(2),
           errors=lambda t: [(t.args(t(5, 5), 2), RuntimeError, "adaptive_max_pool2d(): Expected 3D or 4D tensor"),
                             (t.args(t(1, 2, 5, 5), -1), RuntimeError, "Trying to create tensor with negative")])
def adaptive_max_pool2d(input: Tensor, output_size: tuple[int | None, ...] | int,
                        return_indices: bool = False) -> Tensor:
    """The largest elements of `output_size` windows that share out (N, C, H, W) or (C, H, W)."""
    return maxima(2, input, output_size, return_indices)


@composite(**functional, **native_max_pool, samples=with_indices(3),
           errors=lambda t: [(t.args(t(5, 5, 5), 2), RuntimeError, "adaptive_max_pool3d(): Expected 4D or 5D tensor")])
def adaptive_max_pool3d(input: Tensor, output_size: tuple[int | None, ...] | int,
                        return_indices: bool = False) -> Tensor:
    """The largest elements of `output_size` windows that share out (N, C, D, H, W) or (C, D, H, W)."""
    return maxima(3, input, output_size, return_indices)


@composite(namespace="torch", method=False, **native_max_pool, name="adaptive_max_pool1d", samples=samples_of(1))
def plain_adaptive_max_pool1d(input: Tensor, output_size: ints) -> tuple[Tensor, Tensor]:
    """The largest elements of `output_size` windows that share out the last axis, and their indices."""
    return line_maxima(input, output_size, True)


@composite(**functional, **native_max_pool, samples=samples_of(1))
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: ints,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """As adaptive_max_pool1d, always with the indices."""
    return line_maxima(input, output_size, True)


@composite(**functional, **native_max_pool, samples=samples_of(2))
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: tuple[int | None, ...] | int,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """As adaptive_max_pool2d, always with the indices."""
    return maxima(2, input, output_size, True)


@composite(**functional, **native_max_pool, samples=samples_of(3))
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: tuple[int | None, ...] | int,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """As adaptive_max_pool3d, always with the indices."""
    return maxima(3, input, output_size, True)
