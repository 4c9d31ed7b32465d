"""`torch.utils._foreach_utils`: lists of tensors, sorted by what one loop could take."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.optim.optimizer import Optimizer

_foreach_supported_types: list[type] = [Tensor]      # optimizers of other packages add classes of their own
_group_tensors_by_device_and_dtype = Optimizer._group_tensors_by_device_and_dtype


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices with operations over lists."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of devices with fused optimizers."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: Any) -> bool:
    """Whether a device has operations over lists."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Tensor], device: Any) -> bool:
    """Whether the device has operations over lists for all these."""
    known = tuple(_foreach_supported_types)
    return _device_has_foreach_support(device) and all(t is None or isinstance(t, known) for t in tensors)
