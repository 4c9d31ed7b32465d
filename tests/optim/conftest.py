"""The library under test. tests/oracle/optim runs the same tests with torch in its place."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.kernels.conftest import isa as isa
from tests.kernels.conftest import kernels as kernels
from tests.support import lend


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)
