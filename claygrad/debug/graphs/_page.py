"""A graph as one page of HTML that needs nothing else, and as a frame in a notebook."""
from __future__ import annotations

import html
import json
import linecache
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claygrad.debug.graphs._steps import FAILED, OPERATION, PARAMETER
from claygrad.debug.graphs._text import bytes_text, file_text, shape_text
from claygrad.debug.graphs._tree import Group, Item

if TYPE_CHECKING:
    from claygrad.debug.graphs._graph import Graph

HERE = Path(__file__).parent
AROUND = 4                  # lines of source that are shown before and after one

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head><body>
<header>
<h1>{title}</h1><p id="summary">{summary}</p>
<div id="tools">
<input id="search" type="search" placeholder="Search names, modules, lines" aria-label="Search">
<select id="path" aria-label="Gradient's path"><option value="">Whole graph</option></select>
<button id="more">Expand all</button><button id="less">Collapse all</button>
<button id="in" aria-label="Zoom in">+</button><button id="out" aria-label="Zoom out">−</button>
<button id="fit">Fit</button>
<button id="theme" aria-label="Light or dark">◐</button>
</div></header>
<main><div id="view"><svg id="picture" role="img" aria-label="{title}"></svg></div><aside id="panel"></aside></main>
<script type="application/json" id="data">{data}</script>
<script>{library}</script><script>{script}</script>
</body></html>
"""


def page(graph: Graph) -> str:
    """The whole page."""
    library = lzma.decompress((HERE / "dagre.min.js.xz").read_bytes()).decode()
    return PAGE.format(title=html.escape(f"graph of {graph.title}"),
                       summary=html.escape(graph.summary.partition(": ")[2]),
                       style=(HERE / "viewer.css").read_text(), script=(HERE / "viewer.js").read_text(),
                       library=library, data=_embedded(data(graph)))


def frame(graph: Graph) -> str:
    """The page inside a notebook, where its styles and names touch nothing else."""
    return (f'<iframe srcdoc="{html.escape(page(graph))}" style="width: 100%; height: 520px; border: 1px solid #8884; '
            'border-radius: 6px"></iframe>')


def _embedded(value: Any) -> str:
    """JSON that can stand in a script element: no text of the user's can end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def data(graph: Graph) -> dict[str, Any]:
    """What the page draws: steps by their numbers, then groups; edges between steps; the source around their lines."""
    items: list[dict[str, Any]] = [_step(graph, i) for i in range(len(graph.steps))]
    root = _group(graph, graph.tree, items)
    edges = [[before, i] for i, step in enumerate(graph.steps) for before in dict.fromkeys(step.inputs)]
    places = {step.line[:2] for step in graph.steps if step.line is not None}
    return {"items": items, "root": root, "edges": edges, "sources": _sources(places), "failure": graph.failure}


def _step(graph: Graph, number: int) -> dict[str, Any]:
    step = graph.steps[number]
    item: dict[str, Any] = {"kind": step.kind, "name": step.name, "title": step.title, "shape": shape_text(step.shape)}
    if step.kind == PARAMETER:
        item["short"] = graph.short_name(number)
    kept = sum(step.memory.values())
    for name, value in (("dtype", step.dtype), ("got", graph.given_to(number)), ("result", step.result),
                        ("note", step.note), ("kept", bytes_text(kept) if kept else ""),
                        ("copied", bytes_text(step.copied) if step.copied else ""),
                        ("outputs", step.outputs if step.outputs > 1 else 0)):
        if value:
            item[name] = value
    if step.norm is not None:
        item["norm"] = f"{step.norm:.3g}"
    if step.line is not None:
        item["line"] = [file_text(step.line[0]), step.line[1], step.line[2]]
    return item


def _group(graph: Graph, group: Group, items: list[dict[str, Any]]) -> int:
    number = len(items)
    item: dict[str, Any] = {"kind": group.kind, "name": group.label}
    items.append(item)
    steps = [graph.steps[i] for i in group.steps()]
    kept, last = graph.kept_in(group), None if graph.holds_failure(group) else graph.result_of(group)
    item["operations"] = sum(step.kind == OPERATION for step in steps)
    for name, value in (("type", group.type), ("path", group.path), ("kept", bytes_text(kept) if kept else ""),
                        ("shape", shape_text(last.shape) if last else ""), ("dtype", last.dtype if last else ""),
                        ("failed", any(step.kind == FAILED for step in steps))):
        if value:
            item[name] = value
    item["children"] = [_child(graph, child, items) for child in group.children]
    return number


def _child(graph: Graph, child: Item, items: list[dict[str, Any]]) -> int:
    return _group(graph, child, items) if isinstance(child, Group) else child


def _sources(places: set[tuple[str, int]]) -> dict[str, dict[int, str]]:
    """The lines around each place, by file and number."""
    out: dict[str, dict[int, str]] = {}
    for file, line in sorted(places):
        lines = out.setdefault(file_text(file), {})
        for n in range(max(1, line - AROUND), line + AROUND + 1):
            text = linecache.getline(file, n)
            if text:
                lines[n] = text.rstrip("\n")
    return out
