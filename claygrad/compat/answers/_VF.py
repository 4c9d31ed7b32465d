"""`torch._VF`: the functions of torch itself, under another name."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad.ops.sort import unique_dim  # noqa: F401


def __getattr__(name: str) -> Any:
    return getattr(claygrad, name)
