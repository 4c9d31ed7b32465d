"""`torch.nn.utils._named_member_accessor`: tensors of a module, set and exchanged by name."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.nn.modules.module import Module
from claygrad.nn.utils.stateless import exchange


def _check(module: Any, name: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Put a tensor under a name: as the parameter or buffer of that name, or as an attribute."""
    _check(module, name)
    exchange(module, name, tensor, typed=False)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor under a name and return the one that was there, which is to be a tensor."""
    _check(module, name)
    if not allow_missing and not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return exchange(module, name, tensor)
