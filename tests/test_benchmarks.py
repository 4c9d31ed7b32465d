"""What `make bench` measures runs, and its arithmetic is right."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

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
for group in workloads.GROUPS:
    load(group)
run, instructions = load("run"), load("instructions")


@pytest.mark.parametrize("name", workloads.WORKLOADS)
def test_every_workload_runs_more_than_once(name):
    call = workloads.WORKLOADS[name].setup(claygrad)
    call()
    call()


def test_a_call_that_sleeps_is_measured_as_long_as_it_sleeps():
    assert run.seconds_per_call(lambda: time.sleep(0.01)) == pytest.approx(0.01, rel=0.5)


def test_the_table_says_which_targets_were_missed():
    names = ["recorded_add", "large_exp"]
    rows = run.table({"claygrad": {names[0]: 1e-6, names[1]: 5e-4}, "torch": {names[0]: 2e-6, names[1]: 1e-3}})
    assert rows[2] == "| recorded add, 10 floats | 2 µs | 1 µs | 0.50 | 0.20 missed |"
    assert rows[3] == "| exp, 1 million floats | 1 ms | 500 µs | 0.50 |  |"


def test_instructions_are_summed_over_the_calls_from_outside(tmp_path):
    profile = tmp_path / "profile"
    hold, at = "claygrad_core_storage_Storage_hold", "claygrad_core_storage_Storage_at"
    profile.write_text(f"fn=add\n0 5\ncfn={hold}\ncalls=3 0\n0 30\n"
                       f"fn={hold}\n0 12\ncfn={at}\ncalls=3 0\n0 18\n"
                       "totals: 35\n")
    assert instructions.total(profile) == 35
    assert instructions.spent_in(profile, instructions.SAFETY) == 30 + 3 * instructions.CALL
