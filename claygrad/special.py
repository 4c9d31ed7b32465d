"""`torch.special`: special functions, as declared in `claygrad.ops`."""
from claygrad.ops._registry import NAMESPACES

globals().update(NAMESPACES["special"])
__all__ = sorted(NAMESPACES["special"])
