"""`torch.nn.parallel.distributed`: the class is in `claygrad.distributed`, which is loaded when it is asked for."""

from __future__ import annotations

from claygrad._late import late

__all__ = ["DistributedDataParallel"]

__getattr__ = late(__name__, names={"DistributedDataParallel": "distributed.data_parallel"})
