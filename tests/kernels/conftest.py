"""Every test that takes `isa` runs once for each instruction set of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kernels.door import Kernels, library_path


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    return Kernels(library_path())


@pytest.fixture(params=["base", "avx2", "avx512"])
def isa(request: pytest.FixtureRequest, kernels: Kernels) -> Iterator[str]:
    before = kernels.isa()
    if not kernels.use_isa(request.param.encode()):
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    kernels.use_isa(before)
