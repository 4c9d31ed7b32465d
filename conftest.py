"""What all tests share: the claygrad under test is imported once, and it is the right one."""

from __future__ import annotations

import os
import sys
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
