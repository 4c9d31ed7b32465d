"""Private names of `torch.utils.checkpoint` that checkpoints of other packages are made of."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad.compat.answers.top import get_device_module
from claygrad.core import Tensor


def _infer_device_type(*args: Any) -> str:
    """The kind of the first device off the CPU among the arguments, or the default."""
    kinds = [x.device.type for x in args if isinstance(x, Tensor) and x.device.type != "cpu"]
    return kinds[0] if kinds else claygrad.utils.checkpoint.DefaultDeviceType.get_device_type()


def _get_device_module(device: str = "cuda") -> Any:
    """The module of a kind of device."""
    return claygrad.device("meta") if device == "meta" else get_device_module(device)


def _get_autocast_kwargs(device_type: str = "cuda") -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The settings of autocast: of a kind of device (None where it has none), and of the CPU."""
    def settings(kind: str) -> dict[str, Any]:
        return {"enabled": claygrad.is_autocast_enabled(kind), "dtype": claygrad.get_autocast_dtype(kind),
                "cache_enabled": claygrad.is_autocast_cache_enabled()}

    return settings(device_type) if device_type in ("cpu", "cuda") else None, settings("cpu")


def _internal_assert(cond: Any) -> None:
    """Raise unless something is so."""
    if not cond:
        raise AssertionError("Something went unexpectedly wrong in activation checkpoint. Please report this bug by "
                             "filing an issue to PyTorch.")
