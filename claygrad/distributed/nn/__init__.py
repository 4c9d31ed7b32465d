"""Collectives that gradients flow through."""

from claygrad._late import late
from claygrad.distributed.nn.functional import *  # noqa: F403
from claygrad.distributed.nn.functional import __all__ as __all__

__getattr__ = late(__name__, ("functional",))
