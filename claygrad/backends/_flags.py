"""Modules whose attributes are flags: set by assignment, or for a while by `flags(...)`."""
from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from claygrad.core.cpython.entry_points import guard_package

if TYPE_CHECKING:
    from collections.abc import Iterator

_frozen = False


def disable_global_flags() -> None:
    """From now on flags can be set by `flags(...)` alone."""
    global _frozen
    _frozen = True


def flags_frozen() -> bool:
    """Whether `disable_global_flags` was called."""
    return _frozen


@contextmanager
def thawed() -> Iterator[None]:
    """A block in which flags can be set by assignment, whatever was called before."""
    global _frozen
    former, _frozen = _frozen, False
    try:
        yield
    finally:
        _frozen = former


class FlagModule(ModuleType):
    """A module that checks what is assigned to its flags."""

    _checked: dict[str, type]

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.__dict__.get("_checked", {}).get(name)
        if kind is not None:
            if _frozen:
                raise RuntimeError(f"not allowed to set {self.__name__} flags after disable_global_flags; please "
                                   "use flags() "
                                   "context manager instead")
            short = self.__name__.rpartition(".")[2]
            if type(value) is not kind:
                raise RuntimeError(f"set_{name}_{short} expects a {kind.__name__}, but got {type(value).__name__}")
        super().__setattr__(name, value)


def make_flags(module_name: str, **values: Any) -> None:
    """Give a module these flags; what they may hold is what they hold now."""
    module: Any = sys.modules[module_name]
    module.__dict__.update(values)
    module._checked = {name: type(value) for name, value in values.items() if value is not None}
    module.__class__ = FlagModule


@contextmanager
def holding(module_name: str, **values: Any) -> Iterator[None]:
    """The flags at these values, and after that as they were."""
    state = sys.modules[module_name].__dict__
    former = {name: state[name] for name in values}
    state.update(values)
    try:
        yield
    finally:
        state.update(former)


class Precision:
    """What may be computed in lower precision than float32: claygrad computes in full all the same."""

    def __init__(self, fp32_precision: str = "none") -> None:
        self.__dict__["fp32_precision"] = fp32_precision

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError("Unknown attribute " + name)
        if name == "fp32_precision" and value not in ("ieee", "tf32", "bf16", "none"):
            raise RuntimeError(f"Invalid precision: {value}")
        self.__dict__[name] = value

guard_package(__name__)          # Note [Entry points]
