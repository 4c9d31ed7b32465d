"""`torch.nn.functional`: activations, losses, linear maps and dropout, as declared in `claygrad.ops`."""
from claygrad.ops._registry import NAMESPACES

globals().update(NAMESPACES["nn.functional"])
__all__ = sorted(NAMESPACES["nn.functional"])
