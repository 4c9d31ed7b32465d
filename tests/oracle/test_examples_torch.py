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


# A hundred steps in single precision, as a user runs them, where a rounding stays a rounding. Two of the examples let it
# grow, in PyTorch as here. The losses of the digits' network differ by an eighth within a hundred steps between PyTorch with
# oneDNN and without: Adam divides by gradients that are nothing but rounding. And a pole that falls doubles an error again
# and again, until a push goes the other way, in double precision too. Of these the first steps are compared, as many as
# surely hold.
HOLD = {("digits_cnn", "float32"): 9, ("cartpole", "float32"): 10, ("cartpole", "float64"): 60}


@pytest.mark.parametrize(("name", "dtype"), [
    ("forecast", "float32"), ("vae", "float32"), ("pinn", "float32"), ("digits_cnn", "float32"),
    pytest.param("cartpole", "float32", marks=SLOW), pytest.param("char_gpt", "float32", marks=SLOW),
    pytest.param("digits_cnn", "float64", marks=SLOW), pytest.param("cartpole", "float64", marks=SLOW)])
@pytest.mark.timeout(1200)
def test_a_hundred_steps_give_the_same_losses(name, dtype, tmp_path, monkeypatch):
    mine, theirs = (losses(name, library, 100, tmp_path, monkeypatch, dtype) for library in ("claygrad", "torch"))
    assert len(mine) == 100
    held = HOLD.get((name, dtype), 100)
    assert mine[:held] == pytest.approx(theirs[:held], rel=1e-4, abs=1e-6)


def test_checkpoints_of_one_go_on_in_the_other(tmp_path, monkeypatch):
    """Trained in torch for thirty steps and in claygrad for thirty more: as sixty in claygrad."""
    through = losses("vae", "claygrad", 60, tmp_path / "a", monkeypatch)
    losses("vae", "torch", 30, tmp_path / "b", monkeypatch)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "workbench", load("workbench", "claygrad"))
        module = load("vae", "claygrad")
    gone_on = module.learn(argparse.Namespace(steps=60, seed=0, out=tmp_path / "b" / "torch", fresh=False))[-1]
    assert gone_on == pytest.approx(through, rel=1e-4)
