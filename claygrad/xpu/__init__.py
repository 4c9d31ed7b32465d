"""`torch.xpu`: Intel's GPUs, and CPUs through OpenCL, by dpnp (docs/devices.md)."""
from __future__ import annotations

from claygrad._late import late
from claygrad.devices._surface import surface

globals().update(surface("xpu"))
__getattr__ = late(__name__)
