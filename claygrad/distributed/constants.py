"""`torch.distributed.constants`: how long processes wait for each other."""

from datetime import timedelta

from claygrad._lazy import lazy
from claygrad.distributed._group import default_pg_timeout

default_pg_nccl_timeout = timedelta(minutes=10)

__getattr__ = lazy(__name__)
__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]
