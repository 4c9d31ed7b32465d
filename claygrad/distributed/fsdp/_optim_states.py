"""States of optimizers of `FullyShardedDataParallel`: whole tensors by the names of parameters, and back to shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor
from claygrad.distributed._group import get_rank, of
from claygrad.distributed.checkpoint.shards import FlatShard
from claygrad.distributed.fsdp._unit import FLAT, Unit
from claygrad.distributed.objects import exchanged, sent_to_all
from claygrad.nn.modules.module import Module
from claygrad.ops.fill import zeros
from claygrad.ops.join import cat

_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


def plain(name: str) -> str:
    """A name without those of what modules are wrapped in."""
    for word in _WRAPPERS:
        name = name.replace(word, "")
    return name


class _Leaf(NamedTuple):
    """A parameter that the optimizer sees: the names of the parameters that it stands for, and where they are."""

    names: list[str]
    unit: Unit | None
    number: int


def _leaves(model: Module) -> dict[int, _Leaf]:
    prefixes = {id(module): plain(name + ".") if name else "" for name, module in model.named_modules()}
    found: dict[int, _Leaf] = {}
    for one in model.modules():
        unit = getattr(one, "_unit", None)
        if isinstance(unit, Unit):
            names = [prefixes[id(homes[0][0])] + homes[0][1] for homes in unit.homes]
            for index, leaf in enumerate(unit.leaves):
                found[id(leaf)] = _Leaf(names if unit.layout == FLAT else [names[index]], unit, index)
    for name, param in model.named_parameters():
        found.setdefault(id(param), _Leaf([plain(name)], None, 0))
    return found


def _params(optim: Any) -> list[Tensor]:
    return [param for group in optim.param_groups for param in group["params"]]


def listed(model: Module, optim: Any, optim_input: Any) -> list[list[Tensor]]:
    """The parameters of each group of an optimizer, or of what it was made of."""
    if optim is not None:
        return [list(group["params"]) for group in optim.param_groups]
    given = list(model.parameters() if optim_input is None else optim_input)
    return [list(one["params"]) for one in given] if given and isinstance(given[0], dict) else [given]


# Whole

def whole(model: Module, optim: Any, held: dict[str, Any] | None, alone: bool, on_cpu: bool) -> dict[str, Any]:
    """The state in whole tensors, on all ranks or on rank 0 `alone`. All ranks call this."""
    held = held or optim.state_dict()
    leaves, params = _leaves(model), _params(optim)
    kept = not alone or get_rank() == 0
    state: dict[str, Any] = {}
    for number, values in held["state"].items():
        leaf = leaves[id(params[number])]
        rows: dict[str, dict[str, Any]] = {name: {} for name in leaf.names}
        for key, value in values.items():
            for name, part in zip(leaf.names, _split(leaf, value, params[number])):
                rows[name][key] = part.cpu() if on_cpu and isinstance(part, Tensor) else part
        if kept:
            state.update(rows)
    groups = [{**group, "params": [name for number in group["params"] for name in leaves[id(params[number])].names]}
              for group in held["param_groups"]]
    return {"state": state, "param_groups": groups} if kept else {}


def _split(leaf: _Leaf, value: Any, param: Tensor) -> list[Any]:
    """A value of the state of a parameter, for each of those that it stands for."""
    unit = leaf.unit
    if not isinstance(value, Tensor) or unit is None or value.shape != param.shape:
        return [value.detach().clone() if isinstance(value, Tensor) else value for _ in leaf.names]
    with no_grad():
        every = cat(exchanged(unit.group, value.detach().reshape(-1).cpu())).to(value.device)
    if unit.layout == FLAT:
        return [part.clone() for part in unit.views(every)]
    return [every.reshape(unit.shapes[leaf.number])]


# Back to shares

def shares(model: Module, listed: list[list[Tensor]], held: dict[str, Any]) -> dict[str, Any]:
    """A state of whole tensors by names, or of `FlatShard` by numbers, as an optimizer of these parameters takes it."""
    leaves, state = _leaves(model), {}
    numbers = iter(range(sum(map(len, listed))))
    groups = []
    for params, saved in zip(listed, held["param_groups"], strict=True):
        mine = [next(numbers) for _ in params]
        groups.append({**saved, "params": mine})
        for number, param in zip(mine, params):
            leaf = leaves[id(param)]
            rows = [held["state"].get(name) for name in leaf.names]
            if held["state"].get(number) is not None:              # of this model itself
                state[number] = {key: value.local if isinstance(value, FlatShard) else value
                                 for key, value in held["state"][number].items()}
            elif all(row is not None for row in rows):
                state[number] = {key: _joined(leaf, param, [row[key] for row in rows]) for key in rows[0]}
    return {**held, "state": state, "param_groups": groups}


def _joined(leaf: _Leaf, param: Tensor, values: list[Any]) -> Any:
    """This rank's share of the values for the parameters that a leaf stands for; of numbers and the like the first."""
    unit, first = leaf.unit, values[0]
    if unit is None or not isinstance(first, Tensor) or first.dim() == 0:
        return first.detach().clone() if isinstance(first, Tensor) else first
    with no_grad():
        every = cat([one.detach().reshape(-1) for one in values])
        if unit.layout != FLAT:
            low, high = unit.interval(leaf.number)
            return every[low:high].reshape(param.shape).to(param.device).clone()
        mine = zeros(param.shape, dtype=first.dtype, device=param.device)
        part = every[min(unit.each * unit.rank, unit.total) : min(unit.each * (unit.rank + 1), unit.total)]
        mine[: part.numel()] = part
        return mine


def everywhere(held: dict[str, Any] | None, group: Any) -> dict[str, Any]:
    """The state that rank 0 has, on all."""
    said: dict[str, Any] = sent_to_all(of(group), held, 0)
    return said


# Names and numbers

def rekeyed(held: dict[str, Any], by_name: bool, model: Module, listed: list[list[Tensor]]) -> dict[str, Any]:
    """A whole state by names, or by the numbers that the parameters have in an optimizer of the model unsharded."""
    leaves = _leaves(model)
    names = [name for params in listed for param in params for name in leaves[id(param)].names]
    keys: dict[Any, Any] = dict(enumerate(names)) if by_name else {name: n for n, name in enumerate(names)}
    new: Callable[[Any], Any] = lambda key: keys.get(key, key)
    return {"state": {new(key): value for key, value in held["state"].items()},
            "param_groups": [{**group, "params": sorted(map(new, group["params"]), key=_order)}
                             for group in held["param_groups"]]}


def _order(key: Any) -> Any:
    return (0, key, "") if isinstance(key, int) else (1, 0, key)


def in_shares(model: Module, optim: Any, held: dict[str, Any] | None) -> dict[str, Any]:
    """The state as it is on this rank, its tensors as parts of those of all ranks."""
    held = held or optim.state_dict()
    leaves, params = _leaves(model), _params(optim)

    def parts(number: int, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        leaf = leaves[id(params[number])]
        for name, value in values.items():
            inside = leaf.unit is not None and isinstance(value, Tensor) and value.shape == params[number].shape
            yield name, leaf.unit.share(leaf.number, value) if inside and leaf.unit is not None else value

    return {"state": {number: dict(parts(number, values)) for number, values in held["state"].items()},
            "param_groups": held["param_groups"]}
