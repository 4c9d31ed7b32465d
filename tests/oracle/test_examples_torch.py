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


def losses(name: str, library: str, steps: int, folder: Path, monkeypatch: pytest.MonkeyPatch,
           dtype: str = "float32") -> list[float]:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "workbench", load("workbench", library))
        module = load(name, library)
    assert module.torch.__name__ == library
    module.torch.set_default_dtype(getattr(module.torch, dtype))
    try:
        found = module.learn(argparse.Namespace(steps=steps, seed=0, out=folder / library, fresh=True))
    finally:
        module.torch.set_default_dtype(module.torch.float32)
    return found[1 if name == "cartpole" else -1]


# In double precision where a rounding grows within the hundred steps: in single precision, torch differs as much from
# itself if one weight is moved by a rounding. A falling pole doubles every error in a step or two of learning, so there
# even sixteen digits are used up after some sixty.
@pytest.mark.parametrize(("name", "dtype", "steps"), [
    ("forecast", "float32", 100), ("vae", "float32", 100), ("pinn", "float32", 100),
    pytest.param("char_gpt", "float32", 100, marks=SLOW), pytest.param("digits_cnn", "float64", 100, marks=SLOW),
    pytest.param("cartpole", "float64", 40, marks=SLOW)])
@pytest.mark.timeout(1200)
def test_the_losses_are_the_same(name, dtype, steps, tmp_path, monkeypatch):
    mine = losses(name, "claygrad", steps, tmp_path, monkeypatch, dtype)
    theirs = losses(name, "torch", steps, tmp_path, monkeypatch, dtype)
    assert len(mine) == steps
    assert mine == pytest.approx(theirs, rel=1e-4, abs=1e-7)


def test_checkpoints_of_one_go_on_in_the_other(tmp_path, monkeypatch):
    """Trained in torch for thirty steps and in claygrad for thirty more: as sixty in claygrad."""
    through = losses("vae", "claygrad", 60, tmp_path / "a", monkeypatch)
    losses("vae", "torch", 30, tmp_path / "b", monkeypatch)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "workbench", load("workbench", "claygrad"))
        module = load("vae", "claygrad")
    gone_on = module.learn(argparse.Namespace(steps=60, seed=0, out=tmp_path / "b" / "torch", fresh=False))[-1]
    assert gone_on == pytest.approx(through, rel=1e-4)
