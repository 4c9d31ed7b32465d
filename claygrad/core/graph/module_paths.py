"""The path of a module inside the outermost one that was called (Note [Running modules] in module_scopes.h)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claygrad.core.graph.module_call import ModuleCall


def path_of(call: ModuleCall) -> str:
    """Such as `encoder.layers.3.fc1`; the class name for a module that is freed or in no other module."""
    chain: list[ModuleCall] = []
    at: ModuleCall | None = call
    while at is not None:
        chain.append(at)
        at = at.outer
    known = [(chain[-1].module, "")]          # outermost first, with their paths
    for inner in reversed(chain[:-1]):
        module = inner.module
        if module is known[-1][0] and module is not None:
            continue                                    # a module that calls itself
        path = _path_in(known, module)
        if path is None:
            path = _joined(known[-1][1], inner.kind.__name__ if inner.kind is not None else "?")
        known.append((module, path))
    return known[-1][1]


def _path_in(known: list[tuple[Any, str]], module: Any) -> str | None:
    """The path below the innermost of the known modules that holds the module."""
    if module is not None:
        for outer, path in reversed(known):
            name = None if outer is None else name_in(outer, module)
            if name is not None:
                return _joined(path, name)
    return None


def name_in(outer: Any, wanted: Any) -> str | None:
    """The first name under which a module is found below another, the nearest level first; None if it is not."""
    level, seen = [("", outer)], {id(outer)}
    while level:
        deeper = []
        for prefix, module in level:
            for name, child in getattr(module, "_modules", {}).items():
                if child is wanted:
                    return prefix + name
                if child is not None and id(child) not in seen:
                    seen.add(id(child))
                    deeper.append((f"{prefix}{name}.", child))
        level = deeper
    return None


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
