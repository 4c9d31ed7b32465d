"""Fork after threads were used: the child computes and differentiates."""

from __future__ import annotations

import os

import pytest

from tests.support import fresh

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

WORK = """
def work():
    a = torch.ones(400, 400, requires_grad=True)
    ((a @ a).tanh().sum() + torch.rand(1_000_000).exp().sum() * 0 + (a * 2).sum()).backward()
    return a.grad.sum().item()
"""


def test_a_child_forked_after_large_operations_computes(lib):
    out = fresh(
        lib,
        WORK
        + """
import os
expected = work()
for _ in range(3):
    child = os.fork()
    if not child:
        os._exit(0 if abs(work() - expected) < 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
assert abs(work() - expected) < 1
print("fine")
""",
    )
    assert out == "fine\n"


def test_a_child_forked_while_other_threads_compute(lib):
    out = fresh(
        lib,
        WORK
        + """
import os, threading
expected, stop = work(), threading.Event()
def busy():
    while not stop.is_set():
        work()
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads: thread.start()
statuses = []
for _ in range(3):
    child = os.fork()
    if not child:
        x = torch.tensor([2.], requires_grad=True)
        (x * x).backward()
        os._exit(0 if x.grad.item() == 4 and abs(work() - expected) < 1 else 1)
    statuses.append(os.waitpid(child, 0)[1])
stop.set()
for thread in threads: thread.join()
print(statuses)
""",
    )
    assert out == "[0, 0, 0]\n"


def test_a_pool_of_forked_workers_returns_tensors(lib):
    out = fresh(
        lib,
        WORK
        + """
import multiprocessing
def job(n):
    x = torch.tensor([float(n)], requires_grad=True)
    (x ** 3).backward()
    return x.grad
work()
with multiprocessing.get_context("fork").Pool(2) as pool:
    print([t.item() for t in pool.map(job, range(4))])
""",
    )
    assert out == "[0.0, 3.0, 12.0, 27.0]\n"
