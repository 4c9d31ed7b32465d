"""Collecting what a step works on."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claygrad.core import Tensor


def clear_gradients(params: list[Tensor]) -> None:
    for p in params:
        p.grad = None


def gather(params: list[Tensor], state: dict[Any, dict[str, Any]], keys: tuple[str, ...]) -> list[list[Any]] | None:
    """Parameters with gradients, the gradients, and columns of their state; None if some state did not begin yet."""
    active = [p for p in params if p.grad is not None]
    found: list[Any] = [state.get(p) for p in active]
    if keys and not all(found):
        return None
    return [active, [p.grad for p in active], *([entry[key] for entry in found] for key in keys)]
