"""`torch.signal.windows`: window functions, as declared in `claygrad.ops`."""
from claygrad.ops._registry import NAMESPACES

globals().update(NAMESPACES["signal.windows"])
__all__ = sorted(NAMESPACES["signal.windows"])
__path__: list[str] = []          # modules below it are asked for, and found by `compat`
