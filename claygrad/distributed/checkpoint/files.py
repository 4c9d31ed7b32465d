"""`save` and `load`: a folder with one file for each rank and an index.

Note [Whole or not at all]
Ranks write into a folder beside the target. When all have, the index is written, and the folder takes the target's
place by a rename. So a checkpoint is there whole, or the former one still is: also if a rank is killed while it
writes. Between the two renames of a replacement the former one is `<target>.former`, and `load` finds it there.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import glob
import os
import pickle
import shutil
import time
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor
from claygrad.distributed._group import default_pg_timeout, is_initialized, of
from claygrad.distributed.checkpoint.shards import FlatShard
from claygrad.distributed.objects import exchanged, sent_to_all
from claygrad.serialization import load as load_file
from claygrad.serialization import save as save_file

INDEX = "index.pkl"
FORMAT = 1


def _flatten(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """The leaves of nested dicts and lists, by their paths; of rows of a sharded tensor, as parts of it."""
    if hasattr(value, "as_shard"):
        return {path: value.as_shard()}
    if isinstance(value, dict):
        return {key: leaf for name, inner in value.items() for key, leaf in _flatten(inner, (*path, name)).items()}
    if isinstance(value, list) and any(isinstance(one, (Tensor, dict, list, FlatShard)) for one in value):
        return {key: leaf for at, inner in enumerate(value) for key, leaf in _flatten(inner, (*path, at)).items()}
    return {path: value}


def _key(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


class _Ranks:
    """The ranks that save or load together; one alone where there is no group."""

    def __init__(self, group: Any, alone: bool) -> None:
        self.group = None if alone or not is_initialized() else of(group)
        self.size = 1 if self.group is None else self.group.size()
        self.rank = 0 if self.group is None else self.group.rank()

    def exchange(self, value: Any) -> list[Any]:
        return [value] if self.group is None else exchanged(self.group, value)

    def tell(self, value: Any) -> Any:
        return value if self.group is None else sent_to_all(self.group, value, 0)


def _folder(checkpoint_id: Any, storage: Any, planner: Any) -> Path:
    """The folder that is meant, by its name or by a reader or writer of it."""
    if planner is not None:
        raise NotImplementedError("distributed.checkpoint: planner is not there\n  leave it out")
    if storage is not None and not isinstance(storage, (FileSystemReader, FileSystemWriter)):
        raise NotImplementedError(
            f"distributed.checkpoint: {type(storage).__name__} is not there\n  say checkpoint_id, a folder"
        )
    found = checkpoint_id if checkpoint_id is not None else None if storage is None else storage.path
    if found is None:
        raise ValueError("checkpoint_id: a folder is wanted")
    return Path(found)


class FileSystemWriter:
    """A folder to write a checkpoint to. It is always written whole: the options say how PyTorch does that."""

    def __init__(
        self,
        path: Any,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        overwrite: bool = True,
    ) -> None:
        self.path = Path(path)
        if not overwrite and self.path.exists():
            raise RuntimeError(f"Checkpoint already exists and overwrite={overwrite}.")


class FileSystemReader:
    """A folder to read a checkpoint from."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)


