"""One measurement in a process of its own: `run.py` starts these, in turns, and reads the JSON that they print.

    python benchmarks/measure.py times claygrad 1 mlp recorded_add       # seconds per call, on one thread
    python benchmarks/measure.py memory torch 2 gpt                      # bytes that its steps take at their peak
    python benchmarks/measure.py peak                                    # additions and multiplications a second
    python benchmarks/measure.py floors 2 exp_1m                         # seconds that moving its memory takes
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parent))

from workloads import TWINS, WORKLOADS, Pass, gather

gather()

BATCH_SECONDS = 0.02
BATCHES = 7
LONG = 2.0                         # seconds: stop after batches of this total time
STEPS = 5                          # training steps before memory is read
PEAK_SIZE = 1024                   # of the matrices
FLOOR_SECONDS = 0.3                # for a workload's floor: 15 batches of BATCH_SECONDS


def seconds_per_call(call: Callable[[], object]) -> float:
    """The best of some batches, each long enough for the clock."""
    call()                         # warm up
    timer = timeit.Timer(call)
    number = 1
    while (measured := timer.timeit(number)) < BATCH_SECONDS:
        number = max(number + 1, int(number * min(10, 1.2 * BATCH_SECONDS / max(measured, 1e-9))))
    best, spent = measured, measured
    for _ in range(BATCHES):
        if spent > LONG:
            break
        spent += (measured := timer.timeit(number))
        best = min(best, measured)
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
    """Seconds per call of each workload. Other libraries may fail: their column stays empty."""
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
    """VmRSS, the memory held now, or VmHWM, the most so far, in bytes. For this process alone: getrusage's peak starts
    at that of the parent process."""
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


def peak() -> float:
    """Additions and multiplications a second of a product of matrices."""
    import numpy as np
    a = np.ones((PEAK_SIZE, PEAK_SIZE), np.float32)
    c = np.empty_like(a)
    return 2 * PEAK_SIZE ** 3 / seconds_per_call(lambda: np.matmul(a, a, out=c))


def floors(threads: int, names: list[str]) -> dict[str, float]:
    """Seconds in which the loops of floors.cpp move what each workload must move. Empty where there is no compiler."""
    import ctypes
    import shutil
    import subprocess
    import tempfile
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "floors.so"
        subprocess.run([compiler, "-std=c++17", "-O3", "-march=native", "-ffast-math", "-fPIC", "-shared", "-pthread",
                        Path(__file__).with_name("floors.cpp"), "-o", library], check=True)
        min_seconds = ctypes.CDLL(str(library)).min_seconds
    min_seconds.restype = ctypes.c_double

    def floor(passes: tuple[Pass, ...]) -> float:
        ints = ctypes.c_int * len(passes)
        sizes, reads, writes = zip(*passes)
        return min_seconds(len(passes), (ctypes.c_int64 * len(passes))(*sizes), ints(*reads), ints(*writes), threads,
                             ctypes.c_double(FLOOR_SECONDS))
    found = {name: floor(WORKLOADS[name].passes) for name in names if WORKLOADS[name].passes}
    return {name: seconds for name, seconds in found.items() if seconds > 0}


def main() -> None:
    what, *rest = sys.argv[1:]
    if what == "peak":
        answer: object = peak()
    elif what == "floors":
        answer = floors(int(rest[0]), rest[1:])
    elif what == "memory":
        answer = memory(rest[0], int(rest[1]), rest[2])
    else:
        answer = times(rest[0], int(rest[1]), rest[2:])
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
