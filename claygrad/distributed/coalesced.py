"""Several tensors in one collective."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy

from claygrad.core import Tensor
from claygrad.distributed import _mpi, collectives
from claygrad.distributed._group import of, skipped
from claygrad.distributed._reduce import ReduceOp, Reduction
from claygrad.distributed._tensors import Target, as_bytes, check_list, code, source
from claygrad.distributed._work import Work

__all__ = ["all_gather_coalesced", "all_reduce_coalesced"]


def _one_dtype(tensors: list[Tensor]) -> None:
    if len({one.dtype for one in tensors}) > 1:
        raise ValueError("Invalid usage of tensors with different dtypes")


def all_reduce_coalesced(
    tensors: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Replace every rank's tensors, of one dtype, by the reduction of all, in one collective."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    check_list(given, "tensor")
    _one_dtype(given)
    if skipped(group, "all_reduce_coalesced"):
        return None
    held = of(group)
    how = Reduction("all_reduce", op, given[0].dtype, held.size())
    targets = [Target(one, True, keep=True) for one in given]
    flat = numpy.concatenate([target.memory() for target in targets])
    flat[...] = how.before(flat)

    def start(comm: Any) -> list[Any]:
        return [comm.Iallreduce(_mpi.load().IN_PLACE, how.types(flat)[0], how.operation())]

    def finish() -> None:
        how.after(flat)
        at = 0
        for target in targets:
            target.array[...] = flat[at : at + target.array.size]
            at += target.array.size
            target.finish()

    signature = (code(given[0].dtype), flat.size, int(how.op), -1)
    return collectives.run(held, "all_reduce", signature, start, finish, given, async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Bring every rank's tensors into the lists of all, one list for each rank, in one collective."""
    check_list(input_tensor_list, "tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for one in output_tensor_lists:
        check_list(one, "output_tensor_lists")
    if skipped(group, "all_gather_coalesced"):
        return None
    held = of(group)
    if len(output_tensor_lists) != held.size() or any(
        [one.shape for one in outputs] != [one.shape for one in input_tensor_list] for outputs in output_tensor_lists
    ):
        raise ValueError(
            "all_gather_coalesced: one list for each rank is wanted, with tensors of the shapes of the inputs"
        )
    given = numpy.concatenate([as_bytes(source(one, copied=True)) for one in input_tensor_list])
    every = numpy.empty((held.size(), given.size), numpy.uint8)
    targets = [[Target(one, True) for one in outputs] for outputs in output_tensor_lists]

    def start(comm: Any) -> list[Any]:
        return [comm.Iallgather(given, every)]

    def finish() -> None:
        for row, outputs in zip(every, targets):
            at = 0
            for target in outputs:
                memory = as_bytes(target.memory())
                memory[...] = row[at : at + memory.size]
                at += memory.size
                target.finish()

    result = [one for outputs in output_tensor_lists for one in outputs]
    return collectives.run(held, "all_gather", (-1, given.size, -1, -1), start, finish, result, async_op)


class _CoalescingManager:
    """The works of collectives that were called in a block of `_coalescing_manager`."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """One more."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Return when all are done."""
        for work in self.works:
            work.wait()
        self.works.clear()


@contextlib.contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_CoalescingManager]:
    """Begin all collectives of a block, and wait for them at its end; with `async_ops` by the manager's `wait()`."""
    manager = _CoalescingManager()
    former, collectives.gathering = collectives.gathering, manager
    try:
        yield manager
    finally:
        collectives.gathering = former
    if not async_ops:
        manager.wait()
