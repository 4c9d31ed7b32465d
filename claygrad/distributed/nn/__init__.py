"""Collectives that gradients flow through."""

from claygrad._lazy import lazy
from claygrad.distributed.nn.functional import *  # noqa: F403
from claygrad.distributed.nn.functional import __all__ as __all__

__getattr__ = lazy(__name__, ("functional",))
