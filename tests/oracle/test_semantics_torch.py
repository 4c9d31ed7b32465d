"""The semantics tests once more, with torch as the library: they hold for torch, or they are wrong.

Where claygrad is specified to differ, a test states both outcomes, so both halves are checked.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import lend

torch = pytest.importorskip("torch")


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


def _adopt(folder: Path) -> None:
    """Brings every semantics test into this module, under a name that tells its section."""
    for path in sorted(folder.glob("test_*.py")):
        section = importlib.import_module(f"tests.semantics.{path.stem}")
        prefix = path.stem.removeprefix("test_").split("_")[0]
        for name, test in vars(section).items():
            if name.startswith("test_"):
                globals()[f"test_{prefix}_{name.removeprefix('test_')}"] = test


_adopt(Path(__file__).resolve().parents[1] / "semantics")
