"""Which of PyTorch's operators a declared operation is, and with which arguments: what `__torch_dispatch__` is told."""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from claygrad.core import Op, Tensor
from claygrad.library._aten import is_known, overloads_of
from claygrad.library._operators import OpOverload, is_public, ops

if TYPE_CHECKING:
    from collections.abc import Callable

# Operations of claygrad that PyTorch's library knows by another name.
_NAMES = {"_ones": "ones_like", "to_copy": "_to_copy", "_real": "real", "unsafe_view": "_unsafe_view", "_gelu": "gelu"}
_NUMBERS_AS_TENSORS = {"add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_"}


def _product(first: Any, second: Any) -> str:
    dims = first.ndim, second.ndim
    return {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (3, 3): "bmm"}.get(dims, "matmul")


def name_of(op: Op, values: list[Any]) -> str:
    """The operator's name in PyTorch's library."""
    if op.name == "matmul":
        return _product(values[0], values[1])
    return _NAMES.get(op.name, op.name)


@functools.cache
def _words(op: Op) -> tuple[tuple[str, Any, bool], ...]:
    """Parameters of an operation: name, default (`...` without one), whether by keyword alone."""
    known = inspect.signature(op.forward).parameters
    empty, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    return tuple((name, ... if name not in known or known[name].default is empty else known[name].default,
                  name in known and known[name].kind is keyword) for name in op.params)


@functools.cache
def _public_words(call: Any) -> tuple[tuple[str, bool], ...] | None:
    """Parameters of what a program calls: name, whether by keyword alone; None where any are taken."""
    if isinstance(call, Op):
        return tuple((name, keyword) for name, _, keyword in _words(call))
    try:
        known = inspect.signature(getattr(call, "__wrapped__", call)).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in known):
        return None
    return tuple((one.name, one.kind is one.KEYWORD_ONLY) for one in known)


def arguments_of(op: Op, values: list[Any], call: Any = None) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments as PyTorch hands them on: without defaults at the end, keywords only where they must be. `call` is
    what takes them; None if it has other parameters than the operation."""
    public = _words(op) if call is None else _public_words(call)
    if public is None:
        return None
    at = {one[0]: (i, one[-1]) for i, one in enumerate(public)}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    last = 0
    for (name, default, keyword), value in zip(_words(op), values, strict=True):
        if name == "inplace":
            continue
        given = list(value) if type(value) is tuple and not any(isinstance(x, Tensor) for x in value) else value
        same = default is not ... and type(value) is type(default) and value == default
        if name not in at:
            if same or (len(args) == 0 and not kwargs):            # the first may have any name: input, self
                args.append(given)
                last = len(args)
                continue
            return None
        if keyword or at[name][1] or at[name][0] != len(args):
            if not same:
                kwargs[name] = given
            continue
        args.append(given)
        if not same:
            last = len(args)
    return tuple(args[:last]), kwargs


def _first(overloads: tuple[str, ...], *wanted: str) -> str | None:
    return next((name for name in wanted if name in overloads), None)


def choose(name: str, op: Op, values: list[Any]) -> str:
    """The overload that these arguments are meant for."""
    overloads = overloads_of(name)
    if len(overloads) == 1:
        return overloads[0]
    given = dict(zip(op.params, values, strict=True))
    tensors = [isinstance(value, Tensor) for value in values]
    second = len(values) > 1 and tensors[1]
    found = None
    if given.get("rounding_mode") is not None:
        found = _first(overloads, "Tensor_mode" if second or name in _NUMBERS_AS_TENSORS else "Scalar_mode")
    elif "Tensor_Tensor" in overloads and "Tensor_Scalar" in overloads:
        found = "Tensor_Tensor" if all(tensors[:2]) else "Tensor_Scalar" if tensors[0] else _first(overloads, "Scalar")
    elif name in _NUMBERS_AS_TENSORS:
        found = "Tensor"
    elif "dim" in given and given["dim"] is not None:
        kinds = ("dim_IntList", "dims", "dim") if isinstance(given["dim"], (list, tuple)) else ("dim", "dim_IntList")
        found = _first(overloads, "correction", *kinds, *(() if "default" in overloads else ("int",)))
    elif "correction" in overloads and "dim" in given:
        found = "correction"
    elif len(values) > 1 and ("Scalar" in overloads or "Tensor" in overloads):
        rest = [value for value in values[1:] if value is not None]
        tensor = any(isinstance(x, Tensor) for value in rest
                     for x in (value if isinstance(value, (list, tuple)) else (value,)))
        numbers = any(type(value) in (int, float, complex, bool) for value in rest[:1] + rest[-1:])
        if "default" not in overloads or "Scalar" in overloads or (tensor and "Tensor" in overloads):
            by_tensor = tensor and not (numbers and name.startswith("masked_fill"))
            found = _first(overloads, "Tensor", "Scalar") if by_tensor else _first(
                overloads, *(["Scalar"] if numbers else []), "Tensor")
    if found is None and name == "where" and len(values) == 3:
        found = "self" if all(tensors) else _first(overloads, "ScalarSelf" if tensors[2] else "ScalarOther")
    return found or _first(overloads, "default", "self", "int") or overloads[0]


def overload_for(op: Op, values: list[Any]) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]]:
    """The operator that an operation is in PyTorch's library, and its arguments; one of claygrad's own where it is
    none."""
    name = name_of(op, values)
    packet = getattr(ops.aten, name, None) if is_known(name) or is_public(name) or name == "alias" else None
    overload = None if packet is None else packet._overloads.get(choose(name, op, values))
    if overload is not None:
        if name == "_to_copy":
            return overload, (values[0],), {word: value for word, value in zip(op.params[1:], values[1:], strict=True)
                                            if value is not None}
        found = arguments_of(op, values, None if name in ("dot", "mv", "mm", "bmm") else overload._op)
        if found is not None:
            return overload, *found
    packet = ops.namespace("claygrad").packet(op.name)
    args, kwargs = arguments_of(op, values) or (tuple(values), {})
    return packet._overloads.get("default") or packet.add("", op), args, kwargs


def factory_overload(function: Callable[..., Any]) -> OpOverload | None:
    """The operator that a function which makes tensors is in PyTorch's library."""
    name = getattr(function, "__name__", "")
    if not is_known(name):
        return None
    packet = getattr(ops.aten, name)
    return packet._overloads.get("default") or next(iter(packet._overloads.values()))


def local_scalar() -> OpOverload:
    """The operator behind `x.item()`."""
    return ops.aten._local_scalar_dense.default
