"""States of models and optimizers by the names of parameters, whatever the model is wrapped in: one process,
`DistributedDataParallel`, `FullyShardedDataParallel` or `fully_shard`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from claygrad._lazy import lazy
from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard_package
from claygrad.distributed._group import get_rank, is_initialized, of
from claygrad.distributed.checkpoint.shards import FlatShard
from claygrad.distributed.objects import sent_to_all
from claygrad.nn.modules.module import Module
from claygrad.optim.optimizer import Optimizer

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
           "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]


@dataclass
class StateDictOptions:
    """Whole tensors or shares, on all ranks or one."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


_WRAPPERS = ("module.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")


def _plain(model: Module, name: str) -> str:
    """The name of a parameter in the model itself: without the names of what it is wrapped in."""
    from claygrad.nn.parallel import DistributedDataParallel

    if isinstance(model, DistributedDataParallel):
        name = name.removeprefix("module.")
    for word in _WRAPPERS[1:]:
        name = name.replace(word, "")
    return name


def _only_named(model: Module) -> None:
    from claygrad.distributed.fsdp import FullyShardedDataParallel

    for one in FullyShardedDataParallel.fsdp_modules(model):
        if one._unit is not None and one._unit.layout == "flat":
            raise NotImplementedError(
                "states by names need FullyShardedDataParallel(use_orig_params=True), or fully_shard\n"
                "  with use_orig_params=False: FSDP.state_dict_type, and FSDP.optim_state_dict for the optimizer"
            )


def _shares(model: Module) -> dict[int, Any]:
    """By id of a parameter that is a share: its unit, and its number there."""
    units = [getattr(one, "_unit", None) for one in model.modules()]
    units += [getattr(getattr(one, "_fsdp_state", None), "unit", None) for one in model.modules()]
    for unit in units:
        if unit is not None:
            unit.adopt()
    return {id(leaf): (unit, index) for unit in units if unit is not None for index, leaf in enumerate(unit.leaves)}


def _whole(value: Tensor, unit: Any, index: int) -> Tensor:
    """A tensor of shares, whole. All ranks call this."""
    from claygrad.distributed.objects import exchanged
    from claygrad.ops.join import cat

    with no_grad():
        parts = exchanged(unit.group, value.detach().reshape(-1).cpu())
        return cat(parts).reshape(unit.shapes[index]).to(value.device)


def _part(value: Tensor, like: Tensor, unit: Any, index: int) -> Tensor:
    """This rank's share of a whole tensor."""
    low, high = unit.interval(index)
    return value.detach().reshape(-1)[low:high].reshape(like.shape).to(like.device)


def _given(value: Any, param: Tensor, place: Any, options: StateDictOptions) -> Any:
    """A tensor of a state as the options want it."""
    if not isinstance(value, Tensor):
        return value
    if place is not None and value.shape == param.shape:
        unit, index = place
        value = _whole(value, unit, index) if options.full_state_dict else unit.share(index, value.detach())
    elif options.full_state_dict:
        value = value.detach().clone()
    return value.cpu() if options.cpu_offload and isinstance(value, Tensor) else value


def _kept(held: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """All ranks have taken part; with `cpu_offload` only rank 0 keeps whole tensors."""
    alone = options.full_state_dict and options.cpu_offload and is_initialized() and get_rank() != 0
    return {} if alone else held


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The model's parameters and buffers by their names: shares for `distributed.checkpoint`, or whole."""
    if submodules is not None:
        raise NotImplementedError("get_model_state_dict: submodules is not there\n  leave it out")
    how = options or StateDictOptions()
    _only_named(model)
    places = _shares(model)
    out: dict[str, Any] = {}
    for name, param in model.named_parameters(remove_duplicate=False):
        if how.ignore_frozen_params and not param.requires_grad:
            continue
        out[_plain(model, name)] = _given(param.detach(), param, places.get(id(param)), how)
    kept = {name for name, _ in _persistent(model)}
    for name, buffer in model.named_buffers(remove_duplicate=False):
        if name in kept:
            out[_plain(model, name)] = _given(buffer, buffer, None, how)
    return _kept(out, how)


def _persistent(model: Module) -> Iterable[tuple[str, Any]]:
    for prefix, one in model.named_modules(remove_duplicate=False):
        for name, buffer in one._buffers.items():
            if buffer is not None and name not in one._non_persistent_buffers_set:
                yield f"{prefix}.{name}" if prefix else name, buffer


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Take a state of `get_model_state_dict`: shares as they are, of whole tensors this rank's part."""
    from claygrad.nn.modules.module import _IncompatibleKeys

    how = options or StateDictOptions()
    _only_named(model)
    state = model_state_dict
    if how.broadcast_from_rank0:
        state = sent_to_all(of(None), {name: _local(value) for name, value in state.items()}, 0)
    places = _shares(model)
    missing, used = [], set()
    persistent = dict(_persistent(model))
    with no_grad():
        for name, held in [*model.named_parameters(remove_duplicate=False), *persistent.items()]:
            key = _plain(model, name)
            if key not in state:
                missing.append(key)
                continue
            used.add(key)
            _take(held, state[key], places.get(id(held)))
    unexpected = [key for key in state if key not in used]
    if how.strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(model).__name__}:\n"
            f"  missing {', '.join(missing[:5]) or 'none'}; unexpected {', '.join(unexpected[:5]) or 'none'}"
        )
    return _IncompatibleKeys(missing, unexpected)


