"""nn.grad: gradients of convolutions as functions, beside PyTorch's and beside what backward gives."""
from __future__ import annotations

import pytest
import torch

import claygrad


@pytest.mark.parametrize("words", [{}, {"stride": 2}, {"padding": 1, "dilation": 2}, {"groups": 2, "stride": (2,), "padding": [1]}])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(dims, words):
    def run(lib):
        lib.manual_seed(dims)
        x = lib.randn(2, 4, *(7, 6, 8)[:dims], dtype=lib.float64, requires_grad=True)
        w = lib.randn(6, 4 // words.get("groups", 1), *(3, 2, 3)[:dims], dtype=lib.float64, requires_grad=True)
        out = getattr(lib.nn.functional, f"conv{dims}d")(x, w, **words)
        g = lib.randn(out.shape, dtype=lib.float64)
        out.backward(g)
        of_input = getattr(lib.nn.grad, f"conv{dims}d_input")(x.shape, w, g, **words)
        of_weight = getattr(lib.nn.functional.grad, f"conv{dims}d_weight")(x, w.shape, g, **words)
        assert lib.allclose(of_input, x.grad)
        assert lib.allclose(of_weight, w.grad)
        return of_input.tolist(), of_weight.tolist()

    for mine, theirs in zip(run(claygrad), run(torch), strict=True):
        assert claygrad.allclose(claygrad.tensor(mine), claygrad.tensor(theirs))
