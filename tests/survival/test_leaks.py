"""Memory stays flat over many steps, whatever the steps do."""

from __future__ import annotations

import pytest

from tests.support import fresh

SETUP = """
import os
def resident():
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
"""

STEPS = {
    "training": """
        w1, w2 = torch.randn(4, 8, requires_grad=True), torch.randn(8, 1, requires_grad=True)
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        def step():
            loss = ((x @ w1).relu() @ w2 - y).square().mean()
            loss.backward()
            with torch.no_grad():
                for w in (w1, w2):
                    w -= 0.001 * w.grad
                    w.grad = None
    """,
    "second derivatives": """
        w = torch.randn(8, requires_grad=True)
        def step():
            (g,) = torch.autograd.grad((w.sin() ** 3).sum(), w, create_graph=True)
            (g * g).sum().backward()
            w.grad = None
    """,
    "writes to saved values": """
        w = torch.randn(8, requires_grad=True)
        def step():
            y = w * 1
            z = y * y
            y.add_(1)
            y.data.mul_(2)
            y[:4].sin_()
            if torch.__name__ != "torch":
                z.sum().backward()
    """,
    "hooks": """
        w = torch.randn(8, requires_grad=True)
        def step():
            y = w * 1
            y.register_hook(lambda g: g * 2)
            y.retain_grad()
            y.grad_fn.register_hook(lambda i, o: None)
            handle = w.register_hook(lambda g: None)
            y.sum().backward()
            handle.remove()
            w.grad = None
    """,
    "custom functions": """
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                out = a.exp()
                ctx.save_for_backward(a, out)
                ctx.extra = [a]
                return out
            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[1]
        w = torch.randn(8, requires_grad=True)
        def step():
            F.apply(w).sum().backward()
            F.apply(w)
            w.grad = None
    """,
    "graphs that are dropped": """
        w = torch.randn(8, requires_grad=True)
        def step():
            y = (w.exp() + w[2:4].sum()).view(2, 4).t()
            y.grad_fn, y.grad_fn.next_functions
            y.detach(), y.data, y.clone()
    """,
    "exceptions": """
        w = torch.randn(8, requires_grad=True)
        def fail(g):
            raise ValueError
        def step():
            y = w * w
            y.register_hook(fail)
            try:
                y.sum().backward()
            except ValueError:
                pass
            try:
                y + torch.ones(3)
            except RuntimeError:
                pass
            try:
                w.add_(1)
            except RuntimeError:
                pass
    """,
    "views and numpy": """
        def step():
            a = torch.zeros(1000)
            n = a.numpy()
            n[0] = 1
            t = torch.from_numpy(n)
            t.view(10, 100).t()[0].add_(1)
            a.tolist(), repr(a[:3]), a[a > 0], a[[1, 2]]
    """,
    "large results": """
        def step():
            a = torch.ones(300_000)
            ((a * 2 + 1).exp() * 0).sum()
    """,
    "cycles": """
        def step():
            w = torch.randn(8, requires_grad=True)
            y = w * 2
            y.itself = y
            w.register_hook(lambda g, w=w: g)
            y.grad_fn.metadata["y"] = y
            y.sum().backward()
    """,
}


def _growth(lib, body: str, warm: int, steps: int) -> int:
    import textwrap

    out = fresh(
        lib,
        SETUP
        + textwrap.dedent(body)
        + f"""
for _ in range({warm}):
    step()
before = resident()
for _ in range({steps}):
    step()
print(resident() - before)
""",
        timeout=3600,
    )
    return int(out)


@pytest.mark.parametrize("name", STEPS)
def test_memory_is_flat_over_some_thousand_steps(lib, name):
    steps = 200 if name == "large results" else 3000
    assert _growth(lib, STEPS[name], steps // 3, steps) < 1_000_000


@pytest.mark.slow
def test_memory_is_flat_over_a_million_training_steps(lib):
    assert _growth(lib, STEPS["training"], 10_000, 1_000_000) < 1_000_000
