"""`torch.nn.attention`: which ways to compute attention are allowed. On the CPU claygrad has one, its own."""
from __future__ import annotations

from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING

from claygrad._lazy import lazy
from claygrad._settings import attention_backends

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """Ways to compute `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


_FLAGS = {SDPBackend.FLASH_ATTENTION: "flash", SDPBackend.EFFICIENT_ATTENTION: "mem_efficient", SDPBackend.MATH: "math",
          SDPBackend.CUDNN_ATTENTION: "cudnn"}


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Allow only these ways in a context; `torch.backends.cuda` tells which are. The numbers stay the same."""
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    allowed = [backends] if isinstance(backends, SDPBackend) else backends
    former = dict(attention_backends)
    attention_backends.update({name: backend in allowed for backend, name in _FLAGS.items()})
    try:
        yield
    finally:
        attention_backends.update(former)

__getattr__ = lazy(__name__)
