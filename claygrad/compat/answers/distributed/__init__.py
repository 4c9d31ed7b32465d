"""`torch.distributed` of one process without a group: questions are answered, communication is refused."""
from __future__ import annotations

import os
from typing import Any, ClassVar

from claygrad.compat.refusing import always

is_available = is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = always(False)
is_ucc_available = is_xccl_available = is_backend_available = always(False)
supports_complex = always(True)


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _no_group(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.\n"
                     "  claygrad runs in one process;\n"
                     "  instead: leave communication out, or share the work with joblib or Dask")


get_rank = get_world_size = get_backend = barrier = all_reduce = all_gather = broadcast = reduce = scatter = _no_group
all_gather_object = broadcast_object_list = gather_object = scatter_object_list = all_to_all = send = recv = _no_group
all_gather_into_tensor = reduce_scatter = reduce_scatter_tensor = all_to_all_single = isend = irecv = _no_group
new_group = gather = monitored_barrier = get_process_group_ranks = get_global_rank = get_group_rank = _no_group


def destroy_process_group(group: Any = None) -> None:
    """Refused as in PyTorch: there is no group."""
    raise AssertionError("Process group cannot be None")


class group:
    """Stands for the group of all processes, None as long as there is none."""

    WORLD = None


class GroupMember:
    """Stands for the group of all processes, None as long as there is none."""

    WORLD = None
    NON_GROUP_MEMBER = -100


class Backend(str):
    """Names of ways to communicate."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    default_device_backend_map: ClassVar = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend name must be a string, but got: {name}")
        return super().__new__(cls, name.lower())
