"""Settings of compilers that claygrad has not: modules whose values can be set and read, for a while too."""
from __future__ import annotations

import contextlib
import operator
import sys
from typing import Any


class Patch(contextlib.ContextDecorator):
    """Some settings of a module at other values, in a `with` block or in calls of a function."""

    def __init__(self, module: str, changes: dict[str, Any]) -> None:
        self.module, self.changes = module, changes

    def __enter__(self) -> None:
        held = sys.modules[self.module]
        self.former = {name: operator.attrgetter(name)(held) for name in self.changes}
        self._set(self.changes)

    def __exit__(self, *exc: object) -> None:
        self._set(self.former)

    def _set(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            group, _, last = name.rpartition(".")
            held = sys.modules[self.module]
            setattr(operator.attrgetter(group)(held) if group else held, last, value)


def patch_of(module: str) -> Any:
    """The function `patch` of a module of settings: by a name and a value, a dict, or keywords."""

    def patch(first: Any = None, value: Any = None, **changes: Any) -> Patch:
        """These settings for a while."""
        if isinstance(first, str):
            changes = {first: value}
        elif first is not None:
            changes = dict(first)
        if not changes:
            raise AssertionError("expected `changes` to be a non-empty dict")
        return Patch(module, changes)

    return patch
