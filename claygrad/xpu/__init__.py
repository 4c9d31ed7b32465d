"""`torch.xpu`: Intel's GPUs, and CPUs through OpenCL, by dpnp (docs/devices.md)."""
from __future__ import annotations

from typing import Any

from claygrad._lazy import lazy
from claygrad.devices._surface import surface

_names = surface("xpu")
globals().update(_names)
_lazy_name = lazy(__name__)


def __getattr__(name: str) -> Any:
    return _names["_generators"]() if name == "default_generators" else _lazy_name(name)
