"""`torch.nn.parallel.distributed`: the class is in `claygrad.distributed`, which is loaded when it is asked for."""

from __future__ import annotations

from claygrad._lazy import lazy

__all__ = ["DistributedDataParallel"]

__getattr__ = lazy(__name__, names={"DistributedDataParallel": "distributed.data_parallel"})
