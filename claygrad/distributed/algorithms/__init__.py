"""Ways to train on several ranks that are built of collectives."""

from claygrad._late import late
from claygrad.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
__getattr__ = late(__name__, ("ddp_comm_hooks",))
