"""`DistributedDataParallel`: a module of which every rank has a copy, with gradients that are averaged over all ranks.

Note [Averaging gradients]
Gradients are put into buckets as they arrive in backward. A bucket that is full is summed over all ranks while
backward goes on; buckets are started in one order on all ranks, whatever order gradients arrive in. After each
gradient the sums under way make progress (Note [Progress]). When backward has run all its nodes, the sums are waited
for and become the `.grad`s.
"""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from claygrad.autograd.grad_mode import is_grad_enabled, no_grad
from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.graph.engine import queue_callback
from claygrad.core.user_warnings import warn
from claygrad.distributed import _buckets
from claygrad.distributed._group import ProcessGroup, _get_default_group, of
from claygrad.distributed._reduce import ReduceOp
from claygrad.distributed._work import progress
from claygrad.distributed.algorithms.join import Join, Joinable, JoinHook
from claygrad.distributed.collectives import all_reduce, broadcast
from claygrad.distributed.objects import exchanged, sent_to_all
from claygrad.nn.modules.module import Module
from claygrad.ops.creation import tensor as new_tensor
from claygrad.ops.join import cat
from claygrad.utils.pytree import tree_leaves

__all__ = ["DistributedDataParallel"]

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error "
    "indicates that your module "
    "has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword "
    "argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
    "\nmaking sure all `forward` "
    "function outputs participate in calculating loss."
)


def sync(tensors: list[Tensor], group: ProcessGroup, root: int = 0) -> None:
    """Give all ranks the values of one, in one broadcast for each dtype."""
    kinds: dict[Any, list[Tensor]] = {}
    for one in tensors:
        kinds.setdefault((one.dtype, one.device), []).append(one.detach())
    with no_grad():
        for alike in kinds.values():
            flat = cat([one.reshape(-1) for one in alike]) if len(alike) > 1 else alike[0]
            broadcast(flat, group=group, group_src=root)
            if len(alike) > 1 and group.rank() != root:
                for one, part in zip(alike, flat.split([one.numel() for one in alike])):
                    one.copy_(part.view(one.shape))


