"""Weights of convolutions in another memory format."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claygrad.ops._formats import memory_format as Format

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, kinds: tuple[type, ...], memory_format: Format) -> Any:
    for inner in module.modules():
        if isinstance(inner, kinds):
            weight: Any = inner.weight      # type: ignore[attr-defined]
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Format) -> Any:
    """Lay out the weights of all two-dimensional convolutions inside a module in a memory format."""
    from claygrad.nn.modules.conv import Conv2d, ConvTranspose2d
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Format) -> Any:
    """Lay out the weights of all three-dimensional convolutions inside a module in a memory format."""
    from claygrad.nn.modules.conv import Conv3d, ConvTranspose3d
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
