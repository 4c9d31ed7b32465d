"""`torch.utils._device`: what is made without a device, made on one."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import claygrad

DeviceContext = claygrad.device


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs with that default device."""
    return set_device(device)(func)


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function run with that default device."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with claygrad.device(device):
                return func(*args, **kwargs)

        return inside

    return decorate
