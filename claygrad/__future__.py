"""Settings of how modules change the dtype or device of their tensors: `torch.__future__`.

By default `Module.to`, `float()` and their like keep the parameters as objects and give them new memory.
"""
from __future__ import annotations

from claygrad.nn.modules._conversion import HOW

__all__ = ["get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
           "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion"]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions put new parameters in place of the old ones."""
    HOW.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions put new parameters in place of the old ones."""
    return HOW.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions exchange what parameters hold by `torch.utils.swap_tensors`."""
    HOW.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions exchange what parameters hold by `torch.utils.swap_tensors`."""
    return HOW.swap
