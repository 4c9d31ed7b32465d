"""Halves through the short way of float32: what an operation gives for them is what it gives for float32, rounded once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import claygrad
from claygrad import Tensor
from claygrad.nn import functional

HALVES = pytest.mark.parametrize("half", [claygrad.float16, claygrad.bfloat16], ids=["float16", "bfloat16"])
CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(), "sum of rows": lambda x: x.sum(1), "mean": lambda x: x.mean(0), "amax": lambda x: x.amax(1),
    "argmax": lambda x: x.argmax(1), "max": lambda x: x.max(1).values, "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0), "cumsum": lambda x: x.cumsum(1), "logsumexp": lambda x: x.logsumexp(1),
    "var": lambda x: x.var(1), "norm": lambda x: x.norm(), "sort": lambda x: x.sort(1).values, "median": lambda x: x.median(1).values,
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[1:]), "cross_entropy": lambda x: functional.cross_entropy(
        x, claygrad.arange(x.shape[0]) % x.shape[1]),
    "mse_loss": lambda x: functional.mse_loss(x, x.flip(0)), "prod": lambda x: x[:2].prod(1),
    "scatter_add": lambda x: x.scatter_add(1, claygrad.zeros(x.shape, dtype=claygrad.int64), x),
    "index_add": lambda x: x.index_add(0, claygrad.zeros(x.shape[0], dtype=claygrad.int64), x),
    "mean of places": lambda x: x.scatter_reduce(1, claygrad.zeros(x.shape, dtype=claygrad.int64), x, "mean"),
}


@HALVES
@pytest.mark.parametrize("name", CALLS)
def test_rounded_once(name: str, half: claygrad.dtype):
    draw = claygrad.Generator().manual_seed(0)
    for shape in ((7, 13), (40, 1000), (3, 1)):
        plain = claygrad.randn(shape, generator=draw).to(half)
        for x in (plain, plain.t().contiguous().t(), plain.repeat_interleave(2, 0)[::2]):
            made, wide = CALLS[name](x), CALLS[name](x.float())
            wanted = wide.to(half) if wide.is_floating_point() else wide
            assert made.dtype == wanted.dtype
            assert made.shape == wanted.shape
            if x is plain and name != "cross_entropy":           # which is two operations
                assert claygrad.equal(made.nan_to_num(), wanted.nan_to_num())
            assert claygrad.allclose(made.float(), wanted.float(), rtol=1e-2, atol=1e-6, equal_nan=True)


@HALVES
def test_in_place_and_with_gradients(half: claygrad.dtype):
    x = claygrad.randn(5, 6).to(half)
    y = x.clone()
    assert y.cumsum_(1) is y
    assert claygrad.equal(y, x.float().cumsum(1).to(half))
    x.requires_grad_()
    x.softmax(1)[:, 0].sum().backward()
    wide = x.detach().float().requires_grad_()
    wide.softmax(1)[:, 0].sum().backward()
    assert x.grad.dtype == half
    assert claygrad.allclose(x.grad.float(), wide.grad, atol=2e-2)


@HALVES
def test_another_precision_is_refused_as_before(half: claygrad.dtype):
    x, index = claygrad.zeros(3, dtype=half), claygrad.tensor([0])
    with pytest.raises(RuntimeError):
        x.scatter_add(0, index, claygrad.ones(1))
    with pytest.raises(RuntimeError):
        x.index_add(0, index, claygrad.ones(1))
    assert x.sum(dtype=claygrad.float32).dtype == claygrad.float32
