"""Weights that are not finite reach what their windows read, and nothing else."""
from __future__ import annotations

import pytest

import claygrad
import claygrad.nn.functional as F
from claygrad import inf, nan

STEPS = [{"stride": 2}, {"stride": 3}, {"dilation": 2}, {"dilation": 2, "stride": 2}, {"dilation": 2, "stride": 3},
         {"dilation": 2, "padding": 1}, {"stride": 2, "padding": 1}]


def weights(value: float, groups: int, dims: int, dtype) -> claygrad.Tensor:
    return claygrad.full((2 * groups, 1, *[2] * dims), value, dtype=dtype)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("dims", "size"), [(1, 5), (1, 300), (2, 5), (2, 40), (3, 5), (3, 12)])
def test_the_gradient_of_what_no_window_reads_is_zero(dims, size, dtype, steps, groups):
    kind, run = getattr(claygrad, dtype), getattr(F, f"conv{dims}d")

    def gradient(value: float) -> claygrad.Tensor:
        x = claygrad.ones(2, groups, *[size] * dims, dtype=kind, requires_grad=True)
        run(x, weights(value, groups, dims, kind), groups=groups, **steps).sum().backward()
        return x.grad

    read = gradient(1.0) != 0
    assert claygrad.equal(gradient(inf), claygrad.zeros(read.shape, dtype=kind).masked_fill(read, inf))
    assert claygrad.equal(gradient(nan).isnan(), read)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("steps", [*STEPS, {"dilation": 3, "padding": 1}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("dims", "size"), [(1, 3), (1, 200), (2, 3), (2, 30), (3, 3)])
def test_a_transposed_convolution_leaves_its_gaps_zero(dims, size, dtype, steps, groups):
    kind, run = getattr(claygrad, dtype), getattr(F, f"conv_transpose{dims}d")

    def result(value: float) -> claygrad.Tensor:
        x = claygrad.ones(2, 2 * groups, *[size] * dims, dtype=kind)
        return run(x, weights(value, groups, dims, kind), groups=groups, **steps)

    written = result(1.0) != 0
    assert claygrad.equal(result(inf), claygrad.zeros(written.shape, dtype=kind).masked_fill(written, inf))
