"""`torch._C._functions`: nodes of the graph that have no operation of their own."""
from __future__ import annotations

from typing import Any

from claygrad.autograd.function import Function
from claygrad.core import Tensor
from claygrad.core.graph.function import Error as Error
from claygrad.core.tensor import AccumulateGrad as AccumulateGrad


class _Undefined(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        return tensors[0].view_as(tensors[0]) if len(tensors) == 1 else tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return (None,) * len(grads)


class UndefinedGrad:
    """Hands tensors through, and lets no gradient come back."""

    def __call__(self, *tensors: Tensor) -> Any:
        return _Undefined.apply(*tensors)


class _Delayed(Function):
    @staticmethod
    def forward(ctx: Any, text: str, *tensors: Tensor) -> Any:
        ctx.text = text
        return tensors[0].view_as(tensors[0]) if len(tensors) == 1 else tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise RuntimeError(ctx.text)


class DelayedError:
    """Hands tensors through, and raises an error when their gradient is asked for."""

    def __init__(self, msg: str, num_inputs: int) -> None:
        self.msg, self.num_inputs = msg, num_inputs

    def __call__(self, *tensors: Tensor) -> Any:
        return _Delayed.apply(self.msg, *tensors)
