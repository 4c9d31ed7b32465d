"""No argument of an operation ends the process or keeps it for ever: sizes, indices and saved tensors are checked before they are used.

Every declared operation is called on its samples with one argument replaced: integers by the ends of what 64 bits hold and by more, tensors by
huge, 64-dimensional, empty, meta, infinite ones and by ones of another shape or dtype, and saved tensors by others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import claygrad
from tests.ops.cases import declared

ROOT = Path(__file__).parents[2]
GROUPS = 8
# The claygrad of this process first, then the tests: beside them are the sources, which are not built.
WITH_TESTS = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(claygrad.__file__).parents[1]), str(ROOT)])}


def names(group: int) -> list[str]:
    return sorted(declared())[group::GROUPS]


def failures(keys: list[str], step: int, offset: int = 0) -> list[str]:
    """The calls that ended a process, each with how; the next process goes on behind them."""
    found, start = [], offset
    with tempfile.TemporaryDirectory() as place:
        log = os.path.join(place, "log")
        while True:
            command = [sys.executable, "-m", "tests.survival.hostile_worker", log, str(start), str(2**62), str(step), *keys]
            done = subprocess.run(command, cwd=ROOT, env=WITH_TESTS, capture_output=True, text=True, check=False)
            lines = Path(log).read_text().splitlines() if os.path.exists(log) else []
            found += [line.partition("\t")[2] for line in lines if line.startswith("-1\t")]
            if lines and lines[-1] == "done":
                return found
            assert lines, done.stderr
            at, _, text = lines[-1].partition("\t")
            how = "took too long" if done.returncode == -signal.SIGPROF else f"ended the process ({done.returncode})"
            found.append(f"{text} {how} {done.stderr[-300:]}")
            start = int(at) + 1


@pytest.mark.parametrize("group", range(GROUPS))
def test_hostile_arguments_of_some_operations(group):
    assert failures(names(group)[::3], step=23) == []


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(declared()))
def test_hostile_arguments(key):
    assert failures([key], step=1) == []
