"""Functions that run in a context: what decorators such as `@no_grad()` make."""
from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    F = TypeVar("F", bound=Callable[..., Any])


def decorated(function: F, context: Callable[[], AbstractContextManager[Any]]) -> F:
    """A function that runs in a new context at every call. It leaves no frame in tracebacks."""

    @wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with context():
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                if error.__traceback__ is not None and os.environ.get("CLAYGRAD_TRACEBACK") != "full":
                    error.__traceback__ = error.__traceback__.tb_next
                raise

    return cast("F", inside)
