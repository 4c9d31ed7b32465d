"""Ranks with different numbers of inputs: who is done takes part in the collectives of the others until all are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from claygrad._lazy import lazy
from claygrad.core.user_warnings import warn
from claygrad.distributed.collectives import all_reduce
from claygrad.ops.creation import tensor as new_tensor

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank does that is done: in every iteration of the others, and at the end."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """When all are done."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


_DISABLED = _JoinConfig(False, False, False)


class Joinable(ABC):
    """Something with collectives that `Join` can take part in."""

    _join_config: _JoinConfig

    @abstractmethod
    def __init__(self) -> None:
        self._join_config = _DISABLED

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a rank that is done."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """Where its tensors are."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group that it communicates in."""


class Join:
    """A context in which ranks may have different numbers of inputs."""

    def __init__(
        self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        if len({joinable.join_process_group for joinable in joinables}) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables = joinables
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        self._group = joinables[0].join_process_group
        for at, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, at == 0)

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not self._enable or kind is not None:
            self._release()
            return
        rounds, last = 0, True
        while True:
            active = new_tensor([0])
            all_reduce(active, group=self._group)
            if active.item() == 0:
                break
            last = False
            if self._throw:
                all_reduce(new_tensor([1]), group=self._group)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            rounds += 1
            if rounds == 1000:
                warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._group.rank()} has at least 1000 fewer inputs than other currently-active "
                    "ranks. This level of skew "
                    "could lead to performance degradation during training."
                )
        for hook in self._hooks:
            hook.post_hook(last)
        self._release()

    def _release(self) -> None:
        for joinable in self._joinables:
            joinable._join_config = _DISABLED

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Tell ranks that are done that an iteration begins; the work whose result is how many begin it."""
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        work = all_reduce(new_tensor([1]), group=joinable.join_process_group, async_op=True)
        if config.throw_on_early_termination:
            joined = new_tensor([0])
            all_reduce(joined, group=joinable.join_process_group)
            if joined.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


__getattr__ = lazy(__name__)
