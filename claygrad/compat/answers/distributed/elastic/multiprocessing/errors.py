"""`torch.distributed.elastic.multiprocessing.errors`: what programs that torchrun starts put around their `main`."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """The function, with its errors told to the handler, should one be given. The launcher reports them in any case."""

    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if error_handler is not None:
            error_handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as ended:
            if ended.code == 0:
                return None
            raise
        except Exception as error:
            if error_handler is not None:
                error_handler.record_exception(error)
            raise

    return recorded
