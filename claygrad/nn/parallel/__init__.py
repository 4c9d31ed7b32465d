"""`torch.nn.parallel`: a module on several processes; there are no GPUs to spread over in one."""

from __future__ import annotations

from claygrad._lazy import lazy
from claygrad.nn.parallel.data_parallel import DataParallel, data_parallel
from claygrad.nn.parallel.parallel_apply import parallel_apply
from claygrad.nn.parallel.replicate import replicate
from claygrad.nn.parallel.scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]

__getattr__ = lazy(__name__, ("distributed",), {"DistributedDataParallel": "distributed.data_parallel"})
