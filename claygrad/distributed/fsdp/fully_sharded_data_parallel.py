"""`FullyShardedDataParallel`: a module whose parameters are whole only while it runs (Note [Sharding] in `_unit`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from socket import gethostname
from typing import Any

from claygrad._lazy import lazy
from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor, float64
from claygrad.core.user_warnings import warn
from claygrad.distributed._group import ProcessGroup, get_rank, new_group, new_subgroups_by_enumeration, of
from claygrad.distributed._reduce import ReduceOp
from claygrad.distributed.checkpoint.shards import FlatShard
from claygrad.distributed.collectives import all_reduce
from claygrad.distributed.data_parallel import sync
from claygrad.distributed.fsdp import _optim_states
from claygrad.distributed.fsdp._unit import FLAT, NAMED, Precision, Unit, cast, depth, find
from claygrad.distributed.fsdp.api import (
    BackwardPrefetch,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateKeyType,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from claygrad.distributed.fsdp.wrap import wrap_children
from claygrad.distributed.objects import exchanged
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter
from claygrad.ops.creation import tensor as new_tensor

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

_PREFIX = "_fsdp_wrapped_module."


class FullyShardedDataParallel(Module):
    """A module whose parameters, gradients and optimizer state are kept in shares, 1/n on each of n ranks."""

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Callable[..., bool] | None = None,
        backward_prefetch: Any = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        if ignored_modules is not None and ignored_states is not None:
            raise ValueError(
                "Cannot pass both ignored_modules and ignored_states at the same time. Please just pass ignored_states."
            )
        if device_mesh is not None and process_group is not None:
            raise ValueError(
                "Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them."
            )
        by_policy = auto_wrap_policy is not None
        self.process_group, self._replicas = _groups(self.sharding_strategy, process_group, device_mesh, by_policy)
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.mixed_precision = mixed_precision or MixedPrecision()
        if getattr(cpu_offload, "offload_params", False) and any(p.device.type != "cpu" for p in module.parameters()):
            raise NotImplementedError("FullyShardedDataParallel: cpu_offload of parameters off the CPU is not there")
        ignored = list(ignored_modules or ignored_states or ())
        if param_init_fn is not None:
            for one in module.modules():
                if any(p.is_meta for p in one.parameters(recurse=False)):
                    param_init_fn(one)
        if auto_wrap_policy is not None:
            inside: dict[str, Any] = {
                "process_group": self.process_group if self._replicas is None else (self.process_group, self._replicas),
                "sharding_strategy": sharding_strategy,
                "mixed_precision": mixed_precision,
                "sync_module_states": sync_module_states,
                "use_orig_params": use_orig_params,
                "ignored_states": ignored,
            }
            wrap_children(
                module,
                auto_wrap_policy,
                lambda child: FullyShardedDataParallel(child, **inside),
                FullyShardedDataParallel,
                {id(one) for one in ignored},
            )
        self._fsdp_wrapped_module = module
        self._settings = StateDictSettings()
        skipped = {id(one) for one in ignored}
        found = find([module], lambda one: isinstance(one, FullyShardedDataParallel), skipped)
        if sync_module_states:
            for group in (self.process_group, self._replicas):
                if group is not None:
                    sync([*found.params, *module.buffers()], group)
        self._cast_buffers()
        self._unit: Unit | None = None
        if found.params:
            precision = Precision(self.mixed_precision.param_dtype, self.mixed_precision.reduce_dtype)
            layout = NAMED if use_orig_params else FLAT
            self._unit = Unit(found, self.process_group, layout, precision, replicas=self._replicas)
            self._unit.put_leaves()
            if not use_orig_params:
                self._flat_param = self._unit.leaves[0]

    def _cast_buffers(self) -> None:
        kind = self.mixed_precision.buffer_dtype
        if kind is not None:
            for one in self._fsdp_wrapped_module.modules():
                for name, buffer in one._buffers.items():
                    if buffer is not None and buffer.dtype.is_floating_point:
                        one._buffers[name] = buffer.to(kind)

    @property
    def module(self) -> Module:
        """The module inside."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def __getitem__(self, key: Any) -> Any:
        """A part of the module inside, should that be a Sequential."""
        inside: Any = self._fsdp_wrapped_module
        return inside[key]

    # Running

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        words, root = self.mixed_precision, depth[0] == 0
        if words.param_dtype is not None and (words.cast_root_forward_inputs if root else words.cast_forward_inputs):
            args, kwargs = cast(args, words.param_dtype), cast(kwargs, words.param_dtype)
        if self._unit is None:
            return self._fsdp_wrapped_module(*args, **kwargs)
        end = self._unit.begin(self.sharding_strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD))
        try:
            return self._fsdp_wrapped_module(*args, **kwargs)
        finally:
            end()

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """In this block gradients are added up on each rank alone, whole; the first backward after it averages them."""
        units = [one._unit for one in self.fsdp_modules(self) if one._unit is not None]
        former = [unit.sync for unit in units]
        for unit in units:
            unit.sync = False
        try:
            yield
        finally:
            for unit, before in zip(units, former):
                unit.sync = before

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients of all units so that their norm over all ranks is at most `max_norm`; the norm it was."""
        leaves = [leaf for one in self.fsdp_modules(self) if one._unit is not None for leaf in one._unit.leaves]
        return clip(leaves, max_norm, norm_type, self.process_group)

    # States

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """All units of a module."""
        found = [one for one in module.modules() if isinstance(one, FullyShardedDataParallel)]
        return found[:1] if root_only else found

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside, the parameters are whole; writes to them are kept, unless `writeback` is False. With `rank0_only`
        they are whole on rank 0 alone."""
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported")
        if with_grads:
            raise NotImplementedError("summon_full_params: with_grads is not there\n  leave it out")
        fsdp = [one for one in FullyShardedDataParallel.fsdp_modules(module, not recurse) if one._unit is not None]
        wholes = []
        with no_grad():
            for one in fsdp:
                unit = one._unit
                assert unit is not None
                whole = unit.gather(precise=True)
                wholes.append(whole)
                if not rank0_only or unit.rank == 0:
                    unit.put([Parameter(view, requires_grad=False) for view in unit.views(whole)])
                    one._parameters.pop("_flat_param", None)          # the whole ones stand for it
        try:
            yield
        finally:
            for one, whole in zip(fsdp, wholes):
                unit = one._unit
                assert unit is not None
                if writeback:
                    unit.write(whole)
                unit.put_leaves()
                if unit.layout == FLAT:
                    one._parameters["_flat_param"] = unit.leaves[0]

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Choose what `state_dict()` of a module's units gives; what it gave before."""
        new = StateDictSettings(
            state_dict_type,
            state_dict_config or FullStateDictConfig(),
            optim_state_dict_config or FullOptimStateDictConfig(),
        )
        former = StateDictSettings()
        for unit in FullyShardedDataParallel.fsdp_modules(module):
            former, unit._settings = unit._settings, new
        return former

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """What `state_dict()` of a module's units gives."""
        units = FullyShardedDataParallel.fsdp_modules(module)
        return units[0]._settings if units else StateDictSettings()

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """The same for a while."""
        former = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(
                module, former.state_dict_type, former.state_dict_config, former.optim_state_dict_config
            )

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Whole tensors under the names of the module itself; with SHARDED_STATE_DICT this rank's shares, for
        `distributed.checkpoint`."""
        if args or any(kwargs.get(name) for name in ("destination", "prefix")):
            return super().state_dict(*args, **kwargs)  # as part of another module's
        if self._settings.state_dict_type is StateDictType.FULL_STATE_DICT:
            alone = getattr(self._settings.state_dict_config, "rank0_only", False)
            with self.summon_full_params(self, writeback=False, rank0_only=alone):
                if alone and self.rank:
                    return {}
                held = super().state_dict(**kwargs)
                return type(held)(
                    (name.replace(_PREFIX, ""), value.clone() if isinstance(value, Tensor) else value)
                    for name, value in held.items()
                    if not name.endswith("_flat_param")
                )
        shares = {name.replace(_PREFIX, ""): value for name, value in self._shares().items()}
        return {**shares, **{name.replace(_PREFIX, ""): value for name, value in self.named_buffers()}}

    def _shares(self) -> dict[str, FlatShard]:
        out: dict[str, FlatShard] = {}
        for name, one in self.named_modules():
            unit = one._unit if isinstance(one, FullyShardedDataParallel) else None
            if unit is not None and unit.layout == FLAT:
                out[f"{name}._flat_param" if name else "_flat_param"] = unit.share(0, unit.leaves[0].detach())
        places = {id(leaf): (unit, index) for unit in self._units() for index, leaf in enumerate(unit.leaves)}
        for name, param in self.named_parameters(remove_duplicate=False):
            unit, index = places.get(id(param), (None, 0))
            if unit is not None and unit.layout == NAMED:
                out[name] = unit.share(index, param.detach())
        return out

    def _units(self) -> list[Unit]:
        return [one._unit for one in self.fsdp_modules(self) if one._unit is not None]

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take whole tensors, or shares that `distributed.checkpoint.load` has filled."""
        if assign:
            raise NotImplementedError("FullyShardedDataParallel.load_state_dict: assign is not there\n  leave it out")
        if any(isinstance(value, FlatShard) for value in state_dict.values()):
            return None  # they are this model's own memory
        with self.summon_full_params(self):
            names = {name.replace(_PREFIX, ""): name for name in super().state_dict()}
            flats = {name: value for name, value in super().state_dict().items() if name.endswith("_flat_param")}
            return super().load_state_dict(
                {**{names.get(name, name): value for name, value in state_dict.items()}, **flats}, strict
            )

    @staticmethod
    def optim_state_dict(model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """The optimizer's state, as `set_state_dict_type` has it: in whole tensors under the names of parameters, or,
        for `distributed.checkpoint`, in shares that lie in the optimizer's own memory."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        if settings.state_dict_type is not StateDictType.FULL_STATE_DICT:
            return _optim_states.in_shares(model, optim, optim_state_dict)
        config = settings.optim_state_dict_config
        alone = getattr(config, "rank0_only", False)
        return _optim_states.whole(model, optim, optim_state_dict, alone, config.offload_to_cpu)

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Any, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False,
        load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:
        """A state of `optim_state_dict` as the optimizer takes it: this rank's shares as tensors."""
        if is_named_optimizer:
            raise NotImplementedError("optim_state_dict_to_load: is_named_optimizer is not there\n  leave it out")
        config = FullyShardedDataParallel.get_state_dict_type(model).optim_state_dict_config
        if getattr(config, "rank0_only", False):
            optim_state_dict = _optim_states.everywhere(optim_state_dict, group)
        out = _optim_states.shares(model, _optim_states.listed(model, optim, None), optim_state_dict)
        if load_directly:
            optim.load_state_dict(out)
        return out

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state in whole tensors under the names of parameters, on rank 0 or on all."""
        return _optim_states.whole(model, optim, None, rank0_only, on_cpu=True)

    @staticmethod
    def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """The optimizer's state in shares."""
        return _optim_states.in_shares(model, optim, None)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: Module, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """Of a whole state this rank's shares, as the optimizer takes them."""
        return _optim_states.shares(model, _optim_states.listed(model, optim, optim_input), full_optim_state_dict)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None, model: Module, optim_input: Any = None, optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """Of a whole state that rank 0 has, each rank's shares."""
        return FullyShardedDataParallel.shard_full_optim_state_dict(
            _optim_states.everywhere(full_optim_state_dict, group), model, optim_input, optim
        )

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Module, optim: Any
    ) -> dict[str, Any]:
        """A state of `sharded_optim_state_dict` as the optimizer takes it."""
        return _optim_states.shares(model, _optim_states.listed(model, optim, None), sharded_optim_state_dict)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any], optim_state_key_type: OptimStateKeyType, model: Module,
        optim_input: Any = None, optim: Any = None,
    ) -> dict[str, Any]:
        """A whole state under names, or under the numbers of an optimizer of the unsharded model."""
        by_name = optim_state_key_type is OptimStateKeyType.PARAM_NAME
        return _optim_states.rekeyed(optim_state_dict, by_name, model,
                                     _optim_states.listed(model, optim, optim_input))


