"""`Variable`: the name that tensors in a graph had before every tensor could be in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor
from claygrad.core.graph.engine import queue_callback
from claygrad.core.user_warnings import warn
from claygrad.ops.fill import empty

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Variable"]


class _TensorByAnotherName(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        if volatile:
            warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


class _Engine:
    """The engine as old programs call it."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=_TensorByAnotherName):
    """`Variable(t)` is a tensor on the memory of t, and every tensor is an instance of it."""

    _execution_engine = _Engine()
