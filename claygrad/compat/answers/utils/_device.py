"""`torch.utils._device`: what is made without a device, made on one."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import claygrad
from claygrad.core.decorated import decorated

DeviceContext = claygrad.device


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs with that default device."""
    return set_device(device)(func)


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function run with that default device."""

    return lambda func: decorated(func, lambda: claygrad.device(device))
