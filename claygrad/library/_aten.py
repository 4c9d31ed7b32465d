"""Overloads of PyTorch's own operators."""
from __future__ import annotations

import functools
from pathlib import Path

_HERE = Path(__file__).parent


@functools.cache
def _table() -> dict[tuple[str, str], tuple[str, ...]]:
    """The overloads of operators, by namespace and name. A line of `aten.txt` has names and their overloads, and stands
    for all names that have only these. In `inner.txt` the namespace comes first."""
    known = {}
    for line in (_HERE / "aten.txt").read_text().splitlines():
        words, _, names = line.partition(": ")
        known.update(dict.fromkeys((("aten", name) for name in names.split()), tuple(words.split())))
    for line in (_HERE / "inner.txt").read_text().splitlines():
        words, _, names = line.partition(": ")
        space, *overloads = words.split()
        known.update(dict.fromkeys(((space, name) for name in names.split()), tuple(overloads)))
    return known


@functools.cache
def inner_namespaces() -> frozenset[str]:
    """The namespaces of PyTorch's own operators."""
    return frozenset(space for space, _ in _table())


def overloads_of(name: str, space: str = "aten") -> tuple[str, ...]:
    """The overloads of an operator, `default` where the table has none of that name."""
    return _table().get((space, name), ("default",))


def is_known(name: str, space: str = "aten") -> bool:
    """Whether PyTorch's library has an operator that claygrad may not declare."""
    return (space, name) in _table()
