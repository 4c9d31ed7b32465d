"""`torch.utils.benchmark`: statements are run and timed."""

from __future__ import annotations

import pytest

from claygrad.utils import benchmark


def test_timers_run_the_statement() -> None:
    seen: list[int] = []
    made = benchmark.Timer("seen.append(1)", globals={"seen": seen}, label="append", description="list").timeit(200)
    assert len(seen) == 202
    assert made.number_per_run == 200
    assert 0 < made.median < 1
    assert made.title == "append"
    assert "1 measurement, 200 runs , 1 thread" in repr(made)


def test_autorange_measures_for_long_enough() -> None:
    made = benchmark.Timer("torch.ones(2) + 1").blocked_autorange(min_run_time=0.05)
    assert sum(made.raw_times) >= 0.05
    assert made.iqr >= 0
    assert benchmark.Timer("x = 1").adaptive_autorange(max_run_time=0.2).median > 0


def test_tables() -> None:
    spec = benchmark.TaskSpec("f(x)", label="f", sub_label="small", description="ours")
    other = benchmark.TaskSpec("f(x)", label="f", sub_label="small", description="theirs")
    table = benchmark.Compare([benchmark.Measurement(10, [1e-4, 3e-4], spec), benchmark.Measurement(1, [5e-5], other)])
    assert str(table).splitlines()[1].split() == ["|", "ours", "|", "theirs"]
    assert str(table).splitlines()[2].split("  |  ") == ["1 threads: small", "20.0", "  50.0"]
    assert str(table).endswith("Times are in microseconds (us).\n")
    table.colorize(rowwise=True)
    assert "\033[92m20.0\033[0m" in str(table)


def test_measurements_of_one_task_merge() -> None:
    spec = benchmark.TaskSpec("f(x)")
    merged = benchmark.Measurement.merge([benchmark.Measurement(2, [2.0], spec), benchmark.Measurement(1, [3.0], spec)])
    assert [one.times for one in merged] == [[1.0, 3.0]]


def test_other_languages_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="measures statements of Python"):
        benchmark.Timer("int x;", language="c++")
