"""`torch.autograd.forward_ad`: forward mode is not there yet. There are no levels, and no tensor has a tangent."""
from __future__ import annotations

from typing import Any, NamedTuple

from claygrad.compat.refusing import always, refusing_class, refusing_function
from claygrad.core import Tensor

NAMES = ("enter_dual_level", "exit_dual_level", "make_dual")
globals().update({name: refusing_function(f"torch.autograd.forward_ad.{name}") for name in NAMES})
dual_level = refusing_class("torch.autograd.forward_ad.dual_level")
_is_fwd_grad_enabled = always(True)
_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """The value of a dual tensor and its tangent, None without one."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor, as a view where a level is named, and its tangent: None outside of every level."""
    named = not (level is None or level < 0)
    return UnpackedDualTensor(tensor.view_as(tensor) if named else tensor, None)
