"""Padding layers: borders around sequences, images and volumes."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.nn import functional as F
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import OwnInit, _ntuple

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
           "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(OwnInit, Module):
    """`padding` has two numbers for each padded axis (before, after), the last axis first; a single int stands for all.
    """

    _axes: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._axes)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        fewest = self._axes + 1
        if input.dim() not in (fewest, fewest + 1):
            raise ValueError(f"expected {fewest}D or {fewest + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Circular padding of sequences: the padding repeats the other end."""

    _axes = 1


class CircularPad2d(_CircularPadNd):
    """Circular padding of images: the padding repeats the opposite side."""

    _axes = 2


class CircularPad3d(_CircularPadNd):
    """Circular padding of volumes: the padding repeats the opposite side."""

    _axes = 3


class _ConstantPadNd(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last axis with a constant value."""

    _axes = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two axes with a constant value."""

    _axes = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three axes with a constant value."""

    _axes = 3


class _Zeros:
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)  # type: ignore[call-arg]

    def extra_repr(self: Any) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Zeros, ConstantPad1d):
    """Pads the last axis with zeros."""


class ZeroPad2d(_Zeros, ConstantPad2d):
    """Pads the last two axes with zeros."""


class ZeroPad3d(_Zeros, ConstantPad3d):
    """Pads the last three axes with zeros."""


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads sequences with their own reflection; the element at the border is not repeated."""

    _axes = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads images with their own reflection; the pixels at the border are not repeated."""

    _axes = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads volumes with their own reflection; the elements at the border are not repeated."""

    _axes = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads sequences by repeating the element at the border."""

    _axes = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads images by repeating the pixels at the border."""

    _axes = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads volumes by repeating the elements at the border."""

    _axes = 3
