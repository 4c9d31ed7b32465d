"""A graph as a tree: operations inside the calls of modules that made them, what repeats folded."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claygrad.debug.graphs._steps import INPUT, OPERATION, PARAMETER, Line, Step, chain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_PATTERN = 16        # of steps that repeat
CROWD = 100                 # more children than this nobody can read: they are gathered by lines, or by number


@dataclass
class Group:
    """Steps that belong together: a call of a module, steps that repeat, or steps of one line."""

    kind: str                                        # "module", "repeat", "part", "line", "stretch", "graph"
    label: str = ""
    type: str = ""                                   # the class of a module
    path: str = ""
    children: list[Item] = field(default_factory=list)
    call: Any = None

    def parts(self) -> Iterator[Item]:
        """The children; those of stretches in their place."""
        for child in self.children:
            if isinstance(child, Group) and child.kind == "stretch":
                yield from child.parts()
            else:
                yield child

    def steps(self) -> Iterator[int]:
        """The numbers of all steps below."""
        waiting: list[Item] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Group):
                waiting.extend(reversed(item.children))
            else:
                yield item


Item = int | Group


def build(steps: list[Step], label_of: Callable[[Any], tuple[str, str]]) -> Group:
    """The tree of steps; `label_of` gives the label and the path of a call."""
    root = Group("graph")
    groups: dict[int, Group] = {}

    def group_for(chain: list[Any]) -> Group:
        at = root
        for call in chain:
            found = groups.get(call.number)
            if found is None:
                label, path = label_of(call)
                found = groups[call.number] = Group("module", label, call.kind.__name__, path, call=call)
                at.children.append(found)
            at = found
        return at

    users: dict[int, list[int]] = {}
    chains = [chain_of(step.call) for step in steps]
    for i, step in enumerate(steps):
        for before in step.inputs:
            users.setdefault(before, []).append(i)
    for i in sorted(range(len(steps)), key=lambda i: steps[i].order):
        if steps[i].kind == OPERATION or steps[i].inputs or i not in users:
            group_for(chains[i]).children.append(i)
        else:                                        # a leaf is where all who use it are
            group_for(_common([chains[j] for j in users[i]])).children.append(i)
    _fold_all(root, steps)
    return root


def _common(chains: list[list[Any]]) -> list[Any]:
    shared = chains[0]
    for chain in chains[1:]:
        n = 0
        while n < min(len(shared), len(chain)) and shared[n].number == chain[n].number:
            n += 1
        shared = shared[:n]
    return shared


class _Signatures:
    """A number for each shape that a part of the tree can have; equal parts have the same."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.numbers: dict[Any, int] = {}

    def of(self, item: Item) -> int:
        if isinstance(item, Group):
            what: Any = (item.kind, item.type, tuple(self.of(child) for child in item.children))
        else:
            step = self.steps[item]
            line = step.line[:2] if step.line and step.inputs else None
            what = (step.kind, step.title, step.shape, step.dtype, line, step.note)
        return self.numbers.setdefault(what, len(self.numbers))


def _fold_all(root: Group, steps: list[Step]) -> None:
    signatures, order, waiting = _Signatures(steps), [], [root]
    while waiting:
        group = waiting.pop()
        order.append(group)
        waiting.extend(child for child in group.children if isinstance(child, Group))
    for group in reversed(order):                    # the innermost first
        group.children = _folded(group.children, signatures, steps)
        if len(group.children) > CROWD:
            group.children = _folded(_by_lines(group.children, steps), signatures, steps)
        if len(group.children) > CROWD:
            group.children = _by_number(group.children, steps)


