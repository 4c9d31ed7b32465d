"""Every example once more with torch in its imports: from the same seed, the same losses, step by step."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")
pytest.importorskip("tqdm")
pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[2] / "examples"
SLOW = pytest.mark.slow


def load(name: str, library: str) -> ModuleType:
    """An example whose imports name another library. Nothing else of it is changed."""
    lines = (FOLDER / f"{name}.py").read_text().splitlines(keepends=True)
    text = "".join(line.replace("claygrad", library) if "import" in line else line for line in lines)
    module = ModuleType(name)
    module.__file__ = str(FOLDER / f"{name}.py")
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module


def losses(name: str, library: str, steps: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "training", load("training", library))
        module = load(name, library)
    assert module.torch.__name__ == library
    found: list[float] = module.learn(argparse.Namespace(steps=steps, seed=0, out=folder / library, fresh=True))[
        1 if name == "cartpole" else -1]
    return found


@pytest.mark.parametrize("name", ["forecast", "vae", "pinn", pytest.param("digits_cnn", marks=SLOW),
                                  pytest.param("char_gpt", marks=SLOW), pytest.param("cartpole", marks=SLOW)])
@pytest.mark.timeout(1200)
def test_a_hundred_steps_are_the_same(name, tmp_path, monkeypatch):
    mine = losses(name, "claygrad", 100, tmp_path, monkeypatch)
    theirs = losses(name, "torch", 100, tmp_path, monkeypatch)
    assert len(mine) == 100
    assert mine == pytest.approx(theirs, rel=1e-4)


def test_checkpoints_of_one_go_on_in_the_other(tmp_path, monkeypatch):
    """Trained in torch for thirty steps and in claygrad for thirty more: as sixty in claygrad."""
    through = losses("vae", "claygrad", 60, tmp_path / "a", monkeypatch)
    losses("vae", "torch", 30, tmp_path / "b", monkeypatch)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "training", load("training", "claygrad"))
        module = load("vae", "claygrad")
    gone_on = module.learn(argparse.Namespace(steps=60, seed=0, out=tmp_path / "b" / "torch", fresh=False))[-1]
    assert gone_on == pytest.approx(through, rel=1e-4)
