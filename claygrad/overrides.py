"""`torch.overrides`: who else may answer a call. `__torch_function__` of arguments, and function modes.

`DisableTorchFunctionSubclass`, `DisableTorchFunction` and `_disabled_torch_function_impl` are those of `torch._C`.
"""
from __future__ import annotations

import functools
import inspect
import sys
import types
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import enable_grad
from claygrad.core import Tensor
from claygrad.core.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    EnableTorchFunction,
    _disabled_torch_function_impl,
    hand,
    mode_is_active,
    mode_stack,
    overrides_are_on,
    overriding_of,
    pop_mode,
    push_mode,
    skip_one,
)
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["BaseTorchFunctionMode", "DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode",
           "_disabled_torch_function_impl", "enable_reentrant_dispatch", "get_default_nowrap_functions",
           "get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
           "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
           "is_tensor_method_or_property", "overrides_are_on", "redispatch_function", "resolve_name",
           "wrap_torch_function"]


# --- asking and handing over ----------------------------------------------------------------------------------------
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments, or an active function mode, answers calls by `__torch_function__`."""
    return overriding_of(relevant_args) is not None


def has_torch_function_unary(tensor: Any) -> bool:
    """The same for one argument."""
    return overriding_of((tensor,)) is not None


def has_torch_function_variadic(*args: Any) -> bool:
    """The same for several."""
    return overriding_of(args) is not None


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any,
                          **kwargs: Any) -> Any:
    """The answer of the arguments that override, or of the active function mode, to `public_api(*args, **kwargs)`.

    >>> def double(x):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(double, (x,), x)
    ...     return x + x
    """
    values = tuple(relevant_args)
    found = overriding_of(values)
    if found is None:
        raise TypeError(_nobody(public_api, ()))
    return hand(public_api, found, values, args, kwargs, _nobody)


def _nobody(function: Callable[..., Any], types: tuple[type, ...]) -> str:
    name = f"{getattr(function, '__module__', None)}.{getattr(function, '__name__', function)}"
    text = f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}"
    return f"{text} nor in mode {mode_stack()[-1]}" if mode_is_active() else text


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function overridable; `dispatcher` picks from its arguments those that are asked."""
    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)
        return wrapped
    return inner


def redispatch_function(func: Callable[..., Any], types: Any, args: tuple[Any, ...],
                        kwargs: dict[str, Any] | None) -> Any:
    """Run a function without asking for this call; the calls that it makes are asked for."""
    with EnableTorchFunction():
        skip_one()
        return func(*args, **(kwargs or {}))


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or of a class with `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# --- modes ----------------------------------------------------------------------------------------------------------
class TorchFunctionMode:
    """Answers every public function that is called inside `with mode:`.

    `__torch_function__(self, func, types, args, kwargs)` gets them; what it calls itself goes to the mode outside.

    >>> class Count(TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A new mode; `with cls():` is enough."""
        warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`")
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that runs every function as it is."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        return func(*args, **({} if kwargs is None else kwargs))


def _get_current_function_mode() -> Any:
    stack = mode_stack()
    return stack[-1] if stack else None


_get_current_function_mode_stack = mode_stack
_push_mode, _pop_mode = push_mode, pop_mode
_is_torch_function_mode_enabled = mode_is_active


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    mode = pop_mode()
    try:
        yield mode
    finally:
        push_mode(mode)


