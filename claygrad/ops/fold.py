"""Sliding blocks of images as columns, and columns added up to images."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops import _conv
from claygrad.ops._formats import product
from claygrad.ops._registry import composite, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

hidden = {"function": False, "method": False, "out": False}
functional = {"namespace": "nn.functional", "method": False}


def pair(word: str, value: ints) -> tuple[int, int]:
    if isinstance(value, int):
        return (value, value)
    if len(value) == 1:
        return (value[0], value[0])
    if len(value) != 2:
        raise RuntimeError(f"It is expected {word} equals to 2, but got size {len(value)}")
    return tuple(value)


def check_blocks(kernel: ints, dilation: ints, padding: ints, stride: ints) -> None:
    for values, said, word, smallest in ((kernel, "kernel size should be greater than zero", "kernel", 1),
                                      (dilation, "dilation should be greater than zero", "dilation", 1),
                                      (padding, "padding should be non-negative", "pad", 0),
                                      (stride, "stride should be greater than zero", "stride", 1)):
        if min(values) < smallest:
            raise RuntimeError(f"{said}, but got {word}_height: {values[0]} {word}_width: {values[1]}")


def check_unfold(input: Tensor, kernel: ints, dilation: ints, padding: ints, stride: ints) -> None:
    shape = list(input.shape)
    check_blocks(kernel, dilation, padding, stride)
    if input.ndim < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], "
                         "but got 2)")
    if input.ndim > 4 or 0 in shape[input.ndim - 3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                           f"dimensions for input, but got: {shape}")
    out = _conv.out_sizes(shape[-2:], kernel, stride, padding, dilation)
    if min(out) < 1:
        raise RuntimeError(f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={tuple(kernel)}, "
                           f"dilation={tuple(dilation)}, padding={tuple(padding)}, calculated shape of the array of "
                           f"sliding blocks as {out}, but its components must be at least one.")
    check_dtype("im2col_out_cpu", input)


def check_dtype(name: str, input: Tensor) -> None:
    if not (input.is_floating_point() or input.is_complex() or input.dtype.name == "bool"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy}'")


def blocks_shape(input, kernel, dilation, padding, stride) -> tuple[int, ...]:
    *lead, c, h, w = input.shape
    return (*lead, c * product(kernel), product(_conv.out_sizes((h, w), kernel, stride, padding, dilation)))


@op(kernel="im2col", name="im2col", node="Im2ColBackward0", **hidden, half="raw", check=check_unfold, meta=blocks_shape,
    samples=lambda t: [t.args(t(2, 2, 5, 4), (2, 3), (1, 1), (1, 0), (2, 1))])
def to_columns(xp, input: Tensor, kernel: ints, dilation: ints, padding: ints, stride: ints):
    """The blocks under a kernel that slides over images, one in a column."""
    x = input if input.ndim == 4 else input[None]
    out = _conv.out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    view = _conv.windows(xp, _conv.padded(xp, x, padding), kernel, stride, dilation, out)
    return view.reshape(blocks_shape(input, kernel, dilation, padding, stride))


@op(kernel="col2im", name="col2im", node="Col2ImBackward0", **hidden,
    check=lambda input, size, kernel, dilation, padding, stride: check_fold(input, size, kernel, dilation, padding,
                                                                            stride),
    meta=lambda input, size, kernel: (*input.shape[:-2], input.shape[-2] // product(kernel), *size),
    samples=lambda t: [t.args(t(2, 12, 12), (5, 4), (2, 3), (1, 1), (1, 1), (2, 1))])
def from_columns(xp, input: Tensor, size: ints, kernel: ints, dilation: ints, padding: ints, stride: ints):
    """Columns laid back as blocks; where these overlap they add up."""
    *lead, rows, _ = input.shape
    out = _conv.out_sizes(size, kernel, stride, padding, dilation)
    c = rows // product(kernel)
    cols = input.reshape(*lead, c, *kernel, *out)
    wide = xp.zeros((*lead, c, *[n + 2 * p for n, p in zip(size, padding)]), input.dtype)
    for place, part in _conv.offsets(kernel, stride, dilation, out):
        wide[(..., *part)] += cols[(..., *place, *[slice(None)] * 2)]
    return xp.ascontiguousarray(wide[(..., *[slice(p, p + n) for n, p in zip(size, padding)])])


def check_fold(input: Tensor, size: ints, kernel: ints, dilation: ints, padding: ints, stride: ints) -> None:
    shape, ndim = list(input.shape), input.ndim
    check_blocks(kernel, dilation, padding, stride)
    if ndim not in (2, 3) or 0 in shape[ndim - 2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {shape}")
    if product(kernel) >= 1 << 63:
        raise RuntimeError(f"Given kernel_width = {kernel[1]} and kernel_height = {kernel[0]} the product of "
                           "kernel_width and kernel_height overflowed.")
    if shape[-2] % product(kernel):
        raise RuntimeError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
                           f"got input.size(1)={shape[-2]} and kernel_size={tuple(kernel)}.")
    out = _conv.out_sizes(size, kernel, stride, padding, dilation)
    if shape[-1] != product(out):
        raise RuntimeError(f"Given output_size={tuple(size)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
                           f"padding={tuple(padding)}, stride={tuple(stride)}, expected size of input's dimension 2 to "
                           f"match the calculated number of sliding blocks {out[0]} * {out[1]} = {product(out)}, but "
                           f"got input.size(2)={shape[-1]}.")
    if min(out) < 1:
        raise RuntimeError(f"Given output_size={tuple(size)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
                           f"padding={tuple(padding)}, stride={tuple(stride)}, calculated shape of the array of "
                           f"sliding blocks as {out}, which is too small (non-positive)")
    check_dtype("col2im_out_cpu", input)


to_columns.rule(input=lambda g, input_shape, kernel, dilation, padding, stride: from_columns(
    g, tuple(input_shape[-2:]), kernel, dilation, padding, stride))
from_columns.rule(input=lambda g, kernel, dilation, padding, stride: to_columns(g, kernel, dilation, padding, stride))


@composite(**functional, native="unfold", parts=(to_columns,),
           samples=lambda t: [t.args(t(2, 2, 5, 4), 2), t.args(t(2, 5, 4), (2, 3), 1, 1, 2),
                              t.args(t(1, 2, 6, 6), 3, 2, 1), t.args(t(0, 2, 5, 5), 2)],
           errors=lambda t: [(t.args(t(1, 2, 5, 5), 7), RuntimeError, "Given input with spatial size (5, 5)"),
                             (t.args(t(1, 2, 5, 5), 2, stride=0), RuntimeError,
                              "stride should be greater than zero, but got stride_height: 0 stride_width: 0"),
                             (t.args(t(1, 2, 5, 5), (2, 2, 2)), RuntimeError,
                              "It is expected kernel_size equals to 2, but got size 3")])
def unfold(input: Tensor, kernel_size: ints, dilation: ints = 1, padding: ints = 0, stride: ints = 1) -> Tensor:
    """The sliding blocks of (N, C, H, W) or (C, H, W) as columns: (N, C * kH * kW, blocks)."""
    return to_columns(input, pair("kernel_size", kernel_size), pair("dilation", dilation), pair("padding", padding),
                      pair("stride", stride))


@composite(**functional, native="fold", parts=(from_columns,),
           samples=lambda t: [t.args(t(2, 8, 12), (5, 4), 2), t.args(t(8, 9), (4, 4), 2),
                              t.args(t(1, 9, 9), (6, 6), 3, 1, 1, 2), t.args(t(0, 8, 9), 4, 2)],
           errors=lambda t: [(t.args(t(1, 7, 16), (5, 5), 2), RuntimeError,
                              "Expected size of input's dimension 1 to be divisible by the product of kernel_size"),
                             (t.args(t(1, 8, 15), (5, 5), 2), RuntimeError, "Given output_size=(5, 5)")])
def fold(input: Tensor, output_size: ints, kernel_size: ints, dilation: ints = 1, padding: ints = 0,
         stride: ints = 1) -> Tensor:
    """Columns of blocks (N, C * kH * kW, blocks) laid back to (N, C, *output_size), where they overlap added up."""
    return from_columns(input, pair("output_size", output_size), pair("kernel_size", kernel_size),
                        pair("dilation", dilation), pair("padding", padding), pair("stride", stride))
