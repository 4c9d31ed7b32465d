"""What errors say below PyTorch's line: the user's line, the values on it, where in the model, and the way out.

The compiled core calls these functions when an exception leaves an entry point (core/cpython/entry_points.h). `a` is
what was called, `b` the arguments. Nothing here runs, or is even loaded, before something fails.
CLAYGRAD_TRACEBACK=full in the environment keeps claygrad's own frames in tracebacks. With or without them, the call
that failed stays on the exception, for `claygrad.graph`.
"""
from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from claygrad.core.overrides import DisableTorchFunction
from claygrad.errors._calls import Call
from claygrad.errors._failed import attach, failed_of
from claygrad.errors._frames import is_ours, raised_by_us, without_our_frames
from claygrad.errors._message import Message, is_noted, message_of
from claygrad.errors._python import file_hint
from claygrad.errors._source import line_of_frame
from claygrad.errors._uncaught import explain

if TYPE_CHECKING:
    from types import FrameType

_SYMBOLS = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=")
_SILENT = (KeyboardInterrupt, StopIteration, RecursionError, OSError, ImportError, Warning)      # they keep their text
_PLAIN = ("LinAlgError", "GradcheckError", "UnpicklingError", "PicklingError")      # one argument that is the text


class _Busy(threading.local):
    now = False


_busy = _Busy()


def operation(error: BaseException, op: Any, args: Any) -> None:
    """A call of an operation failed."""
    _pass(error, sys._getframe(1), Call("operation", op, args or ()))


def operator(error: BaseException, which: int, args: Any) -> None:
    """One of Python's binary operators failed."""
    _pass(error, sys._getframe(1), Call("operator", _SYMBOLS[which] if which < len(_SYMBOLS) else "?", args or ()))


def assignment(error: BaseException, which: int, args: Any) -> None:
    """One of Python's operators with an assignment failed."""
    _pass(error, sys._getframe(1), Call("assignment", f"{_SYMBOLS[which]}=", args or ()))


def indexing(error: BaseException, _: Any, args: Any) -> None:
    """Reading or writing `tensor[key]` failed."""
    _pass(error, sys._getframe(1), Call("indexing", "[]", args or ()))


def method(error: BaseException, name: str, _: Any) -> None:
    """A method of a compiled class failed."""
    _pass(error, sys._getframe(1), Call("method", name, ()))


def function(error: BaseException, called: Any, args: Any) -> None:
    """A Python function of claygrad failed."""
    _pass(error, sys._getframe(1), Call("function", called, args or ()))


def attribute(error: BaseException, owner: Any, name: str) -> None:
    """A module does not have the attribute that a line asks for."""
    _pass(error, sys._getframe(1), Call("attribute", name, (owner,)))


def module(error: BaseException, called: Any, args: Any) -> None:
    """A call of a module failed."""
    _pass(error, sys._getframe(1), Call("module", called, args or ()))


def leaves(error: BaseException, frame: FrameType, name: str) -> None:
    """An exception that nobody caught left claygrad through a function that is no entry point."""
    _pass(error, frame, Call("method", name, ()))


def _pass(error: BaseException, frame: FrameType, call: Call) -> None:
    if _busy.now:
        return
    if isinstance(error, _SILENT):
        if isinstance(error, OSError) and not is_ours(frame.f_code):
            _file(error, frame)
        return
    plain = type(error).__module__ == "builtins" or type(error).__name__ in _PLAIN
    _busy.now = True
    try:
        with DisableTorchFunction():                 # reading shapes must not call overrides of the user's
            said, failed = message_of(error), failed_of(error)
            ours = is_ours(frame.f_code)
            if (said is None or failed is None) and raised_by_us(error):
                said = said or (Message.of(error) if plain else None)
                failed = failed or attach(error)
            elif said is None:
                explain(error)
            if failed is not None:
                failed.meet(call, frame, ours)
            if said is not None:
                said.meet(call, frame, ours, error.__traceback__)
                said.write(error)
            if not ours:
                without_our_frames(error)
    finally:
        _busy.now = False


def _file(error: OSError, frame: FrameType) -> None:
    """A file could not be opened: below the text, which is made of the error's number and the file's name."""
    line = line_of_frame(frame).text
    told = file_hint(error, "load" in line.rpartition(": ")[2]) if raised_by_us(error) and not is_noted(error) else ""
    if told:
        error.add_note(f"  at {line}\n  {told}")
    without_our_frames(error)
