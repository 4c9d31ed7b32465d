"""`torch.linalg`: linear algebra, as declared in `claygrad.ops`."""
from claygrad.ops._linalg import LinAlgError as LinAlgError
from claygrad.ops._registry import NAMESPACES

globals().update(NAMESPACES["linalg"])
__all__ = sorted([*NAMESPACES["linalg"], "LinAlgError"])
