"""Dispatch modes and selective checkpoints: they can be mentioned, subclassed and made, and refuse to be used."""
from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import torch
from torch.utils._python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

class Logging(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

class Bare(TorchDispatchMode):
    def __init__(self):
        self.seen = []

assert not is_in_torch_dispatch_mode() and CheckpointPolicy.MUST_SAVE.value == 0
modes = [Logging(), Bare()]
for use in (modes[0].__enter__, modes[1].__enter__, lambda: create_selective_checkpoint_contexts(lambda *a: True)):
    try:
        use()
    except NotImplementedError as refused:
        lines = str(refused).splitlines()
        assert "only a name" in lines[0] and lines[-1].strip().startswith("instead: "), lines
        print(lines[-1].strip())

@torch.library.triton_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.library.wrap_triton(torch.add)(x, x)

print(torch.ops.mine.twice(torch.ones(2)).tolist())
"""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    done = subprocess.run([sys.executable, "-c", "import claygrad; claygrad.as_torch()\n" + PROGRAM], capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_entering_a_mode_is_refused_with_a_way_out(printed: list[str]) -> None:
    assert ["TorchFunctionMode" in line for line in printed[:2]] == [True, True]


def test_selective_checkpoints_are_refused_with_a_way_out(printed: list[str]) -> None:
    assert "checkpoints of their own" in printed[2]


def test_operators_for_triton_are_operators(printed: list[str]) -> None:
    assert printed[3] == "[2.0, 2.0]"
