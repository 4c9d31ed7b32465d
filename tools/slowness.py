"""Print how many times slower this machine is than one that runs all of .ci/run in some twenty minutes: 1, 2, 3, ...

Machines that share their processors can be several times slower for hours. Each processor is timed, at once.
"""
from __future__ import annotations

import os
import time
from multiprocessing import Pool

USUAL = 0.20         # seconds that one round takes on a quiet machine
ROUNDS = 9


def seconds(_: int) -> float:
    """The mean time of a round: others may take the processor away for seconds on end."""
    began = time.perf_counter()
    for _ in range(ROUNDS):
        total = 0
        for i in range(3_000_000):
            total += i
    return (time.perf_counter() - began) / ROUNDS


if __name__ == "__main__":
    count = os.cpu_count() or 1
    with Pool(count) as pool:
        print(max(1, round(sum(pool.map(seconds, range(count))) / count / USUAL)))
