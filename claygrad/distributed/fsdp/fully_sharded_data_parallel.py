"""`FullyShardedDataParallel`: a module whose parameters are whole only while it runs.

Note [Sharding]
A unit keeps 1/n of its parameters on each of n ranks, as one flat parameter, which the optimizer sees. Forward
gathers them into one piece of memory, runs the module on views of it, and lets the memory go. What nodes save of the
parameters would keep it alive: hooks on saved values put down which part of which unit it was instead. Backward
gathers the unit again when the first of these values is asked for. The views are outputs of one node, `_Unshard`,
whose backward comes when all of their gradients are there: it sums them over the ranks, keeps this rank's share, and
lets the parameters go again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from claygrad._late import late
from claygrad.autograd import Function
from claygrad.autograd.grad_mode import no_grad
from claygrad.autograd.graph import saved_tensors_hooks
from claygrad.core import Tensor
from claygrad.core.graph.engine import current_run, queue_callback
from claygrad.distributed._group import ProcessGroup, of
from claygrad.distributed._reduce import ReduceOp
from claygrad.distributed.checkpoint.shards import FlatShard
from claygrad.distributed.collectives import all_gather_single, all_reduce, reduce_scatter_single
from claygrad.distributed.data_parallel import sync
from claygrad.distributed.fsdp.api import BackwardPrefetch, ShardingStrategy, StateDictType
from claygrad.distributed.fsdp.wrap import wrap_children
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter
from claygrad.ops.creation import tensor as new_tensor
from claygrad.ops.fill import empty, zeros

__all__ = ["FullyShardedDataParallel"]

_PREFIX = "_fsdp_wrapped_module."
_gathered: dict[int, FullyShardedDataParallel] = {}  # by address of the memory, the unit whose parameters are there


class _Unshard(Function):
    @staticmethod
    def forward(ctx: Any, flat: Tensor, unit: FullyShardedDataParallel) -> Any:
        ctx.unit = unit
        ctx.set_materialize_grads(False)
        return unit._views(unit._gather())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        unit = ctx.unit
        unit._let_go()
        return unit._reduce(grads), None


class _Part:
    """What is put down for a saved value that is part of a unit's parameters."""

    def __init__(self, unit: FullyShardedDataParallel, value: Tensor) -> None:
        self.unit = unit
        self.shape, self.stride, self.offset = value.shape, value.stride(), value.storage_offset()


def _pack(value: Tensor) -> Any:
    unit = _gathered.get(value.untyped_storage().data_ptr()) if value.numel() else None
    return value if unit is None else _Part(unit, value)


