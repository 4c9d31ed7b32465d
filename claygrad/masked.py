"""`torch.masked`: reductions that leave masked elements out, as declared in `claygrad.ops`."""
from claygrad._lazy import lazy
from claygrad.ops._registry import NAMESPACES

globals().update(NAMESPACES["masked"])
__all__ = sorted(NAMESPACES["masked"])
__getattr__ = lazy(__name__)
__path__: list[str] = []          # modules below it are asked for, and found by `compat`
