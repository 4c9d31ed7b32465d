"""The base of learning-rate schedules."""
from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import ref

from claygrad.core import Tensor
from claygrad.core.user_warnings import warn
from claygrad.optim.optimizer import Optimizer, as_scalar

if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is "
    "used instead of the new chainable form, where available. Please open an issue if you are unable to replicate "
    "your use "
    "case: https://github.com/pytorch/pytorch/issues/new/choose.")
_ORDER = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """The base of learning-rate schedules: sets the rates of the optimizer's groups at every `step`.

    A subclass overrides `get_lr`, which reads `self.last_epoch`, `self.base_lrs` and the groups as they are.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                               "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training "
                               "from a "
                               "checkpoint but haven't properly loaded the optimizer state\n2. You're using "
                               "last_epoch >= 0 "
                               "for a fresh training run (not recommended)")
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of this epoch; called by `step`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn("Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                     "initialization. "
                     "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _ORDER,
                     UserWarning)
            elif not getattr(self.optimizer, "_opt_called", False):
                warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 "
                     "and later, "
                     "you should call them in the opposite order: `optimizer.step()` before "
                     "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first "
                     "value "
                     "of the learning rate schedule. " + _ORDER, UserWarning)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            self._set(self._within(self.get_lr))
        else:
            self.last_epoch = epoch
            self._set(self._within(getattr(self, "_get_closed_form_lr", self.get_lr)))

    def _within(self, rates: Callable[[], list[Any]]) -> list[Any]:
        """The rates, asked for by a step: nobody need be warned."""
        self._get_lr_called_within_step = True
        try:
            return rates()
        finally:
            self._get_lr_called_within_step = False

    def _set(self, rates: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    def _asked(self) -> None:
        """To be called first by every `get_lr`."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                 UserWarning)

    def _scaled(self, factor: float) -> list[Any]:
        """The rates as they are, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _kept(self) -> list[Any]:
        return values_of(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The name of old."""


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """That option of every group; a tensor as a copy."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """An option that is a tensor stays the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(as_scalar(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for each group: those of a list, or the same for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * count
    elif len(value) != count:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                         f"param_groups has {count}.")
    return [copied(entry) for entry in value]


def _watch_steps(optimizer: Any) -> None:
    """Let the optimizer remember that it was stepped."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function = optimizer.step.__func__
    watched = ref(optimizer)                          # the wrapper lives on the optimizer itself

    @wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = watched()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step
