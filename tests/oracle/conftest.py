"""Tests that compare with PyTorch, the oracle. `make test-oracle` runs them where it is installed.

With CLAYGRAD_ORACLE=1 they must run: a missing PyTorch is an error, and so is every skipped test.
Without it, and without PyTorch, they are left out.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

REQUIRED = os.environ.get("CLAYGRAD_ORACLE") == "1"
FOUND = importlib.util.find_spec("torch") is not None

if REQUIRED and not FOUND:
    raise pytest.UsageError("CLAYGRAD_ORACLE=1, but there is no torch to compare with (make test-oracle installs it)")
collect_ignore_glob = [] if FOUND else ["*"]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped ({report.longrepr[2]}), but the comparison with PyTorch must run"


@pytest.fixture
def no_onednn() -> Iterator[None]:
    from tests.oracle.onednn import without_onednn

    with without_onednn():
        yield
