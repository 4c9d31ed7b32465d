"""Ranks that end: by an error, which ends all; early, which the others must learn; or together, which ends MPI.

Note [Ranks that end]
A rank whose program raises prints the traceback with its number and aborts MPI: the launcher then stops all others
within a second. A rank that is killed is seen by the launcher. A rank whose program just ends while others wait for
it in a collective would hang them, and itself in MPI's end, so it tells them by a message first; who waits looks for
such messages.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import traceback
from typing import Any

from claygrad.distributed import _mpi, _work

_TAG = 1
_control: Any = None
_left: dict[int, dict[Any, _work.Tally]] = {}  # ranks whose program ended, and what they had called
_installed = False
_failed = False


def install(world: Any) -> None:
    """Have the end of this process told to the others. Called once, when the first group is made."""
    global _control, _installed
    if _installed:
        return
    _installed = True
    _control = world.Dup()
    if world.size > 1:
        former, former_of_threads = sys.excepthook, threading.excepthook

        def aborts(kind: Any, error: Any, trace: Any) -> None:
            fail(error, lambda: former(kind, error, trace))

        def aborts_of_threads(args: Any) -> None:
            fail(args.exc_value, lambda: former_of_threads(args))

        sys.excepthook, threading.excepthook = aborts, aborts_of_threads
        _work.peer_left.append(who_left)
    atexit.register(leave)


def fail(error: BaseException | None, report: Any = None) -> None:
    """Print what was raised, and end all ranks."""
    global _failed
    _failed = True
    rank = _control.rank if _control is not None else 0
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        print(f"[rank{rank}]: stops all ranks: ", end="", file=sys.stderr)
        if report is not None:
            report()
        elif error is not None:
            traceback.print_exception(error)
        sys.stderr.flush()
        _note(error)
    time.sleep(0.1)  # let the launcher read what was printed
    _mpi.load().COMM_WORLD.Abort(1)


def _note(error: BaseException | None) -> None:
    """Leave the traceback where the launcher looks for it, as torchrun's workers do."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path and error is not None:
        with open(path, "w") as file:
            file.write("".join([*traceback.format_exception_only(error), *traceback.format_exception(error)]))


def _listen() -> None:
    """Hear of ranks whose programs have ended."""
    MPI = _mpi.load()
    with _work.lock:
        while _control.Iprobe(MPI.ANY_SOURCE, _TAG):
            status = MPI.Status()
            told = _control.recv(source=MPI.ANY_SOURCE, tag=_TAG, status=status)
            _left[status.Get_source()] = told


def who_left(work: _work.Work) -> str | None:
    """The rank whose program ended before it did what this work waits for, if there is one. A rank may well end while
    others are still in a collective that it has taken part in: it was only the first to have its result."""
    _listen()
    group = work.group
    for rank in sorted(_left):
        if rank in group.ranks:
            theirs = _left[rank].get(group.key) or _work.Tally()
            if work._misses(group.ranks.index(rank), theirs):
                return f"rank {rank} has left: its program ended"
    return None


def has_left(rank: int) -> bool:
    """Whether a rank's program has ended."""
    return rank in _left


def leave() -> None:
    """At the end of the program: tell the others, wait until all have come to theirs, and end MPI."""
    MPI = _mpi.load()
    if _failed or MPI.Is_finalized():
        return
    size, rank = _control.size, _control.rank
    requests = [_control.isend(_work.tallies, other, _TAG) for other in range(size) if other != rank]
    while len(_left) < size - 1:
        _listen()
        _work.progress()
        time.sleep(0.001)
    for request in requests:
        request.Wait()
    MPI.Finalize()
