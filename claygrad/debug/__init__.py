"""Tools that explain a program: where its memory is, what keeps it, what is wrong with a training step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._late import late

if TYPE_CHECKING:
    from claygrad.debug._check import check as check
    from claygrad.debug._leaks import leaks as leaks
    from claygrad.debug._memory import memory as memory
    from claygrad.debug._referrers import referrers as referrers

# Each name with the module that has it, loaded when it is asked for.
_NAMES = {
    "check": "debug._check",
    "leaks": "debug._leaks",
    "memory": "debug._memory",
    "referrers": "debug._referrers",
}

__all__ = [
    "check",
    "leaks",
    "memory",
    "referrers",
]

__getattr__ = late(__name__, (), _NAMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
