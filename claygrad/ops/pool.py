"""Average pooling, and pooling by powers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops import _pool
from claygrad.ops._conv import same_format
from claygrad.ops._registry import composite, op

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

hidden = {"function": False, "method": False, "out": False}
functional = {"namespace": "nn.functional", "method": False}


def divisors(xp, size, kernel, stride, padding, out, include: bool, divisor: int | None):
    """By how much the sum of each window is divided: a number, or one for every place."""
    if divisor is not None:
        return divisor
    count = xp.ones((), xp.int64)
    for n, k, s, p, o in zip(size, kernel, stride, padding, out):
        start = xp.arange(o) * s - p
        end = xp.minimum(start + k, n + p)
        if not include:
            start, end = xp.maximum(start, 0), xp.minimum(end, n)
        count = xp.expand_dims(count, -1) * xp.maximum(end - start, 0)
    count = xp.maximum(count, 1)                  # a window of nothing has the sum 0
    first = count.reshape(-1)[0]
    return int(first) if (count == first).all() else count


def check_average(input, kernel, stride, padding, ceil, divisor) -> None:
    dims, have = len(kernel), input.dtype
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    _pool.check_pool(input, f"avg_pool{dims}d", dims, kernel, stride, padding, (1,) * dims, ceil)
    if (not have.is_floating_point and have.name != "int64") or (dims == 3 and have.itemsize == 2):
        name = "avg_pool2d" if dims < 3 else "avg_pool3d_out_frame"
        raise NotImplementedError(f"\"{name}\" not implemented for '{have.legacy}'")


def averaged_shape(input, kernel, stride, padding, ceil) -> tuple[int, ...]:
    dims = len(kernel)
    return (*input.shape[:-dims], *_pool.out_sizes(input.shape[-dims:], kernel, stride, padding, (1,) * dims, ceil))


@op(kernel="avg_pool", name="_avg_pool", node=lambda kernel: f"AvgPool{len(kernel)}DBackward0", **hidden,
    check=check_average,
    meta=averaged_shape, samples=lambda t: [t.args(t(2, 5, 4), (3, 2), (2, 1), (1, 0), True, False, None)])
def average(xp, input: Tensor, kernel: ints, stride: ints, padding: ints, ceil: bool, include: bool,
            divisor: int | None):
    """The means of windows over the last axes."""
    size = input.shape[-len(kernel):]
    out = _pool.out_sizes(size, kernel, stride, padding, (1,) * len(kernel), ceil)
    result = _pool.summed(xp, input, kernel, stride, padding, out)
    by = divisors(xp, size, kernel, stride, padding, out, include, divisor)
    if input.dtype.kind == "f":
        result /= by if isinstance(by, int) else by.astype(input.dtype)
    else:
        result = xp.sign(result) * xp.sign(by) * (xp.absolute(result) // xp.absolute(by))             # towards zero
    return same_format(xp, result, input)


@op(kernel="avg_pool_backward", name="_avg_pool_backward",
    node=lambda kernel: f"AvgPool{len(kernel)}DBackwardBackward0", **hidden,
    meta=lambda shape: shape,
    samples=lambda t: [t.args(t(2, 3, 3), (2, 5, 4), (3, 2), (2, 1), (1, 0), True, False, None)])
def average_back(xp, grad_output: Tensor, shape: ints, kernel: ints, stride: ints, padding: ints, ceil: bool,
                 include: bool, divisor: int | None):
    """The gradient of the means: each shared out over its window."""
    size, out = shape[-len(kernel):], grad_output.shape[-len(kernel):]
    by = divisors(xp, size, kernel, stride, padding, out, include, divisor)
    each = grad_output / (by if isinstance(by, int) else by.astype(grad_output.dtype))
    return same_format(xp, _pool.spread(xp, each, size, kernel, stride, padding), grad_output)


def average_gradient(g, input_shape, kernel, stride, padding, ceil, include, divisor):
    return average_back(g, tuple(input_shape), kernel, stride, padding, ceil, include, divisor)


average.rule(input=average_gradient)
average_back.rule(grad_output=lambda g, kernel, stride, padding, ceil, include, divisor: average(
    g, kernel, stride, padding, ceil, include, divisor))


# The public forms

native_form = {"native": "avg_pool", "parts": (average,)}


def run(dims: int, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) -> Tensor:
    kernel, stride, padding, _ = _pool.arguments(f"avg_pool{dims}d", dims, kernel_size, stride, padding)
    return average(input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def samples_of(dims: int):
    size = (6, 5, 4)[:dims]

    def samples(t) -> list:
        return [t.args(t(2, 3, *size), 2), t.args(t(2, *size), 3, 2, 1), t.args(t(1, 2, *size), 3, 2, 1, True),
                t.args(t(1, 2, *size), 3, 2, 1, True, False), t.args(t(0, 2, *size), 2)]
    return samples


def mistakes(t) -> list:
    return [(t.args(t(1, 2, 5, 5), 2, 0), RuntimeError, "stride should not be zero"),
            (t.args(t(1, 2, 5, 5), 2, padding=2), RuntimeError, "pad should be at most half of effective kernel size"),
            (t.args(t(1, 2, 5, 5), 7), RuntimeError, "Given input size: (2x5x5). Calculated output size: (2x0x0)."),
            (t.args(t(1, 2, 5, 5), (2, 2, 2)), RuntimeError, "avg_pool2d: kernel_size must either be a single int"),
            (t.args(t(1, 2, 5, 5), 2, divisor_override=0), RuntimeError, "divisor must be not zero")]


@composite(namespace=("torch", "nn.functional"), method=False, **native_form, samples=samples_of(1),
           errors=lambda t: [(t.args(t(5), 2), RuntimeError, "Expected 2 to 3 dimensions, but got 1-dimensional"),
                             (t.args(t(2, 5), (2, 2)), RuntimeError,
                              "avg_pool1d() argument 'kernel_size' should contain one int (got 2)")])
def avg_pool1d(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """Average pooling over sequences (N, C, L) or (C, L). Padding counts as zeros, unless count_include_pad is False.
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 "
                           "'self' (while checking arguments for avg_pool1d)")
    for word, value in (("kernel_size", kernel_size), ("stride", stride or 1), ("padding", padding)):
        if not isinstance(value, int) and len(value) != 1:
            raise RuntimeError(f"avg_pool1d() argument '{word}' should contain one int (got {len(value)})")
    kernel, stride, padding, _ = _pool.arguments("avg_pool1d", 1, kernel_size, None if stride == () else stride,
                                                 padding)
    return average(input.unsqueeze(-2), (1, *kernel), (1, *stride), (0, *padding), ceil_mode, count_include_pad,
                   None).squeeze(-2)


