"""Names of `torch.masked` that other packages take from there."""
from __future__ import annotations

from math import inf, nan
from typing import Any

import claygrad
from claygrad.core import Tensor, dtype

_ZERO, _ONE = ("sum", "cumsum"), ("prod", "cumprod")
_LOWEST, _HIGHEST = ("amax", "argmax", "logaddexp", "logsumexp"), ("amin", "argmin")


def _bound(kind: dtype, name: str, highest: bool) -> Any:
    if kind.is_floating_point:
        return inf if highest else -inf
    if kind.is_complex and name == "logsumexp":
        return complex(-inf, 0)
    if kind.is_complex or kind is claygrad.bool:
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return claygrad.iinfo(kind).max if highest else claygrad.iinfo(kind).min


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """The value that a reduction of this name may take in without another result; None where there is none."""
    name, kind = op_name.rpartition(".")[2], input.dtype
    if name in ("mean", "var", "std"):
        return None
    if name in _ZERO or name in _ONE:
        value: Any = int(name in _ONE)
    elif name in _LOWEST or name in _HIGHEST:
        value = _bound(kind, name, name in _HIGHEST)
    elif name == "norm":
        value = inf if args and args[0] == -inf else 0
    elif name == "median":
        value, kind = nan, kind if kind.is_floating_point else claygrad.float32
    else:
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return claygrad.tensor(value, dtype=kind, device=input.device)
