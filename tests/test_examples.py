"""Every example learns, draws its picture, and goes on after an interruption as if there had been none."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import claygrad

FOLDER = Path(__file__).parents[1] / "examples"
STEPS = {"digits_cnn": 40, "char_gpt": 6, "forecast": 20, "vae": 60, "cartpole": 4, "pinn": 60}

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")


@pytest.fixture
def example(monkeypatch) -> Iterator[object]:
    """Imports an example as Python would that runs it: with its folder first on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    yield load
    for name in set(sys.modules) - before:
        if name == "workbench":
            del sys.modules[name]


def told(folder: Path, steps: int) -> argparse.Namespace:
    return argparse.Namespace(steps=steps, seed=0, out=folder, fresh=False)


@pytest.mark.parametrize("name", STEPS)
def test_an_example_runs_and_draws(name, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}     # they import `workbench`
    environment["PYTHONPATH"] = str(Path(claygrad.__file__).parents[1])
    done = subprocess.run([sys.executable, FOLDER / f"{name}.py", "--steps", "3", "--out", tmp_path / "out"],
                          capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(claygrad.load(tmp_path / "out" / f"{name}.pt")["losses"]) == 3
    assert "3/3" in done.stderr                      # the progress bar
    assert str(tmp_path / "out" / f"{name}.png") in done.stdout


@pytest.mark.parametrize("name", STEPS)
def test_interrupted_and_gone_on_is_the_same_as_going_through(name, tmp_path, example, monkeypatch):
    module, steps = example(name), STEPS[name]
    through = module.learn(told(tmp_path / "through", steps))

    training = sys.modules["workbench"]
    monkeypatch.setattr(training, "EVERY", steps // 3 + 1)
    seen = []
    clip = claygrad.nn.utils.clip_grad_norm_

    def stop(*arguments):
        seen.append(1)
        if len(seen) == steps // 2 + 1:
            raise KeyboardInterrupt
        return clip(*arguments)
    with monkeypatch.context() as patched:
        patched.setattr(claygrad.nn.utils, "clip_grad_norm_", stop)
        with pytest.raises(KeyboardInterrupt):
            module.learn(told(tmp_path / "in parts", steps))
    claygrad.manual_seed(99)
    parts = module.learn(told(tmp_path / "in parts", steps))
    assert parts[-1] == through[-1]
    for mine, theirs in zip(parts[0].parameters(), through[0].parameters(), strict=True):
        assert claygrad.equal(mine, theirs)


def test_a_finished_run_can_be_made_longer(tmp_path, example):
    module = example("vae")
    module.learn(told(tmp_path, 3))
    assert len(module.learn(told(tmp_path, 5))[-1]) == 5


@pytest.mark.parametrize("name", ["digits_cnn", "pinn"])
def test_a_rate_planned_for_so_many_steps_is_not_stretched(name, tmp_path, example):
    module = example(name)
    module.learn(told(tmp_path, 3))
    with pytest.raises(SystemExit, match=r"is of a run of 3 steps, .* --steps 3 .* or --fresh"):
        module.learn(told(tmp_path, 5))


@pytest.mark.parametrize("name", ["digits_cnn", "vae", "forecast", "pinn"])
def test_losses_fall(name, tmp_path, example):
    losses = example(name).learn(told(tmp_path, 3 * STEPS[name]))[-1]
    tenth = len(losses) // 10
    assert sum(losses[-tenth:]) < 0.8 * sum(losses[:tenth])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_digits_are_read(tmp_path, example, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["digits_cnn.py", "--out", str(tmp_path)])
    assert example("digits_cnn").main() > 0.99


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_pole_is_balanced_and_the_equation_solved(tmp_path, example, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x.py", "--out", str(tmp_path)])
    assert example("cartpole").main() > 150
    assert example("pinn").main() < 0.02


def test_each_is_a_page():
    for path in FOLDER.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 130, path.name