def _opened(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state with the states of objects that have one in their places."""
    return {
        name: value.state_dict() if hasattr(value, "state_dict") and not isinstance(value, type) else value
        for name, value in state_dict.items()
    }


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Write a state into the folder `checkpoint_id`. All ranks call this; the folder is replaced when all have written.

    A tensor that all ranks have is written by one of them; of a `FlatShard` every rank writes its part.
    """
    plan = _planned(state_dict, _folder(checkpoint_id, storage_writer, planner), _Ranks(process_group, no_dist))
    plan.write()
    plan.ranks.exchange(None)
    if plan.ranks.rank == 0:
        plan.finish()
    plan.ranks.exchange(None)


class AsyncCheckpointerType(Enum):
    """What writes a checkpoint beside the program."""

    THREAD = "thread"
    PROCESS = "process"


_under_way: dict[str, concurrent.futures.Future[None]] = {}  # by folder, what is still being written


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> concurrent.futures.Future[None]:
    """Copy a state, and write it as `save` does while the program goes on. All ranks call this; the future is done when
    the checkpoint is in its place, with the work of all ranks.

    The threads that write talk through the folder, not through MPI, which the program may be using meanwhile.
    """
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise NotImplementedError("async_save: a process that writes is not there\n  leave out async_checkpointer_type")
    if async_stager is not None:
        raise NotImplementedError("async_save: async_stager is not there\n  leave it out")
    plan = _planned(state_dict, _folder(checkpoint_id, storage_writer, planner), _Ranks(process_group, no_dist))
    thread = concurrent.futures.ThreadPoolExecutor(1, "checkpoint")
    future = _under_way[str(plan.target)] = thread.submit(plan.write_beside)
    thread.shutdown(wait=False)
    return future


def _wait_for(folder: Path) -> None:
    """Until nothing is written to a folder beside the program."""
    future = _under_way.pop(str(folder), None)
    if future is not None:
        concurrent.futures.wait([future])


class _Plan(NamedTuple):
    """What a rank has to write, and where."""

    target: Path
    partial: Path
    ranks: _Ranks
    mine: dict[str, Tensor]
    listed: bytes

    def write(self) -> None:
        """This rank's part."""
        file = self.partial / f"rank_{self.ranks.rank}.pt"
        save_file(self.mine, file)
        _settle(file)

    def finish(self) -> None:
        """The index, when all have written; then the folder takes its place."""
        (self.partial / INDEX).write_bytes(self.listed)
        _settle(self.partial / INDEX)
        _replace(self.partial, self.target)

    def write_beside(self) -> None:
        """All of it, in a thread. A rank says by an empty file that it has written, or by one with a text that it
        could not."""
        mark = self.partial / f"rank_{self.ranks.rank}"
        try:
            self.write()
            if self.ranks.rank:
                mark.with_suffix(".done").touch()
            else:
                for rank in range(1, self.ranks.size):
                    self._await(self.partial / f"rank_{rank}.done")
                for left in self.partial.glob("*.done"):
                    left.unlink()
                self.finish()
        except BaseException as error:
            with contextlib.suppress(OSError):
                mark.with_suffix(".failed").write_text(f"rank {self.ranks.rank}: {type(error).__name__}: {error}")
            raise
        if self.ranks.rank:
            self._await(None)

    def _await(self, wanted: Path | None) -> None:
        """Until a file is there; None: until the folder has taken its place."""
        limit = default_pg_timeout if self.ranks.group is None else self.ranks.group.timeout
        end = time.monotonic() + limit.total_seconds()
        while not wanted.exists() if wanted is not None else self.partial.exists():
            for failed in self.partial.glob("*.failed"):
                if said := failed.read_text():
                    raise RuntimeError(f"async_save: the checkpoint was not written. {said}")
            if time.monotonic() > end:
                raise RuntimeError(f"async_save: no {wanted or self.target} in {limit}. The checkpoint was "
                                   "not written.")
            time.sleep(0.01)


def _planned(state_dict: dict[str, Any], target: Path, ranks: _Ranks) -> _Plan:
    """Agree with the others on what each writes, and copy it. The folder to write into is there then."""
    _wait_for(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(ranks.tell(f"{target}.partial-{os.getpid()}"))
    leaves = _flatten(_opened(state_dict))
    names = ranks.exchange(sorted(_key(path) for path in leaves))
    for rank, theirs in enumerate(names):
        if theirs != names[0]:
            differ = sorted(set(theirs) ^ set(names[0]))
            raise RuntimeError(
                f"save: rank {rank} has other keys than rank 0. Nothing was written.\n  they differ in "
                f"{', '.join(differ[:5])}"
            )
    loads = [0] * ranks.size
    mine: dict[str, Tensor] = {}
    index: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for path, value in leaves.items():
        key = _key(path)
        if isinstance(value, FlatShard):
            index[key] = ("shard", value.total, str(value.local.dtype), [(value.offset, value.local.numel())])
            mine[key] = value.local.detach().clone()
        elif isinstance(value, Tensor):
            owner = loads.index(min(loads))
            loads[owner] += value.numel() * value.element_size()
            index[key] = ("tensor", tuple(value.shape), str(value.dtype), owner)
            if owner == ranks.rank:
                mine[key] = value.detach().clone()
        else:
            others[key] = value
    every = ranks.exchange({key: entry[3][0] for key, entry in index.items() if entry[0] == "shard"})
    whole = b""
    if ranks.rank == 0:
        for key, entry in index.items():
            if entry[0] == "shard":
                index[key] = (*entry[:3], [part[key] for part in every])
        whole = pickle.dumps({"format": FORMAT, "ranks": ranks.size, "tensors": index, "others": others})
        for left in target.parent.glob(f"{glob.escape(target.name)}.partial-*"):       # by a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        partial.mkdir()
    ranks.exchange(None)
    return _Plan(target, partial, ranks, mine, whole)


def _settle(path: Path) -> None:
    """Have the disk hold what was written."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(partial: Path, target: Path) -> None:
    former = Path(f"{target}.former")
    if target.exists():
        shutil.rmtree(former, ignore_errors=True)
        target.rename(former)
    partial.rename(target)
    with contextlib.suppress(OSError):
        _settle(target.parent)
    shutil.rmtree(former, ignore_errors=True)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Read a state into the tensors, shards and values of `state_dict`, which says what is wanted. The number of ranks
    may be another than that which wrote it."""
    folder = _folder(checkpoint_id, storage_reader, planner)
    _wait_for(folder)
    if not folder.exists() and Path(f"{folder}.former").exists():
        folder = Path(f"{folder}.former")
    if not (folder / INDEX).exists():
        raise FileNotFoundError(f"no checkpoint in {folder}: it has no {INDEX}")
    with open(folder / INDEX, "rb") as held:
        said = pickle.load(held)
    files: dict[int, Any] = {}

    def part(rank: int, key: str) -> Tensor:
        if rank not in files:
            files[rank] = load_file(folder / f"rank_{rank}.pt", mmap=True)
        found: Tensor = files[rank][key]
        return found

    opened = _opened(state_dict)
    for path, value in _flatten(opened).items():
        key = _key(path)
        entry = said["tensors"].get(key)
        if entry is None:
            if key not in said["others"]:
                raise RuntimeError(
                    f"Missing key in checkpoint state_dict: {key}.\n  {folder} was written with other keys"
                )
            _set(opened, path, said["others"][key])
            continue
        with no_grad():
            if isinstance(value, FlatShard):
                if entry[0] != "shard" or entry[1] != value.total:
                    raise ValueError(f"Size mismatch between saved {entry[1]} and current: {value.total} for {key}")
                for rank, (offset, size) in enumerate(entry[3]):
                    low, high = max(offset, value.offset), min(offset + size, value.offset + value.local.numel())
                    if low < high:
                        value.local[low - value.offset : high - value.offset] = part(rank, key)[
                            low - offset : high - offset
                        ]
            elif isinstance(value, Tensor):
                if entry[0] != "tensor" or tuple(value.shape) != entry[1]:
                    raise ValueError(
                        f"Size mismatch between saved {entry[1]} and current: {tuple(value.shape)} for {key}"
                    )
                value.detach().copy_(part(entry[3], key))
            else:
                raise ValueError(f"{key} is a tensor in the checkpoint, but {type(value).__name__} in state_dict")
    for name, value in state_dict.items():
        if hasattr(value, "load_state_dict") and not isinstance(value, type):
            value.load_state_dict(opened[name])
        else:
            state_dict[name] = opened[name]


def _set(state_dict: Any, path: tuple[Any, ...], value: Any) -> None:
    for step in path[:-1]:
        state_dict = state_dict[step]
    state_dict[path[-1]] = value
