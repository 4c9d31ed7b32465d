"""A second derivative that needs nothing of a graph which was freed meanwhile; and writes that read what they write."""

from __future__ import annotations

import pytest

from tests.support import close, leaf

SAVE_THEIR_INPUT = ["silu", "gelu", "mish", "softplus", "sin", "cos", "log", "square", "erf", "leaky_relu", "logsigmoid"]


@pytest.mark.parametrize("name", SAVE_THEIR_INPUT)
def test_a_second_derivative_after_the_graph_was_freed(lib, name):
    made = getattr(lib, name, None) or getattr(lib.nn.functional, name)
    x, y = leaf(lib, [1.0, 2.0], dtype=lib.float64), leaf(lib, [1.0, 2.0], dtype=lib.float64)
    (first,) = lib.autograd.grad(made(x).sum(), x, create_graph=True)
    (expected,) = lib.autograd.grad(first.sum(), x)
    v = made(x)
    (g,) = lib.autograd.grad(v.sum(), x, create_graph=True)
    (y - v).sum().backward()
    (second,) = lib.autograd.grad(g.sum(), x)
    assert close(second, expected.tolist())
