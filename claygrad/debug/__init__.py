"""Tools that explain a program: its graph, its memory, where a NaN began, what is wrong with a training step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._lazy import lazy

if TYPE_CHECKING:
    from claygrad.debug._check import check as check
    from claygrad.debug._leaks import leaks as leaks
    from claygrad.debug._memory import memory as memory
    from claygrad.debug._nans import NonFiniteError as NonFiniteError
    from claygrad.debug._nans import trace_nans as trace_nans
    from claygrad.debug._referrers import referrers as referrers
    from claygrad.debug.graphs import Graph as Graph
    from claygrad.debug.graphs import graph as graph
    from claygrad.debug.graphs import graph_on_error as graph_on_error

# Each name with the module that has it, loaded when it is asked for.
_NAMES = {
    "Graph": "debug.graphs",
    "NonFiniteError": "debug._nans",
    "check": "debug._check",
    "graph": "debug.graphs",
    "graph_on_error": "debug.graphs",
    "leaks": "debug._leaks",
    "memory": "debug._memory",
    "referrers": "debug._referrers",
    "trace_nans": "debug._nans",
}

__all__ = [
    "Graph",
    "NonFiniteError",
    "check",
    "graph",
    "graph_on_error",
    "leaks",
    "memory",
    "referrers",
    "trace_nans",
]

__getattr__ = lazy(__name__, (), _NAMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
