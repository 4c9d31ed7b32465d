"""`torch.return_types`: the named tuples that operations with several results return."""
import claygrad.ops  # noqa: F401  (declares them)
from claygrad.ops._returns import TYPES

globals().update(TYPES)
__all__ = sorted(TYPES)
