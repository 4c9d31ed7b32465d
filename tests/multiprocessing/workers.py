"""What the processes of the tests run: functions that a new process can import."""

from __future__ import annotations

import os
import signal
import time

import claygrad as torch
import claygrad.nn.functional as F
from claygrad import nn

PATIENCE = 60


def add_one(queue, answers, done):
    """Add 1 to every tensor that comes, in place."""
    for _ in range(queue.get()):
        queue.get().add_(1)
        answers.put("added")
    done.wait(PATIENCE)


def send_some(queue, done):
    x = torch.arange(12.0).reshape(3, 4)
    module = nn.Linear(2, 2)
    with torch.no_grad():
        module.weight.fill_(3.0)
    for thing in (x, x.t()[1:, ::2], x.untyped_storage(), torch.empty(0, 3), torch.empty(3, device="meta"), nn.Parameter(torch.ones(2)),
                  module, {"a": [x[0]], "b": 5}, torch.tensor([1 + 2j]).conj(), torch.ones(2, dtype=torch.bfloat16)):
        queue.put(thing)
    done.wait(PATIENCE)


def send_and_end(queue):
    torch.multiprocessing.set_sharing_strategy("file_system")
    queue.put(torch.full((1000,), 5.0))


def hold(queue, ready):
    """Hold a tensor of its own and one that came, until killed."""
    came, own = queue.get(), torch.ones(1000).share_memory_()
    ready.put((came.sum().item(), own.is_shared()))
    time.sleep(PATIENCE)


def write(x, value):
    x.fill_(value)


def step_often(i, model, steps):
    """A Hogwild worker: steps on parameters that all processes share, without a lock."""
    torch.manual_seed(i)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x = torch.randn(16, 8)
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def fail(i, how):
    if i == 1 and how != "nothing":
        if how == "raise":
            raise ValueError("of its own making")
        if how == "exit":
            os._exit(3)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0 if how == "nothing" else PATIENCE)


def square(x):
    return x * x


def note(i, x):
    x[i] = i + 1
