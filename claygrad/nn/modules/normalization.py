"""Normalization of each sample separately: over its features, over groups of channels, over neighbouring channels."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.nn import functional as F
from claygrad.nn import init
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import new_parameter

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape(given: Any) -> tuple[int, ...]:
    return (given,) if hasattr(given, "__index__") else tuple(given)


class LayerNorm(Module):
    """Layer normalization: `(x - mean) / sqrt(var + eps) * weight + bias`, with mean and variance of each sample.

    Mean and variance are taken over the last axes, whose sizes are `normalized_shape` (an int or a sequence). `weight`
    and `bias` have that shape; there is none with elementwise_affine=False, and no bias with bias=False.
    """

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            self.register_parameter(name, new_parameter(self.normalized_shape, device, dtype) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(Module):
    """Normalization by the root mean square over the last axes (`normalized_shape`): `x / sqrt(mean(x²) + eps) *
    weight`."""

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        wanted = elementwise_affine
        self.register_parameter("weight", new_parameter(self.normalized_shape, device, dtype) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Group normalization of inputs (N, C, *): `(x - mean) / sqrt(var + eps) * weight + bias`.

    The channels of each sample are divided into `num_groups` groups, each with its own mean and variance. `weight` and
    `bias` have one element for each channel.
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, new_parameter(num_channels, device, dtype) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class _Neighbours(Module):
    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_Neighbours):
    """Normalization by neighbouring channels: `x / (k + alpha * m) ** beta`, m being the mean of x² over `size`
    channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_Neighbours):
    """LocalResponseNorm of images (N, C, H, W), with the windows that Torch7 had.

    The gradient is that of this function; PyTorch's is taken with windows one channel further.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return input * (self._energy(input * input) * (self.alpha / self.size) + self.k) ** -self.beta

    def _energy(self, squares: Tensor) -> Tensor:
        """The sum of the squares of the channels around each; the first channel, once in, stays in."""
        reach = int((self.size - 1) / 2 + 1)
        channels = squares.size(1)
        sums = F.pad(squares.cumsum(1), (0, 0, 0, 0, 1, 0))
        last = [min(c + reach, channels) for c in range(channels)]
        first = [c - reach + 1 if c >= reach else 1 for c in range(channels)]
        return squares[:, :1] + sums[:, last] - sums[:, first]
