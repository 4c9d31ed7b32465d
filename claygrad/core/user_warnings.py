"""Warnings at the user's line; some are given once, or every time after `set_warn_always(True)`."""
from __future__ import annotations

import sys
import warnings
from types import FrameType

from claygrad.core.own_files import is_own_file

_given: set[str] = set()
_always = False


def set_always(always: bool) -> None:
    global _always
    _always = always


def is_always() -> bool:
    return _always


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of claygrad, under whatever name it was imported."""
    return is_own_file(frame.f_code.co_filename)


def warn(text: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the nearest caller outside claygrad."""
    level, frame = 2, sys._getframe(1)
    while is_ours(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, level)


def warn_once(key: str, text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, unless a warning with this key was given before."""
    if key not in _given or _always:
        _given.add(key)
        warn(text, category)
