"""Fractional max pooling: windows of one size at random steps, so that the input shrinks by any ratio."""
from __future__ import annotations

from itertools import product as every
from typing import TYPE_CHECKING

from claygrad.core import int64
from claygrad.ops import _pool
from claygrad.ops._formats import product
from claygrad.ops._registry import composite, constant, op
from claygrad.ops.pool_max import maxima_back

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

functional = {"namespace": "nn.functional", "method": False}


def starts(xp, sample, n: int, out: int, k: int):
    """Where the windows along an axis begin, for every channel: steps from (n - k) / (out - 1), begun at random.

    Computed in the dtype of the samples, because rounding decides where a window begins.
    """
    result = xp.full((*sample.shape, out), n - k, xp.int64)
    if out > 1:
        number = sample.dtype.type
        alpha = number(n - k) / number(out - 1)
        at = xp.arange(out - 1).astype(sample.dtype)
        offset = (sample * alpha).astype("int64")
        result[..., :-1] = ((at + sample[..., None]) * alpha).astype("int64") - offset[..., None]
    return result


def check_fractional(input: Tensor, kernel: ints, size: ints, samples: Tensor) -> None:
    dims, shape = len(kernel), list(input.shape)
    name = f"fractional_max_pool{dims}d{'_out' * (dims == 3)}"
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {shape}")
    for axis in range(input.ndim - dims - 1, input.ndim):
        if shape[axis] == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                               f"got{shape} with dimension {axis} being empty.")
    for word, n, k, out in zip(("time", "height", "width")[-dims:], shape[-dims:], kernel, size):
        if out + k - 1 + (dims == 3) > n:
            raise RuntimeError(f"{name}(): pool {word} {k} too large relative to input {word} {n}")
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = shape[0] if input.ndim == dims + 2 else 1
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != shape[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")
    if not input.is_floating_point():
        raise NotImplementedError(f"\"fractional_max_pool{dims}d_out_frame\" not implemented for "
                                  f"'{input.dtype.legacy}'")


def fractional_shapes(input, kernel, size) -> list:
    shape = (*input.shape[:-len(kernel)], *size)
    return [(shape, input.dtype), (shape, int64)]


@op(kernel="fractional_max_pool", name="_fractional_max_pool", function=False,
    node=lambda kernel: f"FractionalMaxPool{len(kernel)}DBackward0",
    method=False, out=False, keep=("samples",), check=check_fractional, meta=fractional_shapes, differentiable=(0,),
    samples=lambda t: [t.args(t(2, 3, 6, 5), (2, 2), (3, 2), t(2, 3, 2, low=0, high=1, requires_grad=False))])
def fractional(xp, input: Tensor, kernel: ints, size: ints, samples: Tensor):
    """The largest elements of windows at random steps, and their indices."""
    dims = len(kernel)
    x = input if input.ndim == dims + 2 else input[None]
    full, order = x.shape[2:], (1, 0) if dims == 2 else (0, 1, 2)           # PyTorch draws the width first in 2d
    begin = [starts(xp, samples[:x.shape[0], :, order[i]], full[i], size[i], kernel[i]) for i in range(dims)]
    flat, unknown = x.reshape(*x.shape[:2], product(full)), _pool.has_nan(xp, x)
    count = product(size)
    best = at = None
    for offset in every(*map(range, kernel)):
        place = 0
        for i in range(dims):
            along = (begin[i] + offset[i]).reshape(*x.shape[:2], *[size[i] if j == i else 1 for j in range(dims)])
            place = place * full[i] + along
        new = xp.take_along_axis(flat, place.reshape(*x.shape[:2], count), -1).reshape(*x.shape[:2], *size)
        if best is None:
            best, at = new, place
            continue
        over = _pool.takes_over(xp, new, best, unknown)
        best, at = xp.where(over, new, best), xp.where(over, place, at)
    shape = (*input.shape[:-dims], *size)
    return best.reshape(shape), at.reshape(shape)


fractional.rule(input=lambda g, outs, input_shape, kernel: maxima_back(g, outs[1], tuple(input_shape), len(kernel)),
                samples=constant)


def run(dims: int, input, kernel_size, output_size, output_ratio, samples) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if len(output_ratio) > dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        ratio = output_ratio if len(output_ratio) == dims else tuple(output_ratio) * dims
        output_size = [int(input.size(i - dims) * ratio[i]) for i in range(dims)]
    if samples is None:
        from claygrad.ops.random import rand
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        channels = input.size(-dims - 1)
        if not input.is_floating_point():
            raise NotImplementedError(f"\"check_uniform_bounds\" not implemented for '{input.dtype.legacy}'")
        samples = rand(batch, channels, dims, dtype=input.dtype, device=input.device)
    return fractional(input, every_axis(name, "kernel_size", kernel_size, dims),
                      every_axis(name, "output_size", output_size, dims), samples)


def every_axis(name: str, word: str, value, dims: int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * dims
    if len(value) != dims:
        raise RuntimeError(f"{name}: {word} must either be a single Int or tuple of {'three ' * (dims == 3)}Ints")
    return tuple(value)


def samples_of(dims: int):
    size = (6, 5, 5)[:dims]

    def samples(t) -> list:
        return [t.args(t(2, 3, *size), 2, 3, _random_samples=t(2, 3, dims, low=0, high=1, requires_grad=False)),
                t.args(t(2, *size), 2, None, [0.6] * dims, True,
                       _random_samples=t(1, 2, dims, low=0, high=1, requires_grad=False)),
                t.args(t(1, 2, *size), 2, 1, _random_samples=t(1, 2, dims, low=0, high=1, requires_grad=False))]
    return samples


def mistakes_of(dims: int):
    size = (5,) * dims
    return lambda t: [(t.args(t(1, 2, *size), 2), ValueError,
                       f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio"),
                      (t.args(t(1, 2, *size), 2, 6), RuntimeError, f"fractional_max_pool{dims}d"),
                      (t.args(t(1, 2, *size), (2,) * 4, 1), RuntimeError,
                       f"fractional_max_pool{dims}d: kernel_size must either be a single Int or tuple of ")]


@composite(**functional, samples=samples_of(2), errors=mistakes_of(2))
def fractional_max_pool2d(input: Tensor, kernel_size: ints, output_size: ints | None = None,
                          output_ratio: tuple[float, ...] | None = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Tensor:
    """The largest elements of windows at random steps over (N, C, H, W) or (C, H, W), and on request their indices."""
    out = run(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return out if return_indices else out[0]


@composite(**functional, samples=samples_of(3), errors=mistakes_of(3))
def fractional_max_pool3d(input: Tensor, kernel_size: ints, output_size: ints | None = None,
                          output_ratio: tuple[float, ...] | None = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Tensor:
    """The largest elements of windows at random steps over (N, C, D, H, W) or (C, D, H, W)."""
    out = run(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return out if return_indices else out[0]


@composite(**functional, samples=samples_of(2))
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: ints, output_size: ints | None = None,
                                       output_ratio: tuple[float, ...] | None = None, return_indices: bool = False,
                                       _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """As fractional_max_pool2d, always with the indices."""
    return run(2, input, kernel_size, output_size, output_ratio, _random_samples)


@composite(**functional, samples=samples_of(3))
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: ints, output_size: ints | None = None,
                                       output_ratio: tuple[float, ...] | None = None, return_indices: bool = False,
                                       _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """As fractional_max_pool3d, always with the indices."""
    return run(3, input, kernel_size, output_size, output_ratio, _random_samples)
