"""Groups of processes: how they begin and end, and what can be asked of them."""

from __future__ import annotations

import os
from collections import deque
from datetime import timedelta
from typing import Any, ClassVar

from claygrad.core import device as device_class
from claygrad.core import get_num_threads, set_num_threads
from claygrad.core.user_warnings import warn
from claygrad.distributed import _mpi, _shutdown, _work
from claygrad.multiprocessing import _spawn_module

default_pg_timeout = timedelta(minutes=30)
_UNINITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """Something went wrong in the engine."""


class DistNetworkError(DistError):
    """Something went wrong on the network."""


class DistStoreError(DistError):
    """Something went wrong in a store."""


class Backend(str):
    """Names of ways to communicate."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    default_device_backend_map: ClassVar = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend name must be a string, but got: {name}")
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Some of the processes, which communicate among themselves."""

    def __init__(self, comm: Any, ranks: list[int], backend: str, timeout: timedelta, name: str, desc: str) -> None:
        self.comm, self.checks, self.messages = comm, comm.Dup(), comm.Dup()
        self.ranks, self.timeout = ranks, timeout
        self.group_name, self.group_desc = name, desc
        self.turns: deque[_work.Collective] = deque()
        alike = sum(key[0] == tuple(ranks) for key in _work.tallies)
        self.key = (tuple(ranks), alike)  # the same on all its ranks
        self.tally = _work.tallies[self.key] = _work.Tally()
        self.compared = os.environ.get("CLAYGRAD_DISTRIBUTED_CHECK", "1") != "0"
        self._backend, self._size, self._rank = backend, comm.size, comm.rank

    def size(self) -> int:
        """How many processes."""
        return self._size

    def rank(self) -> int:
        """The number of this one among them."""
        return self._rank

    def name(self) -> str:
        """The name of the engine that was asked for."""
        return self._backend

    def _get_backend_name(self) -> str:
        return self._backend

    def __reduce__(self) -> Any:
        raise TypeError(
            "cannot pickle 'ProcessGroup' object\n  it belongs to this process; make a group in the other one"
        )

    def _free(self) -> None:
        for comm in (self.comm, self.checks, self.messages):
            comm.Free()

    def __getattr__(self, name: str) -> Any:
        """The collectives as methods, `group.barrier()`, of which programs use a few."""
        if name in ("barrier", "send", "recv"):
            from claygrad.distributed import collectives, messages

            function = getattr(collectives, name, None) or getattr(messages, name)
            return lambda *args, **kwargs: function(*args, group=self, **kwargs)
        raise AttributeError(f"'ProcessGroup' object has no attribute '{name}'")


_groups: list[ProcessGroup] = []
_made = 0


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None as long as there is none."""
        return _groups[0] if _groups else None


class group(metaclass=_WorldMeta):
    """Stands for the group of all processes."""


class GroupMember(metaclass=_WorldMeta):
    """Stands for the group of all processes, and for a group that this one is not in."""

    NON_GROUP_MEMBER = -100


def is_available() -> bool:
    """Whether several processes can work together here: whether mpi4py is installed."""
    return _mpi.is_there()


is_mpi_available = is_available


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return bool(_groups)


def is_backend_available(backend: str) -> bool:
    """Whether there is an engine of this name; Gloo is answered by MPI."""
    return backend.lower() in ("mpi", "gloo") and _mpi.is_there()


def is_gloo_available() -> bool:
    """Whether `init_process_group("gloo")` works: MPI stands in for it."""
    return _mpi.is_there()


def is_torchelastic_launched() -> bool:
    """Whether torchrun or `claygrad launch` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _check_valid_timeout(timeout: Any) -> None:
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")


