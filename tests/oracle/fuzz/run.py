"""The random-program fuzzer: the same programs in claygrad and in torch, compared after every statement.

By hand: python -m tests.oracle.fuzz.run --programs 20000 --seed 0
A program that differs is shrunk to the statements that matter and printed as code that runs under either name.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import dataclass
from types import ModuleType

from tests.oracle.fuzz.machine import HELPERS, Machine, difference
from tests.oracle.fuzz.program import write


@dataclass
class Verdict:
    """How two libraries ran one program."""

    difference: str | None
    line: int
    raised: int
    completed: bool


def compare(lines: list[str], ours: ModuleType, theirs: ModuleType) -> Verdict:
    """Runs a program in both libraries, statement by statement, until they differ."""
    a, b = Machine(ours), Machine(theirs)
    raised = 0
    for number, line in enumerate(lines):
        mine, other = a.run(line), b.run(line)
        raised += other is not None
        if mine != other:
            return Verdict(f"claygrad {mine or 'no error'}\n# torch    {other or 'no error'}", number, raised, False)
        found = difference(a.seen(), b.seen())
        if found:
            return Verdict(found, number, raised, False)
    return Verdict(None, len(lines), raised, raised == 0)


def shrink(lines: list[str], ours: ModuleType, theirs: ModuleType) -> list[str]:
    """The program without any statement that the difference can do without."""
    kind = _kind(compare(lines, ours, theirs).difference)
    lines = lines[: compare(lines, ours, theirs).line + 1]
    size = max(1, len(lines) // 2)
    while True:
        start, removed = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if shorter and _kind(compare(shorter, ours, theirs).difference) == kind:
                lines, removed = shorter, True
            else:
                start += size
        if size == 1 and not removed:
            return lines[: compare(lines, ours, theirs).line + 1]
        size = max(1, size // 2)


def _kind(difference: str | None) -> str:
    """What sort of difference it is, whatever the names: shrinking keeps to it. A NameError is the shrinker's own doing."""
    if difference is None or "NameError" in difference:
        return "none"
    if difference.startswith("claygrad"):
        return " / ".join(side.split(":")[0] for side in difference.splitlines())
    return difference.split(":")[0].partition(".")[2] or difference[0]


def show(lines: list[str], verdict: Verdict, library: str = "claygrad") -> str:
    """The program as code. Statements that raise are left as they are: the last line is where the libraries part."""
    text = "\n".join(lines)
    used = [body.strip("\n") for name, body in HELPERS.items() if f"{name}(" in text or f"{name}." in text]
    if "again(" in text and "weigh(" not in text:
        used.insert(0, HELPERS["weigh"].strip("\n"))
    head = f"import {library} as torch\n" + ("\n" + "\n\n\n".join(used) + "\n\n\n" if used else "")
    return head + text + f"\n# {verdict.difference}\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first program")
    parser.add_argument("--length", type=int, default=14)
    parser.add_argument("--stop", type=int, default=10, help="give up after so many different failures")
    options = parser.parse_args(arguments)

    import torch

    import claygrad

    torch.set_num_threads(1)
    began, failures, completed, statements = time.time(), {}, 0, 0
    for number in range(options.seed, options.seed + options.programs):
        lines = write(number, torch, options.length)
        verdict = compare(lines, claygrad, torch)
        completed += verdict.completed
        statements += len(lines)
        if verdict.difference and len(failures) < options.stop:
            small = shrink(lines, claygrad, torch)
            verdict = compare(small, claygrad, torch)
            key = f"{_kind(verdict.difference)} | {re.sub(r'v[0-9]+|[0-9.]+', '_', small[-1])}"
            if key not in failures:
                failures[key] = number
                print(f"--- program {number}\n{show(small, verdict)}", flush=True)
        elif verdict.difference:
            failures[f"#{number}"] = number
    took = time.time() - began
    print(
        f"{options.programs} programs, {statements} statements in {took:.0f} s; "
        f"{completed} ran without an error in either; {len(failures)} different failures"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
