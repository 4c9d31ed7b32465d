"""What registering a hook returns."""
from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any, NamedTuple


class RemovableHandle:
    """The handle of a registered hook: `remove()`, or the end of a `with` block, removes the hook.

    `extra_dict` names tables, one or a list, that hold something under the same number. The tables are held weakly
    where that can be, so that a handle which somebody keeps does not keep a module alive.
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, fn: Any = ..., *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self._tables = tuple(_held(table) for table in (hooks_dict, *extra))
        if fn is not ...:
            hooks_dict[self.id] = fn

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for table in self._tables:
            found = table()
            if found is not None:
                found.pop(self.id, None)

    @property
    def hooks_dict_ref(self) -> Any:
        """The table that the hook is in, or None once it is freed."""
        return self._tables[0]

    @property
    def extra_dict_ref(self) -> tuple[Any, ...]:
        """The same for the further tables."""
        return self._tables[1:]

    def __getstate__(self) -> tuple[Any, ...]:
        first, *further = (table() for table in self._tables)
        return first, self.id, tuple(further)               # in torch's order: each reads the other's files

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        first, self.id, further = state if len(state) > 2 else (*state, ())
        tables = (first, *(further or ()))
        self._tables = tuple(_held(OrderedDict() if table is None else table) for table in tables)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _held(table: Any) -> Any:
    try:
        return weakref.ref(table)
    except TypeError:           # a dict without weak references, of a tensor or a node: it holds no module
        return lambda: table


class Placeholder:
    """Base class of pack-hook results that keep neither the tensor nor its memory alive."""

    __slots__ = ("__weakref__",)


class InputMetadata(NamedTuple):
    """Shape, dtype and device of a gradient that a node receives."""

    shape: Any
    dtype: Any
    device: Any
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False
