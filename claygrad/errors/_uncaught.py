"""Errors at the end of their way: what Python, a thread or a notebook is about to show.

Errors that Python raises on its own leave no entry point of claygrad, so they are not explained yet. `claygrad._lazy`
puts hooks before those of `sys` and `threading` that come here; then the hook that was there before shows the error.
They cost nothing until an error is shown; a program that sets a hook of its own later replaces them, as it would any
other.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from claygrad.errors._calls import Call
from claygrad.errors._frames import has_frames_of_users, is_library, is_ours, raised_by_us, without_our_frames
from claygrad.errors._message import is_noted, message_of
from claygrad.errors._python import python_hint
from claygrad.errors._source import line_of_frame
from claygrad.errors._ways import Context, way_out

_EXPLAINED = (
    AttributeError, TypeError, ValueError, LookupError, NameError, ArithmeticError, ImportError, StopIteration
)


def explain(error: BaseException) -> None:
    """Write the way out into the exception. It leaves an entry point: whoever catches it reads it in the text."""
    if (
        len(error.args) != 1
        or not isinstance(error.args[0], str)
        or "\n" in error.args[0]
        or isinstance(error, KeyError)
    ):
        return
    found = python_hint(error)
    if found is not None:
        told, line = found
        error.args = (f"{error.args[0]}\n  at {line.text}\n  {told}",)


def note(error: BaseException) -> None:
    """Write it below the exception, for whoever shows it: the text, which programs may look at, stays as it is."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen and len(seen) < 8:
        seen.add(id(at))
        _note(at)
        if has_frames_of_users(at):
            without_our_frames(at)
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def note_without_a_line(error: BaseException) -> None:
    """The same for an error that was raised where no line of the user's runs: in a process that makes batches."""
    if error.__traceback__ is None or len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    frame = error.__traceback__.tb_frame
    call = Call("method", "", ())
    context = Context(error.args[0].split("\n")[0], type(error), call, None, line_of_frame(frame), frame, [], [])
    context.trace = error.__traceback__
    for text in way_out(context):
        error.add_note(f"  {text}")


def _is_unsaid(error: BaseException) -> bool:
    """Whether no entry point has met it on the way to the user's line: it left through a generator or a closure."""
    said = message_of(error)
    return said is None or said.line is None


def _note(error: BaseException) -> None:
    if not isinstance(error, Exception) or is_noted(error):
        return
    if len(error.args) == 1 and isinstance(error.args[0], str) and "\n  at " in error.args[0]:
        if isinstance(error, AttributeError) and error.name is not None:
            _leave_the_end_to_python(error)
        return  # an entry point has explained it
    if isinstance(error, StopIteration):
        without_our_frames(error)
    elif _is_unsaid(error) and raised_by_us(error):
        _by_a_private_function(error)
        return
    found = python_hint(error)
    if found is not None:
        error.add_note(f"  {found[0]}")


def _leave_the_end_to_python(error: AttributeError) -> None:
    """Python puts a suggestion of its own, "Did you mean", at the end of the text: what stands below goes to a note."""
    head, _, below = error.args[0].partition("\n")
    error.args = (head,)
    error.add_note(below)


def _by_a_private_function(error: Exception) -> None:
    trace, user, inner = error.__traceback__, None, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_ours(code):
            inner = inner or trace
        elif not is_library(code):
            user, inner = trace, None
        trace = trace.tb_next
    if user is not None and inner is not None:
        name = inner.tb_frame.f_code.co_name
        importlib.import_module("claygrad.errors").leaves(error, user.tb_frame, name)


def _show(shell: Any, kind: Any, error: Any, trace: Any, tb_offset: int | None = None) -> None:
    """Show an exception as IPython does, with the way out."""
    try:
        note(error)
    finally:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def listen() -> None:
    """Explain errors of Python's own in IPython and Jupyter, unless somebody handles exceptions there already."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc(_EXPLAINED, _show)