_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


def _groups(
    strategy: ShardingStrategy, process_group: Any, mesh: Any, by_policy: bool
) -> tuple[ProcessGroup, ProcessGroup | None]:
    """The ranks that share with this one, and in hybrid sharding those that keep the same share."""
    if strategy is ShardingStrategy.NO_SHARD and not isinstance(process_group, tuple):  # each rank keeps all
        warn(
            "The `NO_SHARD` sharding strategy is deprecated. If having issues, please use `DistributedDataParallel` "
            "instead.",
            FutureWarning,
        )
        replicas = of(process_group) if mesh is None else mesh.get_group()
        return new_group([get_rank()], use_local_synchronization=True), replicas
    if strategy not in _HYBRID and not isinstance(process_group, tuple):
        if mesh is not None and mesh.ndim != 1:
            raise ValueError(
                f"Expected device_mesh to have ndim=1 but got {mesh.ndim}\n  two axes are for HYBRID_SHARD"
            )
        return of(process_group) if mesh is None else mesh.get_group(), None
    if mesh is not None:
        if mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {mesh.ndim}")
        return mesh.get_group(1), mesh.get_group(0)
    if process_group is not None:
        if not (isinstance(process_group, tuple) and len(process_group) == 2):
            raise ValueError(
                "Expected process_group to be passed in as either None or Tuple[dist.ProcessGroup, dist.ProcessGroup]"
                f" but got {type(process_group)}\n"
                "  the first is of the ranks that share, the second of those that keep the same share"
            )
        return of(process_group[0]), of(process_group[1])
    if not by_policy:
        raise ValueError(
            f"Manual wrapping with {strategy} requires explicit specification of process group or device_mesh."
        )
    hosts: dict[str, list[int]] = {}  # shared on each host, and the same on all
    for rank, host in enumerate(exchanged(of(None), gethostname())):
        hosts.setdefault(host, []).append(rank)
    if len({len(ranks) for ranks in hosts.values()}) > 1:
        raise ValueError(
            f"{strategy}: the hosts have different numbers of ranks: "
            + ", ".join(f"{len(ranks)} on {host}" for host, ranks in hosts.items())
            + "\n  say by device_mesh which share"
        )
    grid = list(hosts.values())
    shared, _ = new_subgroups_by_enumeration(grid)
    replicas, _ = new_subgroups_by_enumeration([list(column) for column in zip(*grid)])
    return shared, replicas


def clip(leaves: list[Any], max_norm: float, norm_type: float, group: ProcessGroup) -> Tensor:
    """Scale the gradients of shares so that their norm over all ranks is at most `max_norm`; the norm it was."""
    grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
    power = float(norm_type)
    with no_grad():
        if power == float("inf"):
            most = max((grad.abs().max().item() for grad in grads if grad.numel()), default=0.0)
            total = new_tensor(most, dtype=float64)
            all_reduce(total, ReduceOp.MAX, group)
        else:
            total = new_tensor(float(sum((grad.abs() ** power).sum().item() for grad in grads)), dtype=float64)
            all_reduce(total, ReduceOp.SUM, group)
            total = total ** (1 / power)
        factor = min(1.0, max_norm / (total.item() + 1e-6))
        for grad in grads:
            grad.mul_(factor)
    return total.to(leaves[0].dtype) if leaves else total


__getattr__ = lazy(__name__)
