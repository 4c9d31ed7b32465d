"""Accelerators: devices with memory of their own, each an array module and a table of native forms.

`table_of("xpu")` is the table of a type of device. A table is loaded when the first tensor is put on such a device:
nothing here is imported before. What two array modules do differently is in `_xpu.py` and `_cuda.py`, a file each.
"""
from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from claygrad.core.data.device import forget_accelerator, no_cuda

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.devices._table import Table

__all__ = ["available", "first_there", "table_of", "use"]

_MODULES = {"xpu": "claygrad.devices._xpu", "cuda": "claygrad.devices._cuda"}
_MAKERS: dict[str, Callable[[], Table]] = {}
_TABLES: dict[str, Table] = {}


def table_of(kind: str) -> Table:
    """The table of a type of device; raises what PyTorch raises where it has no such device."""
    if kind not in _TABLES:
        _TABLES[kind] = _load(kind)
    return _TABLES[kind]


def _load(kind: str) -> Table:
    if kind in _MAKERS:
        return _with_forms(_MAKERS[kind]())
    if kind not in _MODULES:
        raise RuntimeError(f"device type '{kind}' is not supported by claygrad: cpu, meta, xpu and cuda are")
    try:
        table = importlib.import_module(_MODULES[kind]).make()
        found = table.count()
    except ModuleNotFoundError as error:
        raise _refusal(kind, f"{error.name} is not installed") from error
    except Exception as error:
        raise _refusal(kind, f"{type(error).__name__}: {error}") from error
    if not found:
        raise _refusal(kind, table.none_there)
    return _with_forms(table)


def _with_forms(table: Table) -> Table:
    """The table with its native forms, whose module is found by name: it is made of operations, which stand above."""
    if table.forms_from:
        importlib.import_module(table.forms_from).install(table)
    return table


_HOW = {"xpu": "xpu needs dpnp and a SYCL device: pip install dpnp (docs/devices.md)",
        "cuda": "cuda needs CuPy and a GPU: pip install cupy-cuda12x (docs/devices.md)"}


def _refusal(kind: str, why: str) -> AssertionError:
    first = str(no_cuda()) if kind == "cuda" else f"Torch not compiled with {kind.upper()} enabled"
    return AssertionError(f"{first}\n  {why.splitlines()[0] if why else 'no device was found'}\n  {_HOW[kind]}")


def available(kind: str) -> bool:
    """Whether there is a device of this type."""
    try:
        table_of(kind)
    except (AssertionError, RuntimeError):
        return False
    return True


def first_there() -> str | None:
    """The type of the accelerator of this machine; None without one."""
    for kind in (*_MAKERS, "cuda", "xpu"):
        if available(kind):
            return kind
    return None


def use(kind: str, make: Callable[[], Table] | None) -> None:
    """Take the table of a type of device from a function of one's own; None: as before."""
    if make is None:
        _MAKERS.pop(kind, None)
    else:
        _MAKERS[kind] = make
    _TABLES.pop(kind, None)
    forget_accelerator(kind)
    held = sys.modules.get(f"claygrad.{kind}")
    if held is not None and hasattr(held, "_forget"):
        held._forget()
