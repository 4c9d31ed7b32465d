"""`torch.multiprocessing`: Python's multiprocessing; tensors cross between processes in shared memory, not copied.

What one process writes to a tensor that it sent or received, the others see. Storages move to shared memory when they
are sent, or before, by `share_memory_()`. The memory is freed when the last process lets go of it.
"""
from __future__ import annotations

import multiprocessing
import multiprocessing.connection          # as PyTorch does: programs find it there
from multiprocessing import *  # noqa: F403

from claygrad.core.cpython.entry_points import guard_package
from claygrad.core import shared_memory as sharing
from claygrad.multiprocessing import reductions, spawn as _spawn_module
from claygrad.multiprocessing.reductions import init_reductions
from claygrad.multiprocessing.spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    _prctl_pr_set_pdeathsig,
    spawn,
    start_processes,
)

__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__all__ += multiprocessing.__all__


def get_all_sharing_strategies() -> set[str]:
    """How memory can be shared on this system."""
    return set(sharing.STRATEGIES)


def get_sharing_strategy() -> str:
    """How memory that is shared from now on is made."""
    return sharing.strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory that is shared from now on is made: "file_descriptor" (each shared storage keeps a descriptor
    open, and nothing is left behind whatever is killed) or "file_system" (by names of files, which outlive the sender).
    """
    sharing.set_strategy(new_strategy)


def _set_thread_name(name: str) -> None:
    """Name the thread for tools such as `top`; at most 15 letters count."""
    _spawn_module.prctl(15, name.encode()[:15] + b"\0")


def _get_thread_name() -> str:
    """The name of the thread that tools such as `top` show."""
    import ctypes
    name = ctypes.create_string_buffer(16)
    _spawn_module.prctl(16, name)
    return name.value.decode()


init_reductions()

guard_package(__name__)          # Note [Entry points]
