"""Where claygrad stands in for torch, mistakes are explained as well as under its own name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, sys
from pathlib import Path

import claygrad
claygrad.as_torch()
import torch
sys.path.append(sys.argv[1])
from tests.errors.running import MISTAKES, faults, run

found = {}
for number, name in enumerate(MISTAKES):
    path = Path(sys.argv[2]) / f"mistake_{number}.py"
    said = run(MISTAKES[name][1], torch, path)
    missing = faults(name, said, path)
    if missing:
        found[name] = [*missing, said and said.text]
print(json.dumps([len(MISTAKES), found]))
"""


@pytest.mark.timeout(600)
def test_mistakes_under_the_name_of_torch(tmp_path):
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM, str(root), str(tmp_path)], capture_output=True, text=True,
                          check=False)
    assert done.stdout, done.stderr
    count, found = json.loads(done.stdout.splitlines()[-1])
    assert count >= 350
    assert found == {}