def _local(value: Any) -> Any:
    return value.local if isinstance(value, FlatShard) else value


def _take(held: Tensor, value: Any, place: Any) -> None:
    """Write a value of a state into a parameter, a buffer or a tensor of the optimizer."""
    if isinstance(value, FlatShard):
        value = value.local.reshape(held.shape)
    elif place is not None and isinstance(value, Tensor) and tuple(value.shape) == tuple(place[0].shapes[place[1]]):
        value = _part(value, held, *place)
    held.detach().copy_(value)


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The optimizers' state by the names of parameters."""
    if submodules is not None or (options is not None and options.flatten_optimizer_state_dict):
        raise NotImplementedError("get_optimizer_state_dict: submodules and flatten_optimizer_state_dict are not there")
    how = options or StateDictOptions()
    _only_named(model)
    names, places = {id(param): _plain(model, name) for name, param in model.named_parameters()}, _shares(model)
    state: dict[str, Any] = {}
    groups = []
    for one in _each(optimizers):
        _fill_state(one)
        for group in one.param_groups:
            groups.append({**{key: value for key, value in group.items() if key != "params"},
                           "params": [names[id(param)] for param in group["params"]]})
            for param in group["params"]:
                if param in one.state:
                    state[names[id(param)]] = {
                        key: _given(value, param, places.get(id(param)), how) for key, value in one.state[param].items()
                    }
    return _kept({"state": state, "param_groups": groups}, how)


def _each(optimizers: Any) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _fill_state(optimizer: Optimizer) -> None:
    """Have an optimizer that has not stepped yet make its state, so that one can be loaded into it. The step is one of
    zero gradients at rate 0."""
    if optimizer.state:
        return
    params = [param for group in optimizer.param_groups for param in group["params"] if param.requires_grad]
    if any(param.grad is not None for param in params):
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    with no_grad():
        for param in params:
            param.grad = param.detach() * 0
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0
        optimizer.step(closure=None)
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)
    for values in optimizer.state.values():
        if isinstance(values.get("step"), Tensor):
            values["step"].zero_()
        elif "step" in values:
            values["step"] = 0


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Take a state of `get_optimizer_state_dict`."""
    how = options or StateDictOptions()
    _only_named(model)
    held = optim_state_dict
    if how.broadcast_from_rank0:
        held = sent_to_all(of(None), held, 0)
    names, places = {id(param): _plain(model, name) for name, param in model.named_parameters()}, _shares(model)
    for one in _each(optimizers):
        _fill_state(one)
        for group in one.param_groups:
            mine = {names[id(param)] for param in group["params"]}
            for saved in held["param_groups"]:
                if mine & set(saved["params"]):
                    group.update({key: value for key, value in saved.items() if key != "params"})
            for param in group["params"]:
                values = held["state"].get(names[id(param)])
                if values is None:
                    continue
                for key, value in values.items():
                    now = one.state[param].get(key)
                    if isinstance(now, Tensor) and isinstance(value, (Tensor, FlatShard)):
                        with no_grad():
                            _take(now, value, places.get(id(param)) if now.shape == param.shape else None)
                    else:
                        one.state[param][key] = value


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of the model and of its optimizers."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def set_state_dict(
    model: Module, optimizers: Any, *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Take the states of the model and of its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
