"""The tests of modules and their tools once more, with torch as the library: they hold for torch, or they are wrong."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import lend

torch = pytest.importorskip("torch")
importlib.import_module("torch.nn.utils.prune")     # torch does not load it by itself


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)
    torch.distributions.Distribution.set_default_validate_args(True)        # torch.compile turns it off


def _adopt(folder: Path) -> None:
    for path in sorted(folder.glob("test_*.py")):
        section = importlib.import_module(f"tests.nn.behaviour.{path.stem}")
        for name, test in vars(section).items():
            if name.startswith("test_"):
                globals()[f"test_{path.stem.removeprefix('test_')}_{name.removeprefix('test_')}"] = test


_adopt(Path(__file__).resolve().parents[2] / "nn" / "behaviour")
