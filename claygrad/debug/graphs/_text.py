"""A graph as lines of text, for the terminal."""
from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from claygrad.debug.graphs._steps import FAILED, OPERATION, PARAMETER, Step
from claygrad.debug.graphs._tree import Group, Item

if TYPE_CHECKING:
    from claygrad.debug.graphs._graph import Graph

LINES = 48                  # that a text has as a rule
FAILURE = 24                # of an exception, below its first line


def bytes_text(n: float) -> str:
    """A number of bytes, such as `1.5 MB`."""
    for unit in ("B", "KB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    raise AssertionError


def shape_text(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def file_text(path: str) -> str:
    """A path as it is shortest to read: relative where it is below the current folder."""
    try:
        return _near(path, os.getcwd())
    except (ValueError, OSError):
        return path


@functools.lru_cache(1024)
def _near(path: str, folder: str) -> str:
    near = os.path.relpath(path, folder)
    return path if near.startswith("..") or path.startswith("<") else near


def line_text(step: Step) -> str:
    return "" if step.line is None else f"{file_text(step.line[0])}:{step.line[1]}"


def text(graph: Graph, depth: int | None = None) -> str:
    """The tree with its columns; `depth`: how many levels of modules are open, as many as fit a screen by default."""
    rows = _rows(graph, depth if depth is not None else _fitting(graph))
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(5)]
    out = [graph.summary]
    for row in rows:
        cells = [*(row[k].ljust(widths[k]) for k in (0, 1)), *(row[k].rjust(widths[k]) for k in (2, 3)), row[4]]
        out.append("  ".join(cell for cell, width in zip(cells, widths, strict=True) if width).rstrip())
    if graph.failure:
        first, *below = graph.failure.splitlines()
        out += ["", f"✗ {first}", *below[:FAILURE], *["  ..."] * (len(below) > FAILURE)]
    return "\n".join(out)


def _fitting(graph: Graph) -> int:
    depth = 1
    while depth < 64 and len(_rows(graph, depth + 1)) <= LINES:
        if len(_rows(graph, depth + 1)) == len(_rows(graph, depth)) and depth > 8:
            break
        depth += 1
    return depth


def _rows(graph: Graph, depth: int) -> list[tuple[str, str, str, str, str]]:
    header = ("", "result", "kept", "|gradient|" if graph.has_norms else "", "line")
    out = [header]

    def add(item: Item, indent: int, level: int) -> None:
        mark = "  " * indent
        if not isinstance(item, Group):
            step = graph.steps[item]
            name = {OPERATION: step.name, FAILED: f"✗ {step.name}"}.get(step.kind, f"• {graph.short_name(item)}")
            if step.result:
                name = f"{step.result} = {name}"
            kind = "" if step.kind in (OPERATION, FAILED) else f" {step.kind}" if step.kind == PARAMETER else " input"
            kept = sum(step.memory.values())
            given = graph.given_to(item)
            result = f"got {given}" if given else f"{shape_text(step.shape)} {step.dtype}{kind}".strip()
            out.append((mark + name, result, bytes_text(kept) if kept else "",
                        "" if step.norm is None else f"{step.norm:.3g}", line_text(step)))
            return
        times = f" × {sum(1 for _ in item.parts())}" if item.kind == "repeat" else ""
        name = f"{item.label}: {item.type}" if item.type and item.type != item.label else item.label
        last = None if graph.holds_failure(item) else graph.result_of(item)
        kept = graph.kept_in(item)
        out.append((f"{mark}{name}{times}", f"{shape_text(last.shape)} {last.dtype}".strip() if last else "",
                    bytes_text(kept) if kept else "", "", graph.line_of(item)))
        if level >= depth and not graph.holds_failure(item):
            return
        inner = item
        if item.kind == "repeat":                    # one stands for all
            first = next(item.parts())
            if not isinstance(first, Group):
                return
            inner = first
        for child in inner.children:
            add(child, indent + 1, level + 1)

    for child in graph.tree.children:
        add(child, 0, 1)
    return out
