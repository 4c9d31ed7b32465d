"""Names of `torch.nn.modules.module` that other packages ask for."""
from typing import TYPE_CHECKING, TypeVar

from claygrad.nn.modules._state import _IncompatibleKeys  # noqa: F401

if TYPE_CHECKING:
    from claygrad.nn import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
T = TypeVar("T", bound="Module")
