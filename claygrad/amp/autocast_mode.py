"""Autocast: operations choose the dtype they compute in."""
from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from claygrad.amp._lists import FULL, KEPT, LOWER, WIDEST
from claygrad.core import UPCALLS, Tensor, bfloat16, device, float16, float32, float64, prefix, promote_types
from claygrad.core import dtype as dtype_class
from claygrad.core.decorated import decorated
from claygrad.core.graph.modes import set_autocast_flag
from claygrad.core.graph.reentrant import carry
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from claygrad.core import dtype

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

# Devices that autocast knows in PyTorch; here the CPU computes, the others remember what was set.
_DEVICES = ("cpu", "cuda", "xpu", "hpu", "mps", "xla", "ipu", "mtia", "maia", "privateuseone")


class _State(threading.local):
    """Of one thread."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, dtype] = {}
        self.cache_enabled = True
        self.nesting = 0
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}   # id of a weight: the weight, and it in lower precision


_state = _State()


def _settings_now() -> dict[str, Any]:
    return {"enabled": dict(_state.enabled), "dtypes": dict(_state.dtypes), "cache_enabled": _state.cache_enabled,
            "nesting": _state.nesting}


carry(_settings_now, lambda settings: _state.__dict__.update(settings))


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows the device."""
    return device(device_type).type in _DEVICES


def _known(device_type: Any, name: str) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"{name}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    if device(device_type).type not in _DEVICES:
        raise RuntimeError("unsupported scalarType")
    return device(device_type).type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for the device."""
    return _state.enabled.get(_known(device_type, "is_autocast_enabled"), False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast for a device; with one argument, for CUDA."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _state.enabled[_known(device_type, "set_autocast_enabled")] = bool(enabled)
    set_autocast_flag(_state.enabled.get("cpu", False))


def get_autocast_dtype(device_type: str) -> dtype:
    """The lower precision of the device."""
    where = _known(device_type, "get_autocast_dtype")
    return _state.dtypes.get(where, bfloat16 if where in ("cpu", "xla", "hpu") else float16)


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Choose the lower precision of a device."""
    if not isinstance(dtype, dtype_class):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be {prefix()}.dtype, not "
                        f"{type(dtype).__name__}")
    _state.dtypes[_known(device_type, "set_autocast_dtype")] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether weights are cast once per block and not once per use."""
    return _state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch the cache of weights in lower precision."""
    _state.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the weights in lower precision."""
    _state.cache.clear()


def autocast_increment_nesting() -> int:
    """One block deeper."""
    _state.nesting += 1
    return _state.nesting


def autocast_decrement_nesting() -> int:
    """One block out."""
    _state.nesting -= 1
    return _state.nesting


def _deprecated(name: str, instead: str) -> None:
    warn(f"{prefix()}.{name} is deprecated. Please use {prefix()}.{instead} instead.", DeprecationWarning)


def get_autocast_cpu_dtype() -> dtype:
    """The lower precision of the CPU, by its old name."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Choose the lower precision of the CPU, by its old name."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU, by its old name."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switch autocast for the CPU, by its old name."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


# What an operation gets

def _cast_arguments(name: str, arguments: list[Any]) -> list[Any] | None:
    """The arguments in the dtype that the operation computes in; None if they stay as they are."""
    if name in LOWER:
        target = get_autocast_dtype("cpu")
    elif name in FULL or (name == "_pad_enum" and _pads_in_full(*arguments[1:3])):
        target = float32
    elif name in KEPT:
        return arguments
    elif name in WIDEST:
        target = _widest(arguments, get_autocast_dtype("cpu"))
    else:
        return None
    return [_as(argument, target) for argument in arguments]


def _pads_in_full(pad: Any, mode: str) -> bool:
    return mode == "replicate" or (mode == "reflect" and len(pad) < 6)


def _eligible(x: Tensor) -> bool:
    return x.is_floating_point() and x.dtype is not float64 and x.device.type == "cpu"


def _as(value: Any, target: dtype) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(entry, Tensor) for entry in value):
        return type(value)(_as(entry, target) for entry in value)
    if not isinstance(value, Tensor) or value.dtype is target or not _eligible(value):
        return value
    weight = (target is not float32 and value.dtype is float32 and value.requires_grad and value.is_leaf
              and _state.cache_enabled and _state.nesting > 0)
    if not weight:
        return value.to(target)
    known = _state.cache.get(id(value))
    if known is None or known[1].dtype is not target:
        known = _state.cache[id(value)] = (value, value.to(target))
    return known[1]


def _widest(arguments: list[Any], lowest: dtype) -> dtype:
    target = lowest
    for argument in arguments:
        for x in argument if isinstance(argument, (list, tuple)) else (argument,):
            if isinstance(x, Tensor) and _eligible(x):
                if x.dtype not in (lowest, float32):
                    raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
                target = promote_types(target, x.dtype)
    return target


UPCALLS["autocast"] = _cast_arguments


# Contexts

class autocast:
    """Here, or in a function so decorated, products compute in lower precision, and what needs more in float32.

    >>> with claygrad.autocast("cpu"):
    ...     (claygrad.ones(2, 2) @ claygrad.ones(2, 2)).dtype
    claygrad.bfloat16
    """

    def __init__(self, device_type: str, dtype: dtype | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            enabled = False
        elif enabled and self.fast_dtype not in (bfloat16, float16):
            name = device_type.upper()
            warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} "
                 "Autocast "
                 f"only supports dtypes of {bfloat16}, {float16} currently.")
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        self.prev_cache_enabled = is_autocast_cache_enabled()
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *exc: object) -> None:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_autocast_enabled(self.device, self.prev)
        set_autocast_dtype(self.device, self.prev_fastdtype)
        set_autocast_cache_enabled(self.prev_cache_enabled)

    def __call__(self, func: F) -> F:
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to "
                            "use autocast "
                            f"as a context manager? For example:\n    with {prefix()}.autocast(device_type=...):\n"
                            "        output = model(input)")
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: F) -> F:
    """The function in that context."""
    return decorated(func, lambda: autocast_instance)


# Custom functions

def _cast(value: Any, device_type: str, dtype: dtype) -> Any:
    """Tensors in the value, nested as they may be, in that dtype."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes, numpy.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        entries = (_cast(v, device_type, dtype) for v in value)
        out: Any = type(value)
        return out(entries) if isinstance(value, (list, tuple)) else entries
    return value


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None) -> Any:
    """Decorates `forward` of a Function: it runs under autocast, or, with cast_inputs, without it in that dtype."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    function = fwd

    @functools.wraps(function)
    def forward(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return function(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return function(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates `backward` of a custom Function: it runs under autocast if `forward` did."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    function = bwd

    @functools.wraps(function)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return function(*args, **kwargs)

    return backward
