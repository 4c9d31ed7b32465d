"""`torch.accelerator`: the accelerator of this machine, whichever it is."""
from __future__ import annotations

from typing import Any

from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.core.data.device import device
from claygrad.devices import first_there
from claygrad.devices._surface import surface

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
           "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info",
           "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index",
           "set_stream", "synchronize"]


def is_available() -> bool:
    """Whether there is one."""
    return first_there() is not None


def current_accelerator(check_available: bool = False) -> device | None:
    """Its type as a device without a number; None without one."""
    found = first_there()
    return None if found is None else device(found)


def device_count() -> int:
    """How many devices of its type there are."""
    return _call("device_count")() if is_available() else 0


def _call(name: str) -> Any:
    kind = first_there()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.\n"
                           "  docs/devices.md says how to get one.")
    return surface(kind)[name]


def _forward(name: str, target: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return _call(target)(*args, **kwargs)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{target}` of the accelerator's module (`torch.xpu`, `torch.cuda`)."
    return call


current_device_index = current_device_idx = _forward("current_device_index", "current_device")
set_device_index = set_device_idx = _forward("set_device_index", "set_device")
current_stream, set_stream = _forward("current_stream", "current_stream"), _forward("set_stream", "set_stream")
synchronize, empty_cache = _forward("synchronize", "synchronize"), _forward("empty_cache", "empty_cache")
get_device_capability = _forward("get_device_capability", "get_device_capability")
get_memory_info = _forward("get_memory_info", "mem_get_info")
memory_allocated = _forward("memory_allocated", "memory_allocated")
max_memory_allocated = _forward("max_memory_allocated", "max_memory_allocated")
memory_reserved = _forward("memory_reserved", "memory_reserved")
max_memory_reserved = _forward("max_memory_reserved", "max_memory_reserved")
memory_stats = _forward("memory_stats", "memory_stats")
reset_peak_memory_stats = _forward("reset_peak_memory_stats", "reset_peak_memory_stats")
reset_accumulated_memory_stats = _forward("reset_accumulated_memory_stats", "reset_accumulated_memory_stats")


def empty_host_cache() -> None:
    """Nothing is kept in main memory for the accelerator."""
    _call("device_count")


class device_index:
    """A device as the current one, by its number; None changes nothing."""

    def __init__(self, device: int | None) -> None:
        self.idx = device
        self._before: int | None = None

    def __enter__(self) -> None:
        if self.idx is not None:
            self._before = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self._before is not None:
            set_device_index(self._before)

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
