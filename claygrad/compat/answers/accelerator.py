"""`torch.accelerator` of a machine without one."""
from __future__ import annotations

from typing import Any, NoReturn

from claygrad.compat.refusing import always


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("Cannot access accelerator device when none is available.\n  claygrad runs on the CPU.")


device_count = always(0)
is_available = always(False)
current_accelerator = always(None)
current_device_index = current_device_idx = set_device_index = set_device_idx = _refuse
current_stream = set_stream = synchronize = get_device_capability = get_memory_info = _refuse
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = memory_stats = _refuse
empty_cache = reset_peak_memory_stats = reset_accumulated_memory_stats = _refuse


class device_index:
    """A device as the current one, by its number; None changes nothing."""

    def __init__(self, device: int | None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refuse()

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""
