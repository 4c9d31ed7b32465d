"""Operations and lines that may do what a tool looks for."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from claygrad.core.graph.observe import Call


class Allowed:
    """Names of operations or nodes, functions, and lines such as "model.py:42"."""

    def __init__(self, allow: Iterable[str | Callable[..., Any]] | str | Callable[..., Any]) -> None:
        self.names: set[str] = set()
        self.lines: list[tuple[str, int]] = []
        for entry in (allow,) if isinstance(allow, str) or callable(allow) else allow:
            text = entry if isinstance(entry, str) else getattr(entry, "__name__", None)
            if not isinstance(text, str):
                raise TypeError("allow= takes names of operations, functions and lines such as 'model.py:42', "
                                f"not {entry!r}")
            match = re.fullmatch(r"(.*):(\d+)", text)
            if match:
                self.lines.append((os.path.normpath(match[1]), int(match[2])))
            else:
                self.names.add(text)

    def covers(self, call: Call) -> bool:
        if call.name in self.names or call.name.rstrip("_") in self.names:
            return True
        places = [place for place in (call.origin, call.forward_origin) if place is not None]
        return any(line == place[1] and _ends_with(place[0], path) for path, line in self.lines for place in places)


def _ends_with(path: str, end: str) -> bool:
    path = os.path.normpath(path)
    return path == end or path.endswith(os.sep + end)
