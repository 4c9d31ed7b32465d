"""One measurement in a process of its own: `run.py` starts these, in turns, and reads the JSON that they print.

    python benchmarks/measure.py times claygrad 1 mlp recorded_add       # seconds per call, on one thread
    python benchmarks/measure.py memory torch 2 gpt                      # bytes that its steps take at their peak
    python benchmarks/measure.py peaks 2                                 # flops and bytes a second of the machine
"""

from __future__ import annotations

import importlib
import json
import sys
import timeit
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parent))

from workloads import TWINS, WORKLOADS, gather

gather()

BATCH_SECONDS = 0.02
BATCHES = 7
LONG = 2.0                         # batches that take longer together are enough
STEPS = 5                          # of a model, until its memory stays the same
PEAK_SIZE = 1024                   # of the matrices
PEAK_FLOATS = 1 << 24              # of the vectors: far more than caches hold


def seconds_per_call(call: Callable[[], object]) -> float:
    """The best of some batches, each long enough for the clock."""
    call()                         # what is made on the first call only
    timer = timeit.Timer(call)
    number = 1
    while (taken := timer.timeit(number)) < BATCH_SECONDS:
        number = max(number + 1, int(number * min(10, 1.2 * BATCH_SECONDS / max(taken, 1e-9))))
    best, spent = taken, taken
    for _ in range(BATCHES):
        if spent > LONG:
            break
        spent += (taken := timer.timeit(number))
        best = min(best, taken)
    return best / number


def prepared(library: str, threads: int) -> ModuleType:
    lib = importlib.import_module("torch" if library == "compile" else library)
    if hasattr(lib, "set_num_threads"):          # the others take it from the environment
        lib.set_num_threads(threads)
    return lib


def call_of(library: str, lib: ModuleType, name: str) -> Callable[[], object]:
    if library in TWINS:
        return TWINS[library][name](lib)
    lib.manual_seed(0)
    call = WORKLOADS[name].setup(lib)
    return lib.compile(call) if library == "compile" else call


def times(library: str, threads: int, names: list[str]) -> dict[str, float]:
    """Seconds per call of each workload. What only stands beside may fail: its column stays empty there."""
    lib = prepared(library, threads)
    empty = seconds_per_call(lambda: None)
    seconds = {}
    for name in names:
        try:
            seconds[name] = max(seconds_per_call(call_of(library, lib, name)) - empty, 1e-9)
        except Exception as problem:
            if library in ("claygrad", "torch"):
                raise
            print(f"{library}: {name}: {type(problem).__name__}", file=sys.stderr)
    return seconds


def resident(word: str) -> int:
    """VmRSS, the memory held now, or VmHWM, the most so far, in bytes. Of this program alone: getrusage's figure starts
    at what the program that started this one held."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith(word + ":"))
        return int(line.split()[1]) * 1024
    import resource  # not on every system
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory(library: str, threads: int, name: str) -> int:
    """Bytes at the peak of some steps, beyond what the library takes once imported."""
    lib = prepared(library, threads)
    assert lib.nn.Linear, lib.optim.AdamW        # parts that are imported when first used
    if (reset := Path("/proc/self/clear_refs")).exists():
        reset.write_text("5")                    # the peak begins here
    before = resident("VmRSS")
    call = call_of(library, lib, name)
    for _ in range(STEPS):
        call()
    return resident("VmHWM") - before


def peaks(threads: int) -> dict[str, float]:
    """Additions and multiplications a second of a product of matrices, bytes a second of the faster of copy and sum."""
    import numpy as np
    a = np.ones((PEAK_SIZE, PEAK_SIZE), np.float32)
    c = np.empty_like(a)
    flops = 2 * PEAK_SIZE ** 3 / seconds_per_call(lambda: np.matmul(a, a, out=c))

    x, y, z = (np.ones(PEAK_FLOATS, np.float32) for _ in range(3))
    parts = [slice(k * PEAK_FLOATS // threads, (k + 1) * PEAK_FLOATS // threads) for k in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        copy = seconds_per_call(lambda: list(pool.map(lambda part: np.copyto(z[part], x[part]), parts)))
        add = seconds_per_call(lambda: list(pool.map(lambda part: np.add(x[part], y[part], out=z[part]), parts)))
    return {"flops": flops, "bytes": max(8 * PEAK_FLOATS / copy, 12 * PEAK_FLOATS / add)}


def main() -> None:
    what, *rest = sys.argv[1:]
    if what == "peaks":
        answer: object = peaks(int(rest[0]))
    elif what == "memory":
        answer = memory(rest[0], int(rest[1]), rest[2])
    else:
        answer = times(rest[0], int(rest[1]), rest[2:])
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
