"""Optimizers for several ranks."""

from claygrad._late import late
from claygrad.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
__getattr__ = late(__name__)
