"""Collectives on tensors: all ranks of a group call the same, in the same order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import accumulate
from typing import Any

import numpy

from claygrad.core import Tensor
from claygrad.core.data.dtype import prefix
from claygrad.core.user_warnings import warn
from claygrad.distributed import _mpi
from claygrad.distributed._group import GroupMember, ProcessGroup, of, root_of, skipped
from claygrad.distributed._reduce import ReduceOp, Reduction
from claygrad.distributed._tensors import Target, as_bytes, check_dtypes, check_list, check_tensor, code, source
from claygrad.distributed._work import NAP, Collective, Work, lock, progress

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]


gathering: Any = None  # of `_coalescing_manager`, in its block


def run(
    held: ProcessGroup,
    name: str,
    signature: tuple[int, int, int, int],
    start: Callable[[Any], Any],
    finish: Callable[[], None] | None,
    result: list[Tensor],
    async_op: bool,
) -> Work | None:
    """Start a collective; the work if it is to go on alone, otherwise wait for it."""
    work = Collective(held, name, signature, start, finish, result)
    if async_op:
        return work
    if gathering is not None:
        gathering.append(work)
        return None
    work.wait()
    return None


def _each(finish: list[Target]) -> Callable[[], None]:
    def together() -> None:
        for target in finish:
            target.finish()

    return together


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Replace every rank's tensor by the reduction of all: sum, average, product, minimum, maximum, bitwise."""
    check_tensor(tensor, "tensor")
    if skipped(group, "all_reduce"):
        return None
    held = of(group)
    how = Reduction("all_reduce", op, tensor.dtype, held.size())
    target = Target(tensor, async_op, keep=True)

    def start(comm: Any) -> list[Any]:
        memory = target.memory()
        memory[...] = how.before(memory)
        return [comm.Iallreduce(_mpi.load().IN_PLACE, how.types(memory)[0], how.operation())]

    def finish() -> None:
        how.after(target.array)
        target.finish()

    return run(
        held, "all_reduce", (code(tensor.dtype), tensor.numel(), int(how.op), -1), start, finish, [tensor], async_op
    )


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Replace the tensor of rank `dst` by the reduction of all; the others keep theirs."""
    check_tensor(tensor, "tensor")
    if skipped(group, "reduce"):
        return None
    held = of(group)
    root = root_of(held, dst, group_dst)
    how = Reduction("reduce", op, tensor.dtype, held.size())
    target = Target(tensor, async_op, keep=True) if held.rank() == root else None
    given = source(tensor, copied=async_op) if target is None else None

    def start(comm: Any) -> list[Any]:
        if target is None:
            assert given is not None
            return [comm.Ireduce(how.types(how.before(given))[0], None, how.operation(), root)]
        memory = target.memory()
        memory[...] = how.before(memory)
        return [comm.Ireduce(_mpi.load().IN_PLACE, how.types(memory)[0], how.operation(), root)]

    def finish() -> None:
        if target is not None:
            how.after(target.array)
            target.finish()

    return run(
        held, "reduce", (code(tensor.dtype), tensor.numel(), int(how.op), root), start, finish, [tensor], async_op
    )


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Replace every rank's tensor by that of rank `src`."""
    check_tensor(tensor, "tensor")
    if skipped(group, "broadcast"):
        return None
    held = of(group)
    root = root_of(held, src, group_src)
    target = None if held.rank() == root else Target(tensor, async_op)
    given = source(tensor, copied=async_op) if target is None else None

    def start(comm: Any) -> list[Any]:
        memory = given if target is None else target.memory()
        assert memory is not None
        return [comm.Ibcast([as_bytes(memory), _mpi.load().BYTE], root)]

    return run(
        held,
        "broadcast",
        (code(tensor.dtype), tensor.numel(), -1, root),
        start,
        None if target is None else target.finish,
        [tensor],
        async_op,
    )


