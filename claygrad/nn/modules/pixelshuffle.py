"""Moving elements between channels and spatial axes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.nn import functional as F
from claygrad.nn.modules.module import Module

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Moves elements from channels to space: (*, C * r * r, H, W) becomes (*, C, H * r, W * r), r = `upscale_factor`.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Moves elements from space to channels: (*, C, H * r, W * r) becomes (*, C * r * r, H, W), r = `downscale_factor`.
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
