"""Warnings at the user's line; some are given once, or every time after `set_warn_always(True)`."""
from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterator
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


class _Silent(threading.local):
    now = False


_silent = _Silent()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Warn of nothing in this thread."""
    before, _silent.now = _silent.now, True
    try:
        yield
    finally:
        _silent.now = before


def warn(text: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the nearest caller outside claygrad."""
    if _silent.now:
        return
    level, frame = 2, sys._getframe(1)
    while is_ours(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, level)


def warn_once(key: str, text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, unless a warning with this key was given before."""
    if (key not in _given or _always) and not _silent.now:
        _given.add(key)
        warn(text, category)
