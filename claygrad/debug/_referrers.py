"""`referrers`: what keeps an object alive, in the names of the program."""

from __future__ import annotations

import gc
import sys
from collections import deque
from dataclasses import dataclass
from types import CellType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from claygrad.core import Node, Tensor
from claygrad.core.graph.memory_holders import base_of, leaf_behind, own_grad
from claygrad.core.own_files import is_own_file
from claygrad.debug._names import user_frames, variables
from claygrad.debug._places import Line, line_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEEPEST = 5  # containers in containers that are followed to a name
SEARCHES = 100  # each looks at every object that Python's garbage collector knows
_CONTAINERS = (list, tuple, set, frozenset, deque)


@dataclass(frozen=True)
class Referrer:
    """Something that refers to an object: `name` as one would write it, such as `losses[3]` or `model.cache['x']`.

    `kind` is "variable", "attribute", "element", "gradient", "view", "closure" or "graph"; `holder` is the name of the
    list, object or tensor that refers to it; `where` is the function that has the variable at the root of the name, and
    the line of it that runs now. Of a global variable it is None.
    """

    kind: str
    name: str
    holder: str | None = None
    where: Line | None = None
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}{f', in {self.function}' if self.function else ''})"

    __repr__ = __str__


@dataclass(frozen=True)
class _Root:
    """A name that the program can use, and the function that it belongs to."""

    name: str
    function: str | None = None
    where: Line | None = None


class _Search:
    def __init__(self, ignore: Iterable[Any] = ()) -> None:
        self.ignore = {id(x) for x in ignore}
        self.left = SEARCHES
        self.roots: dict[int, list[_Root]] = {}
        self.globals: dict[int, str] = {}
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and not is_own_file(getattr(module, "__file__", None) or ""):
                self.globals[id(vars(module))] = module.__name__
        for frame in user_frames():
            self.globals.setdefault(id(frame.f_globals), frame.f_globals.get("__name__", "?"))
            if frame.f_code.co_name == "<module>":
                continue
            code = frame.f_code
            where = line_at((code, frame.f_lasti))
            for name, value in list(variables(frame).items()):
                if name.isidentifier():
                    self.roots.setdefault(id(value), []).append(_Root(name, code.co_name, where))

    def of(self, x: Any, depth: int = 0, path: frozenset[int] = frozenset()) -> Iterator[Referrer]:
        """The referrers of an object that have a name."""
        for root in sorted(self.roots.get(id(x), ()), key=lambda root: root.name == "self"):
            yield Referrer("variable", root.name, None, root.where, root.function)
        holders = self._holders(x)
        self.ignore.add(id(holders))
        path = path | {id(x)}
        for holder in holders:
            if self.left <= 0:
                break
            if id(holder) in self.ignore or id(holder) in path or isinstance(holder, FrameType):
                continue
            yield from self._through(x, holder, depth, path)
        self.ignore.discard(id(holders))
        del holders

    def _holders(self, x: Any) -> list[Any]:
        self.left -= 1
        return gc.get_referrers(x) if self.left >= 0 else []

    def _through(self, x: Any, holder: Any, depth: int, path: frozenset[int]) -> Iterator[Referrer]:
        if id(holder) in self.globals:
            names = [name for name, value in list(holder.items()) if value is x and not name.startswith("__")]
            for name in names:
                yield Referrer("variable", name)
            return
        if isinstance(holder, Node):
            if leaf_behind(holder) is None:
                yield Referrer("graph", f"<{holder.name().rpartition('::')[2]}>", None, None)
            return
        if depth >= DEEPEST:
            return
        if isinstance(holder, Tensor):
            kind = "gradient" if own_grad(holder) is x else "view" if base_of(holder) is x else None
            if kind is not None:
                for one in self._named(holder, depth, path):
                    name = f"{one.name}.grad" if kind == "gradient" else one.name
                    yield Referrer(kind, name, one.name, one.where, one.function)
                return
        if isinstance(holder, dict):
            yield from self._in_dict(x, holder, depth, path)
        elif isinstance(holder, _CONTAINERS):
            at = (
                None
                if isinstance(holder, set | frozenset)
                else next((i for i, value in enumerate(holder) if value is x), None)
            )
            for one in self._named(holder, depth, path):
                name = one.name if at is None else f"{one.name}[{at}]"
                yield Referrer("element", name, one.name, one.where, one.function)
        elif isinstance(holder, CellType):
            yield from self._in_closure(x, holder)
        elif isinstance(holder, GeneratorType | MethodType | FunctionType | type):
            return
        else:
            yield from self._in_object(x, holder, depth, path)

    def _named(self, holder: Any, depth: int, path: frozenset[int]) -> list[Referrer]:
        """The names of something that holds an object, the plainest ones."""
        found = list(self.of(holder, depth + 1, path))
        plain = [one for one in found if one.kind == "variable"]
        return plain[:2] or found[:2]

    def _in_dict(self, x: Any, holder: dict[Any, Any], depth: int, path: frozenset[int]) -> Iterator[Referrer]:
        keys = [key for key, value in list(holder.items()) if value is x]
        owners = self._holders(holder)
        owner = next((one for one in owners if type(one) is not FrameType and _own_dict(one) is holder), None)
        self.ignore.add(id(owners))
        if owner is not None:
            for key in keys:
                for one in self._named(owner, depth, path):
                    yield Referrer("attribute", f"{one.name}.{key}", one.name, one.where, one.function)
        else:
            for one in self._named(holder, depth, path):
                for key in keys:
                    name = _registered_name(one.name, key)
                    yield Referrer(
                        "attribute" if name else "element",
                        name or f"{one.name}[{key!r}]",
                        one.name,
                        one.where,
                        one.function,
                    )
        self.ignore.discard(id(owners))

    def _in_object(self, x: Any, holder: Any, depth: int, path: frozenset[int]) -> Iterator[Referrer]:
        slots = [name for kind in type(holder).__mro__ for name in _slots(kind)]
        inside = {**{name: getattr(holder, name, None) for name in slots}, **(_own_dict(holder) or {})}
        keys = [key for key, value in inside.items() if value is x]
        del inside
        for key in keys:
            for one in self._named(holder, depth, path):
                yield Referrer("attribute", f"{one.name}.{key}", one.name, one.where, one.function)

    def _in_closure(self, x: Any, cell: CellType) -> Iterator[Referrer]:
        for closure in self._holders(cell):
            if type(closure) is not tuple:
                continue
            for function in self._holders(closure):
                if isinstance(function, FunctionType) and function.__closure__ is closure:
                    name = function.__code__.co_freevars[next(i for i, one in enumerate(closure) if one is cell)]
                    yield Referrer("closure", name, function.__qualname__, None, function.__qualname__)