def _folded(children: list[Item], signatures: _Signatures, steps: list[Step]) -> list[Item]:
    marks = [signatures.of(child) for child in children]
    out: list[Item] = []
    i = 0
    while i < len(children):
        best, period = 0, 0
        for p in range(1, min(LONGEST_PATTERN, (len(children) - i) // 2) + 1):
            times = 1
            while marks[i + times * p:i + (times + 1) * p] == marks[i:i + p]:
                times += 1
            least = 2 if any(isinstance(child, Group) for child in children[i:i + p]) else 3
            if times >= least and times * p > best:
                best, period = times * p, p
        if not best:
            out.append(children[i])
            i += 1
            continue
        parts = [_part(children[k:k + period], steps) for k in range(i, i + best, period)]
        found = repeat(parts, steps)
        if len(parts) > CROWD:
            found.children = _by_number(parts, steps, lines=False)
        out.append(found)
        i += best
    return out


def _part(children: list[Item], steps: list[Step]) -> Item:
    return children[0] if len(children) == 1 else Group("part", _names(children, steps), children=children)


def repeat(parts: list[Item], steps: list[Step]) -> Group:
    """Parts that are alike, under one label."""
    first, last = parts[0], parts[-1]
    if not isinstance(first, Group) or not isinstance(last, Group):
        assert isinstance(first, int)
        return Group("repeat", steps[first].name, children=parts)
    if first.kind == "part":
        ends = [_ends(part) for part in parts if isinstance(part, Group)]
        return Group("repeat", _span(ends[0][0], ends[-1][1]) if ends[0] != ends[-1] else first.label, children=parts)
    names = list(dict.fromkeys(part.label for part in parts if isinstance(part, Group)))
    label = _span(first.label, last.label)
    if "…" in label and " … " in label and len(names) < 5:
        label = ", ".join(names)
    return Group("repeat", label, first.type, _span(first.path, last.path), parts)


def _names(items: list[Item], steps: list[Step]) -> str:
    """Steps in a row by their names: `conv → norm → relu`, or `blocks.0…6` where they are numbered."""
    names = [item.label if isinstance(item, Group) else steps[item].name
             for item in items if isinstance(item, Group) or steps[item].kind == OPERATION]
    span = _span(names[0], names[-1]) if len(names) > 1 else ""
    if span and " … " not in span and all(_span(names[0], name) != f"{names[0]} … {name}" for name in names):
        return span
    return " → ".join(names if len(names) < 5 else [*names[:3], "…"])


def _ends(part: Group) -> tuple[str, str]:
    labels = [child.label for child in part.children if isinstance(child, Group)]
    return (labels[0], labels[-1]) if labels else ("", "")


def _span(first: str, last: str) -> str:
    """`layers.0` and `layers.11` as `layers.0…11`."""
    if first == last:
        return first
    a, b = re.split(r"(\d+)", first), re.split(r"(\d+)", last)
    if len(a) == len(b):
        differ = [k for k in range(len(a)) if a[k] != b[k]]
        if len(differ) == 1 and differ[0] % 2:
            a[differ[0]] += f"…{b[differ[0]]}"
            return "".join(a)
    return f"{first} … {last}"


def _by_lines(children: list[Item], steps: list[Step]) -> list[Item]:
    """Operations of one line that follow each other as a group."""
    out: list[Item] = []
    last: Line | None = None
    for child in children:
        line = steps[child].line if isinstance(child, int) and steps[child].kind == OPERATION else None
        group = out[-1] if out else None
        if line is None:
            out.append(child)
        elif last is not None and line[:2] == last[:2] and isinstance(group, Group):
            group.children.append(child)
        else:
            out.append(Group("line", line[3], children=[child]))
        last = line
    return [child.children[0] if isinstance(child, Group) and child.kind == "line" and len(child.children) == 1
            else child for child in out]


def _by_number(children: list[Item], steps: list[Step], lines: bool = True) -> list[Item]:
    """Stretches of about equal size; leaves stay outside, for many of them may use one."""
    leaves = {child for child in children if isinstance(child, int) and steps[child].kind in (PARAMETER, INPUT)}
    if len(leaves) <= CROWD // 4:
        children = [child for child in children if not isinstance(child, int) or child not in leaves]
    else:
        leaves = set()
    parts = [(k, child) for k, child in enumerate(children)]
    return [*sorted(leaves), *_stretches(parts, len(parts), steps, lines)]


def _stretches(parts: list[tuple[int, Item]], total: int, steps: list[Step], lines: bool) -> list[Item]:
    if len(parts) <= CROWD:
        return [child for _, child in parts]
    size = -(-len(parts) // min(CROWD, -(-len(parts) // (CROWD // 2))))
    out: list[Item] = []
    for k in range(0, len(parts), size):
        some = parts[k:k + size]
        label = _lines(some, steps) if lines else ""
        out.append(Group("stretch", label or f"{some[0][0] + 1}–{some[-1][0] + 1} of {total}",
                         children=_stretches(some, total, steps, lines)))
    return out


def _lines(parts: list[tuple[int, Item]], steps: list[Step]) -> str:
    """Such as `train.py:10–32`; nothing where the lines do not rise."""
    found = [steps[i].line for _, child in parts for i in (child.steps() if isinstance(child, Group) else (child,))]
    places = [line[:2] for line in found if line is not None]
    if places and places == sorted(places) and places[0][0] == places[-1][0] and places[0][1] < places[-1][1]:
        return f"{os.path.basename(places[0][0])}:{places[0][1]}–{places[-1][1]}"
    return ""
