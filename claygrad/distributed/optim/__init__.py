"""Optimizers for several ranks."""

from claygrad._lazy import lazy
from claygrad.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
__getattr__ = lazy(__name__)
