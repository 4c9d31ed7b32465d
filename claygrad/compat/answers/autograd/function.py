"""Private names of `torch.autograd.function`: how structures of tensors are gone through."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from claygrad.autograd.function import Function, FunctionCtx
from claygrad.core import Tensor

FunctionMeta = type(Function)
_SingleLevelFunction = Function
_ContextMethodMixin = FunctionCtx


def _nested_map(condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None) -> Any:
    """A function that applies `fn` to all parts of a structure that meet the condition."""

    def mapped(x: Any) -> Any:
        if condition(x):
            return fn(x)
        if x is None:
            return None
        if isinstance(x, tuple | list):
            parts = [mapped(part) for part in x]
            return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
        if isinstance(x, dict):
            return {key: mapped(part) for key, part in x.items()}
        raise ValueError(_unknown(x, condition_msg))

    return mapped


def _iter_filter(condition: Callable[[Any], bool], allow_unknown: bool = False, condition_msg: str | None = None,
                 conversion: Callable[[Any], Any] | None = None) -> Callable[[Any], Iterator[Any]]:
    """A function that gives the parts of a structure that meet the condition, one after the other."""

    def parts(x: Any) -> Iterator[Any]:
        if conversion is not None:
            x = conversion(x)
        if condition(x):
            yield x
        elif isinstance(x, tuple | list | dict):
            for part in x.values() if isinstance(x, dict) else x:
                yield from parts(part)
        elif x is not None and allow_unknown:
            yield x
        elif x is not None:
            raise ValueError(_unknown(x, condition_msg))

    return parts


def _unknown(x: Any, wanted: str | None) -> str:
    accepted = f" Accepted types: {wanted}, or lists/tuples of them" if wanted else ""
    return f"Auto nesting doesn't know how to process an input object of type {type(x).__name__}.{accepted}"


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


_iter_tensors = _iter_filter(_is_tensor, condition_msg="Tensors")
_iter_tensors_permissive = _iter_filter(_is_tensor, allow_unknown=True, condition_msg="Tensors (permissive)")
_iter_None_tensors = _iter_filter(lambda x: x is None or _is_tensor(x), condition_msg="Tensors or None")
_map_tensor_data = _nested_map(_is_tensor, lambda x: x.data, condition_msg="Tensors")


def _unflatten(input: Any, proto: Any) -> Any:
    """The elements of a list, in the structure of another value."""
    rest = list(input)

    def taken(like: Any) -> Any:
        if hasattr(like, "_jit_wrap"):
            return like._jit_wrap(rest)
        if not isinstance(like, tuple | list):
            return rest.pop(0)
        return type(like)([None if part is None else taken(part) for part in like])

    return taken(proto)
