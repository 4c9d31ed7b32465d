"""Which claygrad this is, which PyTorch it follows, and what it was built with."""
from __future__ import annotations

import re
from typing import Any

__version__ = "0.1.0"
TORCH_VERSION = "2.13.0"       # the release whose names, arguments and numbers are followed
cuda = None
hip = None
rocm = None
xpu = None
debug = False
git_version = "unknown"

_FORM = re.compile(r"v?(\d+(?:\.\d+)*)(?:[.-]?(a|b|rc|dev|post)[.-]?(\d*))?(?:\+([a-z0-9.]+))?\Z", re.IGNORECASE)
_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}


def _key(version: Any) -> tuple[Any, ...] | None:
    """What orders versions; None for what is not one."""
    if isinstance(version, (tuple, list)):
        version = ".".join(str(part) for part in version)
    found = _FORM.match(str(version))
    if found is None:
        return None
    numbers, stage, count, local = found.groups()
    release = [int(number) for number in numbers.split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    own = tuple((part.isdigit(), int(part) if part.isdigit() else part) for part in local.split(".")) if local else ()
    return tuple(release), _STAGES[stage.lower() if stage else None], int(count or 0), own


class TorchVersion(str):
    """A version that compares as one: `torch.__version__ >= "2.1"`, `torch.__version__ > (2, 1)`."""

    __slots__ = ()
    __hash__ = str.__hash__

    def _ordered(self, other: Any, by: str) -> bool:
        ours, theirs = _key(self), _key(other)
        if ours is None or theirs is None:
            return bool(getattr(str, by)(str(self), str(other)))
        return bool(getattr(tuple, by)(ours, theirs))

    def __eq__(self, other: Any) -> bool:
        return self._ordered(other, "__eq__")

    def __ne__(self, other: Any) -> bool:
        return self._ordered(other, "__ne__")

    def __lt__(self, other: Any) -> bool:
        return self._ordered(other, "__lt__")

    def __le__(self, other: Any) -> bool:
        return self._ordered(other, "__le__")

    def __gt__(self, other: Any) -> bool:
        return self._ordered(other, "__gt__")

    def __ge__(self, other: Any) -> bool:
        return self._ordered(other, "__ge__")
