"""`torch.fx.passes`: what goes through a whole graph."""
from claygrad._late import late
from claygrad.fx.passes import shape_prop

__all__ = ["shape_prop"]

__getattr__ = late(__name__)
