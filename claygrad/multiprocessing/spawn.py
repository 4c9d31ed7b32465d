"""Several processes for one function: started together, joined together, ended together when one fails."""
from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

from claygrad.core.user_warnings import warn

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_PATIENCE = 30.0             # seconds that a process has to end when it is told to
# `distributed` puts a function here that makes the calls in ranks which a launcher started, and says whether it did.
in_ranks: Callable[[Callable, tuple, int], bool] = lambda fn, args, nprocs: False


class ProcessException(Exception):
    """A process failed."""

    __slots__ = ["error_index", "error_pid", "msg", "pid"]

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised in one of the processes; the text has its traceback."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """One of the processes ended by a signal, or with an exit code other than 0."""

    __slots__ = ["exit_code", "signal_name"]

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
                 ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def prctl(option: int, argument: Any) -> None:
    """Linux's prctl; nothing on other systems."""
    if sys.platform == "linux":
        import ctypes
        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)


def _prctl_pr_set_pdeathsig(number: int) -> None:
    """Have this process receive a signal when the one that started it ends."""
    prctl(1, number)


def _wrap(fn: Callable, i: int, args: tuple, error_file: str) -> None:
    _prctl_pr_set_pdeathsig(signal.SIGINT)
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass                                             # the process that started this one is ending, and says why
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """The processes that `start_processes` started."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int | None]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def _join_procs_with_timeout(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends. True when all have ended well, False when some still run.

        When one fails the others are ended (after `grace_period` seconds, if given) and its error is raised.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        if grace_period is not None:
            self._join_procs_with_timeout(grace_period)
        for end in ("terminate", "kill"):
            for process in self.processes:
                if process.is_alive():
                    getattr(process, end)()
            self._join_procs_with_timeout(_PATIENCE)
        self._raise(failed)
        return False

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        try:
            with open(self.error_files[index], "rb") as file:
                told = pickle.load(file)
        except (OSError, EOFError):
            told = None
        for name in self.error_files:
            with contextlib.suppress(OSError):
                os.unlink(name)
        if told is not None:
            raise ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{told}", index,
                                         process.pid)
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code,
                                         name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


class SpawnContext(ProcessContext):
    """The processes that `spawn` started."""


def start_processes(fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
                    start_method: str = "spawn") -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes, with i from 0 on; wait for them, or return their context."""
    if join and nprocs > 1 and in_ranks(fn, args, nprocs):
        return None
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for i in range(nprocs):
        with tempfile.NamedTemporaryFile(prefix="claygrad-errorfile-", suffix=".pickle", delete=False) as file:
            name = file.name
        os.unlink(name)                                  # it is there only if the process wrote it
        process: Any = context.Process(target=_wrap, args=(fn, i, args, name), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
        error_files.append(name)
    running = ProcessContext(processes, error_files)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` new processes, with i from 0 on; wait for them, or return their context.

    In a program that `claygrad launch` or mpiexec started with as many ranks, and that has no process group yet, the
    ranks are these processes: each makes one of the calls.
    """
    if start_method != "spawn":
        warn(f"This method only supports start_method=spawn (got: {start_method}).\n"
             "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)", FutureWarning)
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
