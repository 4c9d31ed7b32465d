"""Compare claygrad with PyTorch, and where they can do the same work with JAX, NumPy and torch.compile, in one run.

    make bench                                         # all groups; a table each, and a chart in out/bench.png
    make bench BENCH_ARGS="--group overhead training"
    make bench BENCH_ARGS="--only mlp --rounds 9 --library claygrad torch"
    make bench BENCH_ARGS=--publish                    # and write a summary into docs/benchmarks.md

A round starts a fresh process for each library, in turns (who goes first alternates too), and each times every workload
of a group. The result is the minimum over all rounds: other load on the machine can only add time. The cost
of calling an empty function, measured the same way, is taken off. All libraries get the same number of threads: one for
small work, all cores for large. torch.compile takes long to compile and has one round.

Memory is what the steps of a model add at their peak to a process that has imported the library. The roofline is what
this machine reached in the same run: a product of two matrices of 1024; loops that do nothing but read and write as
many arrays of the same size, on as many threads (floors.cpp). "at the roofline" is what those would take as a share of
PyTorch's time: nothing that does the same arithmetic, or moves the same memory, can have a smaller ratio.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import report  # noqa: E402
from workloads import GROUPS, TWINS, WORKLOADS, gather  # noqa: E402

gather()

LIBRARIES = ("claygrad", "torch", "jax", "numpy", "compile")
ONE_THREAD = ("overhead", "training")
WITHOUT_COMPILE = ("overhead",)                 # the overhead of a compiled call dominates
OUT = HERE.parent / "out"


def threads_of(group: str) -> int:
    if group in ONE_THREAD:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(threads: int) -> dict[str, str]:
    """The environment variables that set the number of threads of each library."""
    words = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    several = str(threads > 1).lower()
    return {**os.environ, **dict.fromkeys(words, str(threads)), "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={several} intra_op_parallelism_threads={threads}"}


def in_fresh_process(*arguments: object, threads: int = 1) -> str:
    return subprocess.run([sys.executable, *map(str, arguments)], env=environment(threads), check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def measured(*arguments: object, threads: int) -> object:
    return json.loads(in_fresh_process(HERE / "measure.py", *arguments, threads=threads).splitlines()[-1])


def can_run(library: str, group: str, names: list[str]) -> list[str]:
    """Those of the workloads that the library has an implementation of."""
    if importlib.util.find_spec("torch" if library == "compile" else library) is None:
        return []
    if library == "compile":
        return [] if group in WITHOUT_COMPILE else names
    return [name for name in names if name in TWINS[library]] if library in TWINS else names


def compare(group: str, names: list[str], libraries: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """{library: {workload: seconds}}, minima over the rounds."""
    best: dict[str, dict[str, float]] = {library: {} for library in libraries}
    threads = threads_of(group)
    for turn in range(rounds):
        for library in libraries if turn % 2 == 0 else reversed(libraries):
            mine = can_run(library, group, names)
            if not mine or (library == "compile" and turn > 0):
                continue
            print(f"{group}, round {turn + 1} of {rounds}: {library}", file=sys.stderr)
            try:
                times = measured("times", library, threads, *mine, threads=threads)
            except subprocess.CalledProcessError:
                if library in ("claygrad", "torch"):
                    raise
                continue                         # said on stderr; its column stays empty
            for name, seconds in times.items():
                best[library][name] = min(seconds, best[library].get(name, float("inf")))
    return best


def memory(names: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """{library: {workload: bytes}}, minima over the rounds."""
    threads = threads_of("models")
    return {library: {name: min(measured("memory", library, threads, name, threads=threads) for _ in range(rounds))
                      for name in names} for library in ("claygrad", "torch")}


def roofline(names: list[str], rounds: int) -> dict:
    """{"flops": a second, "seconds": {workload: the least that moving its memory takes}}"""
    threads = threads_of("throughput")
    flops, floors = [], {}
    for _ in range(rounds):
        flops.append(measured("peak", threads=threads))
        for name, seconds in measured("floors", threads, *names, threads=threads).items():
            floors[name] = min(seconds, floors.get(name, seconds))
    return {"flops": max(flops), "seconds": floors}


def import_seconds(rounds: int) -> dict[str, float]:
    """What `import numpy`, and then each library, takes in a fresh process."""
    def once(*modules: str) -> float:
        lines = [f"import {module}" for module in modules]
        program = "\n".join(["import time", *lines[:-1], "began = time.perf_counter()", lines[-1],
                             "print(time.perf_counter() - began)"])
        return float(in_fresh_process("-c", program))

    asked = {"numpy": ("numpy",), "claygrad": ("numpy", "claygrad"), "torch": ("numpy", "torch")}
    return {name: min(once(*modules) for _ in range(rounds)) for name, modules in asked.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--group", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=WORKLOADS, default=list(WORKLOADS),
                        help="some of: " + ", ".join(WORKLOADS))
    parser.add_argument("--library", nargs="+", choices=LIBRARIES, default=LIBRARIES, help="beside claygrad and torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-import", action="store_true", help="leave the import times out")
    parser.add_argument("--publish", action="store_true", help="write a summary into docs/benchmarks.md too")
    options = parser.parse_args()
    libraries = [one for one in LIBRARIES if one in options.library or one in ("claygrad", "torch")]

    results: dict = {"machine": report.machine(threads_of("models")), "rounds": options.rounds, "groups": {}}
    for group in options.group:
        names = [name for name in options.only if WORKLOADS[name].group == group]
        if not names:
            continue
        if group in ("throughput", "models") and "roofline" not in results:
            results["roofline"] = roofline(names, options.rounds)
        results["groups"][group] = compare(group, names, libraries, options.rounds)
        print("", f"## {group}: {report.count_of_threads(threads_of(group))}", "", sep="\n")
        print(*report.table(results["groups"][group], results.get("roofline")), sep="\n", flush=True)
        if group == "models":
            results["memory"] = memory(names, options.rounds)
            print("", "## memory of the models at the peak", "", sep="\n")
            print(*report.table(results["memory"], memory=True), sep="\n", flush=True)
    if not options.no_import:
        results["import"] = import_seconds(options.rounds)
    print("", *report.footnotes(results), sep="\n")

    OUT.mkdir(exist_ok=True)
    (OUT / "bench.json").write_text(json.dumps(results, indent=1))
    if importlib.util.find_spec("matplotlib"):
        report.chart(results, OUT / "bench.png")
    if options.publish:
        report.publish(report.summary(results), HERE.parent / "docs" / "benchmarks.md")


if __name__ == "__main__":
    main()
