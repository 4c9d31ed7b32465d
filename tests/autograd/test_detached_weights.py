"""Weights of recurrent layers that are cut from the graph between forward and a backward with a graph of its own."""
from __future__ import annotations

import pytest

from tests.support import leaf


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("cut", ["the first", "all"])
def test_a_weight_may_be_detached_before_backward(lib, kind, cut):
    lib.manual_seed(3)
    layer = getattr(lib.nn, kind)(2, 2).double()
    x = leaf(lib, [[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]], dtype=lib.float64)
    wanted = lib.autograd.grad(layer(x)[0].sum(), [x, *layer.parameters()])
    out = layer(x)[0].sum()
    weights = list(layer.parameters())
    gone = weights[:1] if cut == "the first" else weights
    for weight in gone:
        weight.detach_()
    out.backward(create_graph=True)
    assert lib.allclose(x.grad, wanted[0])
    for weight, gradient in zip(weights[len(gone):], wanted[1 + len(gone):], strict=True):
        assert lib.allclose(weight.grad, gradient)
