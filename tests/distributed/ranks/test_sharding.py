"""Shares of parameters and of optimizer state, and checkpoints of them, on real ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.starting import ranks


@pytest.mark.parametrize("n", [1, 2, 4])
def test_training_in_shares_is_training_in_one_process(n: int) -> None:
    assert ranks(n, "sharding.py", timeout=120).out.count("done") == n


@pytest.mark.parametrize("n", [1, 2, 4])
def test_fully_shard_is_training_in_one_process(n: int) -> None:
    assert ranks(n, "fully_shard.py", timeout=120).out.count("done") == n


def test_a_fully_sharded_training_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    sums = [total(ranks(n, "fully_shard.py", str(tmp_path / name), how, timeout=120).out)
            for n, name, how in ((1, "whole", "begin"), (1, "whole", "resume"), (4, "parts", "begin"), (2, "parts", "resume"))]
    assert sums[0] == pytest.approx(sums[2], rel=1e-10)
    assert sums[1] == pytest.approx(sums[3], rel=1e-10)
    assert sums[0] != pytest.approx(sums[1], rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_meshes_stores_and_coalesced_collectives(n: int, tmp_path: Path) -> None:
    assert ranks(n, "meshes.py", str(tmp_path / "store"), timeout=90).out.count("done") == n


def test_hybrid_sharding_is_training_in_one_process(tmp_path: Path) -> None:
    assert ranks(4, "hybrid.py", str(tmp_path / "checkpoint"), timeout=120).out.count("done") == 4


def total(text: str) -> float:
    return float(text.split("sum ")[1].split()[0])


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_a_training_goes_on_with_another_number_of_ranks(tmp_path: Path, kind: str) -> None:
    whole = total(ranks(1, "checkpoint.py", str(tmp_path / "whole"), "0", "12", kind).out)
    folder = str(tmp_path / "parts")
    ranks(4, "checkpoint.py", folder, "0", "5", kind)
    ranks(2, "checkpoint.py", folder, "5", "9", kind)
    assert total(ranks(1, "checkpoint.py", folder, "9", "12", kind).out) == pytest.approx(whole, rel=1e-10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "whole"]      # nothing half-written is left


def test_a_rank_killed_while_it_writes_leaves_the_former_checkpoint(tmp_path: Path) -> None:
    folder = str(tmp_path / "parts")
    ranks(2, "checkpoint.py", folder, "0", "3", "fsdp")
    before = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    ranks(2, "checkpoint.py", folder, "3", "5", "fsdp", "die", wrong=True)
    assert {path.name: path.read_bytes() for path in Path(folder).iterdir()} == before
    ranks(2, "checkpoint.py", folder, "3", "5", "fsdp")
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]            # what the killed one left is gone


@pytest.mark.parametrize("n", [1, 2, 4])
def test_checkpoints_in_units_and_around_them(n: int) -> None:
    assert ranks(n, "recomputed.py", torch=True).out.count("done") == n
