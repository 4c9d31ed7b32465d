"""`torch._dynamo.utils`: nothing is compiled."""
from __future__ import annotations

import contextlib
import functools
from collections import Counter, defaultdict
from typing import Any

from claygrad.compat.refusing import always
from claygrad.core.user_warnings import warn

is_compile_supported = always(False)
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)      # what was compiled, and what was not: nothing
disable_cache_limit = contextlib.nullcontext


def maybe_enable_compiled_autograd(should_enable: bool, fullgraph: bool = True, dynamic: bool = True) -> Any:
    """A context in which gradients are computed as ever."""
    return contextlib.nullcontext()


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """A warning that is given once, at the line of the program."""
    warn(msg)
