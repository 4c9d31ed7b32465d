"""Private names of `torch.optim.lr_scheduler` that schedules of other packages are made of."""
from __future__ import annotations

from typing import Any

from claygrad.optim._schedule import LRScheduler, per_group, set_value, values_of

_format_param = per_group
_param_groups_val_list = values_of
_update_param_group_val = set_value


def _warn_get_lr_called_within_step(lr_scheduler: LRScheduler) -> None:
    """To be called first by every `get_lr`: warn where the program calls it, not a step."""
    lr_scheduler._asked()


class _enable_get_lr_call:
    """A context in which `get_lr` does not warn."""

    def __init__(self, o: LRScheduler) -> None:
        self.o = o

    def __enter__(self) -> _enable_get_lr_call:
        self.o._get_lr_called_within_step = True
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.o._get_lr_called_within_step = False


class _initial_mode:
    """A context in which a schedule sets its first rates."""

    def __init__(self, o: LRScheduler) -> None:
        self.o = o

    def __enter__(self) -> None:
        self.o._is_initial = True

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.o._is_initial = False
