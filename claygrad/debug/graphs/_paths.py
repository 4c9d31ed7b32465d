"""The part of a graph through which a gradient reaches one leaf."""
from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from claygrad.debug.graphs._tree import Group, Item, repeat

if TYPE_CHECKING:
    from claygrad.debug.graphs._graph import Graph


def restricted(graph: Graph, name: str) -> Graph:
    """A graph of what lies between the results and the leaf of that name."""
    from claygrad.debug.graphs._graph import Graph
    leaves = {step.name: i for i, step in enumerate(graph.steps) if step.kind in ("parameter", "input")}
    if name not in leaves:
        near = difflib.get_close_matches(name, leaves, 3)
        hint = f"; near to it: {', '.join(near)}" if near else ""
        raise ValueError(f"the graph has no parameter or input {name!r}{hint}")
    users: dict[int, list[int]] = {}
    for i, step in enumerate(graph.steps):
        for before in step.inputs:
            users.setdefault(before, []).append(i)
    on, waiting = {leaves[name]}, [leaves[name]]
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in on:
                on.add(user)
                waiting.append(user)
    numbers = {old: new for new, old in enumerate(sorted(on))}
    steps = [replace(graph.steps[old], inputs=[numbers[before] for before in graph.steps[old].inputs if before in on])
             for old in numbers]

    def keep(item: Item) -> Item | None:
        if not isinstance(item, Group):
            return numbers.get(item)
        children = [kept for child in item.children if (kept := keep(child)) is not None]
        if item.kind == "repeat":
            parts = list(Group("repeat", children=children).parts())
            if len(parts) == 1:
                return parts[0]
            if parts and len(parts) < sum(1 for _ in item.parts()):
                return replace(repeat(parts, steps), children=children)
        return replace(item, children=children) if children else None

    tree = keep(graph.tree)
    assert isinstance(tree, Group)
    return Graph(steps, tree, f"{graph.title} on the way to {name}", graph.failure)
