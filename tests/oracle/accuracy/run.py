"""python -m tests.oracle.accuracy.run [--isa base avx2 avx512] [--only words] [--all]: the table of errors, worst first."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator

from tests.oracle.accuracy import functions, sums
from tests.oracle.accuracy.units import BOUND, Row, clearly_worse, worst


def every_row(share: float = 1.0) -> Iterator[Row]:
    yield from functions.rows(share)
    yield from sums.rows()


def table(only: list[str], share: float = 1.0) -> list[tuple[str, str, float, float]]:
    import numpy as np
    import torch

    import claygrad

    found = []
    for row in every_row(share):
        if only and not any(word in row.title for word in only):
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            head, rest = row.true(row.arrays)
            found.append((row.title, row.dtype, worst(row, claygrad, head, rest), worst(row, torch, head, rest)))
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--isa", nargs="*", default=[], help="instruction sets, a process each")
    words.add_argument("--only", nargs="*", default=[], help="rows whose title has one of these words")
    words.add_argument("--all", action="store_true", help="every row, not only those beyond the bound")
    given = words.parse_args()
    if given.isa:
        rest = (["--only", *given.only] if given.only else []) + (["--all"] if given.all else [])
        for isa in given.isa:
            print(f"== {isa}", flush=True)
            subprocess.run([sys.executable, "-m", "tests.oracle.accuracy.run", *rest], env={**os.environ, "CLAYGRAD_ISA": isa}, check=True)
        return
    found = table(given.only)
    worse = [f for f in found if clearly_worse(f[2], f[3], f[1])]
    beyond = [f for f in found if f[2] > BOUND[f[1]] and f[2] > 1.05 * f[3] and f not in worse]
    better = sum(clearly_worse(f[3], f[2], f[1]) for f in found)
    for title, part in (("clearly worse", worse), ("beyond the bound", beyond), ("all", found if given.all else [])):
        print(f"-- {title}: {len(part)}")
        for name, _, ours, theirs in sorted(part, key=lambda f: -f[2] / (f[3] + 0.5)):
            print(f"{name:60} {ours:12.4g} {theirs:12.4g}")
    print(f"{len(found)} rows, {len(worse)} clearly worse, {better} clearly better")


if __name__ == "__main__":
    main()
