"""Checkpoints: forward keeps only its inputs, backward computes the rest once more."""
from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from claygrad import random
from claygrad._lazy import lazy
from claygrad.amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from claygrad.autograd import Function, backward
from claygrad.autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad
from claygrad.autograd.graph import saved_tensors_hooks
from claygrad.core import Tensor, current_run, empty, float32
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.graph.engine import run_has_inputs
from claygrad.core.graph.handles import Placeholder
from claygrad.core.graph.saved_values import keep, kept
from claygrad.core.user_warnings import is_ours, warn
from claygrad.nn.modules.container import Sequential
from claygrad.utils._selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Run: TypeAlias = "int | GraphExecGroup"        # what recomputed values are kept for: a backward pass, or several

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup",
           "SelectiveCheckpointContext", "_CachedTorchDispatchMode", "_CachingTorchDispatchMode",
           "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
           "detach_variable", "get_device_states", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]

_early_stop: bool | None = None
_debug: bool | None = None
_TIP = ("\nTip: To see a more detailed error message, either pass `debug=True` "
        "to\n`torch.utils.checkpoint.checkpoint(...)` or wrap "
        "the code block\nwith `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable "
        "checkpoint‑debug mode "
        "globally.")


_LOG = """ An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.

Tensors saved during the original forward:

{}

Tensors saved during recomputation:

{}

 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.
"""


class CheckpointError(RuntimeError):
    """The function did something else when it was run once more."""


class DefaultDeviceType:
    """The device whose random numbers are kept if no tensor among the inputs says."""

    _default_device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Which it is."""
        return DefaultDeviceType._default_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Random states of devices besides the CPU: there are none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Nothing to set besides the CPU."""


def noop_context_fn() -> tuple[Any, Any]:
    """Contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether recomputing ends as soon as all that is needed is there."""
    global _early_stop
    former, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = former


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether errors show the operations of both runs, whatever `debug` says."""
    global _debug
    former, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = former


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn, determinism_check: str = "default",
               debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """function(*args, **kwargs), of which only the arguments are kept; backward computes the rest once more.

    use_reentrant=False is the better way; True runs a backward inside backward, and takes no keyword arguments.
    """
    if use_reentrant is None:
        warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in "
             "PyTorch 2.9, "
             "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
             "recommended, but "
             "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer "
             "to docs for "
             "more details on the differences between the two variants.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _checkpoint(function, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """A chain of functions in so many segments, each a checkpoint but the last."""
    if use_reentrant is None:
        warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
             "explicitly. In "
             "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is "
             "recommended, but if you need to preserve the current default behavior, you can pass "
             "use_reentrant=True. Refer to docs for more details on the differences between the two variants.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    length = len(parts) // segments
    for start in range(0, length * (segments - 1), length):
        input = checkpoint(partial(_chain, parts[start:start + length]), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return _chain(parts[length * (segments - 1):], input)


def _chain(functions: list[Callable[[Any], Any]], value: Any) -> Any:
    for function in functions:
        value = function(value)
    return value


# Functions that are called where a checkpoint is, and return what makes a context for computing it once more: what runs
# modules with other parameters than they show then, as sharding does, adds one.
around_recomputing: list[Callable[[], Callable[[], contextlib.AbstractContextManager[None]]]] = []


class _Surroundings:
    """Random numbers, autocast and what `around_recomputing` knows as they are now, to be had once more."""

    def __init__(self, preserve: bool) -> None:
        self.random = random.get_rng_state() if preserve else None
        self.autocast: dict[str, Any] = {"enabled": is_autocast_enabled("cpu"), "dtype": get_autocast_dtype("cpu"),
                         "cache_enabled": is_autocast_cache_enabled()}
        self.others = [look() for look in around_recomputing]

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        with inference_mode(False), random.fork_rng(enabled=self.random is not None), autocast("cpu", **self.autocast):
            if self.random is not None:
                random.set_rng_state(self.random)
            with contextlib.ExitStack() as stack:
                for other in self.others:
                    stack.enter_context(other())
                yield


# With a backward inside backward

def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs with tensors as leaves of their own."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: " + type(inputs).__name__)
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warn if there is nothing to differentiate by."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class CheckpointFunction(Function):
    """A checkpoint as one node, whose backward runs the function and its backward."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.inputs = [None if isinstance(x, Tensor) else x for x in args]
        ctx.tensor_indices = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_indices))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if run_has_inputs():
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                               "passing an `inputs` "
                               "parameter to .backward(). To resolve this error, you can either set "
                               "use_reentrant=False, or call "
                               ".backward() without passing the `inputs` argument.")
        inputs = list(ctx.inputs)
        for i, x in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[i] = x
        leaves = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*leaves)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [(out, grad) for out, grad in zip(outputs, grads, strict=False)
                 if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in leaves))


# With hooks on what is saved

class GraphExecGroup:
    """Inside, a checkpoint (of `use_reentrant=False`) is computed once more at most once, however many backward passes
    need parts of it. No two of them may need the same saved tensor, not even with `retain_graph=True`."""

    def __enter__(self) -> GraphExecGroup:
        if self._get_current_group() is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested. Already inside group "
                               f"{self._get_current_group()}")
        _local.group = self
        return self

    def __exit__(self, *args: object) -> None:
        _local.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return getattr(_local, "group", None)


_local = threading.local()


class _Stop(Exception):
    """All that backward needs was computed."""


class _SavedInputs(Function):
    """Keeps tensors as any node does: later writes do not change them, a checkpoint around this one sees them."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return empty((0,), float32)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("Did not expect to backward on this graph")


class _Holder(Placeholder):
    """Stands for a saved tensor in the graph: found[run] is the recomputed value, or None once it was taken."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[Run, Any] = {}


