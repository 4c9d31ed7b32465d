"""Gradients that user code can reach share memory with no other; torch promises less, so this is claygrad alone."""

from __future__ import annotations

import pytest

from tests.support import close, leaf


def ones(lib, n=2):
    return lib.ones(n, dtype=lib.float64)


PATHS = {
    "add": lambda x, y: x + y,
    "view": lambda x, y: x.view(-1) + y.view(-1),
    "clone": lambda x, y: x.clone() + y.clone(),
    "add and scale": lambda x, y: (x + y) * ones_like(x),
    "cat": lambda x, y: x.unsqueeze(0).expand(2, 2)[0] + y,
    "twice": lambda x, y: x + y + x + y,
    "transposed": lambda x, y: x.view(1, 2).t().reshape(2) + y,
    "sum": lambda x, y: (x + y).sum(),
}


def ones_like(x):
    return (x * 0 + 1).detach()


def seeds(lib, out):
    return lib.ones(tuple(out.shape), dtype=lib.float64)


@pytest.mark.parametrize("path", PATHS)
def test_results_of_grad_share_memory_with_nothing(lib, path):
    for create_graph in (False, True):
        x, y = leaf(lib, [1.0, 2.0], dtype=lib.float64), leaf(lib, [3.0, 4.0], dtype=lib.float64)
        out = PATHS[path](x, y)
        seed = seeds(lib, out)
        a, b = lib.autograd.grad(out, [x, y], seed, create_graph=create_graph)
        before = b.tolist()
        with lib.no_grad():
            a.copy_(ones(lib) * 7)
        assert close(b, before)
        assert close(seed, lib.ones_like(seed).tolist())
        with lib.no_grad():
            b.copy_(ones(lib) * 8)
        assert close(a, [7.0, 7.0])


@pytest.mark.parametrize("path", PATHS)
def test_a_hook_that_writes_to_its_gradient_changes_no_other(lib, path):
    for kind in ("tensor", "prehook", "hook"):
        x, y = leaf(lib, [1.0, 2.0], dtype=lib.float64), leaf(lib, [3.0, 4.0], dtype=lib.float64)
        x2, y2 = x * 1, y * 1
        (expected,) = lib.autograd.grad(PATHS[path](x, y).sum(), x)
        out = PATHS[path](x2, y2)
        seed = seeds(lib, out)

        def write(g):
            return g.add_(0) if g.is_contiguous() else g.contiguous()

        if kind == "tensor":
            y2.register_hook(lambda g: write(g).mul_(5))
        elif kind == "prehook":
            y2.grad_fn.register_prehook(lambda gs: (write(gs[0]).mul_(5),))
        else:
            y2.grad_fn.register_hook(lambda gs, outs: (write(gs[0]).mul_(5), *gs[1:]))
        out.backward(seed)
        assert close(x.grad, expected.tolist())
        assert close(y.grad, (expected * 5).tolist())
        assert close(seed, lib.ones_like(seed).tolist())


def test_a_gradient_that_a_hook_kept_may_be_written_later(lib):
    x, y = leaf(lib, [1.0, 2.0], dtype=lib.float64), leaf(lib, [3.0, 4.0], dtype=lib.float64)
    kept = []
    s = x * 1 + y * 1
    s.register_hook(kept.append)
    y.register_hook(lambda g: (kept[0].zero_(), None)[1])
    x.register_hook(lambda g: (kept[0].zero_(), None)[1])
    s.sum().backward()
    assert close(x.grad, [1.0, 1.0])
    assert close(y.grad, [1.0, 1.0])


def test_a_custom_backward_may_write_to_what_it_gets_and_reuse_what_it_returned(lib):
    buffer = ones(lib) * 0

    class Scale(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            buffer.copy_(g.mul_(ctx.factor))
            return buffer, None

    x, y = leaf(lib, [1.0, 2.0], dtype=lib.float64), leaf(lib, [3.0, 4.0], dtype=lib.float64)
    (Scale.apply(x, 2) + Scale.apply(y, 3) + x + y).sum().backward()
    assert close(x.grad, [3.0, 3.0])
    assert close(y.grad, [4.0, 4.0])


def test_what_is_shared_with_nobody_is_not_copied(lib):
    x = leaf(lib, [1.0, 2.0], dtype=lib.float64)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.data_ptr()))
    (y * ones(lib)).sum().backward()
    (g,) = lib.autograd.grad(x.sum(), x)
    assert len(seen) == 1
    assert g.stride() == (0,)
