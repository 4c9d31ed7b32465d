"""Units: parameters that lie in shares on the ranks, and are whole only while their module runs.

Note [Sharding]
A unit keeps 1/n of its parameters on each of n ranks, in one flat tensor. The parameters that the optimizer sees are
that tensor, or views of it: one for all (`FLAT`), the part of each that is in this rank's share (`NAMED`), or this
rank's rows of each (`ROWS`). Forward gathers the shares into one piece of memory, runs the module on views of it, and
lets the memory go. What nodes save of the parameters would keep it alive: hooks on saved values put down which part of
which unit it was instead. Backward gathers the unit again when the first of these values is asked for. The views are
outputs of one node, `_Unshard`, whose backward comes when all of their gradients are there: it averages them over the
ranks, keeps this rank's share, and lets the parameters go again. A checkpoint inside a unit is computed once more in
backward, when its module shows shares: so the units that were running around it run again around that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from claygrad.autograd import Function
from claygrad.autograd.grad_mode import no_grad
from claygrad.autograd.graph import saved_tensors_hooks
from claygrad.core import Tensor, dtype
from claygrad.core.graph.engine import current_run, queue_callback
from claygrad.distributed._group import ProcessGroup
from claygrad.distributed._reduce import ReduceOp
from claygrad.distributed.checkpoint.shards import FlatShard
from claygrad.distributed.collectives import all_gather_single, all_reduce, reduce_scatter_single
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter
from claygrad.ops.fill import empty, zeros
from claygrad.utils.checkpoint import around_recomputing

FLAT, NAMED, ROWS = "flat", "named", "rows"
_gathered: dict[int, Unit] = {}  # by address of the memory, the unit whose parameters are there
depth = [0]  # how many units are running, one inside the other
_running: list[Unit] = []  # which


@contextlib.contextmanager
def _once_more(units: tuple[Unit, ...]) -> Iterator[None]:
    """The parameters of units, whole, while a checkpoint in them is computed once more."""
    ends = []
    try:
        for unit in units:
            if unit not in _running:
                unit.again()
                ends.append(unit.begin(False))
        yield
    finally:
        for end in reversed(ends):
            end()


def _where_a_checkpoint_is() -> Callable[[], contextlib.AbstractContextManager[None]]:
    units = tuple(_running)
    return lambda: _once_more(units)


around_recomputing.append(_where_a_checkpoint_is)


class Precision(NamedTuple):
    """The dtypes of parameters while they are used, and of gradients while they are averaged; None: as they are."""

    params: dtype | None = None
    reduce: dtype | None = None


class _Unshard(Function):
    @staticmethod
    def forward(ctx: Any, unit: Unit, *leaves: Tensor) -> Any:
        ctx.unit = unit
        ctx.set_materialize_grads(False)
        views = unit.views(unit.gather() if unit._whole is None else unit._whole)
        ctx.mark_non_differentiable(*[view for view, needed in zip(views, unit.requires) if not needed])
        return views

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        unit = ctx.unit
        unit.let_go()
        return None, *unit.reduced(list(grads))


class _Part:
    """What is put down for a saved value that is part of a unit's parameters."""

    def __init__(self, unit: Unit, value: Tensor) -> None:
        self.unit = unit
        self.shape, self.stride, self.offset = value.shape, value.stride(), value.storage_offset()


def _pack(value: Tensor) -> Any:
    unit = _gathered.get(value.untyped_storage().data_ptr()) if value.numel() else None
    return value if unit is None else _Part(unit, value)


def _unpack(held: Any) -> Tensor:
    return held if isinstance(held, Tensor) else held.unit.again().as_strided(held.shape, held.stride, held.offset)


class Found(NamedTuple):
    """Parameters, each with the modules and names under which it is found."""

    params: list[Tensor]
    homes: list[list[tuple[Module, str]]]


def find(roots: Iterable[Module], is_unit: Callable[[Module], bool], ignored: set[int]) -> Found:
    """The parameters of modules, without those of units inside and of what is to be ignored (ids)."""
    found: dict[int, tuple[Tensor, list[tuple[Module, str]]]] = {}
    seen: set[int] = set()

    def walk(module: Module, root: bool) -> None:
        if id(module) in seen or id(module) in ignored or (not root and is_unit(module)):
            return
        seen.add(id(module))
        for name, param in module._parameters.items():
            if param is not None and id(param) not in ignored:
                found.setdefault(id(param), (param, []))[1].append((module, name))
        for child in module.children():
            walk(child, False)

    for one in roots:
        walk(one, True)
    return Found([param for param, _ in found.values()], [homes for _, homes in found.values()])


