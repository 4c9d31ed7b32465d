"""Which frames are claygrad's own, and tracebacks without them."""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import numpy

from claygrad.core.own_files import is_own_file

if TYPE_CHECKING:
    from types import CodeType, TracebackType


def is_ours(code: CodeType) -> bool:
    return is_own_file(code.co_filename)


def is_ours_class(kind: type) -> bool:
    home = sys.modules.get(kind.__module__)          # where claygrad stands in for torch, it has torch's name
    return is_own_file(getattr(home, "__file__", None) or "")


def is_library(code: CodeType) -> bool:
    """Whether it is Python's own, or NumPy's: nobody looks for a mistake there."""
    return is_library_file(code.co_filename)


def is_library_file(file: str) -> bool:
    return (file.startswith(_LIBRARY) and "site-packages" not in file) or file.startswith(("<frozen", _NUMPY))


def is_numpy(code: CodeType) -> bool:
    return code.co_filename.startswith(_NUMPY)


_NUMPY = os.path.dirname(os.path.abspath(numpy.__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def raised_by_us(error: BaseException) -> bool:
    """Whether the exception was raised in claygrad, and not in a function of the user's that it called."""
    last = None
    trace = error.__traceback__
    while trace is not None:
        if last is None or not is_library(trace.tb_frame.f_code):        # collections.Counter(5), called by claygrad
            last = trace
        trace = trace.tb_next
    return last is None or is_ours(last.tb_frame.f_code)


def without_our_frames(error: BaseException) -> None:
    """Take claygrad's frames out of the traceback, and errors that never left it out of the chain of contexts."""
    if os.environ.get("CLAYGRAD_TRACEBACK") == "full":
        return
    error.__traceback__ = _stripped(error.__traceback__)
    seen = {id(error)}
    at = error
    while at.__context__ is not None and id(at.__context__) not in seen:
        before = at.__context__
        seen.add(id(before))
        if before.__traceback__ is None or _stripped(before.__traceback__) is None:
            at.__context__ = before.__context__
            if at.__cause__ is before:
                at.__cause__ = None
        else:
            before.__traceback__ = _stripped(before.__traceback__)
            at = before


def has_frames_of_users(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and is_ours(trace.tb_frame.f_code):
        trace = trace.tb_next
    return trace is not None


def _stripped(trace: TracebackType | None) -> TracebackType | None:
    kept, inside = [], False
    while trace is not None:
        code = trace.tb_frame.f_code
        inside = is_ours(code) or (inside and is_library(code))      # contextlib, between two of claygrad's functions
        if not inside:
            kept.append(trace)
        trace = trace.tb_next
    for i, one in enumerate(kept):
        following = kept[i + 1] if i + 1 < len(kept) else None
        if one.tb_next is not following:
            one.tb_next = following
    return kept[0] if kept else None
