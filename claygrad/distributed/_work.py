"""What is under way between processes: works, their progress, and waiting for them.

Note [Progress]
A work goes through three phases: the ranks compare what they were asked for (kind, dtype, size, operation, root),
then the data moves, then the result is written. Nothing is written before the ranks agree, so a call that differs
between ranks ends in an error on all of them, and not in a hang or in wrong numbers. All works under way advance
whenever somebody waits, asks `is_completed()`, or a gradient arrives (`data_parallel`); there is no thread for it.
MPI wants that all ranks of a communicator start their collectives in one order. Comparisons and data have
communicators of their own, and a work may move its data only after the works issued before it in its group have
started theirs: `Group.turns`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy

from claygrad.distributed import _mpi

if TYPE_CHECKING:
    from claygrad.distributed._group import ProcessGroup

lock = threading.RLock()
under_way: list[Work] = []
peer_left: list[Callable[[Work], str | None]] = []  # `_shutdown` adds the question
tallies: dict[Any, Tally] = {}  # of every group that there was, by its key

SPIN = 300e-6  # seconds to ask again at once, before the processor is given to others
NAP = 100e-6


class Tally:
    """What a rank has called in a group so far. One that leaves tells the others, who know by it whether what they wait
    for can still come."""

    def __init__(self) -> None:
        self.collectives = 0
        self.sent: dict[tuple[int, int], int] = {}  # messages by destination and tag
        self.asked: dict[tuple[int | None, int], int] = {}  # receives by source, None for any, and tag
        self.received: dict[tuple[int, int], int] = {}  # messages that came, by source and tag


def count(counts: dict[Any, int], key: Any) -> int:
    """Count one more; how many there were before."""
    counts[key] = counts.get(key, 0) + 1
    return counts[key] - 1


class Work:
    """Something under way: `wait()` for it, or ask `is_completed()`."""

    def __init__(self, group: ProcessGroup, name: str, result: list[Any]) -> None:
        self.group, self.name, self._result = group, name, result
        self._error: BaseException | None = None
        self._done = False
        self._futures: list[Any] = []
        self._callbacks: list[Callable[[], None]] = []
        self.started = time.perf_counter()
        self.ended = 0.0
        with lock:
            under_way.append(self)

    def _advance(self) -> bool:
        """Do what can be done without waiting; whether the work is done."""
        raise NotImplementedError

    def _misses(self, rank: int, theirs: Tally) -> bool:
        """Whether this cannot be done any more, since a rank of the group has left with no more calls than these."""
        raise NotImplementedError

    def _advance_safely(self) -> bool:
        """The same; an error ends the work, and is raised by `wait()`."""
        try:
            return self._done or self._advance()
        except Exception as wrong:
            self._end(wrong)
            return True

    def _end(self, error: BaseException | None = None) -> None:
        self._done, self._error, self.ended = True, error, time.perf_counter()
        if self in under_way:
            under_way.remove(self)
        for callback in self._callbacks:
            callback()
        for future in self._futures:
            future.set_exception(error) if isinstance(error, Exception) else future.set_result(self._result)
        self._futures.clear()

    def is_completed(self) -> bool:
        """Whether it is done, well or not."""
        if not self._done:
            progress()
        return self._done

    def is_success(self) -> bool:
        """Whether it is done without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """The error it ended with."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that were written."""
        return self._result

    def source_rank(self) -> int:
        """The rank that a message came from."""
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
        )

    _source_rank = source_rank

    def synchronize(self) -> None:
        """Wait."""
        self.wait()

    def get_future(self) -> Any:
        """The same as a `torch.futures.Future` of the tensors."""
        future = _FutureOfWork(self)
        if self._done:
            future.set_exception(self._error) if isinstance(self._error, Exception) else future.set_result(self._result)
        else:
            self._futures.append(future)
        return future

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Return when it is done; raises what went wrong."""
        limit = (timeout or self.group.timeout).total_seconds()
        until(self, limit)
        if self._error is not None:
            raise self._error
        return True


def _future_class() -> type:
    from claygrad.futures import Future

    class FutureOfWork(Future):
        """A future whose waiting drives the communication."""

        def __init__(self, work: Work) -> None:
            super().__init__()
            self._work = work

        def wait(self) -> Any:
            """The tensors, once they are there."""
            self._work.wait()
            return super().wait()

        def done(self) -> bool:
            """Whether they are there."""
            return super().done()

        def then(self, callback: Any) -> Any:
            """A future of what the callback returns for this one."""
            return _Chained(self, super().then(callback))

    return FutureOfWork


class _Chained:
    """A future that follows on another, whose waiting drives the communication too."""

    def __init__(self, first: Any, last: Any) -> None:
        self._first, self._last = first, last

    def wait(self) -> Any:
        self._first.wait()
        return self._last.wait()

    def then(self, callback: Any) -> Any:
        return _Chained(self._first, self._last.then(callback))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._last, name)


def _FutureOfWork(work: Work) -> Any:
    global _made
    if _made is None:
        _made = _future_class()
    return _made(work)


_made: Any = None


class Collective(Work):
    """A collective: compared, started in its turn, finished."""

    def __init__(
        self,
        group: ProcessGroup,
        name: str,
        signature: Sequence[int] | None,
        start: Callable[[Any], Any],
        finish: Callable[[], None] | None,
        result: list[Any],
    ) -> None:
        super().__init__(group, name, result)
        self._start, self._finish = start, finish
        self._requests: list[Any] = []
        self._stages: Iterator[list[Any]] | None = None  # of a collective that needs several rounds
        self._moving = self._turned = False
        self._everyone: numpy.ndarray | None = None
        with lock:
            group.turns.append(self)
            self._index = group.tally.collectives
            if signature is not None and group.size() > 1 and group.compared:
                mine = numpy.array([self._index, KINDS.index(name), *signature], numpy.int64)
                self._sent = numpy.concatenate([mine, -mine])
                self._largest = numpy.empty_like(self._sent)
                self._check = group.checks.Iallreduce(self._sent, self._largest, _mpi.load().MAX)
            else:
                self._check = None
            group.tally.collectives += 1
            self._advance_safely()

    def _end(self, error: BaseException | None = None) -> None:
        self._give_turn()
        super()._end(error)

    def _misses(self, rank: int, theirs: Tally) -> bool:
        return theirs.collectives <= self._index

    def _give_turn(self) -> None:
        """Let the next work of the group start."""
        if not self._turned:
            self._turned = True
            self.group.turns.remove(self)

    def _advance(self) -> bool:
        if self._check is not None:
            if not self._check.Test():
                return False
            self._check = None
            half = len(self._largest) // 2
            if (self._largest[:half] != -self._largest[half:]).any():
                self._everyone = numpy.empty((self.group.size(), half), numpy.int64)
        if not self._moving:
            if self.group.turns[0] is not self:
                return False
            self._moving = True
            if self._everyone is not None:
                self._requests = [self.group.comm.Iallgather(self._sent[: len(self._sent) // 2], self._everyone)]
            else:
                begun = self._start(self.group.comm)
                if isinstance(begun, list):
                    self._requests = begun
                else:
                    self._stages = begun
            if self._stages is None:
                self._give_turn()
        while True:
            while self._requests:
                if not self._requests[0].Test():
                    return False
                self._requests.pop(0)
            if self._stages is None:
                break
            more = next(self._stages, None)
            if more is None:
                self._stages = None
                self._give_turn()
            else:
                self._requests = list(more)
        if self._everyone is not None:
            raise RuntimeError(_difference(self.group, self._everyone))
        if self._finish is not None:
            self._finish()
        self._start = self._finish = None  # type: ignore[assignment]
        self._end()
        return True


KINDS = [
    "all_reduce",
    "reduce",
    "broadcast",
    "all_gather",
    "all_gather_single",
    "gather",
    "scatter",
    "reduce_scatter",
    "reduce_scatter_single",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "objects",
    "bucket",
]


def _difference(group: ProcessGroup, everyone: numpy.ndarray) -> str:
    """What each rank called, where they did not call the same."""
    from claygrad.core import DTYPES
    from claygrad.distributed._reduce import ReduceOp

    kinds = list(DTYPES.values())
    alike: dict[str, list[int]] = {}
    for rank, (count, kind, dtype, size, op, root) in zip(group.ranks, everyone.tolist()):
        said = [f"{KINDS[kind]}, the {count + 1}. collective of the group"]
        if size >= 0:
            said.append(f"{size} elements")
        if dtype >= 0:
            said.append(str(kinds[dtype]))
        if op >= 0:
            said.append(f"{ReduceOp.RedOpType(op).name}")
        if root >= 0:
            said.append(f"root {group.ranks[root] if root < len(group.ranks) else root}")
        alike.setdefault(", ".join(said), []).append(rank)
    lines = [
        f"  rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}: {said}" for said, ranks in alike.items()
    ]
    return "\n".join(
        [
            "Detected mismatch between collectives on ranks. Nothing was sent or written.",
            *lines,
            "  All ranks of a group must make the same calls in the same order, with tensors of one size and dtype.",
        ]
    )


def progress() -> bool:
    """Advance everything that is under way, in the order in which it was begun; whether something ended."""
    with lock:
        ended = [work._advance_safely() for work in list(under_way)]
        return any(ended)


def until(work: Work, limit: float) -> None:
    """Make progress until a work is done. Python's signals are heard, and other processes get the processor."""
    if work._done:
        return
    progress()
    name, group = work.name, work.group
    began = time.monotonic()
    while not work._done:
        progress()
        waited = time.monotonic() - began
        if waited < SPIN or work._done:
            continue
        time.sleep(0 if waited < 10 * SPIN else NAP)
        if waited > 0.05:
            for question in peer_left:
                left = question(work)
                if left is not None:
                    raise RuntimeError(
                        f"{left} while rank {group.rank()} waits in {name}\n"
                        "  all ranks must make the same calls; it made fewer, or its loop was shorter "
                        "(see DistributedDataParallel.join)"
                    )
        if waited > limit:
            from claygrad.distributed._group import DistBackendError

            raise DistBackendError(
                f"Timed out waiting {int(limit * 1000)}ms for {name} operation to complete\n"
                f"  rank {group.rank()} of {group.size()} waited, and not all others came: did they call {name} too?\n"
                "  a longer time: init_process_group(timeout=timedelta(hours=2))"
            )