class Unit:
    """Parameters that are gathered and let go together."""

    def __init__(
        self,
        found: Found,
        group: ProcessGroup,
        layout: str,
        precision: Precision,
        mark: Callable[[Parameter, Unit, int], None] = lambda leaf, unit, index: None,
        replicas: ProcessGroup | None = None,
    ) -> None:
        params, self.homes = found
        self.group, self.layout, self.precision = group, layout, precision
        self.replicas = replicas  # the ranks that keep the same share, in hybrid sharding
        self.sync_replicas = True  # whether gradients are averaged over those too; else they are kept in shares
        self._kept_share: Tensor | None = None
        self.size, self.rank = group.size(), group.rank()
        self.sync = True  # whether gradients are averaged; else they are kept whole until they are
        self._kept: list[Tensor | None] | None = None
        self._whole: Tensor | None = None
        self.shapes = [param.shape for param in params]
        self.sizes = [param.numel() for param in params]
        self.requires = [param.requires_grad for param in params]
        self.total = sum(self.sizes)
        self._check(params)
        if layout == ROWS:
            rows = [-(-shape[0] // self.size) if shape else 1 for shape in self.shapes]
            self._chunks = [n * (size // shape[0] if shape[0] else 0) for n, size, shape in
                            zip(rows, self.sizes, self.shapes)]
            self._starts = [sum(self._chunks[:at]) for at in range(len(params))]
            self.each = sum(self._chunks)
        else:
            self.each = -(-self.total // self.size)
        first = params[0]
        with no_grad():
            mine = zeros(self.each, dtype=first.dtype, device=first.device)
            if not first.is_meta:
                self._fill(mine, [param.detach().reshape(-1) for param in params])
        self._mine = mine
        self._mark = mark
        parts = [mine] if layout == FLAT else self._parts(mine)
        self.leaves = [Parameter(part, requires_grad=needed) for part, needed in zip(parts, self.requires)]
        for index, leaf in enumerate(self.leaves):
            mark(leaf, self, index)

    def _check(self, params: list[Tensor]) -> None:
        dtypes = list(dict.fromkeys(str(param.dtype) for param in params))
        if len(dtypes) > 1:
            raise ValueError(f"Must flatten tensors with uniform dtype but got {' and '.join(dtypes)}")
        if self.layout == FLAT and len(set(self.requires)) > 1:
            raise ValueError(
                "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`\n"
                "  say use_orig_params=True, or wrap the frozen modules in units of their own"
            )
        if self.layout == ROWS and any(not shape for shape in self.shapes):
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change the parameter to a 1D tensor with numel equal "
                "to 1."
            )

    # Where the elements of a parameter are

    def interval(self, index: int) -> tuple[int, int]:
        """The elements of a parameter, counted in itself, that are in this rank's share."""
        if self.layout == ROWS:
            low = min(self._chunks[index] * self.rank, self.sizes[index])
            return low, min(low + self._chunks[index], self.sizes[index])
        at, first = sum(self.sizes[:index]), self.each * self.rank
        low = min(max(first - at, 0), self.sizes[index])
        return low, min(max(first + self.each - at, low), self.sizes[index])

    def _parts(self, mine: Tensor) -> list[Tensor]:
        """This rank's part of each parameter, in a flat share."""
        out, at = [], 0
        for index, shape in enumerate(self.shapes):
            low, high = self.interval(index)
            start = self._starts[index] if self.layout == ROWS else at
            part = mine[start : start + high - low]
            out.append(part.view(-1, *shape[1:]) if self.layout == ROWS and high > low else
                       part.view(0, *shape[1:]) if self.layout == ROWS else part)
            at += high - low
        return out

    def _fill(self, mine: Tensor, flats: list[Tensor]) -> None:
        for index, (part, flat) in enumerate(zip(self._parts(mine), flats)):
            low, high = self.interval(index)
            part.view(-1)[:] = flat[low:high]

    def share(self, index: int, values: Tensor) -> FlatShard:
        """A tensor of this rank's part of a parameter, or with FLAT of all, as one of a tensor in parts."""
        if self.layout == FLAT:
            first = min(self.each * self.rank, self.total)
            return FlatShard(values[: min(self.each, self.total - first)], first, self.total)
        return FlatShard(values.reshape(-1), self.interval(index)[0], self.sizes[index])

    def adopt(self) -> None:
        """Take the parameters that the module shows, should they be others: `to_empty` replaces those on meta."""
        if self.layout == FLAT:
            return
        for index, homes in enumerate(self.homes):
            shown: Any = homes[0][0]._parameters[homes[0][1]]
            leaf = self.leaves[index]
            if shown is not leaf and leaf.is_meta and isinstance(shown, Parameter) and shown.shape == leaf.shape:
                self._mark(shown, self, index)
                self.leaves[index] = shown

    def mine(self) -> Tensor:
        """This rank's share. Parameters that were given other memory since, by `to_empty` or `.data`, count."""
        if self.layout == FLAT:
            return self.leaves[0].detach()
        self.adopt()
        if any(leaf.numel() and leaf.data_ptr() != part.data_ptr() for leaf, part in
               zip(self.leaves, self._parts(self._mine))) or self.leaves[0].dtype is not self._mine.dtype:
            with no_grad():
                first = self.leaves[0]
                self._mine = zeros(self.each, dtype=first.dtype, device=first.device)
                for leaf, part in zip(self.leaves, self._parts(self._mine)):
                    part[...] = leaf.detach()
                    leaf.data = part
        return self._mine

    # Whole parameters

    def gather(self, precise: bool = False) -> Tensor:
        """The elements of all parameters, one after the other; in their own dtype with `precise`."""
        mine = self.mine()
        if self.precision.params is not None and not precise:
            mine = mine.to(self.precision.params)
        whole = empty(self.each * self.size, dtype=mine.dtype, device=mine.device)
        all_gather_single(whole, mine, self.group)
        if self.layout != ROWS:
            return whole
        table = whole.view(self.size, self.each)
        out, at = empty(self.total, dtype=mine.dtype, device=mine.device), 0
        for start, chunk, size in zip(self._starts, self._chunks, self.sizes):
            out[at : at + size] = table[:, start : start + chunk].reshape(-1)[:size]
            at += size
        return out

    def views(self, whole: Tensor) -> tuple[Tensor, ...]:
        """The parameters in their elements."""
        return tuple(part.view(shape) for part, shape in zip(whole[: self.total].split(self.sizes), self.shapes))

    def write(self, whole: Tensor) -> None:
        """Keep this rank's share of new values."""
        with no_grad():
            self._fill(self.mine(), list(whole[: self.total].split(self.sizes)))

    def again(self) -> Tensor:
        """The parameters in backward."""
        if self._whole is None:
            with no_grad():
                self._whole = self.gather()
            if current_run() != -1:
                queue_callback(self.let_go)
        return self._whole

    def let_go(self) -> None:
        self._whole = None

    # Gradients

    def reduced(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """This rank's shares of the average of all ranks' gradients, one for each leaf; none while `sync` is off."""
        with no_grad():
            if self._kept is not None:
                grads = [new if old is None else old if new is None else old + new for old, new in
                         zip(self._kept, grads)]
                self._kept = None
            if not self.sync:
                self._kept = [None if grad is None else grad.detach().clone() for grad in grads]
                return [None] * len(self.leaves)
            share = self._averaged(grads)
            if self._kept_share is not None:
                share += self._kept_share
                self._kept_share = None
            if self.replicas is not None and not self.sync_replicas:
                self._kept_share = share
                return [None] * len(self.leaves)
            if self.replicas is not None:
                all_reduce(share, ReduceOp.AVG, self.replicas)
            mine = share.to(self.leaves[0].dtype)
        if self.layout == FLAT:
            return [mine]
        return [part if needed else None for part, needed in zip(self._parts(mine), self.requires)]

    def _averaged(self, grads: list[Tensor | None]) -> Tensor:
        """This rank's share of the average over the ranks that share, in the dtype of averages."""
        own, device = self.leaves[0].dtype, self.leaves[0].device
        kind = self.precision.reduce or self.precision.params or own
        whole = zeros(self.each * self.size, dtype=kind, device=device)
        table, at = whole.view(self.size, self.each), 0
        for index, (grad, size) in enumerate(zip(grads, self.sizes)):
            if grad is not None and self.layout == ROWS:
                start, chunk = self._starts[index], self._chunks[index]
                padded = zeros(chunk * self.size, dtype=kind, device=device)
                padded[:size] = grad.detach().reshape(-1)
                table[:, start : start + chunk] = padded.view(self.size, chunk)
            elif grad is not None:
                whole[at : at + size] = grad.detach().reshape(-1)
            at += size
        mine = empty(self.each, dtype=kind, device=device)
        reduce_scatter_single(mine, whole, ReduceOp.AVG, self.group)
        return mine

    # Running

    def put(self, values: Iterable[Tensor | None]) -> None:
        """Have the module use these for its parameters."""
        for homes, value in zip(self.homes, values):
            for module, name in homes:
                module._parameters[name] = value

    def put_leaves(self) -> None:
        """Have the module show the parameters that the optimizer sees; with FLAT it shows none."""
        self.put(self.leaves if self.layout != FLAT else [None] * len(self.homes))

    def begin(self, reshard: bool) -> Callable[[], None]:
        """Gather, for forward; what ends it. With `reshard` the parameters are let go then, and gathered again in
        backward."""
        self.adopt()
        views = _Unshard.apply(self, *self.leaves)
        self.put(views)
        address = views[0].untyped_storage().data_ptr()
        hooks: Any = contextlib.nullcontext()
        if reshard:
            _gathered[address] = self
            hooks = saved_tensors_hooks(_pack, _unpack)
        del views
        hooks.__enter__()
        depth[0] += 1
        _running.append(self)

        def end() -> None:
            depth[0] -= 1
            _running.remove(self)
            hooks.__exit__(None, None, None)
            _gathered.pop(address, None)
            self.put_leaves()

        return end


def cast(values: Any, kind: dtype | None) -> Any:
    """Arguments with their tensors of floats in a dtype."""
    if kind is None:
        return values
    if isinstance(values, Tensor):
        return values.to(kind) if values.dtype.is_floating_point else values
    if isinstance(values, dict):
        return type(values)((name, cast(value, kind)) for name, value in values.items())
    if isinstance(values, tuple) and hasattr(values, "_fields"):
        return type(values)(*(cast(value, kind) for value in values))
    if isinstance(values, (list, tuple)):
        return type(values)(cast(value, kind) for value in values)
    return values
