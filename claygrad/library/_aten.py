"""Overloads of PyTorch's own operators."""
from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def _table() -> dict[str, tuple[str, ...]]:
    """Lines of `aten.txt`: a name and its overloads. One line stands for all that have only these."""
    known = {}
    for line in Path(__file__).with_name("aten.txt").read_text().splitlines():
        overloads, _, names = line.partition(": ")
        known.update(dict.fromkeys(names.split(), tuple(overloads.split())))
    return known


def overloads_of(name: str) -> tuple[str, ...]:
    """The overloads of an operator, `default` where the table has none of that name."""
    return _table().get(name, ("default",))


def is_known(name: str) -> bool:
    """Whether PyTorch's library has an operator that claygrad may not declare."""
    return name in _table()
