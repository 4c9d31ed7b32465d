"""Hooks that sum the gradients of `DistributedDataParallel`."""

from claygrad._lazy import lazy

__getattr__ = lazy(__name__, ("default_hooks",))
