"""A list that contains itself, given to operations while something looks at their arguments: an error at most, never a crash."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import contextlib, sys
import claygrad as torch
from claygrad import debug

t = torch.ones(2, requires_grad=True)
first = {"conj": torch.ones(2, dtype=torch.cfloat).conj(), "meta": torch.ones(2, device="meta")}.get(sys.argv[1], t)
mode = {"trace_nans": debug.trace_nans, "profile": lambda: torch.profiler.profile(record_shapes=True)}.get(sys.argv[1], contextlib.nullcontext)
tensors, ints, nans = [first], [1], [float("nan")]
for endless in (tensors, ints, nans):
    endless.append(endless)
F = torch.nn.functional
calls = [
    lambda: torch.cat(tensors), lambda: torch.stack(tensors), lambda: torch.einsum("i", tensors), lambda: torch.meshgrid(tensors),
    lambda: torch.block_diag(*tensors), lambda: torch.broadcast_tensors(*tensors), lambda: torch.atleast_1d(tensors),
    lambda: torch.linalg.multi_dot(tensors), lambda: torch._foreach_add(tensors, 1), lambda: torch.autograd.grad(tensors, tensors),
    lambda: torch.nn.utils.clip_grad_norm_(tensors, 1.0), lambda: torch.func.vmap(lambda x: x)(tensors),
    lambda: torch.utils.checkpoint.checkpoint(lambda x: x, tensors, use_reentrant=False),
    lambda: t[tensors], lambda: t.index_put_(tensors, t), lambda: torch.add(t, tensors), lambda: torch.where(t > 0, t, tensors),
    lambda: t[ints], lambda: t.repeat(ints), lambda: t.sum(ints), lambda: t.view(ints), lambda: F.pad(t, ints),
    lambda: torch.full((2,), nans), lambda: torch.clamp(t, nans),
]
for call in calls:
    try:
        with mode():
            call()
    except Exception:
        pass
print("alive")
"""


@pytest.mark.parametrize("mode", ["plain", "trace_nans", "profile", "conj", "meta"])
def test_a_list_that_contains_itself_crashes_no_operation(mode):
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM, mode], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]


def test_the_memory_of_a_long_chain_of_arrays_is_found():
    program = ("import claygrad as torch\nfrom claygrad import debug\nx = torch.ones(3)\n"
               "for _ in range(100_000): x = torch.from_numpy(x.numpy())\nprint(len(str(debug.memory())) > 0)")
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-2000:]
