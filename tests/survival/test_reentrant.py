"""Backward inside backward."""

from __future__ import annotations

from tests.support import close, leaf


def test_backward_inside_a_hook(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [3.0])
    y = x * 1

    def hook(g):
        with lib.enable_grad():
            (u * u).backward()

    y.register_hook(hook)
    (y * y).backward()
    assert close(x.grad, [4.0])
    assert close(u.grad, [6.0])


def test_backward_inside_a_custom_backward_recomputes(lib):
    """The pattern of checkpointing: forward is run again inside backward."""

    class Checkpoint(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a.sin() * a

        @staticmethod
        def backward(ctx, g):
            inner = ctx.saved_tensors[0].detach().requires_grad_()
            with lib.enable_grad():
                out = inner.sin() * inner
            out.backward(g)
            return inner.grad

    x = leaf(lib, [1.0, 2.0])
    Checkpoint.apply(x * 1).sum().backward()
    expected = leaf(lib, [1.0, 2.0])
    (expected.sin() * expected).sum().backward()
    assert close(x.grad, expected.grad.tolist())


def test_backward_nested_a_hundred_deep(lib):
    class Nested(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, depth):
            ctx.save_for_backward(a)
            ctx.depth = depth
            return a * 2

        @staticmethod
        def backward(ctx, g):
            if ctx.depth:
                inner = ctx.saved_tensors[0].detach().requires_grad_()
                with lib.enable_grad():
                    out = Nested.apply(inner, ctx.depth - 1)
                out.backward(g)
                return inner.grad, None
            return g * 2, None

    x = leaf(lib, [1.0])
    Nested.apply(x, 100).backward()
    assert close(x.grad, [2.0])


def test_an_inner_backward_over_the_same_leaf_accumulates(lib):
    x = leaf(lib, [2.0])
    y = x * 3
    done = []

    def hook(g):
        if not done:
            done.append(True)
            with lib.enable_grad():
                (x * 5).backward()

    y.register_hook(hook)
    y.backward()
    assert close(x.grad, [8.0])


def test_an_inner_backward_keeps_the_modes_of_the_outer_one(lib):
    x = leaf(lib, [2.0])
    y = x * 3
    seen = []

    def hook(g):
        with lib.enable_grad():
            (x * 5).backward()
        seen.append(lib.is_grad_enabled())

    y.register_hook(hook)
    y.backward()
    assert seen == [False]
    assert lib.is_grad_enabled()


def test_grad_of_grad_inside_a_hook(lib):
    x = leaf(lib, [2.0])
    found = []

    def hook(g):
        with lib.enable_grad():
            (first,) = lib.autograd.grad(x**3, x, create_graph=True)
            found.append(lib.autograd.grad(first, x)[0].item())

    y = x * 1
    y.register_hook(hook)
    y.backward()
    assert found == [12.0]