class _Frame:
    """One call of a checkpoint: what it saved, and how to have it again."""

    def __init__(self, recompute: Callable[..., Any], args: tuple[Any, ...], describe: Callable[[Tensor], Any],
                 early_stop: bool, log: list[str] | None) -> None:
        self.recompute = recompute
        self.describe = describe
        self.early_stop = early_stop
        self.holders: list[weakref.ref[_Holder]] = []
        self.described: list[Any] = []
        self.log = log                                # in debug mode: what was saved by which line
        self.log_again: list[str] = []
        self.complete = False
        self.counts: defaultdict[Run, int] = defaultdict(int)
        self.done: set[Run] = set()
        self.tolerant = False
        self.at = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        self.rest = [None if isinstance(x, Tensor) else x for x in args]
        anchor = empty((0,), float32).requires_grad_(True)
        self.saver: Any = _SavedInputs.apply(anchor, *(args[i] for i in self.at))

    def pack(self, x: Tensor) -> _Holder:
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        with no_grad():
            self.described.append(self.describe(x))
        if self.log is not None:
            self.log.append(_line(x))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if self.log is None:
            return self._unpack(holder)
        try:
            return self._unpack(holder)
        except CheckpointError as error:
            raise CheckpointError(_LOG.format("\n".join(self.log), "\n".join(self.log_again))) from error

    def _unpack(self, holder: _Holder) -> Tensor:
        run = GraphExecGroup._get_current_group() or current_run()
        if run not in self.done:
            self._recompute(run)
        if run not in holder.found:
            raise AssertionError("Something went unexpectedly wrong in activation checkpoint. Please report this "
                                 "bug by filing an "
                                 "issue to PyTorch.")
        found = holder.found[run]
        if found is None:
            overlap = "" if isinstance(run, int) else (
                "Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                "compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. ")
            raise CheckpointError("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                                  f"unpacked once. {overlap}"
                                  "If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
                                  "Otherwise "
                                  "please open an issue with details on your use case.")
        if run == -1:                                 # looked at outside of backward: nothing is used up
            return kept(found)
        holder.found[run] = None
        return kept(found)

    def _recompute(self, run: Run) -> None:
        args = list(self.rest)
        self.log_again.clear()
        for i, x in zip(self.at, self.saver.grad_fn.saved_tensors, strict=True):
            args[i] = x
        try:
            with saved_tensors_hooks(partial(self._pack_again, run), lambda x: x), enable_grad():
                self.recompute(*args)
        except _Stop:
            pass
        if run != -1:
            self.done.add(run)
        self._compare(run)
        if run == -1:
            self.counts[run] = 0

    def _pack_again(self, run: Run, x: Tensor) -> Tensor:
        x = x.detach() if x.requires_grad else x
        if self.log is not None:
            self.log_again.append(_line(x))
        i = self.counts[run]
        self.counts[run] += 1
        if i >= len(self.holders):
            if not self.complete:                     # forward has not ended: it may yet save more
                self.tolerant = True
                return x
            raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than "
                                  "during the "
                                  f"original forward pass.\n{_TIP}")
        holder = self.holders[i]()
        if holder is not None:
            holder.found[run] = keep(x)  # recomputing may write to it
        if self.early_stop and self.counts[run] == len(self.holders):
            raise _Stop
        return x

    def _compare(self, run: Run) -> None:
        if self.tolerant:
            return
        if len(self.holders) != self.counts[run]:
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the "
                                  "original forward and "
                                  f"recomputation.\nNumber of tensors saved during forward: "
                                  f"{len(self.holders)}\nNumber of "
                                  f"tensors saved during recomputation: {self.counts[run]}.\n{_TIP}")
        different = ""
        for i, (ref, was) in enumerate(zip(self.holders, self.described, strict=True)):
            holder = ref()
            found = None if holder is None else holder.found.get(run)
            if found is not None and self.describe(kept(found)) != was:
                different += (f"tensor at position {i}:\nsaved metadata: {was}\nrecomputed metadata: "
                              f"{self.describe(kept(found))}\n")
        if different:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have "
                                  "different metadata than "
                                  f"during the forward pass.\n{different}.\n{_TIP}")


def _line(x: Tensor) -> str:
    """What is being saved, and the line outside claygrad that does it."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame):
        frame = frame.f_back
    code = frame.f_code
    return f"{x.dtype}{list(x.shape)}   ({code.co_filename}:{frame.f_lineno}:{code.co_name})"


def _described(x: Tensor) -> dict[str, Any]:
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _described, "none": lambda x: None}


def _checkpoint(function: Callable[..., Any], preserve: bool, context_fn: Callable[[], tuple[Any, Any]],
                determinism_check: str, debug: bool, early_stop: bool, args: tuple[Any, ...],
                kwargs: dict[str, Any]) -> Any:
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        log: list[str] | None = []
    else:
        log = None
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    surroundings = _Surroundings(preserve)
    if not is_grad_enabled():
        return function(*args, **kwargs)

    def recompute(*inputs: Any) -> None:
        with surroundings.again(), recompute_context:
            function(*inputs, **kwargs)

    frame = _Frame(recompute, args, _CHECKS[determinism_check], early_stop if _early_stop is None else _early_stop,
                   log)
    out: Any = _Frame
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        out = function(*args, **kwargs)
    if out is _Frame:
        raise RuntimeError("torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
                           "exception raised during "
                           "the checkpointed forward. This is not supported because checkpoint cannot return a "
                           "value for a failed "
                           "forward.")
    frame.complete = True
    return out

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
