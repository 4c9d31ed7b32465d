"""Where mpi4py is not installed: questions are answered, and whoever wants to begin is told how to get it."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import importlib.util, sys
class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "mpi4py":
            raise ModuleNotFoundError("No module named 'mpi4py'", name="mpi4py")
sys.meta_path.insert(0, Hidden)
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "mpi4py" else find(name, package)
import claygrad
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT + program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_questions_are_answered() -> None:
    out = run("d = claygrad.distributed; print(d.is_available(), d.is_initialized(), d.is_mpi_available(), d.is_nccl_available())")
    assert out == "False False False False\n"


def test_beginning_says_how_to_get_mpi() -> None:
    out = run("""
try:
    claygrad.distributed.init_process_group("mpi")
except RuntimeError as wrong:
    print(wrong)
""")
    assert out.startswith("Distributed package doesn't have MPI built in.")
    assert "pip install mpi4py mpich" in out


def test_the_launcher_says_how_to_get_mpi() -> None:
    out = run("""
import contextlib, io
from claygrad.cli import main
told = io.StringIO()
with contextlib.redirect_stderr(told):
    code = main(["launch", "-n", "2", sys.executable])
print(code, told.getvalue())
""")
    assert out.startswith("2 claygrad: mpi4py is not installed\n")
    assert "pip install mpi4py mpich" in out


def test_collectives_want_a_group_first() -> None:
    out = run("""
for call in (lambda: claygrad.distributed.get_rank(), lambda: claygrad.distributed.all_reduce(claygrad.ones(1)),
             lambda: claygrad.nn.parallel.DistributedDataParallel(claygrad.nn.Linear(1, 1)),
             lambda: claygrad.utils.data.DistributedSampler(range(3))):
    try:
        call()
    except (ValueError, RuntimeError) as wrong:
        print(str(wrong).splitlines()[0])
""")
    first = "Default process group has not been initialized, please make sure to call init_process_group."
    assert out.splitlines() == [first, first, first, "Requires distributed package to be available"]


def test_importing_claygrad_loads_neither() -> None:
    out = subprocess.run([sys.executable, "-c", "import sys, claygrad; print([m for m in sys.modules if 'mpi4py' in m or m == 'claygrad.distributed'])"],
                         capture_output=True, text=True, timeout=60).stdout
    assert out == "[]\n"
