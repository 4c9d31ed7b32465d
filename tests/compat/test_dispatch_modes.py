"""Dispatch modes, selective checkpoints and operators for Triton under the names that packages use."""
from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import functools
import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

class Logging(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func.__module__, func.__name__, torch._C._len_torch_dispatch_stack())
        return func(*args, **(kwargs or {}))

assert not is_in_torch_dispatch_mode() and CheckpointPolicy.MUST_SAVE.value == 0
x = torch.ones(2, 2, requires_grad=True)
with Logging():
    x.sin()
    with no_dispatch():
        x.cos()

counts = []
def function(x):
    counts.append(1)
    return x.mm(x).sin().exp()

contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
checkpoint(function, x, use_reentrant=False, context_fn=contexts).sum().backward()
print(len(counts), x.grad.shape)

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


def test_a_mode_is_told_of_operators(printed: list[str]) -> None:
    assert printed[0] == "torch.ops.aten sin.default 0"


def test_selective_checkpoints(printed: list[str]) -> None:
    assert printed[1] == "2 torch.Size([2, 2])"


def test_operators_for_triton_are_operators(printed: list[str]) -> None:
    assert printed[2] == "[2.0, 2.0]"
