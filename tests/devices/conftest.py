"""The devices that this folder tests: "privateuseone", a strict wrapper around NumPy (strict.py), and "xpu" where dpnp is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from claygrad.devices import use
from tests.devices.strict import use_strict

HAS_XPU = importlib.util.find_spec("dpnp") is not None
HAS_CUPY = importlib.util.find_spec("cupy") is not None
collect_ignore = [name for name, there in (("test_xpu.py", HAS_XPU), ("test_cupy.py", HAS_CUPY)) if not there]


@pytest.fixture(scope="package", autouse=True)
def strict() -> Iterator[str]:
    yield use_strict()
    use("privateuseone", None)


@pytest.fixture(params=["privateuseone", *(["xpu"] if HAS_XPU else [])])
def there(request: pytest.FixtureRequest, strict: str) -> str:
    return request.param
