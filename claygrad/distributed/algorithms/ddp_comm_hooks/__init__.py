"""Hooks that sum the gradients of `DistributedDataParallel`."""

from claygrad._late import late

__getattr__ = late(__name__, ("default_hooks",))
