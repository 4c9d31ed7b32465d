"""`torch.utils.data._utils.pin_memory`."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.utils.pytree import tree_map


def pin_memory(data: Any, device: Any = None) -> Any:
    """The tensors of a batch in memory that is locked for copies to a GPU; an error where there is none."""
    return tree_map(lambda x: x.pin_memory(device) if isinstance(x, Tensor) else x, data)
