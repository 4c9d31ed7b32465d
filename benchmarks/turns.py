"""The time of a call in several libraries, alternating in one process."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 0.03                     # seconds: slower calls get smaller inputs
ROUNDS, SPAN = 7, 0.02          # min rounds, and min seconds of all rounds together
REST = 0.008                    # seconds that PyTorch's threads spin after a call, on a core that claygrad needs


def seconds(calls: list[Callable[[], object]], threads: int) -> list[float]:
    """The minimum time of each call; the calls alternate. With one thread it is the CPU time of the thread, on which
    other programs have
    little influence."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    for call in calls:
        call()
    began = time.perf_counter()
    for call in calls:
        call()
    count = max(1, int(SPAN / 4 / (time.perf_counter() - began)))
    smallest, rounds, end = [LONG * 1e3] * len(calls), 0, time.perf_counter() + SPAN
    while rounds < ROUNDS or time.perf_counter() < end:
        for i, call in enumerate(calls):
            if threads > 1:
                time.sleep(REST)
                for _ in range(count // 4 + 1):          # wake the threads of this library
                    call()
            start = clock()
            for _ in range(count):
                call()
            smallest[i] = min(smallest[i], (clock() - start) / count)
        rounds += 1
    return smallest
