"""`torch.utils.benchmark`: statements are run and timed."""

from __future__ import annotations

import pytest

import claygrad as torch
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
    assert str(table).splitlines()[2].startswith("1 threads: ---")
    assert str(table).splitlines()[3].split("  |  ") == ["      small", "20.0", " 50.0 "]
    assert str(table).endswith("Times are in microseconds (us).\n")
    table.colorize(rowwise=True)
    assert "\033[92m\033[1m20.0\033[0m\033[0m" in str(table)


def test_measurements_of_one_task_merge() -> None:
    spec = benchmark.TaskSpec("f(x)")
    merged = benchmark.Measurement.merge([benchmark.Measurement(2, [2.0], spec), benchmark.Measurement(1, [3.0], spec)])
    assert [one.times for one in merged] == [[1.0, 3.0]]


def test_other_languages_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="measures statements of Python"):
        benchmark.Timer("int x;", language="c++")
    with pytest.raises(ValueError, match="Invalid language `perl`"):
        benchmark.Timer("1", language="perl")


def test_what_is_not_there_is_refused() -> None:
    timer = benchmark.Timer("1")
    for call in (timer.repeat, timer.autorange):
        with pytest.raises(NotImplementedError, match="blocked_autorange"):
            call()
    with pytest.raises(NotImplementedError, match="valgrind"):
        timer.collect_callgrind()


def test_threads_are_as_before_after_a_measurement_that_fails() -> None:
    before = torch.get_num_threads()
    seen: list[int] = []
    benchmark.Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=3).timeit(2)
    assert set(seen) == {3}
    with pytest.raises(ZeroDivisionError):
        benchmark.Timer("1 / 0", num_threads=3).blocked_autorange()
    assert torch.get_num_threads() == before


def test_choices_and_aliases_of_parameters() -> None:
    P = benchmark.FuzzedParameter
    fuzzer = benchmark.Fuzzer([P("n", distribution={4: 0.5, 8: 0.5}), P("m", distribution={benchmark.ParameterAlias("n"): 0.5, 3: 0.5})],
                              [benchmark.FuzzedTensor("x", ("n", "m"))], seed=1)
    shapes = {tuple(tensors["x"].shape) for tensors, _, _ in fuzzer.take(40)}
    assert shapes == {(4, 4), (8, 8), (4, 3), (8, 3)}
    with pytest.raises(AssertionError, match="not normalized"):
        P("n", distribution={4: 0.5, 8: 0.6})
    with pytest.raises(ValueError, match="cycle"):
        next(benchmark.Fuzzer([P("a", distribution={benchmark.ParameterAlias("a"): 1.0})], []).take(1))
    with pytest.raises(ValueError, match="Failed to generate"):
        next(benchmark.Fuzzer([P("n", 1, 2, "uniform")], [benchmark.FuzzedTensor("x", ("n",), min_elements=10)], seed=0).take(1))
