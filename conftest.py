"""What all tests share: the claygrad under test is imported once, and it is the right one."""

from __future__ import annotations

import os
import re
import sys
import zlib
from pathlib import Path

import pytest

# Before xdist starts its workers: an editable install may rebuild on import, and takes no lock.
import claygrad

ROOT = Path(__file__).parent
HERE = Path(claygrad.__file__).parent

# Programs that tests start must see the same claygrad: Python would look into the current folder first.
os.environ["PYTHONSAFEPATH"] = "1"

# For `from tests.support import …`. Last in the path and after the import above: ./claygrad stays out of sight.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))


def pytest_configure() -> None:
    if os.environ.get("CLAYGRAD_INSTALLED") and HERE == ROOT / "claygrad":
        raise pytest.UsageError("the tests would run on the source tree and not on the installed claygrad")


def pytest_report_header() -> str:
    return f"claygrad {claygrad.__version__} from {HERE}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--family", metavar="NAME", help="only tests of the operations declared in claygrad/ops/NAME*.py")


    parser.addoption("--sample", metavar="K", type=int, default=1, help="one test in K, always the same ones")


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (k := config.getoption("--sample")) > 1:
        _keep(config, items, [item for item in items if zlib.crc32(item.nodeid.encode()) % k == 0])
    family = config.getoption("--family")
    if not family:
        return
    from claygrad.ops._registry import REGISTRY
    operations = {said.name for said in REGISTRY.values() if said.fn.__module__.startswith(f"claygrad.ops.{family}")}
    if not operations:
        raise pytest.UsageError(f"no operation is declared in claygrad/ops/{family}*.py")
    words = operations | {family}
    kept = [item for item in items if words & set(re.split(r"[^a-z0-9_]+|(?<=test)_", item.nodeid.lower()))]
    _keep(config, items, kept)
