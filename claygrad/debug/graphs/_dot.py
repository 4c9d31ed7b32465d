"""A graph in the language of Graphviz."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING

from claygrad.debug.graphs._steps import FAILED, OPERATION
from claygrad.debug.graphs._text import shape_text
from claygrad.debug.graphs._tree import Group, Item

if TYPE_CHECKING:
    from claygrad.debug.graphs._graph import Graph


def dot(graph: Graph) -> str:
    """All operations, modules as clusters."""
    out = ["digraph graph {", "  rankdir=TB; compound=true;",
           '  node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica, fontsize=10];']
    count = 0

    def add(item: Item, indent: str) -> None:
        nonlocal count
        if not isinstance(item, Group):
            step = graph.steps[item]
            words = [step.name if step.kind in (OPERATION, FAILED) else graph.short_name(item)]
            if step.shape is not None:
                words.append(f"{shape_text(step.shape)} {step.dtype}")
            colour = {OPERATION: "white", FAILED: "#f6c7c3"}.get(step.kind, "#dce9f7")
            out.append(f"{indent}n{item} [label={_quoted(chr(10).join(words))}, fillcolor={_quoted(colour)}];")
            return
        count += 1
        times = f" × {sum(1 for _ in item.parts())}" if item.kind == "repeat" else ""
        label = f"{item.label}: {item.type}" if item.type and item.type != item.label else item.label
        out.append(f"{indent}subgraph cluster{count} {{")
        out.append(f"{indent}  label={_quoted(label + times)}; color=gray; fontname=Helvetica; fontsize=10;")
        for child in item.children:
            add(child, indent + "  ")
        out.append(f"{indent}}}")

    for child in graph.tree.children:
        add(child, "  ")
    out += [f"  n{before} -> n{i};" for i, step in enumerate(graph.steps) for before in dict.fromkeys(step.inputs)]
    return "\n".join([*out, "}"]) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
