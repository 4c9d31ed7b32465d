"""Lines of the user's program, and numbers as people read them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claygrad.core.graph.provenance import line_of

if TYPE_CHECKING:
    from types import CodeType


@dataclass(frozen=True)
class Line:
    """A line of a program."""

    file: str
    line: int
    function: str
    source: str

    def __str__(self) -> str:
        text = f"{shown_path(self.file)}:{self.line}, in {self.function}"
        return f"{text}: {self.source}" if self.source else text


def line_at(place: tuple[CodeType, int] | None) -> Line | None:
    """The line of a code object and an instruction in it."""
    found = None if place is None else line_of(*place)
    return None if found is None else Line(*found)


def shown_path(path: str) -> str:
    """A path as it is shortest to read: relative where it is below the current folder."""
    try:
        near = os.path.relpath(path)
    except (ValueError, OSError):
        return path
    return path if near.startswith("..") or path.startswith("<") else near


def size_text(n: int) -> str:
    """A number of bytes, such as `1.5 MB`."""
    amount = float(n)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(amount) < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError


def count_text(n: int, thing: str) -> str:
    """A number of things, such as `3 tensors`."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def table(title: str, rows: list[tuple[str, str]], most: int = 12) -> list[str]:
    """Rows of an amount and what it belongs to, the first few of them."""
    width = max((len(amount) for amount, _ in rows), default=0)
    out = [title, *(f"  {amount:>{width}}  {text}" for amount, text in rows[:most])]
    if len(rows) > most:
        out.append(f"  {'':>{width}}  and {len(rows) - most} more")
    return out
