"""Copies of a module on several devices: refused, as there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from claygrad._lazy import lazy
from claygrad.core import device as device_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.nn.modules.module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> NoReturn:
    """Refused in PyTorch's words."""
    for place in devices:
        kind = device_class(place) if isinstance(place, str) else place
        if isinstance(kind, device_class) and kind.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {kind}\n  instead: copy.deepcopy(module)")
    raise AssertionError("Broadcast function not implemented for CPU tensors\n  instead: copy.deepcopy(module)")


__getattr__ = lazy(__name__)
