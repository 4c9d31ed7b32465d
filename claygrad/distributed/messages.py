"""Messages from one rank to another. The names are `torch.distributed`'s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from claygrad.core import Tensor
from claygrad.distributed import _mpi
from claygrad.distributed._group import ProcessGroup, get_global_rank, get_rank, of, root_of, skipped
from claygrad.distributed._shutdown import has_left
from claygrad.distributed._tensors import Target, as_bytes, check_tensor, source
from claygrad.distributed._work import Tally, Work, count, lock, under_way

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


class _Sending(Work):
    def __init__(self, group: ProcessGroup, tensor: Tensor, dst: int, tag: int, later: bool) -> None:
        super().__init__(group, "send", [tensor])
        self._to, self._tag, self._index = dst, tag, count(group.tally.sent, (dst, tag))
        self._held = as_bytes(source(tensor, copied=later))
        with lock:
            self._request = group.messages.Isend([self._held, _mpi.load().BYTE], dst, tag)

    def _advance(self) -> bool:
        if not self._request.Test():
            return False
        self._end()
        return True

    def _misses(self, rank: int, theirs: Tally) -> bool:
        me = self.group.rank()
        asked = theirs.asked.get((me, self._tag), 0) + theirs.asked.get((None, self._tag), 0)
        return rank == self._to and asked <= self._index


class _Receiving(Work):
    """A message is taken when it is there and has the size that the tensor has."""

    def __init__(self, group: ProcessGroup, tensor: Tensor, src: int | None, tag: int, later: bool) -> None:
        self._src, self._tag, self._from = src, tag, -1
        self._target = Target(tensor, later)
        self._request: Any = None
        self._wrong: RuntimeError | None = None
        count(group.tally.asked, (src, tag))
        super().__init__(group, "recv", [tensor])

    def _advance(self) -> bool:
        MPI = _mpi.load()
        if self._request is None:
            if any(
                isinstance(other, _Receiving)
                and other is not self
                and other._request is None
                and not other._done
                and (other.group, other._src, other._tag) == (self.group, self._src, self._tag)
                for other in under_way[: under_way.index(self)]
            ):
                return False  # messages arrive in the order in which they were asked for
            status = MPI.Status()
            message = self.group.messages.Improbe(MPI.ANY_SOURCE if self._src is None else self._src, self._tag, status)
            if message is None:
                return False
            self._from = status.Get_source()
            count(self.group.tally.received, (self._from, self._tag))
            tensor, size = self._target.tensor, status.Get_count(MPI.BYTE)
            wanted = tensor.numel() * tensor.element_size()
            if size == wanted:
                memory = as_bytes(self._target.memory())
            else:
                memory = numpy.empty(size, numpy.uint8)
                self._wrong = RuntimeError(
                    f"recv: rank {self.group.ranks[self._from]} sent {size} bytes, but the tensor "
                    f"{tuple(tensor.shape)} of "
                    f"{tensor.dtype} takes {wanted}. Nothing was written.\n"
                    "  the tensors of send and recv must have one size and dtype"
                )
            self._request = message.Irecv([memory, MPI.BYTE])
        if not self._request.Test():
            return False
        if self._wrong is None:
            self._target.finish()
        self._end(self._wrong)
        return True

    def _misses(self, rank: int, theirs: Tally) -> bool:
        if self._request is not None or self._src not in (None, rank):
            return False
        if self._src is None and not all(has_left(one) for one in self.group.ranks if one != get_rank()):
            return False  # somebody else may still send
        received = self.group.tally.received.get((rank, self._tag), 0)
        return theirs.sent.get((self.group.rank(), self._tag), 0) <= received

    def source_rank(self) -> int:
        """The rank that the message came from."""
        return get_global_rank(self.group, self._from)

    _source_rank = source_rank


def _not_myself(held: ProcessGroup, rank: int, kind: str) -> None:
    if held.rank() == rank:
        raise ValueError(f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process.")


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to a rank."""
    check_tensor(tensor, "tensor")
    if skipped(group, "isend"):
        return None
    held = of(group)
    to = root_of(held, dst, group_dst)
    _not_myself(held, to, "destination")
    return _Sending(held, tensor, to, tag, True)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor from a rank, or from whoever sends first."""
    check_tensor(tensor, "tensor")
    if skipped(group, "irecv"):
        return None
    held = of(group)
    where = None if src is None and group_src is None else root_of(held, src, group_src)
    return _Receiving(held, tensor, where, tag, True)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a rank."""
    check_tensor(tensor, "tensor")
    if skipped(group, "send"):
        return
    held = of(group)
    to = root_of(held, dst, group_dst)
    _not_myself(held, to, "destination")
    _Sending(held, tensor, to, tag, False).wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from a rank, or from whoever sends first; the rank that sent it."""
    check_tensor(tensor, "tensor")
    if skipped(group, "recv"):
        return -1
    held = of(group)
    where = None if src is None and group_src is None else root_of(held, src, group_src)
    if where is not None:
        _not_myself(held, where, "source")
    work = _Receiving(held, tensor, where, tag, False)
    work.wait()
    return work.source_rank()


class P2POp:
    """A message to be sent or received by `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, of(group), tag
        self.group_peer = root_of(self.group, peer, group_peer)
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self) -> str:
        ends = (get_rank(self.group), self.group_peer) if self.op is isend else (self.group_peer, get_rank(self.group))
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={ends[0]}, group_dst={ends[1]},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin to send and receive several tensors; the works, in the order of the list."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    group = p2p_op_list[0].group
    if not all(one.group == group for one in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    return [
        one.op(
            one.tensor,
            group=one.group,
            tag=one.tag,
            **{"group_dst" if one.op is isend else "group_src": one.group_peer},
        )
        for one in p2p_op_list
    ]
