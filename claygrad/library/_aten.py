"""Overloads of PyTorch's own operators, for the operations that claygrad declares."""
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
    """The overloads of an operator, `default` where PyTorch's library has none of that name."""
    return _table().get(name, ("default",))