class DistributedDataParallel(Module, Joinable):
    """A copy of a module on every rank: the inputs differ, gradients are averaged, so the copies stay the same.

    The state has the module's names with `module.` before them.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        for name, value in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
            ("mixed_precision", mixed_precision),
            ("skip_all_reduce_unused_params", skip_all_reduce_unused_params),
        ):
            if value:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not there\n  leave it out")
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            if device_mesh.ndim != 1:
                raise RuntimeError(
                    f"Only 1D device mesh is supported, but got {device_mesh}\n  take one axis of it: mesh['name']"
                )
            process_group = device_mesh.get_group(mesh_dim=0)
        self.process_group: ProcessGroup = _get_default_group() if process_group is None else of(process_group)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(name, param) for name, param in module.named_parameters() if name not in self.parameters_to_ignore]
        if not any(param.requires_grad for _, param in named):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        kinds = {param.device.type for _, param in named}
        if len(kinds) != 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of devices, but input module "
                f"parameters locate in {kinds}."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        if kinds == {"cpu"} and (device_ids or output_device):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters "
                f"{ {param.device for _, param in named} }."
            )
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.device_type = next(iter(kinds))
        self.device = named[0][1].device
        if broadcast_buffers is not None:
            warn(
                "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
                "`broadcast_buffers=False`, "
                "`forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers NOT "
                "being synced at init (e.g. "
                "rank-local buffers), keep using `broadcast_buffers=False` until `init_sync_buffers` is available.",
                FutureWarning,
            )
        buffers_at_init = True if forward_sync_buffers is not None or broadcast_buffers is None else broadcast_buffers
        self.forward_sync_buffers = (
            forward_sync_buffers
            if forward_sync_buffers is not None
            else broadcast_buffers
            if broadcast_buffers is not None
            else True
        )
        self.broadcast_buffers = self.forward_sync_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view, self.batched_grad_copy = gradient_as_bucket_view, batched_grad_copy
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.module = module
        if bucket_cap_mb_list is not None:
            self._caps = [int(cap * 1024 * 1024) for cap in bucket_cap_mb_list]
        elif bucket_cap_mb is not None:
            self._caps = [int(bucket_cap_mb * 1024 * 1024)]
        else:
            self._caps = [_buckets.FIRST_CAP, _buckets.CAP]
        self._names = [name for name, param in named if param.requires_grad]
        self._params = [param for _, param in named if param.requires_grad]
        self._buffers_to_sync = [
            buffer for name, buffer in module.named_buffers() if name not in self.parameters_to_ignore
        ]
        self.bucket_bytes_cap = self._caps[-1]
        if init_sync:
            self._compare(named)
            sync([param for _, param in named], self.process_group)
            if buffers_at_init and self._buffers_to_sync:
                sync(self._buffers_to_sync, self.process_group)
        self._hook: Any = None
        self._hook_state: Any = None
        self._divisor = self.process_group.size()
        self._arrived: list[int] = []  # in the order of the first backward
        self._expected: dict[int, int] | None = None  # of a static graph: how often each gradient arrives
        self._counts: dict[int, int] = {}
        self._unused: set[int] = set()
        self._expecting = self._queued = self._queued_once = self._rebuilt = False
        self._next = 0  # the bucket to be started next
        self._local_used = numpy.zeros(len(self._params), numpy.int32)
        self._build(list(reversed(range(len(self._params)))))
        this = weakref.ref(self)
        for index, param in enumerate(self._params):
            param.register_post_accumulate_grad_hook(_arrival(this, index))

    def _compare(self, named: Sequence[tuple[str, Tensor]]) -> None:
        """Refuse models that differ between ranks."""
        mine = [(name, tuple(param.shape), str(param.dtype), param.requires_grad) for name, param in named]
        for rank, theirs in enumerate(exchanged(self.process_group, mine)):
            if len(theirs) != len(mine):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {self.process_group.rank()} has {len(mine)} "
                    f"params, while rank {rank} has inconsistent {len(theirs)} params."
                )
            for ours, other in zip(mine, theirs):
                if ours != other:
                    raise RuntimeError(
                        f"[{self.process_group.rank()}]: params[{mine.index(ours)}] in this process with sizes "
                        f"{list(ours[1])} appears not to match sizes of the same param in process {rank}.\n"
                        f"  here {ours[0]}: {ours[1]}, {ours[2]}; there {other[0]}: {other[1]}, {other[2]}"
                    )

    def _build(self, order: list[int]) -> None:
        parts = _buckets.assign([self._params[index] for index in order], self._caps)
        self._buckets = [
            _buckets.Bucket(number, [order[at] for at in part], self._params, number == len(parts) - 1)
            for number, part in enumerate(parts)
        ]
        self._home = {index: bucket for bucket in self._buckets for index in bucket.indices}

    # Forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncing = is_grad_enabled() and self.require_backward_grad_sync
        if syncing and self._expecting and any(bucket.pending for bucket in self._buckets) and self._queued_once:
            self._refuse()
        joining = Join.notify_join_context(self)
        if joining is not None:
            joining.wait()
            if not self._divide_by_initial:
                self._divisor = int(joining.result()[0])
        if self._join_config.enable:
            self._agree_on_sync(False)
        if self.will_sync_module_buffers():
            self._sync_buffers()
        if syncing and not self._rebuilt and self._arrived and not self._join_config.enable:
            self._rebuild()
        output = self.module(*inputs, **kwargs)
        if syncing:
            self.require_forward_param_sync = True
            self._expect(output)
        else:
            self.require_forward_param_sync = False
        return output

    def _refuse(self) -> None:
        missing = sorted(index for bucket in self._buckets for index in bucket.pending)
        raise RuntimeError(
            f"{_UNFINISHED}\nParameter indices which did not receive grad for rank {self.process_group.rank()}: "
            f"{' '.join(map(str, missing))}\n  these are {', '.join(self._names[index] for index in missing)}"
        )

    def _rebuild(self) -> None:
        """Put parameters into buckets in the order in which the gradients of rank 0 came."""
        self._rebuilt = True
        if self.find_unused_parameters or len(self._arrived) != len(self._params):
            return
        self._build(sent_to_all(self.process_group, self._arrived, 0))

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward brings the buffers of rank 0."""
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self._buffers_to_sync)

    def _sync_buffers(self) -> None:
        root = self._common_rank(True) if self._join_config.enable else 0
        sync(self._buffers_to_sync, self.process_group, root)

    def _expect(self, output: Any) -> None:
        for bucket in self._buckets:
            bucket.reset()
        self._counts = {}
        self._next = 0
        self._expecting, self._queued, self._queued_once = True, False, False
        self._local_used[:] = 0
        if self.static_graph:
            self._unused = set() if self._expected is None else set(range(len(self._params))) - set(self._expected)
        else:
            self._unused = self._unreached(output) if self.find_unused_parameters else set()
        this = weakref.ref(self)
        for one in tree_leaves(output):
            if isinstance(one, Tensor) and one.grad_fn is not None:
                one.register_hook(_beginning(this))

    def _unreached(self, output: Any) -> set[int]:
        """Parameters that no output's graph leads to."""
        places = {id(param): index for index, param in enumerate(self._params)}
        missing = set(range(len(self._params)))
        todo = [one.grad_fn for one in tree_leaves(output) if isinstance(one, Tensor) and one.grad_fn is not None]
        missing -= {places[id(one)] for one in tree_leaves(output) if id(one) in places}
        seen = set(todo)
        while todo:
            node = todo.pop()
            leaf = getattr(node, "variable", None)
            if leaf is not None:
                missing.discard(places.get(id(leaf), -1))
            for other, _ in node.next_functions:
                if other is not None and other not in seen:
                    seen.add(other)
                    todo.append(other)
        return missing

    # Backward

    def _backward_began(self) -> None:
        """Called by the gradients of outputs, which come first, in the outermost backward where several are nested (by
        reentrant checkpoints); and by those of parameters, should no output have been found."""
        if self._expecting and self.require_backward_grad_sync and not self._queued:
            self._queued = True
            queue_callback(self._finish)

    def _gradient_arrived(self, index: int) -> None:
        if not self._expecting or not self.require_backward_grad_sync:
            return
        self._backward_began()
        if not self._queued_once:
            self._queued_once = True
            for other in self._unused:
                self._ready(other, None)
        self._counts[index] = self._counts.get(index, 0) + 1
        if self.static_graph and (self._expected is None or self._counts[index] < self._expected.get(index, 1)):
            progress()
            return
        if index not in self._home[index].pending:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by one of the "
                "following reasons: 1) Use of a "
                "module parameter outside the `forward` function. Please make sure model parameters are "
                "not shared across multiple "
                "concurrent forward-backward passes. or try to use _set_static_graph() as a workaround if "
                "this module graph does "
                f"not change during training loop.\n  the parameter is {self._names[index]}"
            )
        self._local_used[index] = 1
        if not self._rebuilt:
            self._arrived.append(index)
        self._ready(index, self._params[index].grad)
        progress()

    def _ready(self, index: int, grad: Tensor | None) -> None:
        bucket = self._home[index]
        if grad is not None and grad.layout != self._params[index].layout:
            raise NotImplementedError(
                f"DistributedDataParallel: the gradient of {self._names[index]} is sparse\n"
                "  leave sparse=True out of the embedding"
            )
        with no_grad():
            bucket.put(index, grad, 1 if self._hook is not None else 1 / self._divisor)
        bucket.pending.discard(index)
        while self._next < len(self._buckets) and not self._buckets[self._next].pending:
            self._buckets[self._next].start(self.process_group, self._hook, self._hook_state)
            self._next += 1

    def _finish(self) -> None:
        """When backward has run all its nodes."""
        self._queued = False
        if not self._expecting or not self._queued_once:
            return  # no parameter has a gradient
        if self.static_graph and self._expected is None:  # its first backward: everything is known now
            for index, param in enumerate(self._params):
                self._local_used[index] = index in self._counts
                self._ready(index, param.grad if index in self._counts else None)
        if any(bucket.pending for bucket in self._buckets):
            return  # the next forward says so
        with no_grad():
            for bucket in self._buckets:
                bucket.finish()
            used = self._used_anywhere()
            for index, param in enumerate(self._params):
                if used is None or used[index]:
                    self._give(index, param)
        if self.static_graph and self._expected is None:
            self._expected = dict(self._counts)
        self._expecting = False

    def _used_anywhere(self) -> Any:
        """Which parameters got a gradient on some rank; None if all did."""
        if not (self.find_unused_parameters or self.static_graph):
            return None
        used = new_tensor(self._local_used.tolist())
        all_reduce(used, ReduceOp.MAX, self.process_group)
        return used.tolist()

    def _give(self, index: int, param: Tensor) -> None:
        view = self._home[index].views[index]
        if self.gradient_as_bucket_view:
            if param.grad is None or param.grad.data_ptr() != view.data_ptr():
                param.grad = view
        elif param.grad is None:
            param.grad = view.clone()
        else:
            param.grad.detach().copy_(view)

    # What programs ask for

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """In this block gradients are added up on each rank alone; the first backward after it averages the sums."""
        former = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = former

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Have `hook(state, bucket)` sum the buckets: it returns a future of the averaged gradients."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        first = next(iter(inspect.signature(hook).parameters.values()), None)
        if first is None or len(inspect.signature(hook).parameters) < 2:
            raise ValueError("Communication hook: a state and a bucket are wanted as arguments.")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook, self._hook_state = hook, state

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        from claygrad.distributed.algorithms.ddp_comm_hooks import default_hooks

        name = comm_hook_type.name
        self.register_comm_hook(
            self.process_group,
            {"ALLREDUCE": default_hooks.allreduce_hook, "FP16_COMPRESS": default_hooks.fp16_compress_hook}[name],
        )

    def _set_static_graph(self) -> None:
        self.static_graph = True

    def train(self, mode: bool = True) -> DistributedDataParallel:
        """Switch the module too."""
        super().train(mode)
        return self

    def __getstate__(self) -> Any:
        raise TypeError(
            "cannot pickle 'DistributedDataParallel' object\n  it belongs to its processes; pickle or "
            "save its .module, "
            "or its state_dict()"
        )

    # Uneven inputs: algorithms.join

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context in which ranks may have different numbers of inputs: who is done takes part with zeros."""
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    _divide_by_initial = True

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank does that is done before others."""
        self._divide_by_initial = kwargs.get("divide_by_initial_world_size", True)
        if self._divide_by_initial:
            self._divisor = self.process_group.size()
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group

    def _agree_on_sync(self, joined: bool) -> bool:
        """Whether the ranks that still have inputs will average in this iteration."""
        flag = new_tensor([int(not joined and self.require_backward_grad_sync)])
        all_reduce(flag, ReduceOp.MAX, self.process_group)
        return bool(flag.item())

    def _common_rank(self, here: bool) -> int:
        """A rank of the group for which `here` holds, the same on all."""
        rank = new_tensor([self.process_group.rank() if here else -1])
        all_reduce(rank, ReduceOp.MAX, self.process_group)
        if rank.item() == -1:
            raise ValueError("BUG! Expected rank_cond to be true for at least one process.")
        return int(rank.item())


