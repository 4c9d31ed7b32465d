"""Shuffling of channels between groups."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.nn import functional as F
from claygrad.nn.modules.module import Module

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Divides the channels into groups and interleaves them: the first channel of each group, then the second of each,
    and so on."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
