"""What `make bench` measures runs, and its arithmetic is right."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import claygrad

FOLDER = Path(__file__).parents[1] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


workloads = load("workloads")
for part in workloads.GROUPS + workloads.OTHERS:
    load(part)
measure, report = load("measure"), load("report")
run, instructions, scaling = load("run"), load("instructions"), load("scaling")


@pytest.mark.parametrize("name", workloads.WORKLOADS)
def test_every_workload_runs_more_than_once(name):
    call = workloads.WORKLOADS[name].setup(claygrad)
    call()
    call()


@pytest.mark.parametrize("name", workloads.TWINS["numpy"])
def test_every_twin_runs_more_than_once(name):
    call = workloads.TWINS["numpy"][name](np)
    call()
    call()


def test_every_twin_is_of_a_workload():
    for library, twins in workloads.TWINS.items():
        assert not twins.keys() - workloads.WORKLOADS.keys(), library


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "silu", "softmax", "log_softmax"])
def test_what_is_written_out_for_numpy_is_the_derivative(name, monkeypatch):
    others = sys.modules["others"]
    g, x = (np.random.default_rng(1).standard_normal((3, 5), np.float32) for _ in range(2))
    monkeypatch.setattr(others, "normal", lambda *shapes: [g, x])
    value, gradient = workloads.TWINS["numpy"][f"{name}_1m"](np)()
    leaf = claygrad.tensor(x, requires_grad=True)
    functional = claygrad.nn.functional
    wanted = getattr(functional, name)(leaf, 1) if "softmax" in name else getattr(functional, name, claygrad.exp)(leaf)
    wanted.backward(claygrad.tensor(g))
    np.testing.assert_allclose(value, wanted.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_every_curve_runs_at_its_points_up_to_the_most_asked_for():
    threads = claygrad.get_num_threads()
    seen = scaling.measure("claygrad", 1, list(scaling.CURVES), 10)
    assert {name: sorted(points) for name, points in seen.items()} == {
        "add": [10], "tanh": [10], "chain": [10], "adam": [1, 10]}
    assert scaling.measure("claygrad", 2, list(scaling.CURVES), 1) == {"add": {}, "tanh": {}}
    claygrad.set_num_threads(threads)


def test_a_call_that_sleeps_is_measured_as_long_as_it_sleeps():
    assert 0.01 <= measure.seconds_per_call(lambda: time.sleep(0.01)) < 0.1


def test_a_table_says_which_targets_were_missed_and_leaves_empty_columns_out():
    measures = {"claygrad": {"recorded_add": 1e-6, "unrecorded_add": 5e-4},
                "torch": {"recorded_add": 2e-6, "unrecorded_add": 5e-3}, "numpy": {"unrecorded_add": 1e-3}, "jax": {}}
    assert report.table(measures) == [
        "| workload | claygrad | torch | NumPy | ratio | target |",
        "|---|--:|--:|--:|--:|--:|",
        "| recorded add, 10 floats | 1 µs | 2 µs |  | 0.50 | 0.20 missed |",
        "| unrecorded add, 10 floats | 500 µs | 5 ms | 1 ms | 0.10 | 0.15 |",
    ]


def test_the_share_of_the_roofline_is_that_of_a_product_or_of_bare_loops():
    measures = {"claygrad": {"matmul_64": 2 * 64 ** 3 / 5e9, "sum_1m": 2.0}, "torch": {"matmul_64": 1.0, "sum_1m": 4.0}}
    lines = report.table(measures, {"flops": 1e10, "seconds": {"sum_1m": 1.0}})
    assert lines[0].endswith("| ratio | target | of the roofline | at the roofline |")
    assert lines[2].endswith("| 50% of FLOP/s | 0.00 |")
    assert lines[3].endswith("| 0.50 | 0.60 | 50% of bytes/s | 0.25 |")


def test_bare_loops_take_longer_the_more_they_move():
    found = measure.floors(1, ["sum_1m", "copy_10m", "adam_5m", "embedding", "matmul_64"])
    assert found.keys() == {"sum_1m", "copy_10m", "adam_5m", "embedding"}
    assert 0 < 5 * found["sum_1m"] < found["copy_10m"]
    assert found["embedding"] < found["copy_10m"]


def test_the_summary_has_every_small_workload_and_one_line_per_other_group(tmp_path):
    small = {"claygrad": {"recorded_add": 1.0}, "torch": {"recorded_add": 2.0}, "numpy": {}}
    large = {"claygrad": {"matmul_64": 1.0, "matmul_128": 2.0}, "torch": {"matmul_64": 4.0, "matmul_128": 2.0}}
    results = {"machine": "here", "rounds": 3, "groups": {"overhead": small, "throughput": large},
               "memory": {"claygrad": {"gpt": 95.0}, "torch": {"gpt": 100.0}}}
    lines = report.summary(results)
    assert "| recorded add, 10 floats | 2 s | 1 s | 0.50 |" in lines
    assert "| throughput | 2 | 0.50 | 0.25 | 1.00 |" in lines
    assert "| memory of the models | 1 | 0.95 | 0.95 | 0.95 |" in lines
    assert not any("target" in line for line in lines)
    page = tmp_path / "benchmarks.md"
    page.write_text("above\n<!-- bench -->\nold\n<!-- end of bench -->\nbelow\n")
    report.publish(lines, page)
    assert page.read_text() == "\n".join(["above", "<!-- bench -->", *lines, "<!-- end of bench -->", "below", ""])


def test_memory_counts_what_a_step_holds_at_its_peak():
    parameters = 4 * 5_000_000      # bytes; as many are gradients, and both of Adam's means
    assert 4 * parameters <= run.measured("memory", "claygrad", 1, "adam_5m", threads=1) < 6 * parameters


def test_instructions_are_summed_over_the_calls_from_outside(tmp_path):
    profile = tmp_path / "profile"
    hold, at = "claygrad_core_storage_Storage_hold", "claygrad_core_storage_Storage_at"
    profile.write_text(f"fn=add\n0 5\ncfn={hold}\ncalls=3 0\n0 30\n"
                       f"fn={hold}\n0 12\ncfn={at}\ncalls=3 0\n0 18\n"
                       "totals: 35\n")
    assert instructions.total(profile) == 35
    assert instructions.spent_in(profile, instructions.SAFETY) == 30 + 3 * instructions.CALL
