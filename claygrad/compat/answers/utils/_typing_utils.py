"""`torch.utils._typing_utils`."""
from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def not_none(obj: T | None) -> T:
    """A value that is known not to be None."""
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj
