"""What training for quantization computes with numbers that are not quantized: rounded and cut as if they were."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad.core import Tensor


def _expect_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


def _expect_zero_inside(inside: bool) -> None:
    if not inside:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def _rounded(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    """The nearest numbers that the quantized ones stand for; the gradient passes where nothing was cut."""
    if not input.is_floating_point():
        raise NotImplementedError('"fake_quantize_tensor_cachemask_kernel_type_handling" not implemented for '
                                  f"'{input.dtype.legacy}'")
    with claygrad.no_grad():
        rounded = (input.float() * (1 / scale)).round()
        levels = rounded.masked_fill(rounded.isnan(), -float("inf")) + zero_point
        value = ((levels.clamp(quant_min, quant_max) - zero_point) * scale).to(input.dtype)
        passes = (levels >= quant_min) & (levels <= quant_max)
    return _Through.apply(input, value, passes)


class _Through(claygrad.autograd.Function):
    """A value in the place of another; its gradient is the other's where a mask says so."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, value: Tensor, passes: Tensor) -> Tensor:
        ctx.save_for_backward(passes)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        passes, = ctx.saved_tensors
        return grad * passes, None, None


def fake_quantize_per_tensor_affine(input: Tensor, scale: Any, zero_point: Any, quant_min: int,
                                    quant_max: int) -> Tensor:
    """The tensor with every element at the nearest `(n - zero_point) * scale`, n from quant_min to quant_max."""
    _expect_range(quant_min, quant_max)
    if not isinstance(zero_point, Tensor):
        _expect_zero_inside(quant_min <= zero_point <= quant_max)
    return _rounded(input, claygrad.as_tensor(scale, dtype=claygrad.float32), claygrad.as_tensor(zero_point), quant_min,
                    quant_max)


def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int,
                                     quant_max: int) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index along an axis."""
    if scale.dtype not in (claygrad.float32, claygrad.bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scale.dtype.legacy}")
    if zero_point.dtype not in (claygrad.int32, claygrad.float32, claygrad.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.legacy}")
    for name, given in (("scale", scale), ("zero point", zero_point)):
        if given.dim() != 1:
            raise RuntimeError(f"{name} should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != input.size(axis):
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _expect_range(quant_min, quant_max)
    inside = (zero_point >= quant_min) & (zero_point <= quant_max)
    _expect_zero_inside(zero_point.dtype.is_floating_point or bool(inside.all()))
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    shape = [1] * input.dim()
    shape[axis] = -1
    return _rounded(input, scale.float().reshape(shape), zero_point.reshape(shape), quant_min, quant_max)
