"""Warnings that are given once in a process, or every time after `set_warn_always(True)`."""
from __future__ import annotations

import warnings

_given: set[str] = set()
_always = False


def set_always(always: bool) -> None:
    global _always
    _always = always


def is_always() -> bool:
    return _always


def warn_once(key: str, text: str, category: type[Warning] = UserWarning, stacklevel: int = 2) -> None:
    """Warn, unless a warning with this key was given before."""
    if key not in _given or _always:
        _given.add(key)
        warnings.warn(text, category, stacklevel + 1)
