"""Programs written for PyTorch and Gloo, in the manner of its tutorials and examples, run by `claygrad launch` as they are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.distributed.starting import MPIEXEC, PROGRAMS, Done, start

CLAYGRAD = str(Path(sys.executable).with_name("claygrad"))
PUBLIC = PROGRAMS / "public"


def launch(n: int, program: str, *args: object, env: dict[str, str] | None = None) -> Done:
    done = start([CLAYGRAD, "launch", "-n", str(n), str(PUBLIC / program), *map(str, args)], 90, env)
    assert done.code == 0, f"{done.out}\n{done.err}"
    return done


@pytest.mark.parametrize("n", [2, 4])
def test_what_a_program_spawns_are_the_ranks(n: int, tmp_path: Path) -> None:
    own = {"TMPDIR": str(tmp_path)}
    done = launch(n, "spawned.py", n, env=own)
    expected = [f"basic on rank {rank} of {n}" for rank in range(n)] * 2 + [f"checkpoint on rank {rank}" for rank in range(n)]
    assert sorted(done.out.split("\n")[:-1]) == sorted(expected)
    assert not list(tmp_path.iterdir())
    if n == 2:
        done = start([str(MPIEXEC), "-n", "2", sys.executable, "-m", "claygrad", "run", str(PUBLIC / "spawned.py"), "2"], 60, own)
        assert done.code == 0, done.err
        assert sorted(done.out.split("\n")[:-1]) == sorted(expected)


def test_an_error_in_a_spawned_rank_ends_all() -> None:
    done = start([CLAYGRAD, "launch", "-n", "2", str(PUBLIC / "spawned.py"), "2", "error"], 60)
    assert done.code != 0
    assert "rank 1 raised ValueError: out of cheese" in done.err
    assert done.seconds < 20


@pytest.mark.parametrize(("how", "told"), [
    (["run", str(PUBLIC / "spawned.py"), "2"], "claygrad launch -n 2 program.py"),
    (["launch", "-n", "2", str(PUBLIC / "spawned.py"), "3"], "torch.multiprocessing.spawn(…, nprocs=2)"),
    (["run", str(PUBLIC / "processes.py")], "claygrad launch -n 2 program.py"),
    (["launch", "-n", "2", str(PUBLIC / "spawned.py"), "3", "error"], "ProcessRaisedException: -- Process"),
    (["launch", "-n", "2", str(PUBLIC / "nested.py")], "MPI does not know of this process: a rank started it"),
    (["launch", "-n", "2", str(PUBLIC / "processes.py")], "MPI does not know of this process: a rank started it"),
])
def test_processes_that_mpi_does_not_know_of_say_how_to_start_them(how: list[str], told: str) -> None:
    done = start([CLAYGRAD, *how], 60)
    assert done.code != 0
    assert told in done.err, done.err
    assert "PMI" not in done.err
    assert done.seconds < 30


def numbers(text: str) -> dict[tuple[int, int], tuple[float, float]]:
    """By rank and epoch, the loss on the test set and the sum of the parameters."""
    found = re.findall(r"\[(\d)\] epoch (\d) train \S+ test (\S+) sum (\S+)", text)
    return {(int(rank), int(epoch)): (float(test), float(total)) for rank, epoch, test, total in found}


@pytest.mark.parametrize("options", [(), ("--amp", "--workers", "1")], ids=["plain", "amp"])
def test_a_trainer_with_snapshots(options: tuple[str, ...], tmp_path: Path) -> None:
    through = numbers(launch(2, "trainer.py", 3, tmp_path / "through.pt", *options).out)
    assert set(through) == {(rank, epoch) for rank in range(2) for epoch in (1, 2, 3)}
    assert all(through[0, epoch][1] == through[1, epoch][1] for epoch in (1, 2, 3))
    assert through[0, 3][0] < through[0, 1][0] - 0.1                  # it learns
    first = launch(2, "trainer.py", 2, tmp_path / "parts.pt", *options).out
    assert first.count("Snapshot not found") == 2
    second = launch(2, "trainer.py", 3, tmp_path / "parts.pt", *options).out
    assert second.count("Resuming training from snapshot at Epoch 2") == 2
    resumed = {**numbers(first), **numbers(second)}
    assert resumed.keys() == through.keys()
    for key, (test, total) in through.items():
        assert resumed[key] == (pytest.approx(test, rel=1e-4), pytest.approx(total, rel=1e-5))


def total(done: Done) -> float:
    return float(done.out.split("sum ")[1].split()[0])


def test_sharded_training_with_whole_checkpoints(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "parts", "hybrid", "mixed")]
    for folder in folders:
        folder.mkdir()
    alone = total(launch(1, "sharded.py", folders[0]))
    assert total(launch(2, "sharded.py", folders[1])) == pytest.approx(alone, rel=1e-5)
    launch(4, "sharded.py", folders[2], "--steps", 3)
    assert total(launch(2, "sharded.py", folders[2])) == pytest.approx(alone, rel=1e-5)
    assert total(launch(4, "sharded.py", folders[3], "--hybrid")) == pytest.approx(alone, rel=1e-5)
    assert total(launch(2, "sharded.py", folders[4], "--mixed-precision")) == pytest.approx(alone, rel=1e-2)
