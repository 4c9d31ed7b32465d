"""`torch._tensor_str`: how tensors are printed, and what can be set about it."""
from __future__ import annotations

from typing import Any

from claygrad._printing import get_printoptions, printoptions, set_printoptions, tensor_text
from claygrad.core import Tensor

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """What `repr` says of a tensor."""
    return tensor_text(self, tensor_contents)


_str_intern = _str


class _Options:
    """What `set_printoptions` set, as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return get_printoptions()[name]
        except KeyError:
            raise AttributeError(f"'__PrinterOptions' object has no attribute '{name}'", name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        set_printoptions(**{name: value})


PRINT_OPTS = _Options()
