"""docs/ecosystem.md shows every program of tests/packages, with as many lines as were recorded from PyTorch."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parent / "packages"
sys.path.append(str(PACKAGES))

from uses import USES, Use  # noqa: E402

PAGE = (Path(__file__).parents[1] / "docs/ecosystem.md").read_text()
LISTED = {line.partition("==")[0].lower().replace("_", "-") for line in (PACKAGES / "requirements.txt").read_text().splitlines()}


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_the_page_has_the_program(use: Use) -> None:
    recorded = json.loads(use.numbers.read_text())
    names = ", ".join(f"{name} {recorded['versions'][name]}" for name in use.packages)
    assert f"| {names} | {use.what} | equal ({len(recorded['numbers'])}) |" in PAGE
    assert {name.lower().replace("_", "-") for name in use.packages} <= LISTED


def test_the_page_counts_them() -> None:
    assert f"\n{len(USES)} of {len(USES)} are equal.\n" in PAGE
