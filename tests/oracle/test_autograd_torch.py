"""The tests of the autograd surface once more, with torch as the library: they hold for torch, or they are wrong."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support import lend

torch = pytest.importorskip("torch")


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


for _part in ["backward_arguments", "functional", "grad_modes", "gradcheck", "graph_hooks", "accumulation", "restricted",
              "saved_tensor_hooks", "node_api", "second_after_first", "marks"]:
    _tests = importlib.import_module(f"tests.autograd.test_{_part}")
    globals().update({name: test for name, test in vars(_tests).items() if name.startswith("test_")})
