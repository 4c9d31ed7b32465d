"""`spawn` and `start_processes`: results, errors, and processes that end in other ways."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import pytest

import claygrad as torch
import claygrad.multiprocessing as mp
from tests.multiprocessing import workers


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_every_process_gets_its_number(method):
    x = torch.zeros(3).share_memory_()
    assert mp.start_processes(workers.note, (x,), nprocs=3, start_method=method) is None
    assert x.tolist() == [1, 2, 3]


def test_the_traceback_of_a_process_is_raised():
    with pytest.raises(mp.ProcessRaisedException, match="of its own making") as caught:
        mp.spawn(workers.fail, ("raise",), nprocs=2)
    assert str(caught.value).startswith("\n\n-- Process 1 terminated with the following error:\nTraceback")
    assert caught.value.error_index == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.pid) == (type(caught.value), str(caught.value), caught.value.pid)


@pytest.mark.parametrize(("how", "text", "code"), [("exit", "process 1 terminated with exit code 3", 3),
                                                   ("kill", "process 1 terminated with signal SIGKILL", -9)])
def test_a_process_that_ends_otherwise(how, text, code):
    with pytest.raises(mp.ProcessExitedException) as caught:
        mp.start_processes(workers.fail, (how,), nprocs=2, start_method="fork")
    assert (str(caught.value), caught.value.exit_code) == (text, code)
    assert pickle.loads(pickle.dumps(caught.value)).exit_code == code


def test_a_context_is_joined_by_hand():
    context = mp.spawn(workers.fail, ("nothing",), nprocs=2, join=False)
    assert len(context.pids()) == 2
    while not context.join(timeout=60):
        pass
    assert context.join()


def test_spawn_spawns():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        mp.spawn(workers.fail, ("nothing",), nprocs=1, start_method="fork")
    assert [str(w.message).split("\n")[0] for w in seen if w.category is FutureWarning] == [
        "This method only supports start_method=spawn (got: fork)."]


PROGRAM = '''
import torch, torch.multiprocessing as mp

def work(i, x):
    assert torch.ones(1).dtype is torch.float32 and "claygrad" in torch.__version__
    x[i] = i + 1

if __name__ == "__main__":
    x = torch.zeros(2).share_memory_()
    mp.spawn(work, (x,), nprocs=2)
    for method in ("fork", "forkserver"):
        p = mp.get_context(method).Process(target=work, args=(0, x * 2))
        p.start(); p.join(); assert p.exitcode == 0, method
    print(x.tolist())
'''


def test_new_processes_of_a_program_under_claygrad_run_see_claygrad_too(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    out = subprocess.run([sys.executable, "-m", "claygrad", "run", str(program)], capture_output=True, text=True,
                         timeout=120, check=False)
    assert (out.stdout, out.returncode) == ("[1.0, 2.0]\n", 0), out.stderr
