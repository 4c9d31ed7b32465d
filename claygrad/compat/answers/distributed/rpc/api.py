"""`torch.distributed.rpc.api`: functions for other processes, which are never there."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is refused until processes are connected, which does not happen here."""

    @functools.wraps(func)
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")

    return refuse
