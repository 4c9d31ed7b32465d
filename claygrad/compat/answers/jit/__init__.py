"""Answers of modules below `torch.jit`."""
from claygrad.jit import fork as _fork
from claygrad.jit import wait as _wait

__all__ = ["_fork", "_wait"]
