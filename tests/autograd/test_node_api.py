"""What Python sees of a node: saved values and hooks on them, calling it, callbacks, metadata."""

from __future__ import annotations

import pytest

from tests.support import close, leaf, raises


def double(lib, *values):
    return leaf(lib, list(values), dtype=lib.float64)


def ones(lib, n=2):
    return lib.ones(n, dtype=lib.float64)


def test_hooks_on_one_saved_tensor(lib):
    x, log = double(lib, 1.0, 2.0), []
    y = x * x
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda t: (log.append("pack"), t)[1], lambda t: (log.append("unpack"), t * 2)[1])
    with raises(lib, RuntimeError, "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
                "one pair of hooks is allowed at a time."):
        raw.register_hooks(lambda t: t, lambda t: t)
    assert log == ["pack"]
    y.sum().backward()
    assert log == ["pack", "unpack"]
    assert close(x.grad, [3.0, 6.0])
    with raises(lib, RuntimeError, "Calling register_hooks on a saved tensor after it has been freed.…"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_hooks_on_a_saved_result(lib):
    x = double(lib, 1.0, 2.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t.numpy(), lambda a: lib.from_numpy(a))
    assert close(y.grad_fn._saved_result, y.tolist())
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    y.sum().backward()
    assert close(x.grad, y.tolist())


def test_what_hooks_on_a_saved_tensor_may_not_do(lib):
    x = double(lib, 1.0, 2.0)
    raw = (x * x).grad_fn._raw_saved_self
    for wrong in ((lambda t: t,), (1, 2), ()):
        with raises(lib, TypeError, "register_hooks(): incompatible function arguments.…"):
            raw.register_hooks(*wrong)
    y = (x * 1) * x
    with raises(lib, RuntimeError, "A saved tensor pack hook is modifying its input in place.…"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), lambda t: t)
    with pytest.raises((RuntimeError, TypeError)):      # PyTorch refuses in __init__, claygrad before there is an object
        type(raw)()


def test_a_node_can_be_called(lib):
    x, one, log = double(lib, 1.0, 2.0), ones(lib), []
    y = x * 3
    y.grad_fn.register_hook(lambda gs, outs: log.append("post"))
    y.register_hook(lambda g: log.append("tensor"))
    made = y.grad_fn(one)
    assert close(made[0], [3.0, 3.0])
    assert made[1] is None
    assert log == []
    assert y.grad_fn(None) == (None, None)
    assert y.grad_fn.next_functions[0][0](one) == ()
    assert close(x.grad, [1.0, 1.0])
    with raises(lib, TypeError, "expected 1 arguments, got 0 instead"):
        y.grad_fn()
    with raises(lib, TypeError, "argument 0 is not a Variable"):
        y.grad_fn(3)
    (second,) = lib.autograd.grad(x.exp().grad_fn(one).sum(), x)
    assert close(second, x.detach().exp().tolist())


def test_callbacks_run_when_a_backward_has_ended(lib):
    queue, log = lib.autograd.Variable._execution_engine.queue_callback, []
    x = double(lib, 1.0, 2.0)
    x.register_hook(lambda g: queue(lambda: (log.append(x.grad.tolist()), queue(lambda: log.append("second")))))
    (x * 2).sum().backward()
    assert log == [[2.0, 2.0], "second"]
    with raises(lib, RuntimeError, "Final callbacks can only be installed during backward pass."):
        queue(lambda: None)
    y = double(lib, 1.0)
    y.register_hook(lambda g: queue(lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        (y * 2).sum().backward()


def test_numbers_and_metadata_of_a_node(lib):
    x = double(lib, 1.0, 2.0)
    a, b = x * 2, x * 3
    assert a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr()
    assert a.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1
    (form,) = a.grad_fn._input_metadata
    assert tuple(form.shape) == (2,)
    assert form.dtype is lib.float64
    assert form.device.type == "cpu"
    assert not form.is_nested_tensor
    assert {"_saved_result", "_raw_saved_result"} <= set(dir(x.exp().grad_fn))
    handle = x.register_hook(lambda g: g)
    assert handle.id in handle.hooks_dict_ref()
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    assert a.grad_fn._sequence_nr() > b.grad_fn._sequence_nr()


def test_hooks_of_the_node_of_a_computed_input_run(lib):
    x, log = double(lib, 1.0), []
    b = x.clone()
    b.grad_fn.register_prehook(lambda gs: (log.append("pre"), (gs[0] * 2,))[1])
    b.register_hook(lambda g: (log.append("tensor"), g * 3)[1])
    b.sum().backward(inputs=(b,))
    assert log == ["tensor", "pre"]
    assert close(b.grad, [3.0])
    assert x.grad is None


def test_a_leaf_that_changed_its_shape_has_a_new_accumulator(lib):
    x = leaf(lib, [1.0] * 4)
    kept = []
    for _ in range(2):
        with lib.no_grad():
            x.set_(x[1:])
            x.grad = None
        kept.append(lib.cat((x, x)))
        kept[-1].sum().backward()
    assert close(x.grad, [2.0, 2.0])


def test_a_function_may_return_its_subclass_input_and_mark_what_it_made(lib):
    class Sub(lib.Tensor):
        pass

    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    class Made(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            z = x * 2
            ctx.mark_dirty(z)
            return z

        @staticmethod
        def backward(ctx, g):
            return g * 2

    s = lib.ones(2).as_subclass(Sub).requires_grad_()
    out = Same.apply(s)
    assert type(out) is Sub
    assert out is not s
    out.sum().backward()
    assert close(s.grad, [3.0, 3.0])
    x = double(lib, 1.0, 2.0)
    z = Made.apply(x)
    assert z._version == 1
    z.sum().backward()
    assert close(x.grad, [2.0, 2.0])


def test_absent_gradients_of_outputs_without_any(lib):
    seen = []

    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x.clone(), x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = False
            return first, second

        @staticmethod
        def backward(ctx, g, none):
            seen.append(none)
            return g

    Two.apply(double(lib, 1.0))[0].sum().backward()
    assert seen == [None]


def test_views_of_inference_tensors_are_not_tracked(lib):
    with lib.inference_mode():
        a = lib.ones(2, requires_grad=True)
        inside = a[:1]
    outside = a[:1]
    for v in (inside, outside):
        assert v.is_inference()
        assert not v._is_view()
        assert not v.requires_grad
