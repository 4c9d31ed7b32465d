"""Convolutions and their transposes, over sequences, images and volumes."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import no_grad
from claygrad.nn import functional as F
from claygrad.nn import init
from claygrad.nn.modules.lazy import LazyModuleMixin
from claygrad.nn.modules.linear import draw_bias
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import OwnInit, _ntuple, new_parameter
from claygrad.nn.parameter import UninitializedParameter
from claygrad.ops.fill import empty

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claygrad.core import Tensor

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
           "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(OwnInit, Module):
    """Sizes, parameters and text of a convolution; the subclass says over how many axes it slides."""

    _axes: int
    transposed: bool
    padding: str | tuple[int, ...]

    def _build(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
               output_padding: Any, groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any) -> None:
        sizes = _ntuple(self._axes)
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation = sizes(kernel_size), sizes(stride), sizes(dilation)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
            self.padding = padding
        else:
            self.padding = sizes(padding)
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{padding_mode}'")
        self.output_padding = sizes(output_padding)
        self.transposed = type(self).transposed         # torch looks for it among the attributes of a pickled layer
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._edges()
        self.weight = new_parameter(self._weight_shape(), device, dtype)
        if bias:
            self.bias = new_parameter(out_channels, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        return (outer, inner // self.groups, *self.kernel_size)

    def _edges(self) -> list[int]:
        """What to add before and after each axis, the last axis first, as `F.pad` wants it."""
        edges: list[int] = []
        for axis in reversed(range(self._axes)):
            if not isinstance(self.padding, str):
                before = after = self.padding[axis]
            elif self.padding == "valid":
                before = after = 0
            else:
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                before, after = total // 2, total - total // 2
            edges += [before, after]
        return edges

    def reset_parameters(self) -> None:
        """Initialize weight and bias again, uniformly between -k and k, k = 1 / sqrt(number of inputs of one output).
        """
        with no_grad():
            if self.weight.is_contiguous():
                init.kaiming_uniform_(self.weight, a=math.sqrt(5))
            else:       # the same numbers at the same indices, whatever the order of memory
                weight = empty(self.weight.shape, dtype=self.weight.dtype, device=self.weight.device)
                self.weight.copy_(init.kaiming_uniform_(weight, a=math.sqrt(5)))
            if self.bias is not None:
                draw_bias(self.bias, self.weight)

    def extra_repr(self) -> str:
        said = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            said += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            said += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            said += f", output_padding={self.output_padding}"
        if self.groups != 1:
            said += f", groups={self.groups}"
        if self.bias is None:
            said += ", bias=False"
        if self.padding_mode != "zeros":
            said += f", padding_mode={self.padding_mode}"
        return said


class _Conv(_ConvNd):
    transposed = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...],
                 stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        self._build(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode,
                    device, dtype)

    def _convolution(self) -> Callable[..., Tensor]:
        raise NotImplementedError

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return self._convolution()(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution over sequences of shape (N, C, L) or (C, L). The arguments are those of Conv2d."""

    _axes = 1

    def _convolution(self) -> Callable[..., Tensor]:
        return F.conv1d


class Conv2d(_Conv):
    """Convolution over images of shape (N, C, H, W) or (C, H, W).

    `weight` has the shape (out_channels, in_channels / groups, *kernel_size), `bias` the shape (out_channels).
    `kernel_size`, `stride`, `padding` and `dilation` are ints, or tuples with one int for each axis. `padding` may also
    be "valid" (none) or "same" (the output has the size of the input). `padding_mode` is "zeros", "reflect",
    "replicate" or "circular". With `groups`, input and output channels are divided into groups that are convolved
    separately.

    >>> claygrad.nn.Conv2d(3, 8, 3, padding=1)(claygrad.ones(1, 3, 28, 28)).shape
    claygrad.Size([1, 8, 28, 28])
    """

    _axes = 2

    def _convolution(self) -> Callable[..., Tensor]:
        return F.conv2d


class Conv3d(_Conv):
    """Convolution over volumes of shape (N, C, D, H, W) or (C, D, H, W). The arguments are those of Conv2d."""

    _axes = 3

    def _convolution(self) -> Callable[..., Tensor]:
        return F.conv3d


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...],
                 stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
                 bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._build(in_channels, out_channels, kernel_size, stride, _ntuple(self._axes)(padding), dilation,
                    output_padding, groups, bias, padding_mode, device, dtype)

    def _convolution(self) -> Callable[..., Tensor]:
        raise NotImplementedError

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> Sequence[int]:
        """What must be added behind each axis to reach `output_size`: a stride leaves several sizes open."""
        if output_size is None:
            return self.output_padding
        axes = self._axes
        outer = 2 if input.dim() == axes + 2 else 1
        wanted = list(output_size)
        if len(wanted) == outer + axes:
            wanted = wanted[outer:]
        if len(wanted) != axes:
            raise ValueError(f"ConvTranspose{axes}D: for {input.dim()}D input, output_size must have {axes} or "
                             f"{outer + axes} elements (got {len(wanted)})")
        padding: Any = self.padding
        smallest = [(input.size(d + outer) - 1) * self.stride[d] - 2 * padding[d]
                 + self.dilation[d] * (self.kernel_size[d] - 1) + 1 for d in range(axes)]
        largest = [size + stride - 1 for size, stride in zip(smallest, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(smallest, wanted, largest)):
            shown = type(output_size)(wanted) if isinstance(output_size, (list, tuple)) else wanted
            raise ValueError(f"requested an output size of {shown}, but valid sizes range from {smallest} to {largest} "
                             f"(for an input of {input.size()[2:]})")
        return [size - low for size, low in zip(wanted, smallest)]

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        return self._convolution()(input, self.weight, self.bias, self.stride, self.padding,
                                   self._output_padding(input, output_size), self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution over sequences (N, C, L) or (C, L): with a stride, the output is longer than the input."""

    _axes = 1

    def _convolution(self) -> Callable[..., Tensor]:
        return F.conv_transpose1d


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution over images (N, C, H, W) or (C, H, W): with a stride, the output is larger than the input.

    It computes the gradient of Conv2d with respect to its input. `output_padding` adds to the size of the output where
    several sizes are possible; forward takes `output_size` for the same purpose.
    """

    _axes = 2

    def _convolution(self) -> Callable[..., Tensor]:
        return F.conv_transpose2d


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution over volumes (N, C, D, H, W) or (C, D, H, W): with a stride, the output is larger than the
    input."""

    _axes = 3

    def _convolution(self) -> Callable[..., Tensor]:
        return F.conv_transpose3d


# Lazy forms: the number of input channels is that of the first input

class _LazyConv(LazyModuleMixin):
    def _unfilled(self: Any, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        """Initialize the parameters again; does nothing before the first input."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Create the parameters for inputs of this shape."""
        if self.has_uninitialized_params():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups != 0:
                raise ValueError("in_channels must be divisible by groups")
            self.weight.materialize(self._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self: Any, input: Tensor) -> int:
        alone = self._axes + 1
        if input.dim() not in (alone, alone + 1):
            raise RuntimeError(f"Expected {alone}D (unbatched) or {alone + 1}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        return input.shape[-alone]


class _LazyForward(_LazyConv):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._unfilled(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                 groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode,
                         device, dtype)
        self._unfilled(out_channels, bias, device, dtype)


class LazyConv1d(_LazyForward, Conv1d):
    """A Conv1d that takes `in_channels` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """A Conv2d that takes `in_channels` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """A Conv3d that takes `in_channels` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose3d
