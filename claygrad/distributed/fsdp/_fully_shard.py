"""`fully_shard`: a module that stays itself, with parameters of which every rank keeps some rows (Note [Sharding] in
`_unit`).

The parameters that the optimizer and `state_dict()` see are this rank's rows; `full_tensor()` gives them whole. In
PyTorch they are DTensors, whose shape is that of the whole parameter: here it is that of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from claygrad._lazy import lazy
from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor, dtype
from claygrad.distributed._group import _get_default_group
from claygrad.distributed._reduce import ReduceOp
from claygrad.distributed.checkpoint.shards import FlatShard
from claygrad.distributed.collectives import all_gather_single, all_reduce
from claygrad.distributed.fsdp._unit import ROWS, Precision, Unit, cast, depth, find
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter
from claygrad.nn.utils import clip_grad
from claygrad.ops.fill import empty, zeros

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "fully_shard",
           "register_fsdp_forward_method"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of parameters while they are used, of gradients while they are averaged, and of outputs."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Shares stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Shares are kept in main memory, where they are in any case on the CPU."""

    pin_memory: bool = True


def _whole(local: Tensor, unit: Unit, index: int) -> Tensor:
    """A tensor of which every rank has the rows of a parameter, whole. All ranks call this."""
    with no_grad():
        chunk = unit._chunks[index]
        mine = zeros(chunk, dtype=local.dtype, device=local.device)
        mine[: local.numel()] = local.detach().reshape(-1)
        every = empty(chunk * unit.size, dtype=local.dtype, device=local.device)
        all_gather_single(every, mine, unit.group)
        return every[: unit.sizes[index]].view(unit.shapes[index])


class ShardedTensor(Tensor):
    """This rank's rows of a tensor that lies on several ranks."""

    _unit: Unit
    _index: int

    @staticmethod
    def of(local: Tensor, unit: Unit, index: int) -> ShardedTensor:
        """Rows, and the parameter that says where they belong."""
        result: Any = local.detach().as_subclass(ShardedTensor)
        result._unit, result._index = unit, index
        out: ShardedTensor = result
        return out

    def full_tensor(self) -> Tensor:
        """The whole tensor. All ranks call this."""
        return _whole(self.to_local(), self._unit, self._index)

    def to_local(self) -> Tensor:
        """The rows as a tensor."""
        return self.detach().as_subclass(Tensor)

    def as_shard(self) -> FlatShard:
        """For `distributed.checkpoint`."""
        return self._unit.share(self._index, self.to_local())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.to_local().__reduce_ex__(protocol)


class ShardedParameter(Parameter):  # type: ignore[metaclass]
    """This rank's rows of a parameter."""

    _unit: Unit
    _index: int

    def full_tensor(self) -> Tensor:
        """The whole parameter. All ranks call this."""
        return _whole(self.detach(), self._unit, self._index)

    def to_local(self) -> Tensor:
        """The rows as a tensor."""
        return self.detach()


def _mark(leaf: Any, unit: Unit, index: int) -> None:
    leaf.__class__ = ShardedParameter
    leaf._unit, leaf._index = unit, index


class _State:
    """What `fully_shard` keeps of a module."""

    def __init__(self, unit: Unit | None, policy: MixedPrecisionPolicy, reshard: bool | None) -> None:
        self.unit, self.policy, self.reshard = unit, policy, reshard
        self.ends: list[Callable[[], None]] = []
        self.forced: list[Callable[[], None]] = []  # by unshard()

    def before(self, module: Module, args: Any, kwargs: Any) -> Any:
        """Gather, before forward."""
        kind = self.policy.param_dtype
        if kind is not None and self.policy.cast_forward_inputs:
            args, kwargs = cast(args, kind), cast(kwargs, kind)
        if self.unit is not None:
            again = depth[0] > 0 if self.reshard is None else bool(self.reshard)  # None: all but the outermost
            self.ends.append(self.unit.begin(again))
        return args, kwargs

    def after(self, module: Module, args: Any, output: Any) -> Any:
        """Let go, after forward."""
        if self.unit is not None and self.ends:
            self.ends.pop()()
        return output if output is None else cast(output, self.policy.output_dtype)