def _check_sizes(name: str, tensors: list[Tensor], like: Tensor, count: int) -> None:
    """Refuse a list that has not one tensor for each rank, each as large as `like`."""
    what = {"all_gather": "allgather"}.get(name, name)
    if len(tensors) != count:
        raise RuntimeError(
            f"ProcessGroupMPI::{what}: invalid tensor list (expected length {count}, got {len(tensors)})\n"
            "  there must be one tensor for each rank of the group"
        )
    for index, one in enumerate(tensors):
        if one.numel() * one.element_size() != like.numel() * like.element_size():
            raise RuntimeError(
                f"ProcessGroupMPI::{what}: invalid tensor size at index {index} (expected "
                f"({', '.join(map(str, like.shape))}), got ({', '.join(map(str, one.shape))}))"
            )


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Bring every rank's tensor into the lists of all."""
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_dtypes(*tensor_list, tensor)
    if skipped(group, "all_gather"):
        return None
    held = of(group)
    _check_sizes("all_gather", tensor_list, tensor, held.size())
    targets = [Target(one, True) for one in tensor_list]
    given = as_bytes(source(tensor, copied=async_op))
    every = numpy.empty((held.size(), given.size), numpy.uint8)

    def start(comm: Any) -> list[Any]:
        return [comm.Iallgather(given, every)]

    def finish() -> None:
        for target, part in zip(targets, every):
            as_bytes(target.memory())[...] = part
            target.finish()

    return run(
        held, "all_gather", (code(tensor.dtype), tensor.numel(), -1, -1), start, finish, list(tensor_list), async_op
    )


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Put every rank's tensor into one, in the order of the ranks."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    check_dtypes(output_tensor, input_tensor)
    if skipped(group, "all_gather_into_tensor"):
        return None
    held = of(group)
    if (
        output_tensor.numel() * output_tensor.element_size()
        != held.size() * input_tensor.numel() * input_tensor.element_size()
    ):
        raise ValueError(
            "output tensor size must be equal to world_size times input tensor size\n"
            f"  output {tuple(output_tensor.shape)}, input {tuple(input_tensor.shape)}, {held.size()} ranks"
        )
    target = Target(output_tensor, async_op)
    given = as_bytes(source(input_tensor, copied=async_op or _overlap(output_tensor, input_tensor)))

    def start(comm: Any) -> list[Any]:
        return [comm.Iallgather(given, as_bytes(target.memory()))]

    return run(
        held,
        "all_gather_single",
        (code(input_tensor.dtype), input_tensor.numel(), -1, -1),
        start,
        target.finish,
        [output_tensor],
        async_op,
    )


