"""`torch._C._nn`: the functions of layers, and how the arguments of `Module.to` are read."""
from __future__ import annotations

from typing import Any

import claygrad
import claygrad.nn.functional as F
from claygrad.core import Tensor
from claygrad.core.dispatch.call import into

# Functions that nn.functional hands on to, with the same arguments
for _name in ("adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d avg_pool3d elu_ gelu linear leaky_relu_ hardtanh_ "
              "pad one_hot scaled_dot_product_attention softplus softshrink").split():
    globals()[_name] = getattr(F, _name)
# ... and those that are operators of the same arguments
for _name in ("col2im glu hardsigmoid hardsigmoid_ hardswish hardswish_ hardtanh im2col leaky_relu "
              "max_pool2d_with_indices max_unpool2d mish mish_ relu6 relu6_ silu silu_").split():
    globals()[_name] = getattr(claygrad.ops.aten, _name)


def _padding(mode: str, dims: int) -> Any:
    name = f"{'reflection' if mode == 'reflect' else 'replication'}_pad{dims}d"

    def padded(input: Tensor, padding: Any) -> Tensor:
        if len(padding) != 2 * dims:
            raise RuntimeError(f"padding size is expected to be {2 * dims}, but got: {len(padding)}")
        sizes = input.shape[input.ndim - dims - (mode == "reflect" or dims > 1):]
        if input.ndim not in (dims + 1, dims + 2) or 0 in sizes:
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
                               f"and other non-zero dimensions for input, but got: {list(input.shape)}")
        return F.pad(input, tuple(padding), mode)
    padded.__name__ = padded.__qualname__ = name
    padded.__doc__ = f"`{name}`, by `nn.functional.pad`."
    return padded


for _dims in (1, 2, 3):
    globals()[f"reflection_pad{_dims}d"] = _padding("reflect", _dims)
    globals()[f"replication_pad{_dims}d"] = _padding("replicate", _dims)


def _nearest(dims: int) -> Any:
    def upsampled(input: Tensor, output_size: Any = None, *scales: Any, scale_factors: Any = None,
                  out: Tensor | None = None) -> Tensor:
        if input.ndim != dims + 2:
            raise RuntimeError(f"It is expected input_size equals to {dims + 2}, but got size {input.ndim}")
        if output_size is not None:
            made = F.interpolate(input, tuple(output_size), mode="nearest")
        else:
            factors = scale_factors if scale_factors is not None else scales[0]
            made = F.interpolate(input, scale_factor=tuple(factors), mode="nearest")
        return made if out is None else into(f"upsample_nearest{dims}d", out, made)
    upsampled.__name__ = upsampled.__qualname__ = f"upsample_nearest{dims}d"
    upsampled.__doc__ = f"`upsample_nearest{dims}d`, by `nn.functional.interpolate`."
    return upsampled


for _dims in (1, 2, 3):
    globals()[f"upsample_nearest{_dims}d"] = _nearest(_dims)


def thnn_conv2d(input: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None = None, stride: Any = 1,
                padding: Any = 0) -> Tensor:
    """`conv2d`; the size of the kernel is that of the weights."""
    for name, given in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)):
        if not isinstance(given, int) and len(given) != 2:
            raise RuntimeError(f"2D {name} expected\n  got {list(given)}")
    return F.conv2d(input, weight, bias, stride, padding)


def slow_conv3d(input: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None = None, stride: Any = 1,
                padding: Any = 0) -> Tensor:
    """`conv3d`; the size of the kernel is that of the weights."""
    for name, given in (("kernel_size", kernel_size), ("padding", padding), ("stride", stride)):
        if not isinstance(given, int) and len(given) != 3:
            raise RuntimeError(f"It is expected {name} equals to 3, but got size {len(given)}")
    return F.conv3d(input, weight, bias, stride, padding)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, non_blocking and memory_format of a call of `to`."""
    named = dict(kwargs)
    rest = list(args)
    where = named.pop("device", None)
    kind = named.pop("dtype", None)
    blocking = named.pop("non_blocking", False)
    form = named.pop("memory_format", None)
    other = named.pop("tensor", None) or named.pop("other", None)
    named.pop("copy", None)
    if named:
        raise TypeError(f"to() received an invalid combination of arguments: {', '.join(named)}")
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], claygrad.dtype):
        kind = rest.pop(0)
    elif rest:
        where = rest.pop(0)
        if rest and isinstance(rest[0], claygrad.dtype | None):
            kind = rest.pop(0)
    if rest:
        blocking = rest.pop(0)
    if other is not None:
        where, kind = other.device, other.dtype
    return claygrad.device(where) if where is not None else None, kind, bool(blocking), form
