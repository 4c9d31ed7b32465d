"""The processes that fetch batches: what runs in them, and how their errors come back.

This module is `torch.utils.data._utils.worker` too: packages with processes of their own (torchdata) import what
PyTorch has there under its names, and put their `_worker_info` in the place of this one.
"""
from __future__ import annotations

import io
import multiprocessing
import pickle
import queue
import random
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy

from claygrad.core import Storage, Tensor, set_num_threads
from claygrad.random import manual_seed
from claygrad.utils.data.fetch import _BaseDatasetFetcher, _DatasetKind

POLL_SECONDS = 2.0        # how often a waiting process looks whether the other is still there


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What code of the user's can know of the worker it runs in."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker this is: None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """The stream of this worker is at its end."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Begin the next epoch. The seeds go on from where they are."""

    seed: int | None = None


class ManagerWatchdog:
    """Looks, in a worker, whether the process that started it still lives."""

    def __init__(self) -> None:
        self.manager = multiprocessing.parent_process()

    def is_alive(self) -> bool:
        """Whether it does; it always does where this is no worker."""
        return self.manager is None or self.manager.is_alive()


class _Text(str):
    """A KeyError shows the repr of its text; this one's is the text itself."""

    def __repr__(self) -> str:
        return str(self)


def _explain(error: BaseException) -> None:
    """Add the way out while the exception is an object, and keep the user's frames only (Note [Entry points])."""
    from claygrad.errors._frames import has_frames_of_users, raised_by_us, without_our_frames
    from claygrad.errors._uncaught import note, note_without_a_line
    note(error)
    if not has_frames_of_users(error):                   # a batch could not be put together
        note_without_a_line(error)
        without_our_frames(error)
    if not raised_by_us(error):
        without_our_frames(error)


class Failure:
    """An exception of a worker's, with its traceback, to be raised again in the main process."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind, self.name, self.where = type(error), type(error).__name__, where
        _explain(error)
        self.text = "".join(traceback.format_exception(error))
        try:
            pickle.loads(pickle.dumps(self.kind))
        except Exception:                    # a class that only the worker knows
            self.kind = RuntimeError

    def reraise(self) -> None:
        text: str = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            text = _Text(text)
        try:
            error = self.kind(text)
        except Exception:                    # its constructor wants something else
            raise RuntimeError(text) from None
        raise error


def seed_all(base: int, worker: int) -> None:
    """claygrad, Python and NumPy, each with a seed of this worker's own."""
    random.seed(base + worker)
    manual_seed(base + worker)
    numpy.random.seed(_generate_state(base, worker))     # noqa: NPY002  (the one users draw from)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The words that NumPy is seeded with in a worker."""
    sequence = numpy.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0])
    words: list[int] = sequence.generate_state(4).tolist()
    return words


def copied(answer: Any) -> bytes:
    """A pickle with the bytes of its tensors. Most batches are small and read at once: to share their memory would cost
    more than to copy it, and would keep a descriptor open for each."""
    buffer = io.BytesIO()
    pickler = ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL)
    known = pickler.dispatch_table.items()
    pickler.dispatch_table = {kind: how for kind, how in known if kind not in (Tensor, Storage)}
    pickler.dump(answer)
    return buffer.getvalue()


class Sender:
    """Sends answers in a thread of its own: the next batch is made while the last one still waits to be read."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe
        self.answers: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            while True:
                number, data = self.answers.get()
                self.pipe.send_bytes(struct.pack("<q", number))
                self.pipe.send_bytes(data)
        except OSError:                      # nobody reads any more
            return

    def put(self, number: int, answer: Any, where: str) -> None:
        """Pickled before it goes to the thread: there an error would be lost."""
        try:
            data = copied(answer)
        except Exception as error:
            data = copied(Failure(error, where))
        self.answers.put((number, data))


def work(kind: int, dataset: Any, tasks: Any, pipe: tuple[Any, Any], done: Any, batched: bool, collate: Callable,
         drop_last: bool, base: int, begin: Callable | None, worker: int, count: int) -> None:
    """The life of a worker: indices in, batches out, until None comes or the main process is gone."""
    global _worker_info
    signal.signal(signal.SIGINT, signal.SIG_IGN)          # Ctrl-C is for the main process, which then ends its workers
    pipe[0].close()                                       # the end of the reader: only the main process shall have it
    watchdog = ManagerWatchdog()
    set_num_threads(1)
    seed_all(base, worker)
    _worker_info = WorkerInfo(worker, count, base + worker, dataset)
    sender, where = Sender(pipe[1]), f"in DataLoader worker process {worker}"
    fetcher: _BaseDatasetFetcher | None = None
    failed: Failure | None = None
    try:
        if begin is not None:
            begin(worker)
        fetcher = _DatasetKind.create_fetcher(kind, dataset, batched, collate, drop_last)
    except Exception as error:
        failed = Failure(error, where)
    while not done.value:
        try:
            task = tasks.get(timeout=POLL_SECONDS)
        except queue.Empty:
            if not watchdog.is_alive():
                break
            continue
        if task is None:
            break
        if isinstance(task, _ResumeIteration):
            sender.put(-1, task, where)
            fetcher = None
            continue
        number, index = task
        answer: Any
        try:
            if failed is not None:
                answer, failed = failed, None
            else:
                if fetcher is None:
                    fetcher = _DatasetKind.create_fetcher(kind, dataset, batched, collate, drop_last)
                answer = fetcher.fetch(index)
        except StopIteration as error:
            answer = _IterableDatasetStopIteration(worker) if kind == _DatasetKind.Iterable else Failure(error, where)
        except Exception as error:
            answer = Failure(error, where)
        sender.put(number, answer, where)
        del answer                                        # memory that the next batch can have
    sys.stdout.flush()