def _overlap(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _deprecated(former: str, now: str) -> None:
    warn(
        f"`{prefix()}.distributed.{former}` is deprecated. Please use `{prefix()}.distributed.{now}` instead.",
        FutureWarning,
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The older name of `all_gather_single`."""
    _deprecated("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Bring every rank's tensor into the list of rank `dst`."""
    check_tensor(tensor, "tensor")
    if gather_list:
        check_list(gather_list, "gather_list")
    check_dtypes(tensor, *(gather_list or []))
    if skipped(group, "gather"):
        return None
    held = of(group)
    root = root_of(held, dst, group_dst, 0)
    there = held.rank() == root
    if there and not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not there and gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    outputs = list(gather_list or [])
    if there:
        _check_sizes("gather", outputs, tensor, held.size())
    targets = [Target(one, True) for one in outputs]
    given = as_bytes(source(tensor, copied=async_op))
    every = numpy.empty((held.size(), given.size), numpy.uint8) if there else None

    def start(comm: Any) -> list[Any]:
        return [comm.Igather(given, every, root)]

    def finish() -> None:
        for target, part in zip(targets, every if every is not None else ()):
            as_bytes(target.memory())[...] = part
            target.finish()

    return run(held, "gather", (code(tensor.dtype), tensor.numel(), -1, root), start, finish, outputs, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give every rank its tensor of the list of rank `src`."""
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_list(scatter_list, "scatter_list")
    check_dtypes(tensor, *(scatter_list or []))
    if skipped(group, "scatter"):
        return None
    held = of(group)
    root = root_of(held, src, group_src, 0)
    there = held.rank() == root
    if there and not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if not there and scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    given = None
    if there:
        assert scatter_list is not None
        _check_sizes("scatter", scatter_list, tensor, held.size())
        given = numpy.concatenate([as_bytes(source(one)) for one in scatter_list])
    target = Target(tensor, async_op)

    def start(comm: Any) -> list[Any]:
        return [comm.Iscatter(given, as_bytes(target.memory()), root)]

    return run(
        held, "scatter", (code(tensor.dtype), tensor.numel(), -1, root), start, target.finish, [tensor], async_op
    )


def _reduce_parts(
    name: str, output: Tensor, given: numpy.ndarray, how: Reduction, held: ProcessGroup, async_op: bool
) -> Work | None:
    target = Target(output, async_op)

    def start(comm: Any) -> list[Any]:
        parts, mine = how.types(how.before(given), target.memory())
        return [comm.Ireduce_scatter_block(parts, mine, how.operation())]

    def finish() -> None:
        how.after(target.array)
        target.finish()

    return run(held, name, (code(output.dtype), output.numel(), int(how.op), -1), start, finish, [output], async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the lists of all ranks, and give every rank its part of the result."""
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    check_dtypes(output, *input_list)
    if skipped(group, "reduce_scatter"):
        return None
    held = of(group)
    _check_sizes("reduce_scatter", input_list, output, held.size())
    how = Reduction("reduce_scatter", op, output.dtype, held.size())
    return _reduce_parts(
        "reduce_scatter", output, numpy.concatenate([source(one) for one in input_list]), how, held, async_op
    )


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the inputs of all ranks, and give every rank its part of the result."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    if skipped(group, "reduce_scatter_tensor"):
        return None
    held = of(group)
    if input.numel() != held.size() * output.numel():
        raise ValueError(
            "input tensor must be the same size as output size times world size\n"
            f"  input {tuple(input.shape)}, output {tuple(output.shape)}, {held.size()} ranks"
        )
    how = Reduction("reduce_scatter_tensor", op, output.dtype, held.size())
    given = source(input, copied=async_op or _overlap(output, input))
    return _reduce_parts("reduce_scatter_single", output, given, how, held, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The older name of `reduce_scatter_single`."""
    _deprecated("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def _exchange(
    name: str,
    held: ProcessGroup,
    given: Callable[[], numpy.ndarray],
    out: list[int],
    into: Callable[[], numpy.ndarray],
    back: list[int],
    kind: int,
    finish: Callable[[], None] | None,
    result: list[Tensor],
    async_op: bool,
) -> Work | None:
    """Send `out` bytes to each rank and take `back` from each, after they told each other how many."""

    def start(comm: Any) -> Iterator[list[Any]]:
        told = numpy.empty(held.size(), numpy.int64)
        yield [comm.Ialltoall(numpy.array(out, numpy.int64), told)]
        differ = [rank for rank in range(held.size()) if told[rank] != back[rank]]
        total = numpy.array([len(differ)], numpy.int64)
        yield [comm.Iallreduce(_mpi.load().IN_PLACE, total)]
        if differ:
            rank = differ[0]
            raise RuntimeError(
                f"{name}: split sizes do not match. Nothing was written.\n"
                f"  rank {held.ranks[rank]} sends {told[rank]} bytes to rank {held.ranks[held.rank()]}, which "
                f"takes {back[rank]}"
            )
        if total[0]:
            raise RuntimeError(f"{name}: split sizes do not match between other ranks. Nothing was written.")
        MPI = _mpi.load()
        starts = lambda sizes: [0, *accumulate(sizes)][:-1]
        yield [comm.Ialltoallv([given(), out, starts(out), MPI.BYTE], [into(), back, starts(back), MPI.BYTE])]

    return run(held, name, (kind, -1, -1, -1), start, finish, result, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Give every rank its rows of the input, and take those that it has for this one."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    if skipped(group, "all_to_all_single"):
        return None
    held = of(group)

    def bytes_of(tensor: Tensor, sizes: Any) -> list[int]:
        rows = tensor.shape[0] if tensor.dim() else 1
        if not sizes:
            if rows % held.size():
                raise RuntimeError(
                    "Tensor's dim 0 does not divide equally across group size\n"
                    f"  {tuple(tensor.shape)} among {held.size()} ranks; say the split sizes"
                )
            sizes = [rows // held.size()] * held.size()
        if len(sizes) != held.size():
            raise RuntimeError("Number of tensor splits not equal to group size")
        if sum(sizes) != rows:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        row = tensor.numel() // rows * tensor.element_size() if rows else 0
        return [size * row for size in sizes]

    target = Target(output, async_op)
    given = as_bytes(source(input, copied=async_op or _overlap(output, input)))
    return _exchange(
        "all_to_all_single",
        held,
        lambda: given,
        bytes_of(input, input_split_sizes),
        lambda: as_bytes(target.memory()),
        bytes_of(output, output_split_sizes),
        code(input.dtype),
        target.finish,
        [output],
        async_op,
    )


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Give every rank its tensor of the list, and take those that it has for this one."""
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    check_dtypes(*output_tensor_list, *input_tensor_list)
    if skipped(group, "all_to_all"):
        return None
    held = of(group)
    for name, tensors in (("input", input_tensor_list), ("output", output_tensor_list)):
        if len(tensors) != held.size():
            raise RuntimeError(
                f"ProcessGroupMPI::alltoall: {name} tensor list must have one tensor for each of {held.size()} ranks, "
                f"but has {len(tensors)}"
            )
    out = [one.numel() * one.element_size() for one in input_tensor_list]
    back = [one.numel() * one.element_size() for one in output_tensor_list]
    given = numpy.concatenate([as_bytes(source(one)) for one in input_tensor_list])
    every = numpy.empty(sum(back), numpy.uint8)
    targets = [Target(one, True) for one in output_tensor_list]

    def finish() -> None:
        at = 0
        for target, size in zip(targets, back):
            as_bytes(target.memory())[...] = every[at : at + size]
            target.finish()
            at += size

    return _exchange(
        "all_to_all",
        held,
        lambda: given,
        out,
        lambda: every,
        back,
        code(input_tensor_list[0].dtype),
        finish,
        list(output_tensor_list),
        async_op,
    )


def barrier(
    group: Any = GroupMember.WORLD, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks of the group are here."""
    if skipped(group, "barrier"):
        return None
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    work = Collective(of(group), "barrier", (-1, -1, -1, -1), lambda comm: [comm.Ibarrier()], None, [])
    if async_op:
        return work
    work.wait(timeout)
    return None


def monitored_barrier(
    group: Any = GroupMember.WORLD, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier with a time of its own: the error names the first rank that did not come, or with `wait_all_ranks` all.

    The ranks tell rank 0 of the group that they are here, and it tells them when all are.
    """
    if skipped(group, "monitored_barrier"):
        return
    held = of(group)
    limit = timeout or held.timeout
    milliseconds = int(limit.total_seconds() * 1000)
    if held.rank():
        _tell(held, 0, b"here")
        answer = _heard(held, 0, 2 * limit.total_seconds())
        if answer != b"all":
            raise RuntimeError(
                f"Rank {held.rank()} successfully reached monitoredBarrier, but received errors while waiting for "
                "send/recv from rank 0. Please check rank 0 logs for faulty rank."
            )
        return
    end = time.monotonic() + limit.total_seconds()
    lazy = []
    for other in range(1, held.size()):
        if _heard(held, other, max(0.0, end - time.monotonic())) is None:
            lazy.append(other)
            if not wait_all_ranks:
                break
    for other in range(1, held.size()):
        _tell(held, other, b"not" if lazy else b"all")
    if lazy:
        who = f"Rank {lazy[0]}" if not wait_all_ranks else f"Ranks {', '.join(map(str, lazy))}"
        raise RuntimeError(
            f"[Rank 0]: {who} failed to pass monitoredBarrier in {milliseconds} ms\n"
            "  they did not call it, or came too late: look at what they do"
        )


_TAG = 7  # messages of barriers, on the communicator of comparisons


def _tell(held: ProcessGroup, other: int, what: bytes) -> None:
    with lock:
        _told.append((held.checks.Isend([what, _mpi.load().BYTE], other, _TAG), what))


_told: list[tuple[Any, bytes]] = []  # what was sent stays until the process ends: some bytes for each barrier


def _heard(held: ProcessGroup, other: int, seconds: float) -> bytes | None:
    """What a rank said; None if it did not in time."""
    MPI = _mpi.load()
    end = time.monotonic() + seconds
    while True:
        progress()
        with lock:
            if held.checks.Iprobe(other, _TAG):
                status, memory = MPI.Status(), bytearray(4)
                held.checks.Recv([memory, MPI.BYTE], other, _TAG, status)
                return bytes(memory[: status.Get_count(MPI.BYTE)])
        if time.monotonic() > end:
            return None
        time.sleep(NAP)
