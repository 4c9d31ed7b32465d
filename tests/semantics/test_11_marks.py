"""Sections 11.4 and 11.5: marks on ctx, and values kept there."""

from __future__ import annotations

import pytest

from tests.semantics.test_11_function import make
from tests.support import close, is_torch, leaf, raises
from tests.support.messages import DIRTYLEAF, SAVED, multiview, unused


def _dirty(ctx, a):
    a.mul_(2)
    ctx.mark_dirty(a)
    return a


def test_a_dirty_input_is_returned_with_the_custom_node(lib):
    x = leaf(lib, [3.0])
    y = x * 1
    z = make(lib, _dirty, lambda ctx, g: g * 2, name="Double").apply(y)
    assert z is y
    assert y.grad_fn.name() == "DoubleBackward"
    assert close(y, [6.0])
    y.backward()
    assert close(x.grad, [2.0])


def test_what_is_dirty_must_be_returned(lib):
    text = (
        "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
        "modified "
        "inplace must all be outputs of the Function."
    )

    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a * 1

    with raises(lib, RuntimeError, text):
        make(lib, forward, lambda ctx, g: g).apply(leaf(lib, [1.0]) * 1)

    def other(ctx, a):
        ctx.mark_dirty(a.clone())
        return a * 1

    with raises(lib, RuntimeError, text):
        make(lib, other, lambda ctx, g: g).apply(leaf(lib, [1.0]) * 1)


def test_a_dirty_leaf_is_refused_after_the_write(lib):
    x = leaf(lib, [3.0])
    with raises(lib, RuntimeError, DIRTYLEAF):
        make(lib, _dirty, lambda ctx, g: g).apply(x)
    assert close(x, [6.0])


def test_a_write_that_was_not_marked_keeps_the_old_history(lib):
    x = leaf(lib, [3.0])
    y = x * 1

    def forward(ctx, a):
        a.mul_(2)
        return a * 1

    make(lib, forward, lambda ctx, g: g).apply(y)
    assert y.grad_fn.name() == "MulBackward0"
    y.backward()
    assert close(x.grad, [1.0])


def test_a_non_differentiable_output_does_not_require_grad_and_its_gradient_is_zeros(lib):
    seen = []

    def forward(ctx, a):
        mask = a * 0 + 1
        ctx.mark_non_differentiable(mask)
        return a * 2, mask

    def backward(ctx, g, gm):
        seen.append(gm.tolist())
        return g * 2

    out, mask = make(lib, forward, backward).apply(leaf(lib, [1.0, 2.0]))
    assert (out.requires_grad, mask.requires_grad) == (True, False)
    out.sum().backward()
    assert seen == [[0.0, 0.0]]


@pytest.mark.parametrize(("materialize", "expected"), [(True, [0.0]), (False, None)])
def test_unused_outputs_give_zeros_or_none(lib, materialize, expected):
    seen = []

    def forward(ctx, a):
        ctx.set_materialize_grads(materialize)
        return a * 1, a * 2

    def backward(ctx, g, h):
        seen.append(None if h is None else h.tolist())
        return g

    make(lib, forward, backward).apply(leaf(lib, [1.0]))[0].backward()
    assert seen == [expected]


def test_a_view_returned_by_a_function_is_not_writable(lib):
    text = (
        "Output 0 of ViewFBackward is a view and is being modified inplace. This view was created inside a custom "
        "Function (or "
        "because an input was returned as-is) and the autograd logic to handle view+inplace would override the "
        "custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can "
        "fix this by "
        "cloning the output of the custom Function."
    )
    y = leaf(lib, [1.0, 2.0]) * 1
    v = make(lib, lambda ctx, a: a.view(2, 1), lambda ctx, g: g.view(2), name="ViewF").apply(y)
    with raises(lib, RuntimeError, text.replace("ViewFBackward", "ViewF")):
        v.add_(1)


def test_one_of_several_views_returned_by_a_function_is_not_writable(lib):
    y = leaf(lib, [1.0, 2.0]) * 1
    v, _ = make(lib, lambda ctx, a: (a[:1], a[1:]), lambda ctx, g, h: g, name="Views").apply(y)
    with raises(lib, RuntimeError, multiview("Views")):
        v.add_(1)


def _square_once(lib):
    @lib.autograd.function.once_differentiable
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a**2

    return make(lib, forward, backward)


def test_once_differentiable_refuses_the_second_derivative(lib):
    f = _square_once(lib)
    x = leaf(lib, [3.0])
    (g,) = lib.autograd.grad(f.apply(x), x)
    assert close(g, [6.0])
    u = leaf(lib, [5.0])
    (g,) = lib.autograd.grad(f.apply(x) * u, x, create_graph=True)
    assert close(g, [30.0])
    assert "grad_fn=<Error>" in repr(g)
    with raises(lib, RuntimeError, unused(0)):
        lib.autograd.grad(g, x, retain_graph=True)
    text = "trying to differentiate twice a function that was marked with @once_differentiable"
    with raises(lib, RuntimeError, text):
        g.backward()


def test_once_differentiable_drops_its_term_when_another_path_exists(lib):
    x = leaf(lib, [3.0])
    (g,) = lib.autograd.grad(_square_once(lib).apply(x) * x, x, create_graph=True)
    assert close(g, [27.0])
    (h,) = lib.autograd.grad(g, x)
    assert close(h, [6.0])


def test_custom_functions_differentiate_twice(lib):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a**3

    f = make(lib, forward, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g)
    x = leaf(lib, [2.0])
    (g,) = lib.autograd.grad(f.apply(x), x, create_graph=True)
    (h,) = lib.autograd.grad(g, x)
    assert close(h, [12.0])


# --- values kept on ctx ---------------------------------------------------------------------------------------------


def test_a_value_kept_on_ctx_is_not_protected(lib):
    def forward(ctx, a):
        ctx.a = a
        return a * a

    x = leaf(lib, [3.0])
    y = x * 1
    z = make(lib, forward, lambda ctx, g: 2 * ctx.a * g).apply(y)
    y.add_(1)
    z.backward()
    assert close(x.grad, [8.0])


def test_a_value_given_to_save_for_backward_is_protected(lib):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    x = leaf(lib, [3.0])
    y = x * 1
    z = make(lib, forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * g).apply(y)
    y.add_(1)
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            z.backward()
    else:
        z.backward()
        assert close(x.grad, [6.0])