@contextmanager
def _enable_torch_function() -> Iterator[None]:
    with EnableTorchFunction():
        yield


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Inside a `__torch_dispatch__`, where operations are not recorded: let them be."""
    with enable_grad():
        yield


# --- what can be overridden -----------------------------------------------------------------------------------------
_IGNORED = """
    typename is_tensor is_storage set_default_tensor_type set_default_device get_default_device set_rng_state
    get_rng_state manual_seed initial_seed seed save load set_printoptions compile set_default_dtype get_default_dtype
    is_grad_enabled set_grad_enabled is_inference_mode_enabled no_grad enable_grad inference_mode get_num_threads
    set_num_threads get_num_interop_threads set_num_interop_threads set_flush_denormal use_deterministic_algorithms
    are_deterministic_algorithms_enabled get_deterministic_debug_mode set_deterministic_debug_mode
    is_deterministic_algorithms_warn_only_enabled get_float32_matmul_precision set_float32_matmul_precision
    is_warn_always_enabled set_warn_always finfo iinfo result_type promote_types can_cast as_tensor from_numpy tensor
    zeros ones empty full eye arange range linspace logspace rand randn randint randperm scalar_tensor tril_indices
    triu_indices frombuffer asarray from_file from_dlpack to_dlpack bartlett_window blackman_window hamming_window
    hann_window kaiser_window empty_permuted empty_strided broadcast_shapes as_torch device dtype
    """.split()
_IGNORED_METHODS = """
    __delitem__ __dir__ __init__ __new__ __prepare_scriptable__ __iter__ __setstate__ __torch_function__
    __torch_dispatch__ __getattribute__ __setattr__ __delattr__ __init_subclass__ __subclasshook__ __hash__
    _make_subclass _make_wrapper_subclass as_subclass to_sparse_coo storage_type solve symeig eig lstsq map_ map2_
    origin reinforce new new_tensor __dict__ __class__ __reduce__ __sizeof__ __getstate__ __str__ __doc__ __module__
    """.split()


def _package() -> Any:
    return sys.modules["claygrad"]          # which is above this module, and loaded before it


def _spaces() -> list[tuple[str, Any, list[str]]]:
    from claygrad import fft, linalg, special
    from claygrad.nn import functional, init
    from claygrad.ops._registry import NAMESPACES
    return [("torch", _package(), sorted(NAMESPACES["torch"])),
            ("torch.nn.functional", functional, sorted(NAMESPACES["nn.functional"])),
            ("torch.nn.init", init, [name for name in dir(init) if callable(getattr(init, name))]),
            ("torch.Tensor", Tensor, dir(Tensor)),
            *((f"torch.{name}", space, sorted(NAMESPACES[name]))
              for name, space in (("linalg", linalg), ("fft", fft), ("special", special)))]


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that `__torch_function__` of an argument cannot override."""
    found = [getattr(_package(), name, None) for name in _IGNORED]
    found += [getattr(Tensor, name, None) for name in _IGNORED_METHODS]
    return {x for x in found if callable(x)}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Attributes whose value keeps its class when a subclass of Tensor is asked for it."""
    return {Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__}


@functools.cache
def _overridable() -> tuple[dict[Any, list[Callable[..., Any]]], dict[Any, str]]:
    """The functions of each namespace, and the names of all."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    names: dict[Any, str] = {}
    ignored = get_ignored_functions()
    for path, space, entries in _spaces():
        for entry in entries:
            value = inspect.getattr_static(space, entry, None) if space is Tensor else getattr(space, entry, None)
            if isinstance(value, (staticmethod, classmethod)):
                value = getattr(space, entry)
            if value is None or isinstance(value, (types.ModuleType, type)) or getattr(object, entry, None) is value:
                continue
            private = space is not Tensor and (entry.startswith("_") or entry.endswith("_"))
            if not callable(value):
                if not hasattr(value, "__get__"):
                    continue
                names[value.__get__] = f"{path}.{entry}.__get__"
                names[value.__set__] = f"{path}.{entry}.__set__"
                if entry not in _IGNORED_METHODS:
                    found.setdefault(value, []).append(value.__get__)
                continue
            names.setdefault(value, f"{path}.{entry}")
            if not private and value not in ignored and (space is not Tensor or entry not in _IGNORED_METHODS):
                found.setdefault(space, []).append(value)
    return found, names


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that `__torch_function__` can override, by the namespace that has them."""
    return _overridable()[0]


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For every function that can be overridden, one with the same parameters that returns -1."""
    return {function: _stand_in(function) for functions in get_overridable_functions().values()
            for function in functions}


def _stand_in(function: Callable[..., Any]) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1
    if getattr(function, "__name__", "") == "__get__":
        stand_in.__signature__ = inspect.Signature([_SELF])  # type: ignore[attr-defined]
        return stand_in
    with suppress(ValueError, TypeError):       # where it says nothing of its parameters, any are taken
        stand_in.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return stand_in


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function that `__torch_function__` was given, such as `torch.Tensor.T.__get__`."""
    return _overridable()[1].get(f)


@functools.cache
def _methods() -> set[Callable[..., Any]]:
    return set(get_overridable_functions()[Tensor])


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function that `__torch_function__` was given is a method or an attribute of Tensor."""
    return func in _methods() or getattr(func, "__name__", "") == "__get__"
