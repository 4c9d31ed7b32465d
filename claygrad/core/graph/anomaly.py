"""Anomaly mode: the traceback of the forward call of a failing node."""
from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from claygrad.core.own_files import is_own_file
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from types import CodeType

TRACE, PARENT = "traceback_", "parent_"        # PyTorch's keys in `node.metadata`


_current_node: Any = None                      # of the engine, which is loaded after this module


def forward_notes() -> dict[str, Any]:
    """What a node stores in anomaly mode: the Python stack, and the node whose backward recorded it, if any.

    The stack is instructions of code objects, the innermost first: written out as text it takes fifty times as long.
    """
    global _current_node
    if _current_node is None:
        from claygrad.core.graph.engine import current_node
        _current_node = current_node

    stack: list[tuple[CodeType, int]] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        stack.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    notes: dict[str, Any] = {TRACE: tuple(stack)}
    parent = _current_node()
    if parent is not None:
        notes[PARENT] = parent
    return notes


def written_out(notes: dict[str, Any]) -> None:
    """Put the lines of text into the notes of a node, which is what programs expect there."""
    stack = notes.get(TRACE)
    if type(stack) is tuple:
        notes[TRACE] = traceback.StackSummary.from_list([
            (code.co_filename, _line(code, lasti), code.co_name, None) for code, lasti in reversed(stack)
            if not is_own_file(code.co_filename) and not code.co_filename.startswith("<frozen")]).format()


def _line(code: CodeType, lasti: int) -> int:
    for at, span in enumerate(code.co_positions()):
        if at == lasti // 2:
            return span[0] or code.co_firstlineno
    return code.co_firstlineno


def tell_forward(node: Any) -> None:
    """Warn with the stack of the forward call of a node, and of the nodes whose backward recorded it."""
    first: bool = True
    while node is not None:
        notes = node.metadata
        if TRACE not in notes:
            warn(f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly "
                 "during forward pass for more information.")
        elif first:
            warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
                 + "".join(notes[TRACE]))
        else:
            warn(f"\n\nPrevious calculation was induced by {node.name()}. Traceback of forward call that induced the "
                 "previous calculation:\n" + "".join(notes[TRACE]))
        node, first = notes.get(PARENT), False
