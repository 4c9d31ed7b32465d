"""Selective checkpoints: which results of a checkpointed function are kept rather than computed once more."""
from __future__ import annotations

import enum
import importlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.dispatch.intercepted import unrecorded
from claygrad.core.graph.saved_values import keep, kept
from claygrad.utils._python_dispatch import TorchDispatchMode
from claygrad.utils.pytree import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable

_MISMATCH = ("This can happen if the operations in the checkpointed region are nondeterministic or depend on global "
             "state "
             "that changed between forward and backward.")
_RECOMPUTE, _CONSUMED = object(), object()
_IGNORED = ("aten::detach", "aten::alias")         # a checkpoint takes another number of these when it runs again


class SelectiveCheckpointContext:
    """What a policy is told besides the operator and its arguments: the result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class CheckpointPolicy(enum.Enum):
    """What a selective checkpoint does with the result of an operation."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_OFFLOADED = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


class _Entry:
    """A result that is kept: its value as it was, or (`mutable`) whatever it holds when it is asked for."""

    def __init__(self, value: Any, mutable: bool) -> None:
        self.val = unrecorded(value.detach) if isinstance(value, Tensor) else value
        self.kept = keep(self.val) if type(self.val) is Tensor and not mutable else None

    def get(self) -> Any:
        return self.val if self.kept is None else kept(self.kept)


class _CachingTorchDispatchMode(TorchDispatchMode):
    """Runs operations in forward, and keeps the results that the policy chooses."""

    def __init__(self, policy_fn: Callable[..., Any], storage: Any, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.policy_fn = policy_fn
        self.storage = storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation
        self.counts: defaultdict[Any, int] = defaultdict(int)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        out = func(*args, **kwargs)
        if func._overloadpacket._qualified_op_name in _IGNORED:
            return out
        at = self.counts[func]
        self.counts[func] += 1
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        if isinstance(policy, bool):
            policy = CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
        if policy in _SAVED or policy in _OFFLOADED:           # everything lies on the CPU as it is
            self.storage[func][at] = tree_map(lambda x: _Entry(x, self.allow_cache_entry_mutation), out)
        else:
            self.storage[func][at] = _RECOMPUTE
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """Runs them again, but for those whose results were kept."""

    def __init__(self, policy_fn: Any, storage: Any, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.storage = storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation
        self.counts: defaultdict[Any, int] = defaultdict(int)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __enter__(self) -> Any:
        self.counts.clear()                                  # with retain_graph=True it is entered more than once
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if func._overloadpacket._qualified_op_name in _IGNORED:
            return func(*args, **kwargs)
        at = self.counts[func]
        self.counts[func] += 1
        kept_results = self.storage.get(func)
        if kept_results is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        entry = kept_results.get(at)
        if entry is None:
            raise RuntimeError(f"{func} invocation index {at} encountered during backward but not found in storage. "
                               f"{_MISMATCH}")
        if entry is _CONSUMED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region "
                               "computed "
                               "under selective activation checkpoint.")
        if entry is _RECOMPUTE:
            return func(*args, **kwargs)
        kept_results[at] = _CONSUMED
        return tree_map(lambda x: x.get(), entry)


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
                                         ) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The two contexts for `checkpoint(..., context_fn=)` that keep some results in forward and reuse them in backward.

    A list of operators (`torch.ops.aten.mm.default`), or a policy: policy(ctx, op, *args, **kwargs) gives a
    CheckpointPolicy, or whether to keep the result. A kept result that is written to later is still had as it was;
    with `allow_cache_entry_mutation` as it is then.
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        operators = importlib.import_module("claygrad.library._operators")
        for op in policy_fn_or_list:
            if not isinstance(op, operators.OpOverload):
                extra = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
                         "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                         ) if isinstance(op, operators.OpOverloadPacket) else ""
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                                 f"{extra}")
        chosen = list(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE
    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: defaultdict[Any, dict[int, Any]] = defaultdict(dict)
    return (_CachingTorchDispatchMode(policy, storage, allow_cache_entry_mutation),
            _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation))

guard_package(__name__)          # Note [Entry points]
