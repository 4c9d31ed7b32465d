"""What a custom function says of its tensors, what `set_` makes of a leaf, and what the checks say of absent gradients."""
from __future__ import annotations

import re
import warnings

import pytest

from tests.support import leaf

NOT_AN_INPUT = "ctx.mark_dirty() received a tensor that was not an input."


def marking(lib, make):
    class Marks(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            made = make(x)
            ctx.mark_dirty(made)
            return made

        @staticmethod
        def backward(ctx, g):
            return g

    return Marks


def test_a_new_tensor_marked_as_dirty_is_told(lib):
    with pytest.warns(UserWarning, match=re.escape(NOT_AN_INPUT)) as seen:
        out = marking(lib, lambda x: x * 3).apply(leaf(lib, [1.0]).clone())
    assert len(seen) == 1
    assert out.requires_grad


def test_a_new_view_marked_as_dirty_is_refused(lib):
    with pytest.raises(RuntimeError) as caught:
        marking(lib, lambda x: x.clone().view_as(x)).apply(leaf(lib, [1.0]).clone())
    assert str(caught.value).startswith(NOT_AN_INPUT)


def test_an_input_marked_as_dirty_is_not_told(lib):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        marking(lib, lambda x: x.mul_(3)).apply(leaf(lib, [1.0]).clone())


def test_graphs_end_at_the_leaf_that_a_tensor_was_before_set(lib):
    x = leaf(lib, [1.0, 2.0])
    before = lib.autograd.graph.get_gradient_edge(x)
    out = (x * 3).sum()
    with lib.no_grad():
        x.set_(lib.tensor([5.0, 6.0]))
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        lib.autograd.grad(out, x, retain_graph=True)
    assert lib.autograd.grad(out, before)[0].tolist() == [3.0, 3.0]
    assert lib.autograd.grad((x * 2).sum(), x)[0].tolist() == [2.0, 2.0]


def test_a_backward_that_fails_on_absent_gradients_is_told_and_refused(lib):
    def refuse(g):
        if g is None:
            raise RuntimeError("no gradient")

    def watched(x):
        out = x.clone()
        out.register_hook(refuse)
        return out

    with pytest.warns(UserWarning, match="New undefined gradient support checking feature"), \
            pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
        lib.autograd.gradcheck(watched, leaf(lib, [1.0], dtype=lib.float64))
