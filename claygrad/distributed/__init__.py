"""Several processes that work together, through MPI. The names are `torch.distributed`'s: docs/distributed.md."""

from __future__ import annotations

from claygrad._lazy import lazy
from claygrad.core.cpython.entry_points import guard_package
from claygrad.distributed._group import (
    Backend,
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    GroupMember,
    ProcessGroup,
    _get_default_group,
    _rank_not_in_group,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_torchelastic_launched,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from claygrad.distributed._reduce import ReduceOp, _make_nccl_premul_sum, supports_complex
from claygrad.distributed._work import Work
from claygrad.distributed.coalesced import _coalescing_manager, all_gather_coalesced, all_reduce_coalesced
from claygrad.distributed.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from claygrad.distributed.messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from claygrad.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)

_all_gather_base, _reduce_scatter_base = all_gather_single, reduce_scatter_single


def is_nccl_available() -> bool:
    """Whether NCCL is there: no, the engine is MPI."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available

_modules = ("algorithms", "checkpoint", "constants", "device_mesh", "distributed_c10d", "fsdp", "nn", "optim", "run")
__all__ = [
    name
    for name in dir()
    if not name.startswith("_")
    and name not in ("annotations", "coalesced", "late", "guard_package", "collectives", "messages", "objects")
]
_names = {
    "GradBucket": "distributed._buckets",
    "DeviceMesh": "distributed.device_mesh",
    "init_device_mesh": "distributed.device_mesh",
    **dict.fromkeys(("FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"), "distributed.stores"),
}
__getattr__ = lazy(__name__, _modules, _names)
guard_package(__name__)
