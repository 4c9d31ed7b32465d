"""The autograd graph of a program as a picture: text for the terminal, HTML for notebooks and browsers, DOT."""
from __future__ import annotations

from claygrad.debug.graphs._graph import Graph, graph, graph_on_error

__all__ = ["Graph", "graph", "graph_on_error"]
