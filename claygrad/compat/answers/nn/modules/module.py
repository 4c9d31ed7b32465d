"""Names of `torch.nn.modules.module` that other packages ask for."""
from typing import TypeVar

from claygrad.nn.modules._state import _IncompatibleKeys  # noqa: F401

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
T = TypeVar("T", bound="Module")            # noqa: F821
