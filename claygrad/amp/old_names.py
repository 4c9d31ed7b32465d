"""`torch.cuda.amp`: the names of old, for programs that use CUDA if there is one."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.amp import autocast_mode, grad_scaler
from claygrad.core import float16
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import dtype

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


def _warn(name: str, instead: str) -> None:
    warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` instead.",
         FutureWarning)


def amp_definitely_not_available() -> bool:
    """There is no CUDA."""
    return True


class autocast(autocast_mode.autocast):
    """autocast("cuda")."""

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        _warn("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """GradScaler("cuda")."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        _warn("GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: dtype | None = None) -> Any:
    """custom_fwd(device_type="cuda")."""
    _warn("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """custom_bwd(device_type="cuda")."""
    _warn("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")

__path__: list[str] = []         # the modules below it have no files
__getattr__ = lazy("claygrad.cuda.amp")

guard_package(__name__)          # Note [Entry points]
