"""Halves through the short way of float32: what an operation gives for them is what it gives for float32, rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import claygrad
from claygrad import Tensor
from claygrad.core import array_of
from claygrad.core.dispatch import convert_half as halves
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


@HALVES
def test_arrays_are_recast_as_numpy_does(half: claygrad.dtype):
    kind = claygrad.zeros(1, dtype=half)
    wide = np.concatenate([np.float32([0, -0.0, np.inf, -np.inf, np.nan, 1e-8, -3e-8, 6e-8, 6.1e-5, 65504, 65520, 1e30]),
                           np.random.default_rng(0).standard_normal(1000).astype("float32")]).reshape(2, -1)
    narrow = halves.recast(wide, array_of(kind).dtype)
    with np.errstate(all="ignore"):
        assert narrow.tobytes() == wide.astype(narrow.dtype).tobytes()
    assert np.array_equal(halves.recast(narrow, "float32"), narrow.astype("float32"), equal_nan=True)
    assert np.array_equal(halves.recast(narrow.T, "float32"), narrow.T.astype("float32"), equal_nan=True)
    assert halves.recast(wide, np.float32) is wide


@HALVES
@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
def test_norms_of_halves_follow_those_of_float32(name: str, half: claygrad.dtype):
    draw = claygrad.Generator().manual_seed(0)
    x, weight, bias = claygrad.randn(6, 8, 5, generator=draw), claygrad.randn(8, generator=draw), claygrad.randn(8, generator=draw)
    call = {"layer_norm": lambda x, w, b: functional.layer_norm(x, (8, 5), w[:, None].expand(8, 5).contiguous(), None),
            "group_norm": lambda x, w, b: functional.group_norm(x, 2, w, b),
            "batch_norm": lambda x, w, b: functional.batch_norm(x, None, None, w, b, training=True)}[name]
    made, wide = ([v.to(dtype).detach().requires_grad_() for v in (x, weight, bias)] for dtype in (half, claygrad.float32))
    for v, w in zip(made, wide):
        w.data = v.data.float()
    out, wanted = call(*made), call(*wide)
    (out.float() * x).sum().backward()
    (wanted * x).sum().backward()
    assert out.dtype == half
    assert claygrad.allclose(out.float(), wanted, rtol=2e-2, atol=2e-2)
    for v, w in zip(made, wide):
        if w.grad is not None:
            assert v.grad.dtype == half
            assert claygrad.allclose(v.grad.float(), w.grad, rtol=4e-2, atol=4e-2)
