"""Every test that takes `isa` runs once for each instruction set of this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernels.kernel_api import Kernels, library_path


@pytest.fixture(scope="session", autouse=True)
def the_library_that_was_asked_for() -> None:
    """`make sanitize` loads one of its own; that the core took it is not to be taken for granted."""
    if wanted := os.environ.get("CLAYGRAD_KERNELS"):
        assert library_path() == Path(wanted)


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    return Kernels(library_path())


# Those of the processor's family; `portable` is what other families run, where the library was built with it.
SETS = ["base", "neon"] if platform.machine() in ("aarch64", "arm64") else ["base", "avx2", "avx512"]
if Kernels(library_path()).has(b"portable"):
    SETS.append("portable")


@pytest.fixture(params=SETS)
def isa(request: pytest.FixtureRequest, kernels: Kernels) -> Iterator[str]:
    before = kernels.isa()
    if not kernels.use_isa(request.param.encode()):
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    kernels.use_isa(before)
