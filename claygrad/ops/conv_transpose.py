"""Transposed convolution, and convolution over time with the channels last."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._registry import composite, conj, op
from claygrad.ops.conv import all_of, batched, convolution, public

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]


native_form = {"native": "conv_transpose", "parts": (convolution,)}


def run(dims: int, input, weight, bias, stride, padding, output_padding, groups, dilation) -> Tensor:
    many = batched(f"conv_transpose{dims}d", dims, input)
    stride, padding, dilation, extra = all_of(dims, stride, padding, dilation, output_padding)
    out = convolution(input if many else input.unsqueeze(0), weight, bias, stride, padding, dilation, True, extra,
                      groups)
    return out if many else out.squeeze(0)


def samples_of(dims: int):
    size, kernel = (4, 3, 3)[:dims], (3, 2, 1)[:dims]

    def samples(t) -> list:
        return [t.args(t(2, 3, *size), t(3, 2, *[2] * dims), t(2)), t.args(t(3, *size), t(3, 2, *kernel)),
                t.args(t(2, 4, *size), t(4, 3, *kernel), t(6), stride=2, padding=1, output_padding=1, groups=2),
                t.args(t(1, 4, *size), t(4, 1, *[2] * dims), None, 2, 1, 1, 4, 2),
                t.args(t(0, 2, *size), t(2, 2, *[2] * dims))]
    return samples


def mistakes_of(dims: int):
    size = (4, 3, 3)[:dims]

    def mistakes(t) -> list:
        x, w = t(1, 2, *size), t(2, 3, *[2] * dims)
        return [(t.args(x, w, output_padding=1), RuntimeError,
                 "output padding must be smaller than either stride or dilation, but got"),
                (t.args(x, w, padding=6), RuntimeError, "Given input size per channel"),
                (t.args(x, w, output_padding=-1), RuntimeError, "negative output_padding is not supported"),
                (t.args(x, w, t(2)), RuntimeError, "Given transposed=1, weight of size"),
                (t.args(t(1, 3, *size), w), RuntimeError, "Given transposed=1, weight of size")]
    return mistakes


@composite(**public, **native_form, samples=samples_of(1), errors=mistakes_of(1))
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: ints = 1, padding: ints = 0,
                     output_padding: ints = 0, groups: int = 1, dilation: ints = 1) -> Tensor:
    """The transposed convolution of (N, C, L) or (C, L) with kernels (C, O / groups, k)."""
    return run(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(**public, **native_form, samples=samples_of(2), errors=mistakes_of(2))
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: ints = 1, padding: ints = 0,
                     output_padding: ints = 0, groups: int = 1, dilation: ints = 1) -> Tensor:
    """The transposed convolution of (N, C, H, W) or (C, H, W) with kernels (C, O / groups, kH, kW)."""
    return run(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(**public, **native_form, samples=samples_of(3), errors=mistakes_of(3))
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: ints = 1, padding: ints = 0,
                     output_padding: ints = 0, groups: int = 1, dilation: ints = 1) -> Tensor:
    """The transposed convolution of (N, C, D, H, W) or (C, D, H, W) with kernels (C, O / groups, kD, kH, kW)."""
    return run(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# Over time, batch, channels

def check_tbc(input: Tensor, weight: Tensor, bias: Tensor) -> None:
    for wrong, said in (
            (input.ndim != 3, "Input must have 3 dims: time, batch, in_channel"),
            (weight.ndim != 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."),
            (bias.ndim != 1, "Bias must be 1-D")):
        if wrong:
            raise RuntimeError(said)
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")


@op(**public, out=False, check=check_tbc,
    meta=lambda input, weight, pad: (input.shape[0] + 2 * pad - weight.shape[0] + 1, input.shape[1], weight.shape[2]),
    samples=lambda t: [t.args(t(5, 2, 3), t(2, 3, 4), t(4)), t.args(t(4, 2, 3), t(3, 3, 2), t(2), 1)],
    errors=lambda t: [(t.args(t(5, 2), t(2, 3, 4), t(4)), RuntimeError,
                       "Input must have 3 dims: time, batch, in_channel"),
                      (t.args(t(5, 2, 3), t(2, 3, 4), t(3)), RuntimeError,
                       "Bias size must equal dim 2 in the weight tensor (output channels).")])
def conv_tbc(xp, input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0):
    """The convolution over time of (time, batch, channels) with kernels (k, channels, out channels)."""
    length, batch, channels = input.shape
    if pad:
        wide = xp.zeros((length + 2 * pad, batch, channels), input.dtype)
        wide[pad:pad + length] = input
        input = wide
    steps = input.shape[0] - weight.shape[0] + 1
    out = xp.broadcast_to(bias, (steps, batch, weight.shape[2])).copy()
    for k in range(weight.shape[0]):
        out += input[k:k + steps] @ weight[k]
    return out


def as_convolution(g, weight, pad):
    """The gradient in the input, by way of (batch, channels, time)."""
    transposed = convolution(g.permute(1, 2, 0), conj(weight).permute(2, 1, 0), None, 1, pad, 1, True, 0, 1)
    return transposed.permute(2, 0, 1)


def kernel_gradient(g, input, weight_shape, pad):
    from claygrad.ops.conv import correlated
    out = correlated(g.permute(1, 2, 0), conj(input).permute(1, 2, 0), (weight_shape[0],), 1, pad, 1, 1)
    return out.permute(2, 1, 0)


conv_tbc.rule(input=as_convolution, weight=kernel_gradient, bias=lambda g: g.sum((0, 1)))
