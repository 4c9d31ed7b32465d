"""How gradients are added to leaves: memory of their own, laid out as the leaf, with or without a graph."""

from __future__ import annotations

import pytest

from tests.support import close, leaf

pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


def ones(lib, n=2):
    return lib.ones(n, dtype=lib.float64)


def test_the_first_gradient_with_a_graph_is_a_recorded_copy(lib):
    a, b = leaf(lib, [1.0, 2.0], dtype=lib.float64), leaf(lib, [0.0, 0.0], dtype=lib.float64)
    (a + b).pow(2).sum().backward(create_graph=True)
    assert a.grad.grad_fn.name() == "torch::autograd::CopyBackwards"
    a.grad.mul_(10)
    assert close(a.grad, [20.0, 40.0])
    assert close(b.grad, [2.0, 4.0])
    (second,) = lib.autograd.grad(b.grad.sum(), b)
    assert close(second, [2.0, 2.0])


def test_a_given_gradient_does_not_become_the_grad_of_a_leaf(lib):
    a, g = leaf(lib, [1.0, 2.0], dtype=lib.float64), ones(lib)
    (a + 0).backward(g, create_graph=True)
    assert a.grad is not g
    a.grad.zero_()
    assert close(g, [1.0, 1.0])


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_is_laid_out_as_its_leaf(lib, create_graph):
    transposed = lib.ones(2, 3).t().requires_grad_()
    with_gaps = lib.ones(2, 6)[:, ::2].detach().requires_grad_()
    expanded = lib.ones(3).expand(2, 3).detach().requires_grad_()
    for w in (transposed, with_gaps, expanded):
        (w * 2).sum().backward(create_graph=create_graph)
        w.sum().backward(create_graph=create_graph)
    assert transposed.grad.stride() == (1, 3)
    assert with_gaps.grad.stride() == (3, 1)
    assert expanded.grad.stride() == (3, 1)
    w = lib.ones(3, requires_grad=True)
    w.sum().backward(create_graph=create_graph)
    w.grad.detach_().mul_(2)
    assert close(w.grad, [2.0, 2.0, 2.0])


def test_a_gradient_with_a_graph_keeps_it_when_more_is_added(lib):
    x = leaf(lib, [1.0, 2.0], dtype=lib.float64)
    (x**3).sum().backward(create_graph=True)
    g, node = x.grad, x.grad.grad_fn
    (x * 5).sum().backward()
    assert x.grad is g
    assert g.grad_fn is node
    assert close(g, [8.0, 17.0])
    (second,) = lib.autograd.grad(g.sum(), x)
    assert close(second, [6.0, 12.0])


def test_adding_with_a_graph_makes_a_new_gradient(lib):
    x = leaf(lib, [1.0, 2.0], dtype=lib.float64)
    (x**3).sum().backward()
    g = x.grad
    (x**2).sum().backward(create_graph=True)
    assert x.grad is not g
    assert x.grad.grad_fn.name() == "AddBackward0"
    assert close(g, [3.0, 12.0])


def test_clipping_clips_once(lib):
    a, b = leaf(lib, [3.0]), leaf(lib, [0.0])
    (a + b).pow(2).sum().backward(create_graph=True)
    lib.nn.utils.clip_grad_norm_([a, b], 1.0)
    assert close(a.grad.detach() ** 2 + b.grad.detach() ** 2, [1.0], 1e-5)
