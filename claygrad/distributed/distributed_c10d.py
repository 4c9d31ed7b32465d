"""`torch.distributed.distributed_c10d`: where PyTorch keeps the functions of `torch.distributed`."""
from claygrad import distributed as _distributed
from claygrad._lazy import lazy
from claygrad.distributed import *  # noqa: F403
from claygrad.distributed import (  # noqa: F401
    _coalescing_manager,
    _get_default_group,
    _make_nccl_premul_sum,
    _rank_not_in_group,
)
from claygrad.distributed.constants import default_pg_nccl_timeout, default_pg_timeout  # noqa: F401
from claygrad.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore  # noqa: F401

_pg_map: dict = {}
_get_global_rank = _distributed.get_global_rank

__getattr__ = lazy(__name__)
