"""Collectives on Python objects, which are pickled. The names are `torch.distributed`'s."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import numpy

from claygrad.core import Tensor
from claygrad.distributed import _mpi
from claygrad.distributed._group import ProcessGroup, not_in, of, root_of, skipped
from claygrad.distributed._work import Collective
from claygrad.distributed.messages import recv, send
from claygrad.ops.creation import tensor as new_tensor

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def pickled(value: Any) -> numpy.ndarray:
    """An object as bytes."""
    return numpy.frombuffer(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), numpy.uint8)


def _run(held: ProcessGroup, root: int, start: Callable[[Any], Iterator[list[Any]]]) -> None:
    Collective(held, "objects", (-1, -1, -1, root), start, None, []).wait()


def exchanged(held: ProcessGroup, value: Any) -> list[Any]:
    """The objects of all ranks of a group."""
    mine = pickled(value)
    sizes = numpy.empty(held.size(), numpy.int64)
    parts: list[Any] = []

    def start(comm: Any) -> Iterator[list[Any]]:
        yield [comm.Iallgather(numpy.array([mine.size], numpy.int64), sizes)]
        counts = sizes.tolist()
        starts = [0, *accumulate(counts)]
        every = numpy.empty(starts[-1], numpy.uint8)
        yield [comm.Iallgatherv(mine, [every, counts, starts[:-1], _mpi.load().BYTE])]
        parts.extend(every[at : at + size] for at, size in zip(starts, counts))

    _run(held, -1, start)
    return [pickle.loads(part) for part in parts]


def sent_to_all(held: ProcessGroup, value: Any, root: int) -> Any:
    """The object of one rank, on all."""
    mine = pickled(value) if held.rank() == root else None
    taken: list[numpy.ndarray] = []

    def start(comm: Any) -> Iterator[list[Any]]:
        size = numpy.array([0 if mine is None else mine.size], numpy.int64)
        yield [comm.Ibcast(size, root)]
        taken.append(numpy.empty(size[0], numpy.uint8) if mine is None else mine.copy())
        yield [comm.Ibcast(taken[0], root)]

    _run(held, root, start)
    return value if mine is not None else pickle.loads(taken[0].tobytes())


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Bring every rank's object into the lists of all."""
    if skipped(group, "all_gather_object"):
        return
    held = of(group)
    for at, value in enumerate(exchanged(held, obj)):
        object_list[at] = value


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Bring every rank's object into the list of rank `dst`."""
    if skipped(group, "gather_object"):
        return
    held = of(group)
    root = root_of(held, dst, group_dst, 0)
    there = held.rank() == root
    if there and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not there and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    mine = pickled(obj)
    sizes = numpy.empty(held.size(), numpy.int64)
    parts: list[Any] = []

    def start(comm: Any) -> Iterator[list[Any]]:
        yield [comm.Igather(numpy.array([mine.size], numpy.int64), sizes if there else None, root)]
        counts = sizes.tolist() if there else []
        starts = [0, *accumulate(counts)]
        every = numpy.empty(starts[-1], numpy.uint8)
        yield [comm.Igatherv(mine, [every, counts, starts[:-1], _mpi.load().BYTE] if there else None, root)]
        parts.extend(every[at : at + size] for at, size in zip(starts, counts))

    _run(held, root, start)
    for at, part in enumerate(parts):
        assert object_gather_list is not None
        object_gather_list[at] = pickle.loads(part)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Replace the elements of every rank's list by those of rank `src`."""
    if skipped(group, "broadcast_object_list"):
        return
    held = of(group)
    root = root_of(held, src, group_src, 0)
    values = sent_to_all(held, list(object_list), root)
    if len(values) != len(object_list):
        raise RuntimeError(
            f"broadcast_object_list: rank {held.ranks[root]} has {len(values)} objects, this list {len(object_list)}"
        )
    object_list[:] = values


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Give every rank its object of the list of rank `src`, as the first of its list."""
    if not_in(group):
        skipped(group, "scatter_object_list")
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    held = of(group)
    root = root_of(held, src, group_src, 0)
    there = held.rank() == root
    if there and (scatter_object_input_list is None or len(scatter_object_input_list) != held.size()):
        raise ValueError("source rank must provide non-None scatter_object_input_list of one object for each rank")
    parts = [pickled(one) for one in scatter_object_input_list or []] if there else []
    taken: list[numpy.ndarray] = []

    def start(comm: Any) -> Iterator[list[Any]]:
        size = numpy.empty(1, numpy.int64)
        counts = [part.size for part in parts]
        yield [comm.Iscatter(numpy.array(counts, numpy.int64) if there else None, size, root)]
        taken.append(numpy.empty(size[0], numpy.uint8))
        given = [numpy.concatenate(parts), counts, [0, *accumulate(counts)][:-1], _mpi.load().BYTE] if there else None
        yield [comm.Iscatterv(given, taken[0], root)]

    _run(held, root, start)
    scatter_object_output_list[0] = pickle.loads(taken[0].tobytes())


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to a rank."""
    if skipped(group, "send_object_list"):
        return
    held = of(group)
    to = root_of(held, dst, group_dst)
    data = pickled(list(object_list))
    send(new_tensor([data.size]), group=held, group_dst=to)
    send(_bytes(data.copy()), group=held, group_dst=to)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive the objects of a list from a rank, or from whoever sends first; the rank that sent them."""
    if skipped(group, "recv_object_list"):
        return -1
    held = of(group)
    size = new_tensor([0])
    where = None if src is None and group_src is None else root_of(held, src, group_src)
    sender = recv(size, group=held, group_src=where)
    data = numpy.empty(int(size), numpy.uint8)
    recv(_bytes(data), src=sender, group=held)
    values = pickle.loads(data.tobytes())
    if len(values) != len(object_list):
        raise RuntimeError(f"recv_object_list: {len(values)} objects were sent, this list has {len(object_list)}")
    object_list[:] = values
    return sender


def _bytes(array: numpy.ndarray) -> Tensor:
    from claygrad.core.python_api import share

    return share(array)
