"""docs/mistakes.md shows what claygrad says today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_mistakes", ROOT / "tools" / "make_mistakes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date():
    make = tool()
    text = make.PAGE.read_text()
    assert make.page(make.theirs_on(text), make.loaded("claygrad")) == text, "run tools/make_mistakes.py"


def test_it_shows_forty():
    make = tool()
    assert len(make.SELECTED) == len(set(make.SELECTED)) == 40
