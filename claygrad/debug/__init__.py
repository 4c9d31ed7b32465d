"""Tools that explain a program while it runs."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad._late import late

if TYPE_CHECKING:
    from claygrad.debug.graphs import Graph as Graph
    from claygrad.debug.graphs import graph as graph
    from claygrad.debug.graphs import graph_on_error as graph_on_error

# Each name with the module that has it, loaded when it is asked for.
_NAMES = {
    "Graph": "debug.graphs",
    "graph": "debug.graphs",
    "graph_on_error": "debug.graphs",
}

__all__ = [
    "Graph",
    "graph",
    "graph_on_error",
]

__getattr__ = late(__name__, (), _NAMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
