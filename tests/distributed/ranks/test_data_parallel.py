"""DistributedDataParallel on real ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.starting import ranks


@pytest.mark.parametrize("n", [1, 2, 4])
def test_gradients_are_those_of_one_process_on_the_joined_batch(n: int) -> None:
    assert ranks(n, "data_parallel.py", timeout=120).out.count("done") == n


def test_a_trace_shows_sums_beside_backward(tmp_path: Path) -> None:
    assert ranks(2, "overlap.py", str(tmp_path)).out.count("operations ran inside a sum") == 2
