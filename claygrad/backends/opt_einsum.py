"""`torch.backends.opt_einsum`: claygrad multiplies from left to right, without that library."""
from __future__ import annotations

from contextlib import AbstractContextManager

from claygrad.backends._flags import holding, make_flags

enabled: bool
strategy: str | None
make_flags(__name__, enabled=False, strategy=None)


def is_available() -> bool:
    """No."""
    return False


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """The flags at these values in a context."""
    return holding(__name__, enabled=bool(enabled), strategy=strategy)
