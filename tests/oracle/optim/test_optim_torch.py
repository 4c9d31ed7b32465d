"""The tests of optimizers, schedules, mixed precision and checkpoints once more, with torch as the library."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import lend

torch = pytest.importorskip("torch")
importlib.import_module("torch.utils.checkpoint")        # no part of `import torch`

# What only claygrad promises
OURS = {"test_fast_path"}


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


def _adopt(folder: Path) -> None:
    for path in sorted(folder.glob("test_*.py")):
        if path.stem not in OURS:
            module = importlib.import_module(f"tests.{folder.name}.{path.stem}")
            for name, test in vars(module).items():
                if name.startswith("test_"):
                    globals()[f"{path.stem}_{name.removeprefix('test_')}"] = test


for _folder in ("optim", "amp"):
    _adopt(Path(__file__).resolve().parents[2] / _folder)