def _unpack(held: Any) -> Tensor:
    return held if isinstance(held, Tensor) else held.unit._again().as_strided(held.shape, held.stride, held.offset)


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
        mixed_precision: Any = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        for name, value in (
            ("cpu_offload", getattr(cpu_offload, "offload_params", cpu_offload)),
            ("mixed_precision", mixed_precision),
            ("ignored_modules", ignored_modules),
            ("param_init_fn", param_init_fn),
            ("forward_prefetch", forward_prefetch),
            ("use_orig_params", use_orig_params),
            ("ignored_states", ignored_states),
            ("device_mesh", device_mesh),
        ):
            if value:
                raise NotImplementedError(f"FullyShardedDataParallel: {name} is not there\n  leave it out")
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        if self.sharding_strategy not in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
            raise NotImplementedError(
                f"FullyShardedDataParallel: {self.sharding_strategy} is not there\n"
                "  use FULL_SHARD or SHARD_GRAD_OP, or DistributedDataParallel where nothing is to be sharded"
            )
        self.process_group: ProcessGroup = of(process_group)
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        if auto_wrap_policy is not None:
            wrap_children(
                module,
                auto_wrap_policy,
                lambda child: FullyShardedDataParallel(
                    child, process_group, sharding_strategy, sync_module_states=sync_module_states
                ),
                FullyShardedDataParallel,
            )
        self._fsdp_wrapped_module = module
        self._whole: Tensor | None = None
        self._state_type = StateDictType.FULL_STATE_DICT
        params = self._find()
        if sync_module_states:
            sync([*params, *(b for b in module.buffers())], self.process_group)
        self._shard(params)

    @property
    def module(self) -> Module:
        """The module inside."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    # Shares

    def _find(self) -> list[Tensor]:
        """This unit's parameters, without those of units inside, and the names they go by."""
        found: dict[int, tuple[Tensor, list[tuple[Module, str]]]] = {}

        def walk(module: Module) -> None:
            if isinstance(module, FullyShardedDataParallel):
                return
            for name, param in module._parameters.items():
                if param is not None:
                    found.setdefault(id(param), (param, []))[1].append((module, name))
            for child in module.children():
                walk(child)

        walk(self._fsdp_wrapped_module)
        self._homes = [homes for _, homes in found.values()]
        params = [param for param, _ in found.values()]
        if len({param.dtype for param in params}) > 1:
            raise ValueError(
                f"Must flatten tensors with uniform dtype but got {' and '.join({str(p.dtype) for p in params})}"
            )
        if len({param.requires_grad for param in params}) > 1:
            raise ValueError(
                "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`\n"
                "  wrap the frozen modules in units of their own"
            )
        return params

    def _shard(self, params: list[Tensor]) -> None:
        self._shapes = [param.shape for param in params]
        self._sizes = [param.numel() for param in params]
        self._total = sum(self._sizes)
        self._each = -(-self._total // self.world_size)
        if not params:
            self._flat_param: Any = None
            return
        self._dtype, self._device = params[0].dtype, params[0].device
        mine = zeros(self._each, dtype=self._dtype, device=self._device)
        first, at = self._each * self.rank, 0
        with no_grad():
            for param, size in zip(params, self._sizes):
                low, high = max(first, at), min(first + self._each, at + size)
                if low < high:
                    mine[low - first : high - first] = param.detach().reshape(-1)[low - at : high - at]
                at += size
        self._flat_param = Parameter(mine, requires_grad=params[0].requires_grad)
        for homes in self._homes:
            for module, name in homes:
                module._parameters[name] = None

    def _gather(self) -> Tensor:
        whole = empty(self._each * self.world_size, dtype=self._dtype, device=self._device)
        all_gather_single(whole, self._flat_param.detach(), self.process_group)
        return whole

    def _views(self, whole: Tensor) -> tuple[Tensor, ...]:
        return tuple(part.view(shape) for part, shape in zip(whole[: self._total].split(self._sizes), self._shapes))

    def _reduce(self, grads: tuple[Tensor | None, ...]) -> Tensor:
        """This rank's share of the average of all ranks' gradients."""
        whole = zeros(self._each * self.world_size, dtype=self._dtype, device=self._device)
        at = 0
        for grad, size in zip(grads, self._sizes):
            if grad is not None:
                whole[at : at + size] = grad.detach().reshape(-1)
            at += size
        mine = empty(self._each, dtype=self._dtype, device=self._device)
        reduce_scatter_single(mine, whole, ReduceOp.AVG, self.process_group)
        return mine

    def _again(self) -> Tensor:
        """The parameters in backward."""
        if self._whole is None:
            with no_grad():
                self._whole = self._gather()
            if current_run() != -1:
                queue_callback(self._let_go)
        return self._whole

    def _let_go(self) -> None:
        self._whole = None

    def _put(self, values: Iterable[Tensor | None]) -> None:
        for homes, value in zip(self._homes, values):
            for module, name in homes:
                module._parameters[name] = value

    # Running

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self._flat_param is None:
            return self._fsdp_wrapped_module(*args, **kwargs)
        views = _Unshard.apply(self._flat_param, self)
        self._put(views)
        address = views[0].untyped_storage().data_ptr()
        full = self.sharding_strategy is ShardingStrategy.FULL_SHARD
        if full:
            _gathered[address] = self
        del views
        try:
            with saved_tensors_hooks(_pack, _unpack) if full else contextlib.nullcontext():
                return self._fsdp_wrapped_module(*args, **kwargs)
        finally:
            _gathered.pop(address, None)
            self._put([None] * len(self._homes))

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of several backwards are added up in any case; each is summed over the ranks, to be shared."""
        yield

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients of all units so that their norm over all ranks is at most `max_norm`; the norm it was."""
        grads = [
            unit._flat_param.grad
            for unit in self.fsdp_modules(self)
            if unit._flat_param is not None and unit._flat_param.grad is not None
        ]
        power = float(norm_type)
        with no_grad():
            if power == float("inf"):
                total = new_tensor(max((grad.abs().max().item() for grad in grads if grad.numel()), default=0.0))
                all_reduce(total, ReduceOp.MAX, self.process_group)
            else:
                total = new_tensor(sum((grad.abs() ** power).sum().item() for grad in grads))
                all_reduce(total, ReduceOp.SUM, self.process_group)
                total = total ** (1 / power)
            factor = min(1.0, max_norm / (total.item() + 1e-6))
            for grad in grads:
                grad.mul_(factor)
        return total

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
        """Inside, the parameters are whole on all ranks; writes to them are kept, unless `writeback` is False."""
        if rank0_only or with_grads:
            raise NotImplementedError("summon_full_params: rank0_only and with_grads are not there")
        units = [
            unit for unit in FullyShardedDataParallel.fsdp_modules(module, not recurse) if unit._flat_param is not None
        ]
        wholes = []
        with no_grad():
            for unit in units:
                wholes.append(unit._gather())
                unit._put([Parameter(view, requires_grad=False) for view in unit._views(wholes[-1])])
        try:
            yield
        finally:
            for unit, whole in zip(units, wholes):
                if writeback:
                    with no_grad():
                        first = unit._each * unit.rank
                        unit._flat_param.copy_(whole[first : first + unit._each])
                unit._put([None] * len(unit._homes))

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictType:
        """Choose what `state_dict()` of a module's units gives; what it gave before."""
        if state_dict_config is not None or optim_state_dict_config is not None:
            raise NotImplementedError("set_state_dict_type: the configurations are not there\n  leave them out")
        former = StateDictType.FULL_STATE_DICT
        for unit in FullyShardedDataParallel.fsdp_modules(module):
            former, unit._state_type = unit._state_type, state_dict_type
        return former

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
            FullyShardedDataParallel.set_state_dict_type(module, former)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Whole tensors under the names of the module itself; with SHARDED_STATE_DICT this rank's shares, for
        `distributed.checkpoint`."""
        if args or any(kwargs.get(name) for name in ("destination", "prefix")):
            return super().state_dict(*args, **kwargs)  # as part of another module's
        if self._state_type is StateDictType.FULL_STATE_DICT:
            with self.summon_full_params(self, writeback=False):
                held = super().state_dict(**kwargs)
                return type(held)(
                    (name.replace(_PREFIX, ""), value.clone() if isinstance(value, Tensor) else value)
                    for name, value in held.items()
                    if not name.endswith("_flat_param")
                )
        shares = {name.replace(_PREFIX, ""): value for name, value in self._shares().items()}
        return {**shares, **{name.replace(_PREFIX, ""): value for name, value in self.named_buffers()}}

    def _shares(self) -> dict[str, FlatShard]:
        return {
            f"{name}._flat_param" if name else "_flat_param": unit._as_shard(unit._flat_param.detach())
            for name, unit in self.named_modules()
            if isinstance(unit, FullyShardedDataParallel) and unit._flat_param is not None
        }

    def _as_shard(self, values: Tensor) -> FlatShard:
        first = min(self._each * self.rank, self._total)
        return FlatShard(values[: min(self._each, self._total - first)], first, self._total)

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
        """The optimizer's state in shares, for `distributed.checkpoint`: what lies in the optimizer's own memory."""
        units = {id(unit._flat_param): unit for unit in FullyShardedDataParallel.fsdp_modules(model)}
        held = optim_state_dict or optim.state_dict()
        params = [one for one_group in optim.param_groups for one in one_group["params"]]
        state = {}
        for index, values in held["state"].items():
            unit = units.get(id(params[index]))
            state[index] = {
                name: unit._as_shard(value)
                if unit is not None and isinstance(value, Tensor) and value.numel() == unit._each and value.dim() == 1
                else value
                for name, value in values.items()
            }
        return {"state": state, "param_groups": held["param_groups"]}


__getattr__ = late(__name__)
