"""The test device for this folder: "privateuseone", NumPy behind a wall (strict.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from claygrad.devices import use
from tests.devices.strict import use_strict


@pytest.fixture(scope="package", autouse=True)
def strict() -> Iterator[str]:
    yield use_strict()
    use("privateuseone", None)
