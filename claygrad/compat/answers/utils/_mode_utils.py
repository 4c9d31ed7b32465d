"""Answers of `torch.utils._mode_utils`."""
from __future__ import annotations

from typing import Any

from claygrad.utils._python_dispatch import _DisableTorchDispatch as no_dispatch


def all_same_mode(modes: Any) -> bool:
    """Whether all of them are the same mode."""
    return all(mode == modes[0] for mode in modes)


__all__ = ["all_same_mode", "no_dispatch"]
