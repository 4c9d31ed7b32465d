"""`fill_uninitialized_memory`: whether memory that would be uninitialised is filled while algorithms are deterministic.

Floating-point elements get NaN, integers their largest number, bool True. It can be assigned, and is True at first.
"""
from __future__ import annotations

import sys
from types import ModuleType

from claygrad.core.dispatch import determinism as _determinism

fill_uninitialized_memory: bool


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        return _determinism.asked_to_fill()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        _determinism.ask_to_fill(mode)


sys.modules[__name__].__class__ = _Deterministic
