"""A rank's part of a tensor that lies in parts on several ranks."""

from __future__ import annotations

from typing import NamedTuple

from claygrad.core import Tensor


class FlatShard(NamedTuple):
    """Elements `offset` to `offset + local.numel()` of a flat tensor of `total` elements."""

    local: Tensor
    offset: int
    total: int
