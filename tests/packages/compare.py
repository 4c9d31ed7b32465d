"""Run programs and compare the numbers they print by name."""
from __future__ import annotations

import json
import math
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

Numbers = list[tuple[str, Any]]      # in the order in which they were printed; a name may come again


class Outcome(NamedTuple):
    """What a program printed, how it ended and how long it took."""

    numbers: Numbers
    error: str | None
    seconds: float


def run(command: Sequence[str], program: Path, timeout: float = 600, **environment: str) -> Outcome:
    """Run a program in a process of its own, on one thread, so that sums come in one order."""
    began = time.perf_counter()
    settings = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
                "PYTHONHASHSEED": "0", "MPLBACKEND": "agg", **environment}
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    try:
        done = subprocess.run([*command, str(program)], capture_output=True, text=True, timeout=timeout, cwd=program.parent,
                              env={**inherited, **settings}, check=False)
        error = None if done.returncode == 0 else reason(done.stderr) or f"ended with {done.returncode}"
        printed = done.stdout
    except subprocess.TimeoutExpired as late:
        error, printed = f"not done after {timeout:.0f} s", (late.stdout or b"").decode()
    return Outcome(read(printed), error, time.perf_counter() - began)


def read(printed: str) -> Numbers:
    """The lines of JSON among what a program printed."""
    numbers = []
    for line in printed.splitlines():
        if line.startswith("{"):
            try:
                numbers.extend(json.loads(line).items())
            except json.JSONDecodeError:
                continue
    return numbers


def reason(stderr: str) -> str | None:
    """The last exception that a traceback names, with what is written below it."""
    lines = stderr.rstrip().splitlines()
    for number in range(len(lines) - 1, -1, -1):
        if lines[number] and not lines[number][0].isspace() and ": " in lines[number] \
                and lines[number].split(":")[0].rpartition(".")[2].isidentifier():
            return " ".join(line.strip() for line in lines[number:])
    return lines[-1].strip() if lines else None


def differences(wanted: Numbers, seen: Numbers, rtol: float, atol: float) -> list[str]:
    """What is different, in words; nothing where all numbers are equal within the tolerance."""
    found = []
    for (name, value), (other, got) in zip(wanted, seen):
        if name != other:
            found.append(f"{name!r} was to come, {other!r} came")
            break
        if not _close(value, got, rtol, atol):
            found.append(f"{name}: {_short(value)} in PyTorch, {_short(got)} here")
    if not found and len(wanted) != len(seen):
        found.append(f"{len(wanted)} lines in PyTorch, {len(seen)} here")
    return found


def _close(wanted: Any, got: Any, rtol: float, atol: float) -> bool:
    if isinstance(wanted, dict):
        if not isinstance(got, dict) or wanted.keys() != got.keys() or wanted["shape"] != got["shape"]:
            return False
        many = math.prod(wanted["shape"])
        near = rtol * wanted["abs"] + atol * many      # each element may be off by as much
        return _close(wanted["first"], got["first"], rtol, atol) and all(
            abs(wanted[sum_] - got[sum_]) <= near or _same(wanted[sum_], got[sum_]) for sum_ in ("sum", "abs"))
    if isinstance(wanted, list):
        return isinstance(got, list) and len(wanted) == len(got) \
            and all(_close(a, b, rtol, atol) for a, b in zip(wanted, got))
    if isinstance(wanted, (int, float)) and isinstance(got, (int, float)):
        return _same(wanted, got) or abs(wanted - got) <= atol + rtol * abs(wanted)
    return bool(wanted == got)


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 90 else text[:87] + "…"