def _engine(backend: str | None, rank: int) -> str:
    """The name of the engine asked for, if MPI can be it."""
    if backend is None:
        return "mpi"
    asked = str(Backend(backend))
    parts = dict(one.split(":") for one in asked.split(",")) if ":" in asked else {"cpu": asked}
    name = parts.get("cpu", "")
    if name in ("nccl", "ucc", "xccl"):
        raise RuntimeError(
            f"Distributed package doesn't have {name.upper()} built in\n"
            "  claygrad's engine is MPI: init_process_group('mpi')"
        )
    if name not in ("mpi", "gloo"):
        raise ValueError(
            f"Unknown c10d backend type {name.upper()}\n  claygrad's engine is MPI: init_process_group('mpi')"
        )
    if name == "gloo" and rank == 0:
        warn(
            "init_process_group('gloo'): MPI does the work of Gloo here, started by mpiexec or `claygrad launch`; "
            "stores and addresses are not used"
        )
    return name


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Begin: all processes that mpiexec or `claygrad launch` started are one group; a process of its own is one of one.

    `init_method` and `store` say in PyTorch where the processes find each other. MPI knows, so they are not used;
    `rank` and `world_size` are compared with MPI's.
    """
    if _groups:
        raise ValueError("trying to initialize the default process group twice!")
    if init_method is not None and store is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and (world_size <= 0 or rank < 0):
        raise AssertionError(
            "world_size must be positive if using store"
            if world_size <= 0
            else "rank must be non-negative if using store"
        )
    if init_method is not None and init_method.partition("://")[0] not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {init_method.partition('://')[0]}://")
    if pg_options is not None:
        raise NotImplementedError("pg_options belong to NCCL\n  leave them out: the engine is MPI, which has none")
    if _ranks is not None:
        raise NotImplementedError("_ranks is private to PyTorch\n  use new_group(ranks)")
    if timeout is not None:
        _check_valid_timeout(timeout)
    if _mpi.started_by_a_rank():
        raise RuntimeError(
            "init_process_group: MPI does not know of this process: a rank started it\n"
            "  the ranks are the processes that `claygrad launch` or mpiexec started; the function that is to run\n"
            f"  in each is called there, or given to torch.multiprocessing.spawn(…, nprocs={_mpi.launched_with()})\n"
            "  before any group is made"
        )
    MPI = _mpi.load()
    world = MPI.COMM_WORLD
    _compare_with_environment(world, world_size, rank)
    name = _engine(backend, world.rank)
    _shutdown.install(world)
    _divide_threads(MPI, world)
    _add(world.Dup(), list(range(world.size)), name, timeout or default_pg_timeout, group_name or "0", "default_pg")


def _compare_with_environment(world: Any, size: int, rank: int) -> None:
    """Refuse to be one process of one where the program was meant to be one of many."""
    started = _mpi.launched_with()
    told = [("world_size", size)] if size > 0 else [("WORLD_SIZE", int(os.environ.get("WORLD_SIZE", "-1")))]
    for name, value in [*told, ("the launcher's number of ranks", started or -1)]:
        if value > 0 and value != world.size:
            raise RuntimeError(
                f"{name} is {value}, but MPI has {world.size} process{'es' if world.size > 1 else ''}\n"
                "  claygrad's processes find each other through MPI: start them with\n"
                f"      claygrad launch -n {value} program.py      or      mpiexec -n {value} python program.py\n"
                "  there torch.multiprocessing.spawn calls its function in these ranks. Processes that a program\n"
                "  starts by itself, or an mpiexec of another MPI than mpi4py's, are not known to MPI"
            )
    if rank >= 0 and rank != world.rank:
        raise RuntimeError(
            f"rank is {rank}, but MPI's is {world.rank}\n  leave it out, or pass the RANK of the environment"
        )


def _spawned_here(fn: Any, args: tuple[Any, ...], nprocs: int) -> bool:
    """Where a launcher has started `nprocs` ranks and they are no group yet, these are the processes that a program
    spawns: each makes the call with its own number. Of others MPI would not know."""
    if nprocs != _mpi.launched_with() or _mpi.started_by_a_rank() or _groups:
        return False
    fn(_mpi.launched_as(), *args)
    if _groups:  # a process of its own would have ended here, and its groups
        destroy_process_group()
    return True


_spawn_module.in_ranks = _spawned_here


def _divide_threads(MPI: Any, world: Any) -> None:
    """Share the processors among the ranks of this host, unless the user said how many threads there are to be."""
    local = world.Split_type(MPI.COMM_TYPE_SHARED)
    told = os.environ.get("OMP_NUM_THREADS", "")
    if os.environ.get("CLAYGRAD_NUM_THREADS"):
        pass                                     # read when claygrad is imported
    elif told.isdecimal() and int(told):
        set_num_threads(int(told))
    elif local.size > 1:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        each, more = divmod(cores, local.size)
        set_num_threads(max(1, min(get_num_threads(), each + (local.rank < more))))
    local.Free()


def _add(comm: Any, ranks: list[int], backend: str, timeout: timedelta, name: str, desc: str) -> ProcessGroup:
    global _made
    out = ProcessGroup(comm, ranks, backend, timeout, name, desc)
    _groups.append(out)
    _made += 1
    return out


def destroy_process_group(group: Any = None) -> None:
    """End a group, or with None or the group of all, every group."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    one = GroupMember.WORLD if group is None else group
    if one is None:
        raise AssertionError("Process group cannot be None")
    if one not in _groups:
        raise ValueError("Invalid process group specified")
    for ended in list(reversed(_groups)) if one is _groups[0] else [one]:
        for work in list(ended.turns):
            work.wait()
        _groups.remove(ended)
        ended._free()


