"""What a program calls its objects: variables of functions and of modules of Python, and paths inside models."""

from __future__ import annotations

import inspect
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from claygrad.core.graph.provenance import variables_of
from claygrad.core.own_files import is_own_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType


def user_frames() -> Iterator[FrameType]:
    """The frames of running functions that are not claygrad's, the innermost first."""
    mine = sys._getframe(1)        # the caller's: a generator's frame that holds itself outlives it on Python 3.12
    others = [frame for thread, frame in sys._current_frames().items() if thread != threading.get_ident()]
    for top in (mine, *others):
        frame: FrameType | None = top
        while frame is not None:
            if not is_own_file(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back


def variables(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame. Not by `f_locals` of a function: its snapshot would keep them alive."""
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return variables_of(frame)
    return dict(frame.f_locals)


class Names:
    """The names of objects at this moment."""

    def __init__(self) -> None:
        self.found: dict[int, str] = {}
        for frame in user_frames():
            for name, value in list(variables(frame).items()):
                self._note(name, value)
            for name, value in list(frame.f_globals.items()):
                self._note(name, value)

    def _note(self, name: str, value: Any) -> None:
        if not name.startswith("__") and (id(value) not in self.found or self.found[id(value)] == "self"):
            self.found[id(value)] = name

    def of(self, x: Any) -> str | None:
        """A variable that holds it, or None."""
        return self.found.get(id(x))


def module_paths(modules: Iterable[Any], names: Names | None = None) -> dict[int, str]:
    """The path of each module by its id, such as `model.encoder.layers[3].fc1`, from the outermost that holds it."""
    every = [module for module in modules if isinstance(module.__dict__.get("_modules"), dict)]
    inner = {id(child) for module in every for child in module._modules.values() if child is not None}
    names = names or Names()
    paths: dict[int, str] = {}
    taken: dict[str, int] = {}
    for module in every:
        if id(module) in inner:
            continue
        name = names.of(module) or type(module).__name__
        taken[name] = taken.get(name, 0) + 1
        _walk(module, name if taken[name] == 1 else f"{name} ({taken[name]})", paths)
    for module in every:
        paths.setdefault(id(module), type(module).__name__)  # in a ring of modules
    return paths


def _walk(root: Any, path: str, paths: dict[int, str]) -> None:
    waiting = [(root, path)]
    while waiting:
        module, path = waiting.pop()
        if id(module) in paths:
            continue
        paths[id(module)] = path
        waiting.extend(
            (child, joined(path, name)) for name, child in reversed(module._modules.items()) if child is not None
        )


def joined(path: str, name: str) -> str:
    """The path of a child: numbers as an index."""
    return f"{path}[{name}]" if re.fullmatch(r"\d+", name) else f"{path}.{name}" if path else name
