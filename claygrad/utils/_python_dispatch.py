"""`torch.utils._python_dispatch`: modes and classes of tensors that answer operations, below autograd."""
from __future__ import annotations

import contextlib
import importlib
import threading
from typing import TYPE_CHECKING, Any

from claygrad.core import UPCALLS, Tensor, default_dtype
from claygrad.core.data.device import parse_device
from claygrad.core.graph.intercept import begin_reason, end_reason, has_dispatch, set_modes, switch_dispatch
from claygrad.core.overrides import _disabled_torch_dispatch_impl
from claygrad.core.python_api import new_wrapper
from claygrad.utils.pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass",
           "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing", "transform_subclass"]

_local = threading.local()


def _stack() -> list[TorchDispatchMode]:
    try:
        stack: list[TorchDispatchMode] = _local.stack
    except AttributeError:
        stack = _local.stack = []
    return stack


class TorchDispatchMode:
    """Inside `with mode:` every operation of this thread is given to `__torch_dispatch__(func, types, args, kwargs)`.

    func is an operator of `torch.ops`. What the method returns is the result; autograd records the operation itself,
    and nothing that the method computes. Inside the method the mode is left: func(*args, **kwargs) goes to the next.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Make one; enter it with `with`."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is a part of PyTorch's own machinery."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether compilers leave it out."""
        return False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that hands every operation on."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: TorchDispatchMode) -> None:
    if not hasattr(type(mode), "__torch_dispatch__"):
        raise TypeError(f"a mode with __torch_dispatch__ expected, got {type(mode).__name__}")
    _stack().append(mode)
    set_modes(len(_stack()))
    begin_reason()


def _pop_mode(k: Any = None) -> TorchDispatchMode:
    if not _stack():
        raise RuntimeError("no dispatch mode is entered in this thread")
    mode = _stack().pop()
    set_modes(len(_stack()))
    end_reason()
    return mode


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[TorchDispatchMode]:
    """Without the innermost mode."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """Without any mode."""
    left = [_pop_mode() for _ in range(len(_stack()))]
    try:
        yield left
    finally:
        for mode in reversed(left):
            _push_mode(mode)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    return _stack()[-1] if _stack() else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    return list(_stack())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is entered in this thread."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in _stack())


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether one is that compilers do not leave out."""
    return any(not mode.ignore_compile_internals() for mode in _stack())


def any_torch_dispatch_mode_on_stack() -> bool:
    """The same, of modes that are no part of PyTorch's machinery."""
    return any(not mode.is_infra_mode() and not mode.ignore_compile_internals() for mode in _stack())


class _DisableTorchDispatch:
    """A context in which no `__torch_dispatch__` is asked."""

    def __init__(self) -> None:
        self._was: list[bool] = []

    def __enter__(self) -> None:
        self._was.append(switch_dispatch(True))

    def __exit__(self, *error: object) -> None:
        switch_dispatch(self._was.pop())


# --- who answers -----------------------------------------------------------------------------------------------

def _overriding(values: Any) -> list[Tensor]:
    """The arguments whose classes answer: one of each class, subclasses before their bases, else in order."""
    found: list[Tensor] = []
    for x in tree_leaves(values):
        if isinstance(x, Tensor) and has_dispatch(type(x)) and all(type(x) is not type(y) for y in found):
            at = next((i for i, y in enumerate(found) if issubclass(type(x), type(y))), len(found))
            found.insert(at, x)
    return found


