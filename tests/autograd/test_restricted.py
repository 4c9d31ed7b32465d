"""Backward towards some inputs only: stale views, views that no graph can use, roots off the way."""

from __future__ import annotations

import pytest

from tests.support import close, leaf, messages, raises


def double(lib, *values):
    return leaf(lib, list(values), dtype=lib.float64)


WRITES = {
    "no_grad": lambda lib, x: no_grad_mul(lib, x),
    "detach": lambda lib, x: x.detach().mul_(2),
    "optimizer": lambda lib, x: step(lib, x),
}


def no_grad_mul(lib, x):
    with lib.no_grad():
        x.mul_(2)


def step(lib, x):
    x.grad = lib.ones_like(x)
    lib.optim.SGD([x], lr=0.1).step()
    x.grad = None


VIEWS = {
    "slice": (lambda x: x[:1], [4.0, 3.0]),
    "view of a view": (lambda x: x.view(2, 1)[0], [4.0, 3.0]),
    "unbind": (lambda x: x.expand(1, 2)[0, 1], [3.0, 4.0]),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("looked_at", [False, True])
def test_a_stale_view_has_its_gradient(lib, write, view, looked_at):
    made, expected = VIEWS[view]
    for ask in ("grad", "inputs", "leaves"):
        x = double(lib, 1.0, 2.0)
        v = made(x)
        WRITES[write](lib, x)
        if looked_at:
            assert v.grad_fn is not None
        out = v.sum() + (x * 3).sum()
        if ask == "grad":
            (g,) = lib.autograd.grad(out, x)
        else:
            out.backward(inputs=[x] if ask == "inputs" else None)
            g = x.grad
        assert close(g, expected)


def unusable(lib):
    x = double(lib, 1.0, 2.0)
    with lib.no_grad():
        early = x[:1]
    base = lib.ones(2, dtype=lib.float64)
    late = base[:1]
    base.requires_grad_()
    return [(x, early), (base, late)]


def test_a_view_that_no_graph_can_use_is_an_unused_input(lib):
    for x, v in unusable(lib):
        assert v.requires_grad
        assert v.is_leaf
        assert lib.autograd.grad((x * 2).sum(), v, allow_unused=True) == (None,)
        (zero,) = lib.autograd.grad((x * 2).sum(), v, allow_unused=True, materialize_grads=True)
        assert close(zero, [0.0])
        with raises(lib, RuntimeError, messages.unused()):
            lib.autograd.grad((v * 2).sum(), v)
        (x * 2).sum().backward(inputs=[v])
        assert v.grad is None


def test_a_single_root_off_the_way_has_its_hooks_called(lib):
    x, y, one, log = double(lib, 1.0, 2.0), double(lib, 3.0, 4.0), lib.ones(2, dtype=lib.float64), []

    def root():
        b = y * 3
        log.clear()
        b.retain_grad()
        b.register_hook(lambda g: log.append("tensor"))
        b.grad_fn.register_prehook(lambda gs: log.append("pre"))
        b.grad_fn.register_hook(lambda gs, outs: log.append("post"))
        return b

    b = root()
    lib.autograd.backward(b, one, inputs=[x])
    assert log == ["tensor"]
    assert close(b.grad, [1.0, 1.0])
    b = root()
    lib.autograd.grad(b, [x], one, allow_unused=True)
    assert log == ["tensor"]
    b = root()
    lib.autograd.grad([b, b], [x], [one, one], allow_unused=True)
    assert log == []
    assert b.grad is None


def test_hooks_of_an_accumulator(lib):
    b, one, log = double(lib, 1.0, 2.0), lib.ones(2, dtype=lib.float64), []
    node = (b * 1).grad_fn.next_functions[0][0]
    node.register_prehook(lambda gs: log.append("pre"))
    node.register_hook(lambda gs, outs: log.append(("post", gs, outs[0].tolist(), b.grad.tolist())))
    b.register_hook(lambda g: log.append("tensor"))
    b.register_post_accumulate_grad_hook(lambda p: log.append("after"))
    runs = [lambda: (b * 2).sum().backward(), lambda: (b * 2).sum().backward(inputs=(b,)), lambda: b.backward(one),
            lambda: b.backward(one, inputs=(b,))]
    total = [2.0, 4.0, 5.0, 6.0]
    for run, now in zip(runs, total, strict=True):
        log.clear()
        run()
        step = 2.0 if now <= 4 else 1.0
        assert log == ["tensor", "pre", "after", ("post", (), [step, step], [now, now])]
    log.clear()
    lib.autograd.grad((b * 2).sum(), b)
    assert log == ["tensor"]


BAD = [
    ("register_prehook", lambda one: "a", TypeError, "expected tuple, but hook returned 'str'"),
    ("register_hook", lambda one: 3, TypeError, "expected tuple, but hook returned 'int'"),
    ("register_prehook", lambda one: one, TypeError, "expected tuple, but hook returned 'Tensor'"),
    ("register_prehook", lambda one: ("a",), TypeError, "expected Variable, but hook returned 'str'"),
    ("register_hook", lambda one: (3, None), TypeError, "expected Variable, but hook returned 'int'"),
    ("register_hook", lambda one: (one,), RuntimeError,
     "hook 'bad' has returned an incorrect number of values (got 1, but expected 2)"),
    ("register_hook", lambda one: (one, one), RuntimeError, "can't replace a None gradient with a non-None value"),
    ("register_prehook", lambda one: (one.view(2, 1),), RuntimeError, "hook 'bad' has changed the size of value"),
]


@pytest.mark.parametrize(("kind", "made", "error", "text"), BAD)
def test_what_a_hook_of_a_node_may_not_return(lib, kind, made, error, text):
    x, one = double(lib, 1.0, 2.0), lib.ones(2, dtype=lib.float64)
    y = x * 3

    def bad(*gs):
        return made(one)

    getattr(y.grad_fn, kind)(bad)
    with raises(lib, error, text):
        y.sum().backward()


@pytest.mark.parametrize("levels", [70, 1000])
def test_backward_inside_backward_to_any_depth(lib, levels):
    seen = []

    class Nested(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append((lib.is_grad_enabled(), lib.is_autocast_enabled("cpu")))
            if ctx.left:
                with lib.enable_grad():
                    x = lib.ones(1, requires_grad=True)
                    Nested.apply(x * 2, ctx.left - 1).sum().backward()
                g = g * x.grad
            return g, None

    x = lib.ones(1, requires_grad=True)
    with lib.autocast("cpu", dtype=lib.bfloat16):
        Nested.apply(x, levels).sum().backward()
    assert seen == [(False, True)] * (levels + 1)
    assert x.grad.isinf().item() == (levels > 127)


def test_an_error_far_down_reaches_the_top(lib):
    class Failing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if not ctx.left:
                raise KeyError("deep")
            with lib.enable_grad():
                x = lib.ones(1, requires_grad=True)
                Failing.apply(x * 2, ctx.left - 1).sum().backward()
            return g, None

    with pytest.raises(KeyError, match="deep"):
        Failing.apply(lib.ones(1, requires_grad=True), 200).sum().backward()


def test_a_refused_root_leaves_no_gradient_kept(lib):
    x = double(lib, 1.0, 2.0)
    y = x * 1
    square = y * y
    with raises(lib, RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        lib.autograd.backward([lib.ones(2, dtype=lib.float64)], [lib.ones(2, dtype=lib.float64)], inputs=[y])
    assert not y.retains_grad
    lib.autograd.grad(square.sum(), [x])
    y.retain_grad()                      # so that asking for the gradient is no mistake
    assert y.grad is None
