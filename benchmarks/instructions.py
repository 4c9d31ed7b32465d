"""Count the instructions of each workload with valgrind, and how many of them buy safety and provenance.

    make instructions                                  # the small workloads
    make instructions BENCH_ARGS="--only mlp"
    make provenance                                    # the whole cost of provenance, against a build without it

Unlike seconds, instructions do not depend on what else the machine does, so this finds a regression of two per cent
that a clock cannot. The cost of *mutation safety* is what is spent inside the functions that hold, release and protect
the epochs of a storage; the cost of *provenance* is what is spent finding the user's line. A call itself (saving
registers, the jump) is counted at CALL instructions each on top of what callgrind sees inside. Both figures leave out
what a compiler put inline: the comparison of two epochs, the storing of two pointers. `make provenance` leaves out
nothing: it counts the same workloads on a second build, made with -Dprovenance=false: no line is looked for, no module
noted.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from workloads import WORKLOADS, gather  # noqa: E402

gather()

TARGET = 0.05
CALL = 10
REPEATS = 200
WARM_UP = 50
# A C function that nothing else calls: valgrind writes its counters out whenever it is entered.
MARKER = "ctermid"
SAFETY = re.compile(r"storage.*(Storage_hold|Storage_release|Storage_before_write|Storage_at)\b|fingerprint")
PROVENANCE = re.compile(r"(provenance_find_line|clay_where|tensor_mark_made|tensor_mark_cut)\b")
SMALL = [name for name, workload in WORKLOADS.items() if workload.group == "overhead"]


class Count(NamedTuple):
    total: float
    safety: float
    provenance: float


def run_marked(names: list[str]) -> None:
    """In the process that valgrind watches: each workload between two marks, after some calls to warm up."""
    lib = importlib.import_module("claygrad")
    lib.set_num_threads(1)
    mark = os.ctermid
    mark()     # the first call binds the name, which costs more
    for call in [lambda: None] + [WORKLOADS[name].setup(lib) for name in names]:
        for _ in range(WARM_UP):
            call()
        gc.collect()
        gc.disable()
        mark()
        for _ in range(REPEATS):
            call()
        mark()
        gc.enable()


def costs(profile: Path) -> Iterator[tuple[str, str, int, int]]:
    """(caller, callee, calls, instructions inside) of every call edge in a callgrind profile."""
    caller = callee = ""
    lines = iter(profile.read_text(errors="replace").splitlines())
    for line in lines:
        if line.startswith("fn="):
            caller = line[3:]
        elif line.startswith("cfn="):
            callee = line[4:]
        elif line.startswith("calls="):
            calls = int(line[6:].split()[0])
            yield caller, callee, calls, int(next(lines).split()[1])


def spent_in(profile: Path, names: re.Pattern[str]) -> int:
    """Instructions inside functions of these names, what they call included; a call among them counts once."""
    return sum(inside + CALL * calls for caller, callee, calls, inside in costs(profile)
               if names.search(callee) and not names.search(caller))


def total(profile: Path) -> int:
    match = re.search(r"^(?:totals|summary): (\d+)", profile.read_text(errors="replace"), re.MULTILINE)
    if match is None:
        raise ValueError(f"{profile}: not a callgrind profile")
    return int(match[1])


def count(names: list[str], site: str | None = None) -> dict[str, Count]:
    """Instructions per call of each workload, with the claygrad that lies in `site`."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        sys.exit("counting instructions needs valgrind; on Debian and Ubuntu: apt-get install valgrind")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "profile"
        subprocess.run([valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", f"--dump-before={MARKER}",
                        "--compress-strings=no", "--compress-pos=no", "--quiet",
                        sys.executable, __file__, "--marked", *names], check=True,
                       env=os.environ if site is None else {**os.environ, "PYTHONPATH": site})
        # A mark ends a profile: first the start, then for each workload its preparation and its calls.
        profiles = [out.with_name(f"profile.{2 * i + 3}") for i in range(len(names) + 1)]
        empty = total(profiles[0])
        return {name: Count(*(n / REPEATS for n in (total(p) - empty, spent_in(p, SAFETY), spent_in(p, PROVENANCE))))
                for name, p in zip(names, profiles[1:], strict=True)}


def compare(counted: dict[str, Count], without: dict[str, Count]) -> None:
    """What provenance costs: the instructions of two builds."""
    print("| what | instructions | without provenance | more |", "|---|--:|--:|--:|", sep="\n")
    for name, (whole, _, _) in counted.items():
        bare = without[name].total
        verdict = "" if whole / bare - 1 < TARGET else f" (target under {TARGET:.0%}: missed)"
        print(f"| {WORKLOADS[name].title} | {whole:,.0f} | {bare:,.0f} | {whole / bare - 1:.1%}{verdict} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=WORKLOADS, default=SMALL,
                        help="some of: " + ", ".join(WORKLOADS))
    parser.add_argument("--against", metavar="SITE",
                        help="a folder with a claygrad that was built with -Dprovenance=false")
    parser.add_argument("--marked", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.marked:
        run_marked(options.marked)
        return
    counted = count(options.only)
    if options.against:
        compare(counted, count(options.only, options.against))
        return
    if not any(safety + provenance for _, safety, provenance in counted.values()):
        print("The last three columns are empty: this build has no names of inner functions. "
              "`make instructions` makes one that has.\n")
    print("| what | instructions | safety | provenance | both |", "|---|--:|--:|--:|--:|", sep="\n")
    for name, (whole, safety, provenance) in counted.items():
        share = (safety + provenance) / whole
        verdict = "" if share < TARGET else f" (target under {TARGET:.0%}: missed)"
        print(f"| {WORKLOADS[name].title} | {whole:,.0f} | {safety / whole:.1%} | {provenance / whole:.1%} "
              f"| {share:.1%}{verdict} |")


if __name__ == "__main__":
    main()