def _arrival(this: Any, index: int) -> Any:
    def arrived(param: Tensor) -> None:
        ddp = this()
        if ddp is not None:
            ddp._gradient_arrived(index)

    return arrived


def _beginning(this: Any) -> Any:
    def began(grad: Tensor) -> None:
        ddp = this()
        if ddp is not None:
            ddp._backward_began()
    return began


class _Shadow(JoinHook):
    """Takes part in the collectives of a model whose inputs are used up here."""

    def __init__(self, ddp: DistributedDataParallel) -> None:
        self.ddp = ddp

    def main_hook(self) -> None:
        ddp = self.ddp
        syncing = ddp._agree_on_sync(True)
        if ddp.will_sync_module_buffers():
            root = ddp._common_rank(False)
            sync(ddp._buffers_to_sync, ddp.process_group, root)
        ddp.require_forward_param_sync = syncing
        if not syncing:
            return
        with no_grad():
            for bucket in ddp._buckets:
                bucket.reset()
                bucket.flat.zero_()
                bucket.start(ddp.process_group, ddp._hook, ddp._hook_state)
            for bucket in ddp._buckets:
                bucket.finish()
                bucket.pending = set()
            ddp._local_used[:] = 0
            used = ddp._used_anywhere()
            for index, param in enumerate(ddp._params):       # an optimizer that joins too takes its step with them
                if used is None or used[index]:
                    ddp._give(index, param)

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self.ddp
        root = ddp._common_rank(is_last_joiner)
        sync([*ddp._params, *ddp._buffers_to_sync], ddp.process_group, root)

guard_package(__name__)          # Note [Entry points]
