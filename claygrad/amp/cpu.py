"""`torch.cpu.amp`: the names of old, for CPU programs in bfloat16."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._lazy import lazy
from claygrad.amp import autocast_mode, grad_scaler
from claygrad.core import bfloat16
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from claygrad.core import dtype

__all__ = ["GradScaler", "autocast"]


def _warn(name: str) -> None:
    warn(f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', args...)` "
         "instead.", FutureWarning)


class autocast(autocast_mode.autocast):
    """autocast("cpu")."""

    def __init__(self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True) -> None:
        _warn("autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """GradScaler("cpu")."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        _warn("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

__path__: list[str] = []         # the modules below it have no files
__getattr__ = lazy("claygrad.cpu.amp")
