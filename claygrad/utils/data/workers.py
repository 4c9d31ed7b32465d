"""An epoch whose batches are fetched by worker processes, some ahead, and given in the order they were asked for.

Every worker has a pipe of its own for its answers, of which only it holds the end to write to. So whatever kills it,
even in the middle of a batch, the main process reads the end of the pipe and says so. Workers share no lock.
"""
from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import struct
import time
from multiprocessing import connection
from typing import Any

from claygrad.core.user_warnings import warn
from claygrad.utils.data.dataloader import _BaseDataLoaderIter
from claygrad.utils.data.worker import POLL_SECONDS, Failure, _IterableDatasetStopIteration, _ResumeIteration, work

_LAST_SECONDS = 5.0        # how long a worker may take to end before it is ended
_NOT_PICKLED = (
    "Got pickle error when attempting to start a worker Process. "
    "This might be because the worker Process arguments are not picklable. "
    "Python 3.14+ changed the multiprocessing start method in non-Mac POSIX platforms "
    "to 'forkserver', which requires the worker Process arguments to be picklable. "
    "You can also try multiprocessing.set_start_method('fork').")


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Tasks have numbers; a batch that comes early waits for those before it, unless `in_order` is False."""

    def __init__(self, loader: Any) -> None:
        self.processes: list[Any] = []
        self.tasks: list[Any] = []
        self.pipes: list[Any] = []
        super().__init__(loader)
        self._in_order = getattr(loader, "in_order", True)
        self._prefetch_factor, self._worker_init_fn = loader.prefetch_factor or 2, loader.worker_init_fn
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self.done = context.RawValue("b", 0)
        for number in range(self._num_workers):
            tasks, pipe = context.Queue(), context.Pipe(duplex=False)
            tasks.cancel_join_thread()
            self.tasks.append(tasks)
            self.pipes.append(pipe[0])
            process = context.Process(target=work, daemon=True, args=(
                self._dataset_kind, self._dataset, tasks, pipe, self.done, self._auto_collation, self._collate_fn,
                self._drop_last, self._base_seed, self._worker_init_fn, number, self._num_workers))
            try:
                process.start()
            except (TypeError, AttributeError, pickle.PicklingError):
                warn(_NOT_PICKLED)
                raise
            pipe[1].close()                          # before the next is started, which would inherit it
            self.processes.append(process)
        self._begin()

    def _begin(self) -> None:
        self.sent = self.given = 0
        self.waiting: dict[int, Any] = {}            # batches that came before their turn
        self.open: dict[int, int] = {}               # task: the worker it went to
        self.alive = [True] * len(self.processes)    # workers whose stream has not ended
        self.turn = 0
        self.ahead = self._prefetch_factor * len(self.processes)
        for _ in range(self.ahead):
            self._send()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """The next epoch with the same processes."""
        if not self.processes:
            raise RuntimeError("the workers of this DataLoader have ended")
        self._sampler_iter = iter(())
        while self.open:                             # batches of an epoch that was left in the middle
            self._receive()
        for tasks in self.tasks:
            tasks.put(_ResumeIteration())
        for _ in self.processes:
            self._answer()                           # nothing else is open: each says that it has begun anew
        super()._reset(loader, first_iter)
        self._begin()

    def _send(self) -> None:
        """Give the next indices to the next worker that still has data and, where the order is free, the time."""
        if not any(self.alive):
            return
        busy = list(self.open.values())
        share = self.ahead // sum(self.alive)
        for step in range(len(self.alive)):
            worker = (self.turn + step) % len(self.alive)
            if self.alive[worker] and (self._in_order or busy.count(worker) < share):
                break
        else:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self.turn = worker + 1
        self.tasks[worker].put((self.sent, index))
        self.open[self.sent] = worker
        self.sent += 1

    def _next_data(self) -> Any:
        while True:
            if self._in_order:
                while self.given < self.sent and self.given not in self.open and self.given not in self.waiting:
                    self.given += 1                  # a task for which a stream had nothing left
            ready = self.given if self._in_order else next(iter(self.waiting), -1)
            if ready in self.waiting:
                answer = self.waiting.pop(ready)
                self.given += self._in_order
                self._send()
                if isinstance(answer, Failure):
                    answer.reraise()
                return answer
            if not self.open:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            self._receive()

    def _receive(self) -> None:
        number, answer = self._answer()
        worker = self.open.pop(number)
        if isinstance(answer, _IterableDatasetStopIteration):
            self.alive[worker] = False
            self._send()
        else:
            self.waiting[number] = answer

    def _answer(self) -> tuple[int, Any]:
        """What a worker sends next; an error if one has died or none answers in time."""
        limit = time.monotonic() + self._timeout if self._timeout else float("inf")
        try:
            while True:
                left = min(POLL_SECONDS, max(limit - time.monotonic(), 0.0))
                for pipe in connection.wait(self.pipes, left):
                    number, = struct.unpack("<q", pipe.recv_bytes())      # type: ignore[union-attr]
                    return number, pickle.loads(pipe.recv_bytes())        # type: ignore[union-attr]
                if time.monotonic() >= limit:
                    raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        except (EOFError, OSError):                  # a pipe has ended, and with it the worker
            dead = self._dead()
            self._shutdown_workers()
            raise RuntimeError(dead) from None
        except BaseException:                        # Ctrl-C, say
            self._shutdown_workers()
            raise

    def _dead(self) -> str:
        """Which processes have ended, and how."""
        limit = time.monotonic() + 1.0
        while not any(process.exitcode is not None for process in self.processes) and time.monotonic() < limit:
            time.sleep(0.01)                         # the pipe ends a moment before the process does
        processes = [process for process in self.processes if process.exitcode is not None]
        pids = ", ".join(str(process.pid) for process in processes)
        lines = [f"DataLoader worker (pid(s) {pids}) exited unexpectedly"]
        for process in processes:
            code = process.exitcode
            how = f"is killed by signal: {signal.strsignal(-code)}. " if code < 0 else f"ended with exit code {code}"
            lines.append(f"  DataLoader worker (pid {process.pid}) {how}")
        return "\n".join(lines)

    @property
    def _workers(self) -> list[Any]:
        return self.processes

    def _shutdown_workers(self) -> None:
        """End the workers: kindly first."""
        processes, self.processes = self.processes, []
        if not processes:
            return
        self.done.value = 1
        for tasks in self.tasks:
            with contextlib.suppress(ValueError, OSError):
                tasks.put(None)
        for pipe in self.pipes:
            pipe.close()
        limit = time.monotonic() + _LAST_SECONDS
        for process in processes:
            process.join(max(0.0, limit - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(1.0)
            if process.is_alive():
                process.kill()
                process.join()
        for tasks in self.tasks:
            tasks.cancel_join_thread()
            tasks.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._shutdown_workers()
