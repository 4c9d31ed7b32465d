"""`torch._jit_internal`: marks for scripting, which leave Python as it is."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, get_origin

from claygrad.compat.refusing import unchanged
from claygrad.futures import Future
from claygrad.jit import _overload, _overload_method, export, ignore, is_scripting, unused  # noqa: F401

_copy_to_script_wrapper = unchanged
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = list
BroadcastingList5 = BroadcastingList6 = list


def boolean_dispatch(arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any],
                     if_false: Callable[..., Any], module_name: str, func_name: str) -> Callable[..., Any]:
    """A function that calls one of two, by the value of one of its arguments."""

    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    chosen.__module__, chosen.__name__ = module_name or chosen.__module__, func_name or chosen.__name__
    return chosen


def is_final(ann: Any) -> bool:
    """Whether an annotation says Final."""
    return ann is Final or get_origin(ann) is Final


def is_future(ann: Any) -> bool:
    """Whether an annotation says Future."""
    return ann is Future or get_origin(ann) is Future


def is_list(ann: Any) -> bool:
    """Whether an annotation says list of something."""
    return get_origin(ann) is list


def is_tuple(ann: Any) -> bool:
    """Whether an annotation says tuple of something."""
    return get_origin(ann) is tuple


def is_dict(ann: Any) -> bool:
    """Whether an annotation says dict of something."""
    return get_origin(ann) is dict
