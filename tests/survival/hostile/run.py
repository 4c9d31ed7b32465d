"""Calls claygrad in ways that no caller should, in processes that may die, and shows the calls at which they did.

    python -m tests.survival.hostile.run                          # 4,000 programs from seed 0
    python -m tests.survival.hostile.run --calls 200000 --seed 7  # long, some hours
    python -m tests.survival.hostile.run --seed 7 --only 1234     # one of them again; --show prints it without running it

A program is a valid call (a sample of an operation, a layer, a line of programs.py) with some of its parts replaced: by numbers
out of range, objects that change tensors when they are asked for their index, tensors without memory, and so on. Any exception
is a good answer. A process that dies, runs for long, or raises SystemError has found a defect: the program is run alone, made
shorter, and printed as code that can be pasted. The same seed gives the same programs.

On the build of `make sanitize` it finds more: what only reads or writes beside its memory is then a death too.
"""

from __future__ import annotations

import argparse
import re
import sys
import time

from .mutate import program
from .shrink import shrink
from .worker import CPU_SECONDS, SANITIZED, End, run

HEAD = "from tests.survival.hostile.things import *\n"


def kind(end: End) -> str:
    """Ends of one kind have one cause, more or less."""
    found = re.search(r"SUMMARY: \w+: (.*)|runtime error: (.*)", end.said)
    if found:
        return re.sub(r"0x[0-9a-f]+|\d+", "#", found[0])
    return re.sub(r"\d+", "#", end.why)


def alone(texts: list[str], end: End, seconds: float) -> tuple[list[str], End]:
    """The last program by itself if it fails so, otherwise with as many of those before it as it takes."""
    for count in (1, 1, 5, 25, len(texts)):
        last = texts[-count:]
        again = run(last, seconds)
        if again.why and again.at == len(last) - 1:
            return last, again
    return texts[-1:], End(end.at, end.why + " (not again)", end.said)


def shortened(texts: list[str], end: End, seconds: float, effort: float) -> list[str]:
    if "not again" in end.why or effort <= 0:
        return texts
    until = time.monotonic() + effort
    while len(texts) > 1:                            # which of those before are needed
        for at in range(len(texts) - 1):
            if time.monotonic() > until:             # it may fail only now and then
                return texts
            fewer = texts[:at] + texts[at + 1:]
            if run(fewer, seconds).why:
                texts = fewer
                break
        else:
            break
    if len(texts) == 1:
        first = kind(end)
        texts = [shrink(texts[0], lambda text: kind(run([text], seconds)) == first, seconds=effort)]
    return texts


def campaign(seed: int, begin: int, calls: int, batch: int = 200, effort: float = 60, most: int = 1000,
             out=sys.stdout) -> list[str]:
    """Run the programs of a seed; returns what was found, as text, and prints it as it comes."""
    found: list[str] = []
    seen: dict[str, int] = {}
    number, until, began = begin, begin + calls, time.monotonic()
    while number < until and len(found) < most:
        texts = [program(seed, k) for k in range(number, min(number + batch, until))]
        end = run(texts)
        if end.at is None:
            number += len(texts)
            if (number - begin) % 10_000 < batch:
                print(f"{number - begin} programs, {time.monotonic() - began:.0f} s", file=out, flush=True)
            continue
        at = max(end.at, 0)
        number += at + 1
        seconds = CPU_SECONDS if "hangs" not in end.why else CPU_SECONDS / 2
        guilty, again = alone(texts[:at + 1], end, seconds)
        known = seen.setdefault(kind(again), 0)
        seen[kind(again)] += 1
        guilty = shortened(guilty, again, seconds, effort if known < 5 else effort / 4)
        text = "\n# then\n".join(guilty[-5:])
        found.append(f"--- seed {seed}, program {number - 1}: {again.why}\n{HEAD}{text}\n" + _excerpt(again.said))
        print(found[-1], file=out, flush=True)
    print(f"{number - begin} programs in {time.monotonic() - began:.0f} s, {len(found)} ended their process", file=out, flush=True)
    return found


def _excerpt(said: str) -> str:
    """Of a sanitizer's report or a traceback, the lines that tell."""
    lines = [line for line in said.splitlines()
             if "survival" not in line and re.match(r"\s+#\d+ |.*(ERROR|runtime error|SUMMARY):|\s+File|(WRITE|READ) of", line)]
    return "".join(f"    {line.strip()[:200]}\n" for line in lines[:14])


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("--calls", type=int, default=4000)
    said.add_argument("--seed", type=int, default=0)
    said.add_argument("--begin", type=int, default=0, help="the number of the first program")
    said.add_argument("--only", type=int, help="the number of the only program")
    said.add_argument("--show", action="store_true", help="print the programs, run none")
    said.add_argument("--batch", type=int, default=200, help="programs in one process")
    said.add_argument("--effort", type=float, default=60, help="seconds to make a program shorter")
    given = said.parse_args()
    begin, calls = (given.begin, given.calls) if given.only is None else (given.only, 1)
    if given.show:
        print("\n---\n".join(program(given.seed, k) for k in range(begin, begin + calls)))
        return 0
    print(f"seed {given.seed}, programs {begin} to {begin + calls - 1}{', sanitized' if SANITIZED else ''}", flush=True)
    return 1 if campaign(given.seed, begin, calls, given.batch, given.effort) else 0


if __name__ == "__main__":
    sys.exit(main())
