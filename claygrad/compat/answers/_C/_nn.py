"""`torch._C._nn`: the functions of layers, and how the arguments of `Module.to` are read."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad.core import Tensor


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, non_blocking and memory_format of a call of `to`."""
    named = dict(kwargs)
    rest = list(args)
    where = named.pop("device", None)
    kind = named.pop("dtype", None)
    blocking = named.pop("non_blocking", False)
    form = named.pop("memory_format", None)
    other = named.pop("tensor", None) or named.pop("other", None)
    named.pop("copy", None)
    if named:
        raise TypeError(f"to() received an invalid combination of arguments: {', '.join(named)}")
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], claygrad.dtype):
        kind = rest.pop(0)
    elif rest:
        where = rest.pop(0)
        if rest and isinstance(rest[0], claygrad.dtype | None):
            kind = rest.pop(0)
    if rest:
        blocking = rest.pop(0)
    if other is not None:
        where, kind = other.device, other.dtype
    return claygrad.device(where) if where is not None else None, kind, bool(blocking), form
