"""Whether operations are recorded: `no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode`.

The flags live in the compiled core, one set per thread; here are the ways to say them: as a context manager,
and as a decorator of functions and generator functions, which then enter a fresh copy of the mode at every call.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import TYPE_CHECKING, cast, overload

from claygrad.core import prefix
from claygrad.core.decorated import decorated
from claygrad.core.graph.modes import (
    SwitchOff,
    SwitchOn,
    get_grad_enabled,
    get_inference,
    set_grad_enabled_flag,
    set_inference_flag,
    use_native_new,
)
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, Self, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def is_grad_enabled() -> bool:
    """True if operations are being recorded in this thread."""
    return get_grad_enabled()


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode`."""
    return get_inference()


class _Mode:
    """A context manager that decorates functions too."""

    if TYPE_CHECKING:

        def __enter__(self) -> None: ...
        def __exit__(self, *error: object) -> None: ...

    def __call__(self, orig_func: F) -> F:
        from inspect import isclass, isgeneratorfunction

        function: Any = orig_func
        if isclass(orig_func):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning
            )
            function = lambda *args, **kwargs: orig_func(*args, **kwargs)
        if isgeneratorfunction(function):
            return _decorated_generator(function, self.clone)

        return cast("F", decorated(function, self.clone))

    def clone(self) -> Self:
        """A mode like this one, not entered."""
        return type(self)()


def _decorated_generator(function: Callable[..., Generator], mode: Callable[[], _Mode]) -> Any:
    """The generator function with `mode` in force while its own body runs, and only then."""

    @wraps(function)
    def resumed(*args: Any, **kwargs: Any) -> Generator:
        body = function(*args, **kwargs)
        resume: Callable[[Any], Any] = body.send
        message: Any = None
        while True:
            try:
                with mode():
                    produced = resume(message)
            except StopIteration as end:
                return end.value
            try:
                message = yield produced
                resume = body.send
            except GeneratorExit:
                with mode():
                    body.close()
                raise
            except BaseException as error:  # whatever it is, the body decides what to do
                message, resume = error, body.throw

    return resumed


class _BareMode(_Mode):
    """A mode without arguments: `@no_grad` decorates as well as `@no_grad()` does."""

    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]

    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


@use_native_new
class no_grad(_BareMode, SwitchOff):
    """Nothing is recorded inside: results do not require grad, whatever their inputs do.

    >>> x = claygrad.ones(2, requires_grad=True)
    >>> with claygrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """


@use_native_new
class enable_grad(_BareMode, SwitchOn):
    """Recording is on inside, also within `no_grad` (but not within `inference_mode`)."""


class set_grad_enabled(_Mode):
    """Turns recording on or off, at once as a plain call; as a context manager until the block ends."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            kind = type(mode).__name__
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {kind}")
        self.prev = get_grad_enabled()
        self.mode = mode
        set_grad_enabled_flag(mode)

    def __call__(self, orig_func: F) -> F:
        set_grad_enabled_flag(self.prev)  # a decorator says what happens in the function, not from here on
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        set_grad_enabled_flag(self.mode)

    def __exit__(self, *error: object) -> None:
        set_grad_enabled_flag(self.prev)

    def __repr__(self) -> str:
        return f"{prefix()}.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def clone(self) -> Self:
        return type(self)(self.mode)


class inference_mode(_Mode):
    """As `no_grad`, and results made inside can never become part of a graph, which saves their bookkeeping.

    `inference_mode(False)` switches back to ordinary recording inside such a block.
    """

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.prev = (False, True)

    def __enter__(self) -> None:
        self.prev = get_inference(), get_grad_enabled()
        set_inference_flag(self.mode)
        set_grad_enabled_flag(not self.mode)

    def __exit__(self, *error: object) -> None:
        inference, grad = self.prev
        set_inference_flag(inference)
        set_grad_enabled_flag(grad)

    def clone(self) -> Self:
        return type(self)(self.mode)


_threads = threading.local()


def is_multithreading_enabled() -> bool:
    """Whether backward may use threads of devices; see `set_multithreading_enabled`."""
    return getattr(_threads, "enabled", True)


class set_multithreading_enabled(_Mode):
    """Whether backward may use a thread per device, at once as a plain call; as a context manager until the block ends.

    It is a wish about accelerators. On the CPU backward runs on the calling thread either way, as in PyTorch.
    """

    def __init__(self, mode: bool) -> None:
        self.prev = is_multithreading_enabled()
        self.mode = mode
        _threads.enabled = mode

    def __call__(self, orig_func: F) -> F:
        _threads.enabled = self.prev
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        """It was said already."""

    def __exit__(self, *error: object) -> None:
        _threads.enabled = self.prev

    def clone(self) -> Self:
        return type(self)(self.mode)
