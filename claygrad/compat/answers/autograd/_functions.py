"""`torch.autograd._functions`: custom functions that PyTorch's own tests and old packages apply."""
from __future__ import annotations

import math
from typing import Any

from claygrad.autograd.function import Function
from claygrad.core import Tensor


class Resize(Function):
    """A tensor in another shape with as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        ctx.sizes, ctx.numel = sizes, math.prod(sizes)
        if tensor.numel() != ctx.numel:
            raise RuntimeError(f"requested resize to {'x'.join(map(str, sizes))} ({ctx.numel} elements in total), but "
                               f"the given tensor has a size of {'x'.join(map(str, tensor.size()))} ({tensor.numel()} "
                               "elements). autograd's resize can only change the shape of a given tensor, while "
                               "preserving the number of elements. ")
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad.contiguous().view(ctx.input_sizes), None
