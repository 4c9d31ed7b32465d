"""`torch.ops.aten`: operations by the names of PyTorch's inner library, where overloads are attributes of a name."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.ops._registry import NAMESPACES, REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable


class Packet:
    """An operation and its overloads; claygrad's take all forms of arguments, so that one stands for all."""

    __slots__ = ("default",)

    def __init__(self, function: Callable) -> None:
        self.default = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.default(*args, **kwargs)


def __getattr__(name: str) -> Packet:
    for space in ("torch", "nn.functional"):
        if name in NAMESPACES[space]:
            return Packet(NAMESPACES[space][name])
    if name in REGISTRY and not name.startswith("_"):
        return Packet(REGISTRY[name].op)
    raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