class FSDPModule:
    """What a module can do besides after `fully_shard`."""

    _fsdp_state: Any

    def _fsdp_states(self, recurse: bool) -> list[_State]:
        own: Any = self
        every = [one for one in own.modules() if isinstance(one, FSDPModule)] if recurse else [own]
        found = [one._fsdp_state for one in every]
        return list({id(state): state for state in found}.values())

    def unshard(self, async_op: bool = False) -> Any:
        """Have the parameters whole until `reshard()`, as tensors that can be read."""
        own: Any = self
        unit = own._fsdp_state.unit
        if unit is not None:
            with no_grad():
                whole = unit.gather()
            unit.put([Parameter(view, requires_grad=False) for view in unit.views(whole)])
        return _Done() if async_op else None

    def reshard(self) -> None:
        """Show this rank's rows again."""
        own: Any = self
        if own._fsdp_state.unit is not None:
            own._fsdp_state.unit.put_leaves()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward averages gradients over the ranks; otherwise they are added up on each rank alone until it
        does."""
        for state in self._fsdp_states(recurse):
            if state.unit is not None:
                state.unit.sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether backward averages gradients over the ranks with the same share, on a mesh of two axes; otherwise
        they are added up in shares until it does."""
        for state in self._fsdp_states(recurse):
            if state.unit is not None:
                state.unit.sync_replicas = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are let go between forward and backward."""
        for state in self._fsdp_states(recurse):
            state.reshard = reshard_after_forward

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Every backward ends by itself here."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Units are gathered when they are needed, not before."""

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Units are gathered when they are needed, not before."""


class _Done:
    def wait(self) -> None:
        """The parameters are there."""


def _norm_over_ranks(params: list[Any], norm_type: float, error_if_nonfinite: bool) -> Tensor | None:
    """The norm of the gradients of parameters, of which some are rows; None if none are. All ranks call this."""
    rows = [one for one in params if isinstance(one, ShardedParameter)]
    if not rows:
        return None
    own = [one.grad for one in params if one.grad is not None and not isinstance(one, ShardedParameter)]
    grads = [one.grad for one in rows if one.grad is not None and one.numel()]
    with no_grad():
        here = clip_grad._get_total_norm(grads, norm_type).to(rows[0].dtype)
        if norm_type == float("inf"):
            all_reduce(here, ReduceOp.MAX, rows[0]._unit.group)
            total = here
        else:
            here = here**norm_type
            all_reduce(here, ReduceOp.SUM, rows[0]._unit.group)
            total = here ** (1 / norm_type)
        return clip_grad._get_total_norm([total, *own], norm_type, error_if_nonfinite)


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Any = None,
) -> Any:
    """Keep the parameters of a module in shares, those of modules inside that were given to this before apart. The
    module stays what it is; its class gets the methods of `FSDPModule`. On a mesh of two axes they are shared along the
    second, and the ranks along the first keep the same shares."""
    if shard_placement_fn is not None:
        raise NotImplementedError("fully_shard: shard_placement_fn is not there\n  parameters are sharded by rows")
    if mesh is not None and mesh.ndim not in (1, 2):
        raise ValueError(
            f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}\n  take one or two of its axes: "
            "mesh['replicate', 'shard']"
        )
    clip_grad.over_ranks = _norm_over_ranks
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for one in modules:
        if isinstance(one, FSDPModule):
            raise AssertionError(
                f"Each distinct module can have fully_shard applied to it only once: {type(one).__name__}"
            )
    group = _get_default_group() if mesh is None else mesh.get_group(mesh.ndim - 1)
    replicas = mesh.get_group(0) if mesh is not None and mesh.ndim == 2 else None
    policy = mp_policy or MixedPrecisionPolicy()
    inner = {id(one) for outer in modules for one in outer.modules() if isinstance(one, FSDPModule)}
    taken = {id(leaf) for outer in modules for one in outer.modules() if isinstance(one, FSDPModule)
             for leaf in (one._fsdp_state.unit.leaves if one._fsdp_state.unit is not None else ())}
    found = find(modules, lambda one: id(one) in inner, taken | {id(one) for one in ignored_params or ()})
    unit = None
    if found.params:
        precision = Precision(policy.param_dtype, policy.reduce_dtype)
        unit = Unit(found, group, ROWS, precision, _mark, replicas)
        unit.put_leaves()
    reshard = None if reshard_after_forward is None else bool(reshard_after_forward)
    state = _State(unit, policy, reshard)
    for one in modules:
        kind = type(one)
        one.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
        one.__dict__["_fsdp_state"] = state
        one._register_state_dict_hook(_mark_shares)
    modules[0].register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
    modules[-1].register_forward_hook(state.after, always_call=True)
    return module


def _mark_shares(module: Any, held: Any, prefix: str, _local_metadata: Any) -> None:
    """Say of the rows in a state that they are rows."""
    if module._fsdp_state.unit is not None:
        module._fsdp_state.unit.adopt()
    for name, value in module.named_parameters(remove_duplicate=False):
        key = prefix + name
        known = isinstance(value, ShardedParameter) and key in held
        if known and not isinstance(held[key], (ShardedTensor, Parameter)):
            held[key] = ShardedTensor.of(held[key], value._unit, value._index)


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Have another method gather and let go of the parameters as `forward` does."""
    if not isinstance(module, FSDPModule):
        return
    inner, state = getattr(module, method_name), module._fsdp_state

    def method(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(module, args, kwargs)
        out = None
        try:
            out = inner(*args, **kwargs)
        finally:
            out = state.after(module, args, out)
        return out

    setattr(module, method_name, method)


__getattr__ = lazy(__name__)
