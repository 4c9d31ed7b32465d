"""An epoch whose batches are fetched by worker processes, some ahead, and given in the order they were asked for."""
from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import queue
import signal
import time
from typing import Any

from claygrad.utils.data.loader import DataLoader, Epoch
from claygrad.utils.data.worker import POLL_SECONDS, Ended, Failure, Resume, work

_LAST_SECONDS = 5.0        # how long a worker may take to end before it is ended


class Workers(Epoch):
    """Tasks have numbers; a batch that comes early waits for those before it, unless `in_order` is False."""

    def __init__(self, loader: DataLoader) -> None:
        self.processes: list[Any] = []
        super().__init__(loader)
        loader.check_worker_number_rationality()
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self.results, self.done = context.Queue(), context.Event()
        self.tasks = [context.Queue() for _ in range(loader.num_workers)]
        for number, tasks in enumerate(self.tasks):
            tasks.cancel_join_thread()
            process = context.Process(target=work, daemon=True, args=(
                loader.dataset, tasks, self.results, self.done, loader.batch_sampler is not None, loader.collate_fn,
                loader.drop_last, self.seed, loader.worker_init_fn, number, loader.num_workers))
            process.start()
            self.processes.append(process)
        self._begin()

    def _begin(self) -> None:
        self.sent = self.given = 0
        self.waiting: dict[int, Any] = {}            # batches that came before their turn
        self.open: dict[int, int] = {}               # task: the worker it went to
        self.alive = [True] * len(self.processes)    # workers whose stream has not ended
        self.turn = 0
        for _ in range((self.loader.prefetch_factor or 2) * len(self.processes)):
            self._send()

    def again(self) -> None:
        """The next epoch with the same processes."""
        if not self.processes:
            raise RuntimeError("the workers of this DataLoader have ended")
        self.yielded, self.indices = 0, iter(self.loader._index_sampler)
        while self.open:                             # batches of an epoch that was left in the middle
            self._receive()
        for tasks in self.tasks:
            tasks.put(Resume())
        left = len(self.processes)
        while left:
            number, answer = self._answer()
            left -= number is None and isinstance(answer, Resume)
        self._begin()

    def _send(self) -> None:
        """Give the next indices to the next worker that still has data."""
        if not any(self.alive):
            return
        try:
            index = next(self.indices)
        except StopIteration:
            return
        while not self.alive[self.turn]:
            self.turn = (self.turn + 1) % len(self.alive)
        worker, self.turn = self.turn, (self.turn + 1) % len(self.alive)
        self.tasks[worker].put((self.sent, index))
        self.open[self.sent] = worker
        self.sent += 1

    def next_batch(self) -> Any:
        while True:
            if self.loader.in_order:
                while self.given < self.sent and self.given not in self.open and self.given not in self.waiting:
                    self.given += 1                  # a task for which a stream had nothing left
            ready = self.given if self.loader.in_order else next(iter(self.waiting), None)
            if ready in self.waiting:
                answer = self.waiting.pop(ready)     # type: ignore[arg-type]
                self.given += self.loader.in_order
                if isinstance(answer, Failure):
                    self._send()
                    answer.reraise()
                self._send()
                return answer
            if not self.open:
                if not self.loader.persistent_workers:
                    self.close()
                raise StopIteration
            self._receive()

    def _receive(self) -> None:
        number, answer = self._answer()
        worker = self.open.pop(number)
        if isinstance(answer, Ended):
            self.alive[worker] = False
            self._send()
        else:
            self.waiting[number] = answer

    def _answer(self) -> tuple[Any, Any]:
        """What a worker sends next; an error if one has died or none answers in time."""
        limit = time.monotonic() + self.loader.timeout if self.loader.timeout else float("inf")
        while True:
            try:
                number, data = self.results.get(timeout=min(POLL_SECONDS, max(limit - time.monotonic(), 0.01)))
                return number, pickle.loads(data)
            except queue.Empty:
                dead = [process for process in self.processes if not process.is_alive()]
                if dead:
                    self.close()
                    raise RuntimeError(_died(dead)) from None
                if time.monotonic() >= limit:
                    self.close()
                    raise RuntimeError(f"DataLoader timed out after {self.loader.timeout} seconds") from None
            except BaseException:                    # Ctrl-C, say
                self.close()
                raise

    def close(self) -> None:
        """End the workers: kindly first."""
        processes, self.processes = self.processes, []
        if not processes:
            return
        self.done.set()
        for tasks in self.tasks:
            with contextlib.suppress(ValueError, OSError):
                tasks.put(None)
        limit = time.monotonic() + _LAST_SECONDS
        for process in processes:
            process.join(max(0.0, limit - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()
        for channel in (*self.tasks, self.results):
            channel.cancel_join_thread()
            channel.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _died(processes: list[Any]) -> str:
    pids = ", ".join(str(process.pid) for process in processes)
    lines = [f"DataLoader worker (pid(s) {pids}) exited unexpectedly"]
    for process in processes:
        code = process.exitcode
        killed = code is not None and code < 0
        how = f"is killed by signal: {signal.strsignal(-code)}. " if killed else f"ended with exit code {code}"
        lines.append(f"  DataLoader worker (pid {process.pid}) {how}")
    return "\n".join(lines)