def _ask(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = _overriding((args, kwargs))
    types = tuple(type(x) for x in found)
    mode = None
    if _stack():
        mode = _stack().pop()
        set_modes(len(_stack()))
        try:
            result = mode.__torch_dispatch__(func, types, args, kwargs)
        finally:
            _stack().append(mode)
            set_modes(len(_stack()))
        if result is not NotImplemented:
            return result
    for x in found:
        result = type(x).__torch_dispatch__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    lines = [] if mode is None else [f"  - mode object {mode!r}"]
    lines += [f"  - tensor subclass {type(x)!r}" for x in found]
    raise TypeError(f"Multiple dispatch failed for '{func.__module__}.{func.__name__}'; all __torch_dispatch__ "
                    "handlers "
                    "returned NotImplemented:\n\n" + "\n".join(lines)
                    + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def _overloads() -> Any:
    return importlib.import_module("claygrad.library._overloads")


def _answer(op: Any, values: list[Any]) -> Any:
    func, args, kwargs = _overloads().overload_for(op, values)
    result = _ask(func, args, kwargs)
    if result is None:
        raise RuntimeError(f"Unable to cast None to Tensor: __torch_dispatch__ returned None for {func}, which gives "
                           "a tensor")
    return result


def _detach(x: Tensor) -> Tensor | None:
    """What a mode or the class makes of x.detach(); None if there is neither."""
    if switch_dispatch(False):
        switch_dispatch(True)
        return None
    if not _stack() and not has_dispatch(type(x)):
        return None
    packet = importlib.import_module("claygrad.library._operators").ops.aten.detach
    made: Tensor = UPCALLS["unrecorded"](lambda: _ask(packet.default, (x,), {}))
    return made


def _local_scalar(x: Tensor) -> tuple[Any] | None:
    if switch_dispatch(False):
        switch_dispatch(True)
        return None
    if not _stack() and not has_dispatch(type(x)):
        return None
    func = importlib.import_module("claygrad.library._overloads").local_scalar()
    answer = _ask(func, (x,), {})
    if isinstance(answer, Tensor):               # it would be asked for its number in turn, for ever
        raise TypeError(f"item(): the answer of __torch_dispatch__ to {func} must be a number, not "
                        f"{type(answer).__name__}")
    return (answer,)


# Functions that take tensors and give what has no derivative: a mode is given them whole.
_ATOMS = frozenset("rand_like randn_like randint_like bernoulli multinomial nonzero bernoulli_ cauchy_ exponential_ "
                   "geometric_ "
                   "log_normal_ normal_ random_ uniform_ resize_".split())


def _make(function: Any, takes_none: bool, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The answer of a mode or a class to a function that binds its own arguments, or None."""
    if switch_dispatch(False):
        switch_dispatch(True)
        return None
    atom = function.__name__ in _ATOMS
    if not ((_stack() and takes_none) or (atom and (_stack() or _overriding((args, kwargs))))):
        return None
    func = _overloads().factory_overload(function)
    if func is None:
        return None
    result = UPCALLS["unrecorded"](lambda: _ask(func, tuple(args), dict(kwargs)))
    if kwargs.get("requires_grad") and not result.requires_grad:
        result.requires_grad_()
    return result


# --- classes ---------------------------------------------------------------------------------------------------

def make_wrapper(cls: type, size: Any, strides: Any = None, storage_offset: int | None = None,
                 memory_format: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
                 pin_memory: bool = False, requires_grad: bool = False,
                 dispatch_sizes_strides_policy: str | None = None, dispatch_device: bool = False,
                 dispatch_layout: bool = False, _extra_dispatch_keys: Any = None,
                 storage_size: int | None = None) -> Tensor:
    """A tensor of this class without memory: `Tensor._make_wrapper_subclass`."""
    if getattr(cls, "__torch_dispatch__", _disabled_torch_dispatch_impl) is _disabled_torch_dispatch_impl:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    if dispatch_sizes_strides_policy not in (None, "None") or dispatch_device or dispatch_layout:
        raise NotImplementedError("_make_wrapper_subclass: claygrad asks no class for its sizes, strides, device or "
                                  "layout\n"
                                  "  instead: make the wrapper with the sizes and the device that it shall have")
    if storage_size is not None or _extra_dispatch_keys is not None:
        raise NotImplementedError("_make_wrapper_subclass: claygrad takes no storage_size and no _extra_dispatch_keys: "
                                  "a wrapper has no memory, and nothing is dispatched by keys")
    if memory_format is not None and getattr(memory_format, "name", "") not in ("contiguous_format", "preserve_format"):
        raise NotImplementedError("_make_wrapper_subclass: give strides= in place of memory_format=")
    if pin_memory:
        raise RuntimeError("_make_wrapper_subclass: a tensor without memory cannot be pinned")
    if layout is not None and getattr(layout, "name", "strided") != "strided":
        raise NotImplementedError(f"_make_wrapper_subclass: layout {layout} is not supported; wrappers are strided")
    shape = [int(n) for n in size]
    if strides is None:
        steps, step = [], 1
        for n in reversed(shape):
            steps.append(step)
            step *= max(n, 1)
        strides = steps[::-1]
    if len(strides) != len(shape):
        raise ValueError(f"_make_wrapper_subclass: {len(shape)} sizes but {len(strides)} strides")
    kind = default_dtype() if dtype is None else dtype
    where = device if device is not None else parse_device(None)
    made: Tensor = new_wrapper(cls, shape, [int(n) for n in strides], int(storage_offset or 0), kind, where,
                               bool(requires_grad))
    return made


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor tells what it wraps: `__tensor_flatten__` and `__tensor_unflatten__`."""
    return isinstance(t, Tensor) and type(t) is not Tensor and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class."""
    return issubclass(t, Tensor) and t is not Tensor and all(
        hasattr(t, name) for name in ("__tensor_flatten__", "__tensor_unflatten__"))


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """The wrapper around callback(name, tensor) of each tensor that it wraps."""
    outer_size = outer_size if outer_size is not None else t.size()
    outer_stride = outer_stride if outer_stride is not None else t.stride()
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    out = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if tuple(out.shape) != tuple(outer_size) or tuple(out.stride()) != tuple(outer_stride):
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
                             f"{outer_size} "
                             f"and stride equal to {outer_stride}, but got shape {out.shape} and stride {out.stride()}")
    return out


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result of a wrapper's `__torch_dispatch__`: the argument itself where an operation writes to it. (Autograd
    sees to it that a view is one of its base.)"""
    name = func.__name__.partition(".")[0]
    if name.endswith("_") and not name.endswith("__") and args:
        return args[0]
    if kwargs and kwargs.get("out") is not None:
        return kwargs["out"]
    return out


UPCALLS.update(torch_dispatch=_answer, detach=_detach, local_scalar=_local_scalar, dispatched_make=_make)
