"""`torch.fx.passes`: what goes through a whole graph."""
from claygrad._lazy import lazy
from claygrad.fx.passes import shape_prop

__all__ = ["shape_prop"]

__getattr__ = lazy(__name__)
