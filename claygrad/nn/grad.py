"""Gradients of convolutions as functions: with respect to the input, from its size, or to the weight, from its size."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from claygrad.core import Tensor
from claygrad.ops.conv import input_gradient, spread_out, weight_gradient

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Ints = int | Sequence[int]


def _words(dims: int, stride: Ints, padding: Ints, dilation: Ints) -> Any:
    return tuple(spread_out(word, value if isinstance(value, int) else tuple(value), dims)
                 for word, value in (("stride", stride), ("padding", padding), ("dilation", dilation)))


def _of_input(dims: int) -> Callable[..., Tensor]:
    def gradient(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
                 dilation: Ints = 1, groups: int = 1) -> Tensor:
        words = _words(dims, stride, padding, dilation)
        return input_gradient(grad_output, weight, tuple(input_size), *words, False, groups)  # type: ignore[call-arg]

    gradient.__name__ = gradient.__qualname__ = f"conv{dims}d_input"
    gradient.__doc__ = f"The gradient of conv{dims}d with respect to its input, whose size is given."
    return gradient


def _of_weight(dims: int) -> Callable[..., Tensor]:
    def gradient(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
                 dilation: Ints = 1, groups: int = 1) -> Tensor:
        words = _words(dims, stride, padding, dilation)
        return weight_gradient(grad_output, input, tuple(weight_size), *words, False, groups)  # type: ignore[call-arg]

    gradient.__name__ = gradient.__qualname__ = f"conv{dims}d_weight"
    gradient.__doc__ = f"The gradient of conv{dims}d with respect to its weight, whose size is given."
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))
