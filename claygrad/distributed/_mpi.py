"""MPI, the engine of this package: mpi4py is loaded on first use, and said how to get where it is missing."""

from __future__ import annotations

import functools
import importlib.util
import multiprocessing
import os
import stat
from typing import Any

GET_MPI = (
    "  claygrad talks to other processes through MPI; get it by\n"
    "      pip install mpi4py mpich\n"
    "  or, where a cluster has its own MPI: pip install --no-binary mpi4py mpi4py\n"
    "  then start the program with: claygrad launch -n 4 program.py"
)
NOT_BUILT_IN = (
    "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on a "
    "host that has MPI installed.\n"
)

# What launchers of MPI libraries set to the number of ranks, and of this one: Hydra (MPICH, Intel), Open MPI.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")


@functools.cache
def is_there() -> bool:
    """Whether mpi4py is installed; it is not loaded for the answer."""
    return importlib.util.find_spec("mpi4py") is not None


@functools.cache
def load() -> Any:
    """The module mpi4py.MPI. Loading it starts MPI."""
    try:
        import mpi4py

        mpi4py.rc.finalize = False  # `_shutdown` ends MPI: a rank that leaves early must not hang in it
        from mpi4py import MPI
    except ImportError as wrong:
        raise RuntimeError(f"{NOT_BUILT_IN}  {type(wrong).__name__}: {wrong}\n{GET_MPI}") from None
    except RuntimeError as wrong:  # mpi4py is there and finds no libmpi
        raise RuntimeError(f"{NOT_BUILT_IN}  mpi4py finds no MPI library: {wrong}\n{GET_MPI}") from None
    return MPI


def _told(names: tuple[str, ...]) -> int | None:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


def launched_with() -> int | None:
    """How many ranks the launcher says it started; None where no launcher is known to have."""
    return _told(_SIZES)


def launched_as() -> int | None:
    """The number of this rank, by the launcher."""
    return _told(_RANKS)


def started_by_a_rank() -> bool:
    """Whether a rank started this process, of which MPI does not know. It has the environment of a rank, but not the
    socket to Hydra that the environment names."""
    if launched_with() is None:
        return False
    channel = os.environ.get("PMI_FD", "")
    return multiprocessing.parent_process() is not None or (channel.isdigit() and not _is_socket(int(channel)))


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False
