"""Starting ranks, and what happens when one of them ends: all do, within seconds, and the launcher says which it was."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.distributed.starting import MPIEXEC, PROGRAMS, Done, ranks, start

CLAYGRAD = str(Path(sys.executable).with_name("claygrad"))


def launch(*args: object, env: dict[str, str] | None = None) -> Done:
    return start([CLAYGRAD, "launch", *map(str, args)], 30, env)


def test_what_a_rank_finds_around_it() -> None:
    done = launch("-n", 2, PROGRAMS / "environment.py", "--x", 1, "-n", 5)
    assert done.code == 0, done.err
    every = json.loads(done.out)
    assert [one["RANK"] for one in every] == [one["LOCAL_RANK"] for one in every] == ["0", "1"]
    for one in every:
        assert (one["WORLD_SIZE"], one["LOCAL_WORLD_SIZE"], one["GROUP_RANK"]) == ("2", "2", "0")
        assert (one["MASTER_ADDR"], one["argv"], one["name"]) == ("127.0.0.1", ["--x", "1", "-n", "5"], "__main__")
        assert one["elastic"]
        assert one["local"] == int(one["LOCAL_RANK"])


def test_processors_are_divided_among_the_ranks_of_a_host() -> None:
    done = launch("-n", 2, PROGRAMS / "environment.py", env={"CLAYGRAD_NUM_THREADS": "", "OMP_NUM_THREADS": ""})
    cores = len(os.sched_getaffinity(0))
    assert [one["threads"] for one in json.loads(done.out)] == [max(1, cores // 2 + (rank < cores % 2)) for rank in range(2)]


def test_the_environment_says_how_many_threads_a_rank_has() -> None:
    for names in ({"CLAYGRAD_NUM_THREADS": "3", "OMP_NUM_THREADS": "2"}, {"CLAYGRAD_NUM_THREADS": "", "OMP_NUM_THREADS": "3"}):
        done = launch("-n", 2, PROGRAMS / "environment.py", env=names)
        assert [one["threads"] for one in json.loads(done.out)] == [3, 3]


def test_torchrun_with_its_arguments() -> None:
    done = start([CLAYGRAD, "run", "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone", "--master-port", "1234",
                  "--max_restarts", "1", str(PROGRAMS / "environment.py"), "--fail-first"], 40)
    assert done.code == 0, done.err
    every = json.loads(done.out)
    assert [one["MASTER_PORT"] for one in every] == ["1234", "1234"]
    assert [one["TORCHELASTIC_RESTART_COUNT"] for one in every] == ["1", "1"]
    assert "started again, 1 of 1 times" in done.err
    done = start([CLAYGRAD, "run", "-m", "torch.distributed.run", "--nnodes=2", str(PROGRAMS / "environment.py")], 20)
    assert done.code == 2
    assert "claygrad launch -n 8 --hosts first,second" in done.err


@pytest.mark.parametrize(("how", "told"), [
    ("raise", "rank 1 raised ValueError: out of cheese"),
    ("exit", "[rank1]: stops all ranks: its program ended with sys.exit(3)"),
    ("return", "rank 1 has left: its program ended while rank 0 waits in all_reduce"),
    ("hang", "Timed out waiting 1500ms for all_reduce operation to complete"),
    ("SIGKILL", "rank 1 was killed by signal 9 (SIGKILL)"),
    ("SIGSEGV", "rank 1 was killed by signal 11 (SIGSEGV)"),
])
def test_a_rank_that_ends_ends_all(how: str, told: str) -> None:
    done = launch("-n", 3, PROGRAMS / "fails.py", how)
    assert done.code != 0
    assert told in done.err, done.err
    assert done.seconds < 10
    assert "never" not in done.out
    if how == "raise":
        assert f'{PROGRAMS / "fails.py"}", line' in done.err
        assert 'raise ValueError("out of cheese")' in done.err
    if how == "exit":
        assert done.code == 3


@pytest.mark.parametrize(("how", "told"), [("raise", "out of cheese"), ("SIGKILL", "EXIT CODE: 9"), ("return", "rank 1 has left")])
def test_the_same_under_mpiexec(how: str, told: str) -> None:
    program = "import claygrad; claygrad.as_torch(); import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    done = start([str(MPIEXEC), "-n", "3", sys.executable, "-c", program, str(PROGRAMS / "fails.py"), how], 30)
    assert done.code != 0
    assert told in done.out + done.err
    assert done.seconds < 10


@pytest.mark.parametrize("slow", range(4))
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_rank_may_end_before_others_have_the_result(slow: int, steps: int) -> None:
    assert ranks(4, "leaves.py", "collective", str(slow), str(steps), torch=True).out.count("ends") == 4


@pytest.mark.parametrize("how", ["group", "message"])
def test_a_rank_may_end_that_nobody_waits_for(how: str) -> None:
    assert ranks(4, "leaves.py", how, "2", torch=True).out.count("ends") == 4


@pytest.mark.parametrize(("how", "slow", "told"), [
    ("no message", "0", "rank 1 has left: its program ended while rank 0 waits in recv"),
    ("no message", "1", "rank 1 has left: its program ended while rank 0 waits in recv"),
    ("no receive", "0", "rank 1 has left: its program ended while rank 0 waits in send"),
])
def test_a_message_that_cannot_come(how: str, slow: str, told: str) -> None:
    done = ranks(2, "leaves.py", how, slow, torch=True, wrong=True)
    assert told in done.err
    assert done.seconds < 10


def test_wrong_use() -> None:
    assert launch("-n", 0, PROGRAMS / "fails.py").err == "claygrad: -n 0: at least one rank is wanted\n"
    assert launch("-n", 2, "no_such_program.py").err == "claygrad: no such program: no_such_program.py\n"


def test_ranks_that_mpi_does_not_know_of_are_refused() -> None:
    program = "import claygrad.distributed as dist; dist.init_process_group('mpi')"
    done = start([sys.executable, "-c", program], 30, {"WORLD_SIZE": "2", "RANK": "0"})
    assert done.code == 1
    assert "WORLD_SIZE is 2, but MPI has 1 process" in done.err
    assert "claygrad launch -n 2 program.py" in done.err
