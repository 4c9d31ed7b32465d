"""An optimizer that works on other tensors for a while."""
from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claygrad.optim.optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state requires"
_PACKED = "optimizer.state_dict()-style"


@contextmanager
def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: dict[str, Tensor],
                                       swapin_optim_state: dict[str, Any]) -> Iterator[None]:
    """In this context the optimizer has these parameters, and the state and options of this `state_dict`."""
    state, groups = _checked(optimizer, swapin_parameters, swapin_optim_state)
    former_state, former_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        swapped: defaultdict[Any, Any] = defaultdict(dict)
        for group, (new, params) in zip(optimizer.param_groups, groups, strict=True):
            group.update({key: value for key, value in new.items() if key != "params"}, params=params)
            for p, key in zip(params, new["params"], strict=True):
                swapped[p] = dict(state.get(key, {}))
        optimizer.state = swapped
        yield
    finally:
        for group, former in zip(optimizer.param_groups, former_groups, strict=True):
            group.clear()
            group.update(former)
        optimizer.state = former_state


def _checked(optimizer: Optimizer, parameters: dict[str, Tensor],
             given: Any) -> tuple[dict[Any, Any], list[tuple[dict[str, Any], list[Tensor]]]]:
    """The state, and each group with its parameters, if they fit the optimizer."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} initialized optimizer state.")
    if not isinstance(given, dict):
        raise RuntimeError(f"{_NAME} a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(f"{_NAME} swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
                           "per-param state "
                           f"dicts, got {type(state).__name__}.")
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{_NAME} {_PACKED} state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(f"{_NAME} per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(groups, list):
        raise RuntimeError(f"{_NAME} swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
                           f"{type(groups).__name__}.")
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    tensors, at, found, keys = list(parameters.values()), 0, [], set()
    for i, (live, new) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        indices = _checked_group(i, live, new)
        keys.update(indices)
        if at + len(indices) > len(tensors):
            raise RuntimeError(f"{_NAME} the explicit parameter state to match optimizer.param_groups ordering.")
        found.append((new, tensors[at:at + len(indices)]))
        at += len(indices)
    extra = [key for key in state if key not in keys]
    if extra:
        raise RuntimeError(f"{_NAME} swapin_optim_state['state'] to be keyed only by packed parameter ids from "
                           f"param_groups[*]['params']; got extra keys {extra!r}.")
    return state, found


def _checked_group(i: int, live: dict[str, Any], new: Any) -> list[int]:
    if not isinstance(new, dict):
        raise RuntimeError(f"{_NAME} each optimizer param group to be a dictionary.")
    indices = new.get("params")
    if not isinstance(indices, list) or not all(isinstance(place, int) for place in indices):
        raise RuntimeError(f"{_NAME} {_PACKED} param_groups[*]['params'] entries keyed by packed parameter ids.")
    if len(live["params"]) != len(indices):
        raise RuntimeError(f"swapin_optim_state param group {i} has a different number of params than the live "
                           "optimizer "
                           "param group.")
    only_new, only_live = [key for key in new if key not in live], [key for key in live if key not in new]
    if only_new or only_live:
        raise RuntimeError(f"{_NAME} {_PACKED} param group keys to exactly match the live optimizer group keys for "
                           f"group {i}. "
                           f"Keys only in swap-in: {only_new}. Keys only in live: {only_live}.")
    return indices
