"""`torch.xpu`: Intel's GPUs, and CPUs through OpenCL, by dpnp (docs/devices.md)."""
from __future__ import annotations

from claygrad._lazy import lazy
from claygrad.devices._surface import surface

globals().update(surface("xpu"))
__getattr__ = lazy(__name__)
