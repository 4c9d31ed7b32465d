"""`import claygrad` gets out of the way: it brings nothing along that it does not need. How much it does: test_sizes.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pythons import WITH_LOCK

HEAVY = ("matplotlib", "scipy", "torch", "tqdm", "cupy", "mpi4py", "pandas", "sympy", "hypothesis", "pytest",
         "multiprocessing", "asyncio", "unittest")

PROGRAM = """
import json, sys
import numpy
before = set(sys.modules)
import claygrad
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_import_brings_no_heavy_module_along():
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    modules = json.loads(done.stdout)
    assert [name for name in modules if name.split(".")[0] in HEAVY] == []


def test_import_prints_and_warns_nothing():
    command = [sys.executable, *WITH_LOCK, "-W", "error", "-c", "import claygrad"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not WITH_LOCK, reason="this Python always has the lock")
def test_without_the_lock_python_says_that_it_is_switched_on():
    program = "import sys, claygrad; print(sys._is_gil_enabled())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n")
    assert done.stderr.count("The global interpreter lock (GIL) has been enabled to load module 'claygrad") == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["core", "ops", "autograd"])
def test_parts_are_there_after_the_import(name):
    program = f"import claygrad; claygrad.{name}"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_sources_that_nobody_compiled_say_what_to_do(tmp_path):
    sources = Path(__file__).parents[1] / "claygrad"
    (tmp_path / "claygrad").symlink_to(sources)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import claygrad"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr[done.stderr.index("ImportError: "):]
    assert last.startswith("ImportError: claygrad was imported from its sources, where nothing is compiled: ")
    assert "pip install ." in last
    assert "During handling" not in done.stderr
