"""What a forked child does first."""
import os
from collections.abc import Callable


def _register(func: Callable[[], None]) -> None:
    os.register_at_fork(after_in_child=func)


register_after_fork = _register
