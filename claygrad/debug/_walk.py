"""All memory that is alive: each block once, with what it is for, the line that made it and its module."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy

from claygrad.core import Node, Storage, Tensor, memory_stats
from claygrad.core.graph.memory_holders import (
    base_of,
    block_of,
    export_place,
    is_copy,
    is_export,
    is_trained,
    node_of,
    node_place,
    own_grad,
    place_of,
    saved_by,
    saved_in,
)
from claygrad.core.graph.memory_ledger import block_place
from claygrad.core.graph.node import SavedTensor
from claygrad.debug._names import Names, module_paths, user_frames, variables
from claygrad.nn import Module, Parameter
from claygrad.optim import Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = (
    "parameters",
    "buffers",
    "gradients",
    "optimizer state",
    "tensors",
    "saved for backward",
    "copies for mutation",
    "NumPy exports",
    "other",
)


@dataclass
class Block:
    """One piece of memory."""

    address: int
    bytes: int  # that the allocator counts
    borrowed: int  # of others: of NumPy's arrays, of files
    kind: str
    place: tuple[CodeType, int] | None
    module: str | None


class Population:
    """What the collector knows of: tensors, nodes, saved values, modules and optimizers."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.nodes: list[Node] = []
        self.saved: list[SavedTensor] = []
        self.modules: list[Module] = []
        self.optimizers: list[Optimizer] = []
        families = (
            (Tensor, self.tensors),
            (Node, self.nodes),
            (SavedTensor, self.saved),
            (Module, self.modules),
            (Optimizer, self.optimizers),
        )
        known: dict[type, list[Any] | None] = {}
        for x in gc.get_objects():
            kind = type(x)  # not isinstance: it may ask the object
            if kind not in known:
                known[kind] = next((found for family, found in families if issubclass(kind, family)), None)
            place = known[kind]
            if place is not None:
                place.append(x)


class Survey:
    """The blocks that were alive when it was made."""

    def __init__(self, module_of_number: dict[int, Any] | None = None) -> None:
        self.allocated, self.reserved, self.peak = memory_stats()
        self.blocks: dict[int, Block] = {}
        living = Population()
        self._modules_by_number = module_of_number or {}
        self._paths = module_paths(living.modules, Names())
        owners = _owners(living.modules)
        places: dict[int, Any] = {}
        for t in living.tensors:  # a storage knows no line: the first tensor on it does
            if base_of(t) is None and (place := place_of(t)) is not None:
                places.setdefault(block_of(t)[0], place)
        self._places = places

        for t in living.tensors:
            if is_trained(t) or isinstance(t, Parameter):
                self._claim(t, "parameters", place_of(t), self._path(owners.get(id(t))))
        for module in living.modules:
            for value in module._buffers.values():
                if value is not None:
                    self._claim(value, "buffers", place_of(value), self._path(module))
        for optimizer in living.optimizers:
            for p, state in list(optimizer.state.items()):
                for value in _tensors_in(state):
                    self._claim(value, "optimizer state", place_of(value), self._path(owners.get(id(p))))
        for t in living.tensors:
            grad = own_grad(t)
            if grad is not None:
                self._claim(grad, "gradients", place_of(grad) or place_of(t), self._path(owners.get(id(t))))
        # In the order of their recording: what two nodes saved counts for the one that made it.
        nodes = sorted(living.nodes, key=lambda node: node._sequence_nr())
        kept = [(node, x, place, copy) for node in nodes for x, place, copy in saved_in(node)]
        for node, x, place, copy in kept:
            if copy:
                self._claim(x, "copies for mutation", place or node_place(node), self._running(node))
        for s in living.saved:
            if is_copy(s):
                self._claim(saved_by(s), "copies for mutation", None, None)
        packed = {id(x) for _, x, _, _ in kept if isinstance(x, Tensor)}
        for t in living.tensors:
            if id(t) not in packed:
                made = node_of(t)
                self._claim(t, "tensors", place_of(t), None if made is None else self._running(made))
        for node, x, place, _ in kept:
            values: Iterable[Any] = (x,) if isinstance(x, Storage | numpy.ndarray) else _tensors_in(x)
            for held in values:
                self._claim(held, "saved for backward", place or node_place(node), self._running(node))
        for s in living.saved:
            if isinstance(found := saved_by(s), Storage):
                self._claim(found, "saved for backward", None, None)
        for array in _exported_arrays():
            behind = block_of(array)[3]
            self._claim(array, "NumPy exports", None if behind is None else export_place(behind), None)
        found_bytes = sum(block.bytes for block in self.blocks.values())
        self.other = self.allocated - found_bytes

    def _path(self, module: Any) -> str | None:
        return None if module is None else self._paths.get(id(module))

    def _running(self, node: Node) -> str | None:
        """The module in whose forward a node was recorded."""
        call = getattr(node, "module", None)
        return self._path(getattr(call, "module", None))

    def _claim(self, x: Any, kind: str, place: Any, module: str | None) -> None:
        address, counted, borrowed, _ = block_of(x)
        if address in self.blocks or not counted + borrowed:
            return
        noted = block_place(address)  # of an open ledger: the line that took the memory
        if noted is not None:
            place = noted[0]
            module = module or self._path(self._modules_by_number.get(noted[1]))
        self.blocks[address] = Block(address, counted, borrowed, kind, place or self._places.get(address), module)


def _owners(modules: Iterable[Module]) -> dict[int, Module]:
    """The module that has each parameter."""
    return {id(p): module for module in modules for p in module._parameters.values() if p is not None}


def _tensors_in(x: Any, depth: int = 0) -> Iterator[Tensor]:
    if isinstance(x, Tensor):
        yield x
    elif type(x) in (list, tuple, dict) and depth < 4:
        for item in x.values() if type(x) is dict else x:
            yield from _tensors_in(item, depth + 1)


def _exported_arrays() -> list[Any]:
    """NumPy's arrays on the memory of storages. The collector does not know arrays, but it knows who holds them."""
    found = gc.get_referents(*gc.get_objects())
    for frame in user_frames():  # what a running function has is hidden from the collector
        found.extend(variables(frame).values())
    return [x for x in found if issubclass(type(x), numpy.ndarray) and is_export(x)]
