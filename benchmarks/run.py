"""Compare claygrad with PyTorch, in one run, on one thread.

    make bench                                         # all workloads
    make bench BENCH_ARGS="--only mlp --rounds 9"
    make bench BENCH_ARGS=--readme                     # and write the table into README.md

A round starts two fresh processes, one per library, in turns (who goes first alternates too), and each times every
workload. The figure of a workload is its minimum over all rounds: what else the machine does can only add. The cost of
calling an empty function, measured the same way, is taken off.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import timeit
from collections.abc import Callable, Iterable
from datetime import date
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from workloads import WORKLOADS, gather  # noqa: E402

gather()

LIBRARIES = ("claygrad", "torch")
BATCH_SECONDS = 0.02
BATCHES = 7
IMPORT_TARGET = 0.15
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def seconds_per_call(call: Callable[[], object]) -> float:
    """The best of some batches, each long enough for the clock."""
    timer = timeit.Timer(call)
    number = 1
    while (taken := timer.timeit(number)) < BATCH_SECONDS:
        number = max(number + 1, int(number * min(10, 1.2 * BATCH_SECONDS / max(taken, 1e-9))))
    return min(timer.repeat(BATCHES, number)) / number


def measure(library: str, names: Iterable[str]) -> dict[str, float]:
    """Seconds per call of each workload, in this process."""
    lib = importlib.import_module(library)
    lib.set_num_threads(1)
    empty = seconds_per_call(lambda: None)
    times = {}
    for name in names:
        lib.manual_seed(0)
        times[name] = seconds_per_call(WORKLOADS[name].setup(lib)) - empty
    return times


def in_fresh_process(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], env={**os.environ, **ONE_THREAD}, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def compare(names: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """{library: {workload: seconds}}, minima over the rounds."""
    best: dict[str, dict[str, float]] = {library: {} for library in LIBRARIES}
    for turn in range(rounds):
        for library in LIBRARIES if turn % 2 == 0 else reversed(LIBRARIES):
            print(f"round {turn + 1} of {rounds}: {library}", file=sys.stderr)
            for name, seconds in json.loads(in_fresh_process(__file__, "--measure", library, *names)).items():
                best[library][name] = min(seconds, best[library].get(name, float("inf")))
    return best


def import_seconds(rounds: int) -> dict[str, float]:
    """What `import numpy`, and then each library, takes in a fresh process."""
    def once(*modules: str) -> float:
        lines = [f"import {module}" for module in modules]
        program = "\n".join(["import time", *lines[:-1], "began = time.perf_counter()", lines[-1],
                             "print(time.perf_counter() - began)"])
        return float(in_fresh_process("-c", program))

    asked = {"numpy": ("numpy",), "claygrad": ("numpy", "claygrad"), "torch": ("numpy", "torch")}
    return {name: min(once(*modules) for _ in range(rounds)) for name, modules in asked.items()}


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def table(best: dict[str, dict[str, float]]) -> list[str]:
    rows = ["| what | torch | claygrad | ratio | target |", "|---|--:|--:|--:|--:|"]
    for name, seconds in best["claygrad"].items():
        title, target = WORKLOADS[name][:2]
        ratio = seconds / best["torch"][name]
        verdict = "" if target is None else f"{target:.2f}" + ("" if round(ratio, 2) <= target else " missed")
        rows.append(f"| {title} | {duration(best['torch'][name])} | {duration(seconds)} | {ratio:.2f} | {verdict} |")
    return rows


def machine() -> str:
    """One line that a published figure must name: processor, system, versions, day."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("claygrad", "torch", "numpy"))
    return f"{cpu}, one thread, {platform.system()}, Python {platform.python_version()}, {libraries}, {date.today()}"


def publish(lines: list[str]) -> None:
    """Put the table between the two marks in the README."""
    readme = HERE.parent / "README.md"
    before, _, rest = readme.read_text().partition("<!-- bench -->\n")
    _, _, after = rest.partition("<!-- end of bench -->")
    readme.write_text(before + "<!-- bench -->\n" + "\n".join(lines) + "\n<!-- end of bench -->" + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=WORKLOADS, default=list(WORKLOADS),
                        help="some of: " + ", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-import", action="store_true", help="leave the import times out")
    parser.add_argument("--readme", action="store_true", help="write the result into README.md too")
    parser.add_argument("--measure", nargs="+", metavar=("LIBRARY", "NAME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], options.measure[1:])))
        return

    lines = table(compare(options.only, options.rounds))
    if not options.no_import:
        seconds = import_seconds(options.rounds)
        took = {name: duration(value) for name, value in seconds.items()}
        beyond = f"torch {took['torch']}, claygrad {took['claygrad']} (target: under {duration(IMPORT_TARGET)})"
        lines += ["", f"`import`, beyond NumPy's {took['numpy']}: {beyond}."]
    lines += ["", f"`make bench`, the best of {options.rounds} rounds in alternating processes: {machine()}."]
    print(*lines, sep="\n")
    if options.readme:
        publish(lines)


if __name__ == "__main__":
    main()
