"""Convolution in one to three dimensions, its transpose, and the gradients, which are convolutions themselves."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops import _conv
from claygrad.ops._geometry import text
from claygrad.ops._registry import composite, conj, op
from claygrad.ops._words import tensor_type

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

hidden = {"function": False, "method": False, "out": False}
public = {"namespace": ("torch", "nn.functional"), "method": False}
AXES = ("depth", "height", "width")


def spread_out(name: str, value: ints, dims: int) -> tuple[int, ...]:
    """One number for every axis, given one for all or a list."""
    if isinstance(value, int):
        return (value,) * dims
    if len(value) == dims:
        return tuple(value)
    if len(value) != 1:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {dims} values to match the "
                           f"convolution dimensions, but got {name}={text(value)}")
    return (value[0],) * dims


# What is refused, in PyTorch's order and words

def check_shapes(input: Tensor, weight: Tensor, bias: Tensor | None, stride: ints, padding: ints, dilation: ints,
                 transposed: bool, output_padding: ints, groups: int) -> None:
    dims = weight.ndim - 2
    if dims < 1:
        raise RuntimeError("weight should have at least three dimensions")
    stride, padding = spread_out("stride", stride, dims), spread_out("padding", padding, dims)
    dilation, extra = spread_out("dilation", dilation, dims), spread_out("output_padding", output_padding, dims)
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    for values, smallest, said in ((padding, 0, "negative padding is not supported"),
                                (extra, 0, "negative output_padding is not supported"),
                                (stride, 1, "non-positive stride is not supported"),
                                (dilation, 0, "dilation should be greater than zero")):
        if min(values) < smallest:
            raise RuntimeError(said)
    shape, size = list(weight.shape), list(input.shape)
    if input.ndim != weight.ndim:
        raise RuntimeError(f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {shape}, "
                           f"but got {input.ndim}-dimensional input of size {size} instead")
    if shape[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                           f"weight of size {shape} instead")
    if shape[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
                           f"got weight of size [{shape}] instead")
    given = "transposed=1" if transposed else f"groups={groups}"
    channels, out_channels = (shape[0], shape[1] * groups) if transposed else (shape[1] * groups, shape[0])
    if size[1] != channels:
        raise RuntimeError(f"Given {given}, weight of size {shape}, expected input{size} to have {channels} channels, "
                           f"but got {size[1]} channels instead")
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != out_channels):
        raise RuntimeError(f"Given {'transposed=1, ' if transposed else ''}weight of size {shape}, expected bias to be "
                           f"1-dimensional with {out_channels} elements, but got bias of size {text(bias.shape)} "
                           "instead")
    if min(dilation) < 1:
        raise RuntimeError("non-positive dilation is not supported" if dims != 2 else
                           f"dilation should be greater than zero, but got {list(dilation)}")
    if not transposed:
        check_windows(size[2:], shape[2:], padding, dilation)
    if 0 in size[2:] and size[0] and size[1]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {size}")
    if 0 in shape[2:]:
        named = " ".join([f"kernel_{axis}: {k}" for axis, k in zip(AXES[-max(dims, 2):], shape[2:])])
        raise RuntimeError(f"kernel size should be greater than zero, but got {named}")
    if transposed:
        check_transposed(size[2:], shape[2:], stride, padding, dilation, extra)


def by(sizes: list[int]) -> str:
    return " x ".join(map(str, sizes))


def check_windows(size: list[int], kernel: list[int], padding: tuple, dilation: tuple) -> None:
    wide = [n + 2 * p for n, p in zip(size, padding)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any(n < k for n, k in zip(wide, reach)):
        raise RuntimeError(f"Calculated padded input size per channel: ({by(wide)}). Kernel size: ({by(reach)}). "
                           "Kernel size can't be greater than actual input size")


def check_transposed(size: list[int], kernel: list[int], stride: tuple, padding: tuple, dilation: tuple,
                     extra: tuple) -> None:
    lone = len(size) == 1                    # PyTorch runs one dimension as two
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
        parts = [("output_padding", extra, 0), ("stride", stride, 1), ("dilation", dilation, 1)]
        named = " ".join([f"{word}_{axis}: {value}" for word, values, one in parts
                          for axis, value in zip(AXES[-max(len(size), 2):], (one, *values) if lone else values)])
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + named)
    out = list(_conv.transposed_sizes(size, kernel, stride, padding, dilation, extra))
    if min(out) < 1:
        if lone:
            size, out = [1, *size], [1, *out]
        raise RuntimeError(f"Given input size per channel: ({by(size)}). Calculated output size per channel: "
                           f"({by(out)}). Output size is too small")


def check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool, dilation: ints) -> None:
    have, dims = input.dtype, weight.ndim - 2
    lacking = "" if have.is_floating_point or have.is_complex or (have.name == "int64") else (
        f"slow_conv_transpose{max(dims, 2)}d_out_cpu" if transposed else
        "slow_conv_dilated<>" if max(spread_out("dilation", dilation, dims)) > 1 else
        ("compute_columns3d" if dims == 3 else "slow_conv2d_cpu") if have.name == "bool" else "")
    if lacking:
        raise NotImplementedError(f"\"{lacking}\" not implemented for '{have.legacy}'")
    if bias is not None and bias.dtype != have and (not transposed or weight.dtype == have):
        raise RuntimeError(f"Input type ({long_name(have)}) and bias type ({long_name(bias.dtype)}) should be the same")
    if weight.dtype != have:
        if have.is_complex:
            raise RuntimeError(f"Input type ({tensor_type(have)}) and weight type ({tensor_type(weight.dtype)}) should "
                               "be the same")
        if have.name in ("float16", "bfloat16"):
            raise RuntimeError(f"Input type ({tensor_type(have)}) and weight type ({tensor_type(weight.dtype)}) should "
                               "be the same or input should be a MKLDNN tensor and weight is a dense tensor")
        raise RuntimeError(f"expected scalar type {have.legacy} but found {weight.dtype.legacy}")


def long_name(dtype) -> str:
    return {"int64": "long int"}.get(dtype.name, dtype.c_name)


def check_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) -> None:
    check_shapes(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if input.numel():
        check_dtypes(input, weight, bias, transposed, dilation)


# The operations

def result_shape(input, weight, stride, padding, dilation, transposed, output_padding, groups) -> tuple[int, ...]:
    dims = weight.ndim - 2
    stride, padding, dilation = [spread_out("", v, dims) for v in (stride, padding, dilation)]
    if transposed:
        extra = spread_out("", output_padding, dims)
        return (input.shape[0], weight.shape[1] * groups, *_conv.transposed_sizes(
            input.shape[2:], weight.shape[2:], stride, padding, dilation, extra))
    out = weight.shape[0] if weight.shape[1] else 0         # of no channels there come none, as in PyTorch
    return (input.shape[0], out, *_conv.out_sizes(input.shape[2:], weight.shape[2:], stride, padding,
                                           dilation))


@op(kernel="convolution", method=False, out=False, check=check_convolution, meta=result_shape,
    samples=lambda t: [t.args(t(2, 4, 6), t(6, 2, 3), t(6), [2], [1], [1], False, [0], 2),
                       t.args(t(2, 3, 5, 4), t(3, 2, 2, 2), t(2), [2, 1], [1, 0], [1, 2], True, [1, 0], 1),
                       t.args(t(2, 3, 5, 4), t(2, 3, 1, 1), None, [2, 1], [0, 0], [1, 1], False, [0, 0], 1)],
    errors=lambda t: [(t.args(t(2, 3), t(2, 3), None, [1], [0], [1], False, [0], 1), RuntimeError,
                       "weight should have at least three dimensions")])
def convolution(xp, input: Tensor, weight: Tensor, bias: Tensor | None, stride: ints, padding: ints, dilation: ints,
                transposed: bool, output_padding: ints, groups: int):
    """The sums of windows of the input weighted by kernels (out channels, in channels / groups, *kernel size), or,
    transposed, the gradient of that in its input: every element of the input spread over a window."""
    dims = weight.ndim - 2
    stride, padding, dilation = [spread_out("", v, dims) for v in (stride, padding, dilation)]
    if transposed:
        size = _conv.transposed_sizes(input.shape[2:], weight.shape[2:], stride, padding, dilation,
                                      spread_out("", output_padding, dims))
        out = _conv.conv_input_grad(xp, input, weight, size, stride, padding, dilation, groups)
        if bias is not None:
            out += bias.reshape(-1, *[1] * dims)
    elif not weight.shape[1]:
        return xp.zeros(result_shape(input, weight, stride, padding, dilation, False, 0, groups), input.dtype)
    else:
        out = _conv.conv_forward(xp, input, weight, stride, padding, dilation, groups, bias)
    return _conv.same_format(xp, out, input, weight)


def spare(shape, g_shape, kernel, stride, padding, dilation) -> list[int]:
    """The elements at the end of an input of `shape` that no window reaches."""
    dims = len(kernel)
    stride, padding, dilation = [spread_out("", v, dims) for v in (stride, padding, dilation)]
    smallest = _conv.transposed_sizes(g_shape[2:], kernel, stride, padding, dilation, (0,) * dims)
    return [n - m for n, m in zip(shape[2:], smallest)]


def first_windows(input, weight, shape, stride, padding, dilation, groups):
    """The convolution, as many windows of it as `shape` has: an output_padding of a stride or more makes room for
    windows that the transposed convolution did not spread."""
    out = convolution(input, weight, None, stride, padding, dilation, False, 0, groups)
    return out if out.shape[2:] == shape[2:] else out[(..., *[slice(n) for n in shape[2:]])]


def input_gradient(g, weight, input_shape, stride, padding, dilation, transposed, groups):
    if transposed:
        return first_windows(g, conj(weight), input_shape, stride, padding, dilation, groups)
    if not input_shape[1]:
        return g.new_zeros(input_shape)
    extra = spare(input_shape, g.shape, weight.shape[2:], stride, padding, dilation)
    return spread_windows(g, conj(weight), stride, padding, dilation, extra, groups)


def weight_gradient(g, input, weight_shape, stride, padding, dilation, transposed, groups):
    kernel = tuple(weight_shape[2:])
    if not weight_shape[1]:
        return g.new_zeros(weight_shape)
    if transposed:
        return correlated(conj(input), g, kernel, stride, padding, dilation, groups)
    return correlated(g, conj(input), kernel, stride, padding, dilation, groups)


convolution.rule(input=input_gradient, weight=weight_gradient,
                 bias=lambda g, bias_shape: g.sum(list(range(2, g.ndim))).sum(0) if g.shape[1] == bias_shape[0]
                 else g.new_zeros(bias_shape))


@op(kernel="conv_input", name="_conv_input", node="ConvolutionBackwardBackward0", **hidden,
    meta=lambda grad_output, weight, stride, padding, dilation, spare, groups: result_shape(
        grad_output, weight, stride, padding, dilation, True, spare, groups),
    samples=lambda t: [t.args(t(2, 4, 3), t(4, 2, 3), 2, 1, 1, 1, 2)])
def spread_windows(xp, grad_output: Tensor, weight: Tensor, stride: ints, padding: ints, dilation: ints, spare: ints,
                   groups: int):
    """As the transposed convolution, with any number of elements to spare."""
    dims = weight.ndim - 2
    stride, padding, dilation = [spread_out("", v, dims) for v in (stride, padding, dilation)]
    size = _conv.transposed_sizes(grad_output.shape[2:], weight.shape[2:], stride, padding, dilation,
                                  spread_out("", spare, dims))
    out = _conv.conv_input_grad(xp, grad_output, weight, size, stride, padding, dilation, groups)
    return _conv.same_format(xp, out, grad_output, weight)
spread_windows.rule(
    grad_output=lambda g, grad_output_shape, weight, stride, padding, dilation, groups: first_windows(
        g, conj(weight), grad_output_shape, stride, padding, dilation, groups),
    weight=lambda g, grad_output, weight_shape, stride, padding, dilation, groups: correlated(
        conj(grad_output), g, tuple(weight_shape[2:]), stride, padding, dilation, groups))


@op(kernel="conv_weight", name="_conv_weight", node="ConvolutionBackwardBackward0", **hidden,
    meta=lambda grad_output, input, kernel, groups: (grad_output.shape[1], input.shape[1] // groups, *kernel),
    samples=lambda t: [t.args(t(2, 4, 3), t(2, 2, 6), (3,), 2, 1, 1, 2)])
def correlated(xp, grad_output: Tensor, input: Tensor, kernel: ints, stride: ints, padding: ints, dilation: ints,
               groups: int):
    """The gradient of a convolution in its weight: how its input, moved about, goes with the gradient of its output."""
    dims = len(kernel)
    stride, padding, dilation = [spread_out("", v, dims) for v in (stride, padding, dilation)]
    return _conv.conv_weight_grad(xp, grad_output, input, kernel, stride, padding, dilation, groups)


def correlated_in_gradient(g, input, grad_output_shape, stride, padding, dilation, groups):
    return first_windows(conj(input), g, grad_output_shape, stride, padding, dilation, groups)


def correlated_in_input(g, grad_output, input_shape, kernel, stride, padding, dilation, groups):
    extra = spare(input_shape, grad_output.shape, kernel, stride, padding, dilation)
    return spread_windows(conj(grad_output), g, stride, padding, dilation, extra, groups)


correlated.rule(grad_output=correlated_in_gradient, input=correlated_in_input)


# The public forms

native_form = {"native": "conv", "parts": (convolution,)}


def batched(name: str, dims: int, input: Tensor) -> bool:
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input "
                           f"of size: {text(input.shape)}")
    return input.ndim == dims + 2


def run(name: str, dims: int, input, weight, bias, stride, padding, dilation, groups) -> Tensor:
    many = batched(name, dims, input)
    x = input if many else input.unsqueeze(0)
    if isinstance(padding, str):
        out = worded(x, weight, bias, stride, padding, dilation, groups)
    else:
        out = convolution(x, weight, bias, *all_of(dims, stride, padding, dilation), False, 0, groups)
    return out if many else out.squeeze(0)


def all_of(dims: int, *values) -> list:
    """Numbers that stand for every axis of `dims`, so that an input of another number of axes is refused."""
    return [(value,) * dims if isinstance(value, int) else value for value in values]


def worded(input, weight, bias, stride, padding, dilation, groups) -> Tensor:
    """Padding 'valid', none, or 'same', so much that the size stays, the odd element at the end."""
    if padding == "valid":
        return convolution(input, weight, bias, stride, 0, dilation, False, 0, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    dims = weight.ndim - 2
    if input.ndim != weight.ndim:
        raise RuntimeError(f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight"
                           f"{text(weight.shape)}, but got {input.ndim}-dimensional input of size {text(input.shape)} "
                           "instead")
    stride, dilation = spread_out("stride", stride, dims), spread_out("dilation", dilation, dims)
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    if any(n % 2 for n in total):
        warn("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy "
             "of the input be created")
        from claygrad.ops.pad import constant_pad_nd
        input = constant_pad_nd(input, [v for n in reversed(total) for v in (0, n % 2)])
    return convolution(input, weight, bias, stride, [n // 2 for n in total], dilation, False, 0, groups)


def samples_of(dims: int):
    size = (6, 5, 4)[:dims]

    def samples(t) -> list:
        return [t.args(t(2, 3, *size), t(2, 3, *[2] * dims), t(2)), t.args(t(3, *size), t(2, 3, *[3] * dims)),
                t.args(t(2, 4, *size), t(6, 2, *[2] * dims), t(6), stride=2, padding=1, groups=2),
                t.args(t(1, 4, *size), t(8, 1, *[2] * dims), None, 2, 1, 2, 4),
                t.args(t(1, 2, *size), t(2, 2, *[3] * dims), padding="same"),
                t.args(t(1, 2, *size), t(2, 2, *[2] * dims), padding="valid"),
                t.args(t(0, 2, *size), t(2, 2, *[2] * dims)),
                t.args(t(2, 3, *size), t(4, 3, *[1] * dims), stride=2)]
    return samples


def mistakes_of(dims: int):
    size = (6, 5, 4)[:dims]

    def mistakes(t) -> list:
        x, w = t(1, 2, *size), t(2, 2, *[2] * dims)
        return [(t.args(x, w, padding=-1), RuntimeError, "negative padding is not supported"),
                (t.args(x, w, stride=0), RuntimeError, "non-positive stride is not supported"),
                (t.args(x, w, groups=0), RuntimeError, "non-positive groups is not supported"),
                (t.args(x, w, padding="other"), RuntimeError, "Invalid padding string: 'other'"),
                (t.args(x, w, stride=2, padding="same"), RuntimeError,
                 "padding='same' is not supported for strided convolutions"),
                (t.args(t(1, 3, *size), w), RuntimeError, "Given groups=1, weight of size"),
                (t.args(t(2), w), RuntimeError, f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input"),
                (t.args(x, w, t(3)), RuntimeError, "Given weight of size"),
                (t.args(x, t(2, 2, *[9] * dims)), RuntimeError, "Calculated padded input size per channel")]
    return mistakes


@composite(**public, **native_form, samples=samples_of(1), errors=mistakes_of(1))
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: ints = 1, padding: ints | str = 0,
           dilation: ints = 1, groups: int = 1) -> Tensor:
    """Convolution over sequences: input (N, C, L) or (C, L), weight (O, C / groups, k), bias (O)."""
    return run("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite(**public, **native_form, samples=samples_of(2), errors=mistakes_of(2))
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: ints = 1, padding: ints | str = 0,
           dilation: ints = 1, groups: int = 1) -> Tensor:
    """Convolution over images: input (N, C, H, W) or (C, H, W), weight (O, C / groups, kH, kW), bias (O)."""
    return run("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite(**public, **native_form, samples=samples_of(3), errors=mistakes_of(3))
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: ints = 1, padding: ints | str = 0,
           dilation: ints = 1, groups: int = 1) -> Tensor:
    """Convolution over volumes: input (N, C, D, H, W) or (C, D, H, W), weight (O, C / groups, kD, kH, kW), bias (O)."""
    return run("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)