@composite(**functional, **native_form, out="exact", errors=mistakes,
           samples=lambda t: [*samples_of(2)(t), t.args(t(1, 2, 6, 5), 2, divisor_override=3)])
def avg_pool2d(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Average pooling over images (N, C, H, W) or (C, H, W). Padding counts as zeros, unless count_include_pad is
    False."""
    return run(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@composite(**functional, **native_form, out="exact",
           samples=lambda t: [*samples_of(3)(t), t.args(t(1, 2, 4, 3, 2), 2, divisor_override=3)],
           errors=lambda t: [(t.args(t(1, 2, 5, 5, 5), 7), RuntimeError, "input image (T: 5 H: 5 W: 5) smaller than")])
def avg_pool3d(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Average pooling over volumes (N, C, D, H, W) or (C, D, H, W). Padding counts as zeros, unless count_include_pad
    is False."""
    return run(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


# By powers: the p-th root of the sum of p-th powers

def by_powers(dims: int, input, norm_type, kernel_size, stride, ceil_mode) -> Tensor:
    if norm_type in (float("inf"), -float("inf")):
        from claygrad.ops import pool_max
        pool = getattr(pool_max, f"max_pool{dims}d")
        out = pool(input.abs() if norm_type > 0 else -input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        return out if norm_type > 0 else -out
    pool = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1]
    out = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = 1
    for k in (kernel_size,) * dims if isinstance(kernel_size, int) else kernel_size:
        count *= k
    return (out.sign() * out.abs().relu()).mul(count).pow(1.0 / norm_type)


def power_samples(dims: int):
    size = (6, 5, 4)[:dims]
    return lambda t: [t.args(t(2, 3, *size), 2, 2), t.args(t(2, *size, low=0.1), 1.5, 3, 2),
                      t.args(t(1, 2, *size), float("inf"), 2), t.args(t(1, 2, *size, low=0.1), 3, 2, 2, True)]


@composite(**functional, samples=power_samples(1))
def lp_pool1d(input: Tensor, norm_type: Tensor | Number, kernel_size: ints, stride: ints | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-th root of the sum of the p-th powers of every window of (N, C, L) or (C, L)."""
    return by_powers(1, input, norm_type, kernel_size, stride, ceil_mode)


@composite(**functional, samples=power_samples(2))
def lp_pool2d(input: Tensor, norm_type: Tensor | Number, kernel_size: ints, stride: ints | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-th root of the sum of the p-th powers of every window of (N, C, H, W) or (C, H, W)."""
    return by_powers(2, input, norm_type, kernel_size, stride, ceil_mode)


@composite(**functional, samples=power_samples(3))
def lp_pool3d(input: Tensor, norm_type: Tensor | Number, kernel_size: ints, stride: ints | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-th root of the sum of the p-th powers of every window of (N, C, D, H, W) or (C, D, H, W)."""
    return by_powers(3, input, norm_type, kernel_size, stride, ceil_mode)
