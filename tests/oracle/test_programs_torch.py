"""Programs as PyTorch's users write them, from tests/oracle/programs, run with each library: they print the same."""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

import claygrad

FOLDER = Path(__file__).parent / "programs"
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|\d+|inf|nan)")
LOOSE = {"policy": 1e-2}        # its losses are small differences of large numbers


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Programs set what they like."""
    state, kept = random.getstate(), torch.backends.mkldnn.enabled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    random.setstate(state)
    torch.backends.mkldnn.enabled = kept
    for lib in (claygrad, torch):
        lib.set_default_dtype(lib.float32)


def run(name: str, library: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a program prints when its imports name the library. Nothing else of it is changed."""
    text = (FOLDER / f"{name}.py").read_text()
    text = re.sub(r"^import torch$", f"import {library} as torch", text, flags=re.M)
    text = re.sub(r"^(import|from) torch\b", rf"\1 {library}", text, flags=re.M)
    folder.mkdir()
    monkeypatch.chdir(folder)
    printed: list[str] = []

    def tell(*values: object) -> None:
        printed.extend(" ".join(map(str, values)).replace(library, "torch").splitlines())
    program = ModuleType(f"{name}_of_{library}")
    program.print = tell
    monkeypatch.setitem(sys.modules, program.__name__, program)         # where pickles look for its classes
    exec(compile(text, str(FOLDER / f"{name}.py"), "exec"), vars(program))
    return printed


def close(ours: str, theirs: str, tolerance: float) -> bool:
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs))
    return all(float(a) == pytest.approx(float(b), rel=tolerance, abs=tolerance / 1000, nan_ok=True) for a, b in pairs)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_a_program_prints_the_same(name: str, tmp_path, monkeypatch):
    ours, theirs = (run(name, library, tmp_path / library, monkeypatch) for library in ("claygrad", "torch"))
    assert len(ours) == len(theirs) > 5
    for line, (got, want) in enumerate(zip(ours, theirs)):
        assert close(got, want, LOOSE.get(name, 2e-4)), f"line {line}:\n  claygrad {got}\n     torch {want}"
