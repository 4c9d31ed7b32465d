"""`torch.utils._contextlib`: contexts that decorate functions, which other packages subclass."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from claygrad.core.decorated import decorated


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function inside a context: `ctx` makes a new one for each call. Generators are in it whenever they run."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), "
                             "making it ambiguous which interface to use.  If you intended to pass a context manager "
                             "factory, rewrite your call as context_decorator(lambda: ctx()); if you intended to pass "
                             "a context manager directly, rewrite your call as context_decorator(lambda: ctx)")
    factory = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor or all "
                           "methods should have the context manager applied; additionally, decorating a class at "
                           "definition-site will prevent use of the identifier as a conventional type.  To specify "
                           "which methods to decorate, decorate each of them individually.")
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(factory, func)

    return decorated(func, factory)


def _wrap_generator(ctx_factory: Callable[[], Any], func: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function whose generators run in the context, and wait outside of it."""

    @functools.wraps(func)
    def resumed(*args: Any, **kwargs: Any) -> Any:
        made = func(*args, **kwargs)
        send, value = made.send, None
        try:
            while True:
                with ctx_factory():
                    given = send(value)
                try:
                    value = yield given
                    send = made.send
                except GeneratorExit:
                    with ctx_factory():
                        made.close()
                    raise
                except BaseException as error:
                    send, value = made.throw, error
        except StopIteration as done:
            return done.value

    return resumed


class _DecoratorContextManager:
    """A context that can decorate functions; each call enters a clone."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """One more of it; classes with arguments override this."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without arguments, which decorates without brackets too."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
