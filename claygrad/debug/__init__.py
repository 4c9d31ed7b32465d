"""Tools that explain a program while it runs."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._late import late

if TYPE_CHECKING:
    from claygrad.debug._nans import NonFiniteError as NonFiniteError
    from claygrad.debug._nans import trace_nans as trace_nans

# Each name with the module that has it, loaded when it is asked for.
_NAMES = {
    "NonFiniteError": "debug._nans",
    "trace_nans": "debug._nans",
}

__all__ = [
    "NonFiniteError",
    "trace_nans",
]

__getattr__ = late(__name__, (), _NAMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
