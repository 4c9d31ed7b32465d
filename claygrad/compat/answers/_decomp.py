"""`torch._decomp`: what operations are made of, for a compiler. The tables have what packages register and no more."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

decomposition_table: dict[Any, Callable[..., Any]] = {}
pre_autograd_decomposition_table: dict[Any, Callable[..., Any]] = {}
meta_table: dict[Any, Callable[..., Any]] = {}
_TABLES = {"post_autograd": decomposition_table, "pre_autograd": pre_autograd_decomposition_table, "meta": meta_table}


def register_decomposition(aten_op: Any, registry: dict[Any, Callable[..., Any]] | None = None, *,
                           type: str = "post_autograd", unsafe: bool = False) -> Any:
    """A decorator that keeps a function for an operator, or for each of several, and leaves it as it is.

    `unsafe` leaves out PyTorch's checks of a function; there are none here.
    """
    table = _TABLES[type] if registry is None else registry

    def keep(fn: Any) -> Any:
        table.update(dict.fromkeys(aten_op if isinstance(aten_op, (list, tuple)) else [aten_op], fn))
        return fn

    return keep


def get_decompositions(aten_ops: Iterable[Any], type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """What was registered for these operators."""
    return {op: _TABLES[type][op] for op in aten_ops if op in _TABLES[type]}
