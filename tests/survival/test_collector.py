"""A small training loop while the collector runs at every allocation."""

from __future__ import annotations

import pytest

from tests.support import fresh

LOOP = """
import threading, weakref
class S(torch.Tensor):
    pass
class Note:
    def __init__(self, *held):
        self.held = held
    def __del__(self):
        [[] for _ in range(20)]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        ctx.note = Note(a)
        return a * a
    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return 2 * a * g
def train(steps):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    model.register_forward_hook(lambda m, i, o: None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, target = torch.ones(5, 3), torch.zeros(5, 1)
    losses = []
    for step in range(steps):
        out = Square.apply(model(x)) + model(x)
        out.me, out.note = out, Note(x)                    # a cycle through the __dict__
        out.grad_fn.metadata["out"] = out                  # and one through the node
        out.register_hook(lambda g, out=out: g * 1)
        watched = weakref.ref(out, lambda r: Note())
        weakref.finalize(out.grad_fn, Note)
        kind = S(out.detach())
        kind.grad, kind.me = out.detach().as_subclass(S), kind
        view = out[1:]
        loss = (out - target).square().mean() + view.sum() * 0 + kind.sum() * 0
        loss.retain_grad()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ring = [out.detach().numpy().base, kind.untyped_storage()]
        ring.append(ring)
        losses.append(float(loss))
    return losses
"""


@pytest.mark.parametrize("thresholds", ["1, 1, 1", "1", "7, 2, 2"])
def test_training_under_constant_collection(lib, thresholds):
    fresh(lib, LOOP + f"""
gc.disable()
wanted = train(8)
gc.enable()
gc.set_threshold({thresholds})
assert train(8) == wanted
gc.collect()
assert train(3) == wanted[:3]
""")


def test_training_in_threads_under_constant_collection(lib):
    fresh(lib, LOOP + """
gc.set_threshold(3)
sys.setswitchinterval(1e-5)
failures = []
def run():
    try:
        for _ in range(2):
            assert all(x == x for x in train(5))
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=run) for _ in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not failures, failures
gc.collect()
""")
