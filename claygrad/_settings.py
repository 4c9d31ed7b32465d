"""Settings of the whole process that programs read and set: determinism, precision of products, denormals, threads."""
from __future__ import annotations

import os

from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.dispatch import determinism as _determinism
from claygrad.core.python_api import flush_denormals
from claygrad.core.user_warnings import is_always, set_always, warn

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_matmul_precision = "highest"
_interop_threads: int | None = None
_MODES = ("default", "warn", "error")
attention_backends = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for operations that give the same bits every time, as claygrad's do anyway; refuse what PyTorch refuses."""
    if not isinstance(mode, bool):
        raise TypeError("_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
                        f"{type(mode).__name__}")
    if not isinstance(warn_only, bool):
        raise TypeError("_set_deterministic_algorithms(): argument 'warn_only' must be bool, not "
                        f"{type(warn_only).__name__}")
    _determinism.ask(mode, warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` said."""
    return _determinism.asked()[0]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` said of warnings."""
    return _determinism.asked()[1]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a number or a name: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                               f"{debug_mode}")
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` takes them."""
    deterministic, warn_only = _determinism.asked()
    return (1 if warn_only else 2) if deterministic else 0


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` said."""
    return _matmul_precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 in lower precision ("high", "medium"); claygrad computes them in full all the same."""
    global _matmul_precision
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in ("highest", "high", "medium"):
        warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
             "setFloat32MatmulPrecision call has no effect.", UserWarning)
        return
    _matmul_precision = precision


def set_flush_denormal(mode: bool) -> bool:
    """Let numbers too small for full precision count as 0, in this thread; False if the processor cannot."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return flush_denormals(mode)


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` said, or how many cores the process may use."""
    if _interop_threads is not None:
        return _interop_threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_interop_threads(num: int) -> None:
    """Only remembered: claygrad runs one operation at a time, on the threads of `set_num_threads`."""
    global _interop_threads
    if not isinstance(num, int):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if not -(1 << 63) <= num < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if _interop_threads is not None:
        raise RuntimeError("Error: cannot set number of interop threads after parallel work has started or "
                           "set_num_interop_threads called")
    _interop_threads = num


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` said."""
    return is_always()


def set_warn_always(b: bool) -> None:
    """Let warnings that are given once in a process be given every time; Python's filters decide what shows."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    set_always(b)

guard_package(__name__)          # Note [Entry points]