def _own_dict(x: Any) -> dict[Any, Any] | None:
    if isinstance(x, ModuleType | type) or type(x).__dictoffset__ == 0:
        return None
    try:
        found = object.__getattribute__(x, "__dict__")
    except (AttributeError, TypeError):
        return None
    return found if type(found) is dict else None


def _slots(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    return tuple(
        name
        for name in ((found,) if isinstance(found, str) else found)
        if name not in ("__dict__", "__weakref__") and not name.startswith("__")
    )


def _registered_name(holder: str, key: Any) -> str | None:
    """`model._parameters['w']` is `model.w`."""
    for table in ("._parameters", "._buffers", "._modules"):
        if holder.endswith(table) and isinstance(key, str):
            return f"{holder.removesuffix(table)}.{key}"
    return None


def referrers(x: Any, *, ignore: Iterable[Any] = ()) -> list[Referrer]:
    """What refers to a tensor (or any other object), by the names that the program has for it, each once.

    Variables of running functions and of Python's modules, attributes, elements of lists and dicts, closures, the
    tensor whose gradient it is, views of it. `ignore`: containers that do not count. Of what thousands refer to, such
    as 0, only the first are found.

    >>> class Cache: ...
    >>> cache = Cache()
    >>> cache.last = claygrad.ones(3)
    >>> claygrad.debug.referrers(cache.last)
    [cache.last (attribute)]
    """
    out: dict[tuple[str, str, str | None], Referrer] = {}
    for one in _Search(ignore).of(x):
        out.setdefault((one.kind, one.name, one.function), one)
    return sorted(
        out.values(),
        key=lambda one: ("variable attribute element gradient view closure graph".split().index(one.kind), one.name),
    )