def _get_default_group() -> ProcessGroup:
    if not _groups:
        raise ValueError(
            f"{_UNINITIALIZED}\n  start with: claygrad launch -n 2 program.py; a process of its own needs the call too"
        )
    return _groups[0]


def of(group: Any) -> ProcessGroup:
    """A group, or that of all where none is given."""
    if group is None:
        return _get_default_group()
    if group not in _groups:
        _get_default_group()
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    found: ProcessGroup = group
    return found


def not_in(group: Any) -> bool:
    """Whether this process is not in a group."""
    return group is not None and group == GroupMember.NON_GROUP_MEMBER


_rank_not_in_group = not_in


def skipped(group: Any, name: str) -> bool:
    """Warn, and say True, where this process is not in the group."""
    if not_in(group):
        warn(f"Running {name} on global rank {get_rank()} which does not belong to the given group.")
        return True
    return False


def get_rank(group: Any = None) -> int:
    """The number of this process in a group; -1 if it is not in it."""
    return -1 if not_in(group) else of(group).rank()


def get_world_size(group: Any = None) -> int:
    """The number of processes in a group; -1 if this one is not in it."""
    return -1 if not_in(group) else of(group).size()


def get_backend(group: Any = None) -> Backend:
    """The name of the engine that was asked for."""
    if not_in(group):
        raise ValueError("Invalid process group specified")
    return Backend(of(group).name())


def get_backend_config(group: Any = None) -> str:
    """The engine of each device."""
    name = of(group).name()
    return f"cpu:{name}"


def get_default_backend_for_device(device: Any) -> str:
    """The engine that PyTorch takes for a device."""
    kind = device.type if isinstance(device, device_class) else device_class(device).type
    found = Backend.default_device_backend_map.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return str(found)


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks in a group by their numbers among all."""
    return list(of(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of a rank."""
    held = of(group)
    if held is _groups[0]:
        return global_rank
    if global_rank not in held.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return held.ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number among all of a rank of a group."""
    held = of(group)
    if held is _groups[0]:
        return group_rank
    if not 0 <= group_rank < held.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return held.ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process among those of its host."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to "
        "work, assuming you are not running in a multi-device context and want the code to run locally "
        "instead."
    )


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_groups)


def new_group(
    ranks: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks. All ranks call this, those outside too, who get `GroupMember.NON_GROUP_MEMBER`; with
    `use_local_synchronization` only its members do."""
    world = _get_default_group()
    if timeout is not None:
        _check_valid_timeout(timeout)
    if pg_options is not None:
        raise NotImplementedError("pg_options belong to NCCL\n  leave them out: the engine is MPI, which has none")
    name = world.name() if backend is None else _engine(backend, -1)
    if ranks is None:
        chosen = list(range(world.size()))
    else:
        chosen = sorted(ranks) if sort_ranks else list(ranks)
        if len(set(chosen)) != len(chosen):
            raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
        if len(chosen) > world.size():
            raise ValueError(
                "the new group's world size should be less or equal to the world size set by init_process_group"
            )
        for rank in chosen:
            if not 0 <= rank < world.size():
                raise ValueError(
                    f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})"
                )
    there = world.rank() in chosen
    if use_local_synchronization:
        if not there:
            return None
        comm = world.comm.Create_group(world.comm.Get_group().Incl(chosen), tag=hash(tuple(chosen)) % 30000)
    else:
        comm = world.comm.Split(0 if there else _mpi.load().UNDEFINED, chosen.index(world.rank()) if there else 0)
    if not there:
        return GroupMember.NON_GROUP_MEMBER
    return _add(comm, chosen, name, timeout or default_pg_timeout, str(_made), group_desc or "undefined")


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Any,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of these ranks; the one that this rank is in, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    mine, out = None, []
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in more than one subgroup")
            seen.add(rank)
        out.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        if get_rank() in ranks:
            mine = out[-1]
    return mine, out


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours; the one that this rank is in, and all."""
    if group_size is None:
        raise ValueError(
            "Default group size only takes effect when CUDA is available.If your subgroup using a backend that does "
            "not depend on CUDA,please pass in 'group_size' correctly."
        )
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    size = get_world_size()
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    return new_subgroups_by_enumeration(
        [list(range(at, at + group_size)) for at in range(0, size, group_size)],
        timeout,
        backend,
        pg_options,
        group_desc,
    )


def root_of(held: ProcessGroup, global_rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The number in its group of a rank that is given by one of two numbers."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        found = group_rank
    elif global_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        found = get_group_rank(held, default)
    else:
        found = get_group_rank(held, global_rank)
    if not 0 <= found < held.size():
        raise ValueError(
            f"Rank {found} is out of range. Valid ranks are 0 to {held.size() - 1} (world_size={held.size()})"
        )
    return found
