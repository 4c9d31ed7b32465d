"""Tools that explain a program: where its memory is, what keeps it, where a NaN began, what a training step gets wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._late import late

if TYPE_CHECKING:
    from claygrad.debug._check import check as check
    from claygrad.debug._leaks import leaks as leaks
    from claygrad.debug._memory import memory as memory
    from claygrad.debug._nans import NonFiniteError as NonFiniteError
    from claygrad.debug._nans import trace_nans as trace_nans
    from claygrad.debug._referrers import referrers as referrers

# Each name with the module that has it, loaded when it is asked for.
_NAMES = {
    "NonFiniteError": "debug._nans",
    "check": "debug._check",
    "leaks": "debug._leaks",
    "memory": "debug._memory",
    "referrers": "debug._referrers",
    "trace_nans": "debug._nans",
}

__all__ = [
    "NonFiniteError",
    "check",
    "leaks",
    "memory",
    "referrers",
    "trace_nans",
]

__getattr__ = late(__name__, (), _NAMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
