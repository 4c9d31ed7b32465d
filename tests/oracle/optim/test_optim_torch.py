"""The tests of optimizers, schedules, mixed precision and checkpoints once more, with torch as the library."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support import lend

torch = pytest.importorskip("torch")
importlib.import_module("torch.utils.checkpoint")        # no part of `import torch`

@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


for _part in ("optim.test_optimizer", "optim.test_refusals", "optim.test_schedules", "amp.test_autocast",
              "amp.test_grad_scaler", "utils.test_checkpoint", "utils.test_settings"):
    _tests = importlib.import_module(f"tests.{_part}")
    _prefix = _part.rpartition(".")[2]
    globals().update({f"{_prefix}_{name.removeprefix('test_')}": test for name, test in vars(_tests).items()
                      if name.startswith("test_")})
