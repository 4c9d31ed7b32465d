"""What layers share: sizes given as one number or several, and parameters not yet filled."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from claygrad.nn.parameter import Parameter
from claygrad.ops.fill import empty

__all__ = ["consume_prefix_in_state_dict_if_present"]


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Where and of what a layer's tensors are made, from the options it was called with: `device`, `dtype`,
    `memory_format`, given one by one or as `factory_kwargs`."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - simple - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    options = dict(kwargs.get("factory_kwargs", {}))
    for name in simple & kwargs.keys():
        if name in options:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        options[name] = kwargs[name]
    return options


def new_parameter(shape: int | tuple[int, ...], device: Any, dtype: Any) -> Parameter:
    """A parameter whose numbers are still to be drawn."""
    return Parameter(empty(shape, device=device, dtype=dtype))


class OwnInit:
    """Public classes that share the `__init__` of a private base get it under their own name, which Python's errors
    about missing and superfluous arguments show."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        shared: Any = cls.__init__
        if shared.__qualname__.startswith("_") and not cls.__name__.startswith("_"):
            own = FunctionType(shared.__code__, shared.__globals__, "__init__", shared.__defaults__, shared.__closure__)
            own.__kwdefaults__, own.__annotations__ = shared.__kwdefaults__, shared.__annotations__
            own.__module__, own.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
            cls.__init__ = own  # type: ignore[method-assign]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n
    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Renames the keys that begin with `prefix`, in place, and the modules' names in the dict's metadata."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    whole = prefix.replace(".", "")         # the wrapped module itself has no dot after its name
    for key in [key for key in metadata if key and (key == whole or key.startswith(prefix))]:
        metadata[key[len(prefix):]] = metadata.pop(key)
