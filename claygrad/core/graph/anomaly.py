"""Anomaly mode: the traceback of the forward call of a failing node."""
from __future__ import annotations

import traceback
from typing import Any

from claygrad.core.user_warnings import warn

TRACE, PARENT = "traceback_", "parent_"        # PyTorch's keys in `node.metadata`


def forward_notes() -> dict[str, Any]:
    """What a node stores in anomaly mode: the Python stack, and the node whose backward recorded it, if any."""
    from claygrad.core.graph.engine import current_node

    notes: dict[str, Any] = {TRACE: traceback.format_stack()[:-1]}
    parent = current_node()
    if parent is not None:
        notes[PARENT] = parent
    return notes


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
