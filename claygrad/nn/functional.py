"""`torch.nn.functional`: activations, losses, linear maps and dropout, as declared in `claygrad.ops`."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.nn import grad as grad_module
from claygrad.ops._registry import NAMESPACES

if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...

globals().update(NAMESPACES["nn.functional"])
grad = grad_module
__all__ = sorted(NAMESPACES["nn.functional"])
