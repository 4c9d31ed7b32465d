"""Collectives on real ranks: values, layouts, dtypes, groups, messages, objects, mistakes, gradients."""

from __future__ import annotations

import sys

import pytest

from tests.distributed.starting import PROGRAMS, ranks, start


@pytest.mark.parametrize("n", [1, 2, 4])
def test_every_collective(n: int) -> None:
    done = ranks(n, "collectives.py", timeout=100)
    assert done.out.count("checked") == n


def test_a_process_of_its_own_is_one_rank() -> None:
    done = start([sys.executable, str(PROGRAMS / "collectives.py")])
    assert done.code == 0, done.err
    assert done.out == "rank 0: 540 checked\n"


@pytest.mark.parametrize("n", [2, 3])
def test_calls_that_differ_end_in_an_error_on_all_ranks(n: int) -> None:
    done = ranks(n, "mistakes.py")
    assert done.out.count("done") == n, done.err


@pytest.mark.parametrize("n", [1, 3])
def test_gradients_flow_through_collectives(n: int) -> None:
    assert ranks(n, "gradients.py").out.count("rank") == n
