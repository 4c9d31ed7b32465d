"""Ways to train on several ranks that are built of collectives."""

from claygrad._lazy import lazy
from claygrad.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
__getattr__ = lazy(__name__, ("_checkpoint", "ddp_comm_hooks"))
