"""`ZeroRedundancyOptimizer`: every rank keeps the optimizer's state of its share of the parameters only."""

from __future__ import annotations

import inspect
from typing import Any

from claygrad._lazy import lazy
from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor
from claygrad.distributed._group import ProcessGroup, of
from claygrad.distributed.algorithms.join import Joinable, JoinHook
from claygrad.distributed.collectives import broadcast
from claygrad.distributed.data_parallel import sync
from claygrad.distributed.objects import gather_object
from claygrad.ops.join import cat
from claygrad.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer that updates this rank's share of the parameters; then every rank sends its share to the others.

    Gradients must be the same on all ranks, as after `DistributedDataParallel`. The state takes 1/n of the memory on
    each of n ranks. `consolidate_state_dict` brings it together; the result loads on any number of ranks.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: overlap_with_ddp is not there\n  leave it out")
        if not (inspect.isclass(optimizer_class) and issubclass(optimizer_class, Optimizer)):
            raise TypeError(f"optimizer_class: a class of optimizers is wanted, but got {optimizer_class!r}")
        self.process_group: ProcessGroup = of(process_group)
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self._loads = [0] * self.world_size
        self._owner: dict[int, int] = {}  # by id of a parameter, the rank that updates it
        self._all_state_dicts: list[Any] | None = None
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._buckets: list[list[Tensor]] = []  # of each rank, a flat tensor for each dtype and device
        self._class = optimizer_class
        Joinable.__init__(self)
        super().__init__(params, defaults)
        self._fill_groups()
        self.optim = self._local_optimizer(defaults)
        self._fill_buckets()

    def _fill_buckets(self) -> None:
        """Have the parameters of each rank lie in flat tensors, which are sent as they are."""
        if not self.parameters_as_bucket_view:
            return
        self._buckets = []
        with no_grad():
            for rank in range(self.world_size):
                kinds: dict[Any, list[Tensor]] = {}
                for one in self._params():
                    if self._owner[id(one)] == rank:
                        kinds.setdefault((one.dtype, one.device), []).append(one)
                flats = []
                for alike in kinds.values():
                    flat = cat([one.detach().reshape(-1) for one in alike])
                    for one, part in zip(alike, flat.split([one.numel() for one in alike])):
                        one.data = part.view(one.shape)
                    flats.append(flat)
                self._buckets.append(flats)

    def _fill_groups(self) -> None:
        """Give the groups the class's own defaults, which schedules look at."""
        template = self._class([self.param_groups[0]["params"][0]], **self.defaults)
        for group in self.param_groups:
            for name, value in template.param_groups[0].items():
                group.setdefault(name, value)
        self.defaults = template.defaults

    def _local_optimizer(self, defaults: dict[str, Any]) -> Optimizer:
        return self._class(self._local_groups(), **defaults)

    def _local_groups(self) -> list[dict[str, Any]]:
        return [
            {**group, "params": [one for one in group["params"] if self._owner[id(one)] == self.rank]}
            for group in self.param_groups
        ]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; the largest go first, each to the rank that has the least."""
        super().add_param_group(param_group)
        for one in sorted(self.param_groups[-1]["params"], key=lambda p: -p.numel()):
            rank = self._loads.index(min(self._loads))
            self._owner[id(one)] = rank
            self._loads[rank] += one.numel()
        if hasattr(self, "optim"):
            self.optim.add_param_group(self._local_groups()[-1])
            self._fill_buckets()

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        """Update this rank's share, then bring all shares to all ranks."""
        for ours, local in zip(self.param_groups, self.optim.param_groups):
            local.update((name, value) for name, value in ours.items() if name != "params")
        loss = self.optim.step(closure=closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        for ours, local in zip(self.param_groups, self.optim.param_groups):
            ours.update((name, value) for name, value in local.items() if name != "params")
        self._share()
        return loss

    def _share(self) -> None:
        if self._buckets:
            for rank, flats in enumerate(self._buckets):
                for flat in flats:
                    broadcast(flat, group=self.process_group, group_src=rank)
            return
        for rank in range(self.world_size):
            owned = [one for one in self._params() if self._owner[id(one)] == rank]
            if owned:
                sync(owned, self.process_group, rank)

    def _params(self) -> list[Tensor]:
        return [one for group in self.param_groups for one in group["params"]]

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the state of all ranks to rank `to`, which may then ask for `state_dict()`. All ranks call this."""
        held = {index: self.optim.state[one] for index, one in enumerate(self._params()) if one in self.optim.state}
        every: list[Any] = [None] * self.world_size
        gather_object(held, every if self.rank == to else None, group=self.process_group, group_dst=to)
        self._all_state_dicts = every if self.rank == to else None

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as that of an optimizer of the class in one process."""
        if self._all_state_dicts is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        count, groups = 0, []
        for group in self.param_groups:
            size = len(group["params"])
            groups.append(
                {
                    **{name: value for name, value in group.items() if name != "params"},
                    "params": list(range(count, count + size)),
                }
            )
            count += size
        state = {index: value for held in self._all_state_dicts for index, value in held.items()}
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this rank's share of a state, which may be of another number of ranks."""
        if len(state_dict["param_groups"]) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        params = self._params()
        mine = [index for index, one in enumerate(params) if self._owner[id(one)] == self.rank]
        local = {index: at for at, index in enumerate(mine)}
        groups, count = [], 0
        for saved, group, held in zip(state_dict["param_groups"], self.param_groups, self.optim.param_groups):
            options = {name: value for name, value in saved.items() if name != "params"}
            group.update(options)
            size = len(held["params"])
            groups.append({**options, "params": list(range(count, count + size))})
            count += size
        self.optim.load_state_dict(
            {
                "state": {local[index]: value for index, value in state_dict["state"].items() if index in local},
                "param_groups": groups,
            }
        )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Of all parameters, those of other ranks too."""
        super().zero_grad(set_to_none)

    def join_hook(self, **_kwargs: Any) -> JoinHook:
        """What a rank does that is out of inputs: the step of each iteration."""
        return _Stepping(self)

    @property
    def join_device(self) -> Any:
        return self._params()[0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group


class _Stepping(JoinHook):
    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()


__getattr__ = lazy(__name__)
