"""The programs of tests/programs, run by PyTorch and by `claygrad run`, each in a process of its own: they print the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle.test_programs_torch import close

FOLDER = Path(__file__).parents[1] / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


def printed(folder: Path, *command: str) -> list[str]:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=240, cwd=folder,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_there_are_at_least_ten() -> None:
    assert len(PROGRAMS) >= 10


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_the_same(name: str, tmp_path: Path) -> None:
    path = str(FOLDER / f"{name}.py")
    theirs, ours = printed(tmp_path, path), printed(tmp_path, "-m", "claygrad", "run", path)
    assert len(ours) == len(theirs) > 3
    for a, b in zip(ours, theirs):
        assert close(a, b, 1e-3), f"{a!r} here, {b!r} in PyTorch"
