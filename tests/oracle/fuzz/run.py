"""The random-program fuzzer: the same programs in claygrad and in torch, compared after every statement.

By hand: python -m tests.oracle.fuzz.run --programs 20000 --seed 0
         python -m tests.oracle.fuzz.run --programs 20000 --seed 0 --wider     the programs of wider.py
A program that differs is shrunk to the statements that matter and printed as code that runs under either name.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from tests.oracle.fuzz.helpers import HELPERS
from tests.oracle.fuzz.machine import Step, difference, trace, trace_apart
from tests.oracle.fuzz.program import Author, write
from tests.oracle.fuzz.wider import WiderAuthor


@dataclass
class Verdict:
    """How the libraries ran one program."""

    difference: str | None
    line: int
    completed: bool  # torch ran every statement
    context: str | None = None  # where torch's context differs from torch that copies at once
    context_raised: bool = False
    context_crashed: bool = False
    rounding: bool = False  # a difference in single precision that is gone in double
    # torch failed an assertion of its own, or refused a write that it had done: from there on nothing is compared
    asserted: bool = False


ORACLES = ("mutation", "copies")


def compare(lines: list[str], ours: ModuleType, theirs: ModuleType, oracle: str = "mutation") -> Verdict:
    """Runs a program in claygrad and in torch, and finds the first statement after which they differ."""
    # Apart: inside its context torch's second derivatives can end the process, when a kernel meets a zero not written out,
    # and so can a hook on a view whose base was written.
    return judge(lines, ours, theirs, next(trace_apart([lines], theirs, oracle)), oracle)


def judge(
    lines: list[str], ours: ModuleType, theirs: ModuleType, standard: list[Step] | None, oracle: str = "mutation"
) -> Verdict:
    """The same, given how torch ran it inside its context (None: it did not survive that).

    The standard is torch inside allow_mutation_on_saved_tensors(). Where that differs from torch that copies what it saves at
    the moment it saves it, it is the context that went wrong: from there on the copies are the standard.
    """
    copied = standard if oracle == "copies" else trace(lines, theirs, "copies")
    if copied is None:
        return Verdict(None, len(lines), False, "torch crashed", context_crashed=True)
    mine = trace(lines, ours)
    verdict = Verdict(None, len(lines), all(step.error is None for step in copied))
    if standard is None:
        verdict.context, verdict.context_crashed, standard = "torch's context crashed", True, copied
    # How often a gradient, or something made of inference tensors, was written before it was seen is nobody's business.
    loose = ("inference_mode", "Linear(", ".grad\n", ".grad.detach()\n")
    versions = not any(word in line + "\n" for line in lines for word in loose)
    for number, (own, expected, copy) in enumerate(zip(mine, standard, copied, strict=True)):
        refused = own.error == copy.error and "Inplace update to inference" in (own.error or "")
        if refused or "INTERNAL ASSERT FAILED" in (copy.error or ""):
            verdict.asserted = True
            break
        if verdict.context is None and standard is not copied:
            # Under a dispatch mode torch's reshape records its view as another node.
            verdict.context = _parted(expected, copy, "torch's context", "torch with copies", nodes=False)
            verdict.context_raised = verdict.context is not None and expected.error != copy.error
        found = None if verdict.context else _parted(own, expected, "claygrad", "torch", False, versions)
        found = found or _parted(own, copy, "claygrad", "torch", versions=versions)
        if found:
            verdict.difference, verdict.line = found, number
            break
    if verdict.difference and own.error == copy.error and "torch.float32" in lines[0]:
        # What cancels leaves the rounding of what cancelled, of any size. In double it would be a difference still.
        double = [line.replace("torch.float32", "torch.float64") for line in lines]
        if compare(double, ours, theirs, oracle).difference is None:
            verdict.difference, verdict.line, verdict.rounding = None, len(lines), True
    return verdict


def _parted(one: Step, other: Step, name: str, against: str, nodes: bool = True, versions: bool = True) -> str | None:
    if one.error != other.error:
        return f"{name} {one.error or 'no error'}\n# {against:<8} {other.error or 'no error'}"
    return difference(one.seen, other.seen, name, against, nodes, versions)


def shrink(lines: list[str], ours: ModuleType, theirs: ModuleType, oracle: str = "mutation") -> list[str]:
    """The program without any statement that the difference can do without."""
    verdict = compare(lines, ours, theirs, oracle)
    kind, lines = _kind(verdict.difference), lines[: verdict.line + 1]
    size = max(1, len(lines) // 2)
    while True:
        start, removed = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if shorter and _kind(compare(shorter, ours, theirs, oracle).difference) == kind:
                lines, removed = shorter, True
            else:
                start += size
        if size == 1 and not removed:
            return lines[: compare(lines, ours, theirs, oracle).line + 1]
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
    for name in ("weigh", "PYTORCH"):
        if name in "".join(used) and HELPERS[name].strip("\n") not in used:
            used.insert(0, HELPERS[name].strip("\n"))
    head = f"import {library} as torch\n" + ("\n" + "\n\n\n".join(used) + "\n\n\n" if used else "")
    return head + text + f"\n# {verdict.difference}\n"


def standards(
    numbers: range, torch: ModuleType, length: int = 14, oracle: str = "mutation", author: type[Author] = Author
) -> Iterator[tuple]:
    """Programs and how torch ran them inside its context, a hundred to a process."""
    for start in range(0, len(numbers), 100):
        chosen = numbers[start : start + 100]
        programs = [write(number, torch, length, author) for number in chosen]
        yield from zip(chosen, programs, trace_apart(programs, torch, oracle), strict=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0, help="each has a million programs of its own")
    parser.add_argument("--length", type=int, default=14)
    parser.add_argument("--stop", type=int, default=10, help="show no more than so many kinds of failure")
    parser.add_argument("--oracle", choices=ORACLES, default="mutation", help="how torch keeps what was saved")
    parser.add_argument("--wider", action="store_true", help="programs that use all of autograd; torch keeps copies")
    options = parser.parse_args(arguments)
    author, options.oracle = (WiderAuthor, "copies") if options.wider else (Author, options.oracle)

    import torch

    import claygrad

    torch.set_num_threads(1)
    began, failures, counts = time.time(), set(), Counter()
    numbers = range(options.seed * 1_000_000, options.seed * 1_000_000 + options.programs)
    for number, lines, standard in standards(numbers, torch, options.length, options.oracle, author):
        verdict = judge(lines, claygrad, torch, standard, options.oracle)
        counts["programs"] += 1
        counts["statements"] += len(lines)
        counts["without an error"] += verdict.completed
        counts["torch's context wrong"] += verdict.context is not None
        counts["(raised of its own)"] += verdict.context_raised
        counts["(crashed)"] += verdict.context_crashed
        counts["(asserted)"] += verdict.asserted
        counts["single precision alone"] += verdict.rounding
        counts["claygrad differs"] += verdict.difference is not None
        if verdict.difference and len(failures) < options.stop:
            small = shrink(lines, claygrad, torch, options.oracle)
            verdict = compare(small, claygrad, torch, options.oracle)
            key = f"{_kind(verdict.difference)} | {re.sub(r'v[0-9]+|[0-9.]+', '_', small[-1])}"
            if key not in failures:
                failures.add(key)
                print(f"--- program {number}\n{show(small, verdict)}", flush=True)
    counts["seconds"] = round(time.time() - began)
    print("  ".join(counts))
    print("  ".join(str(n).rjust(len(name)) for name, n in counts.items()), flush=True)
    return 1 if counts["claygrad differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
