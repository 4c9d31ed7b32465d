"""The generated stubs say what the declarations say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools" / "make_stubs.py"


def test_the_stubs_of_the_operations_are_up_to_date():
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
