"""The tests of transforms, special functions and statistics once more with PyTorch as the library."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.ops.test_signal import *  # noqa: F403
from tests.support import lend

torch = pytest.importorskip("torch")


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)
