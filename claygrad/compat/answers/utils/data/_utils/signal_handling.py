"""`torch.utils.data._utils.signal_handling`: what loaders with processes of their own ask about those that ended."""
from __future__ import annotations

import os
import signal
import threading
from typing import Any

_pids: dict[int, tuple[int, ...]] = {}       # by the id of a loader's iterator, the processes that it has
_SIGCHLD_handler_set = False


def _set_worker_pids(key: int, child_pids: tuple[int, ...]) -> None:
    """Remember the processes of an iterator."""
    if not isinstance(child_pids, tuple):
        raise TypeError(f"_set_worker_pids expects a tuple for child_pids, but got {type(child_pids).__name__}.")
    if key in _pids:
        raise ValueError("_set_worker_pids should be called only once for each _BaseDataLoaderIter.")
    _pids[key] = child_pids


def _remove_worker_pids(key: int) -> None:
    """Forget the processes of an iterator."""
    if key not in _pids:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {key}")
    del _pids[key]


def _error_if_any_worker_fails() -> None:
    """An error for a process that ended otherwise than by itself; it is told once."""
    for key, pids in _pids.items():
        for pid in pids:
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                continue
            if ended is None or ended.si_status == 0:
                continue
            _pids[key] = ()
            if ended.si_code == os.CLD_EXITED:
                raise RuntimeError(f"DataLoader worker (pid {pid}) exited unexpectedly with exit code "
                                   f"{ended.si_status}. Details are lost due to multiprocessing. Rerunning with "
                                   "num_workers=0 may give better error trace.")
            shared = ("It is possible that dataloader's workers are out of shared memory. Please try to raise your "
                      "shared memory limit." if ended.si_status == signal.SIGBUS else "")
            raise RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: "
                               f"{signal.strsignal(ended.si_status)}. {shared}")


def _set_SIGCHLD_handler() -> None:
    """From now on, an error in the main thread when such a process has ended."""
    global _SIGCHLD_handler_set
    if _SIGCHLD_handler_set or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)

    def handler(number: int, frame: Any) -> None:
        _error_if_any_worker_fails()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _SIGCHLD_handler_set = True


def _set_worker_signal_handlers() -> None:
    """Nothing to set in a worker: Python tells the main process which signal ended it."""
