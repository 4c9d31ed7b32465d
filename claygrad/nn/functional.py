"""`torch.nn.functional`: activations, losses, linear maps and dropout, as declared in `claygrad.ops`."""
from __future__ import annotations

from claygrad.nn import grad as grad_module
from claygrad.ops._registry import NAMESPACES

globals().update(NAMESPACES["nn.functional"])
grad = grad_module
__all__ = sorted(NAMESPACES["nn.functional"])
