"""Two tensors that exchange what they hold."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard_package


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange what two tensors hold, values, gradients and attributes alike."""
    if type(t1) is not type(t2):
        raise RuntimeError(f"Cannot swap t1 and t2 if they have different types: {type(t1)} and {type(t2)}")
    first, second = t1.data, t2.data
    t1.data, t2.data = second, first
    t1.grad, t2.grad = t2.grad, t1.grad
    t1.requires_grad, t2.requires_grad = t2.requires_grad, t1.requires_grad
    mine: Any = dict(getattr(t1, "__dict__", {}))
    other: Any = dict(getattr(t2, "__dict__", {}))
    for tensor, former, new in ((t1, mine, other), (t2, other, mine)):
        for name in former:
            delattr(tensor, name)
        for name, value in new.items():
            setattr(tensor, name, value)

guard_package(__name__)          # Note [Entry points]
