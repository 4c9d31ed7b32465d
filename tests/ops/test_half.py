"""Halves through the short way of float32: what an operation gives for them is what it gives for float32, rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import claygrad
from claygrad import Tensor
from claygrad.core import array_of
from claygrad.core.dispatch import convert_half as halves
from claygrad.core.dispatch import reference_only
from claygrad.nn import functional

HALF_DTYPES = pytest.mark.parametrize("half", [claygrad.float16, claygrad.bfloat16], ids=["float16", "bfloat16"])
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


@HALF_DTYPES
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


@HALF_DTYPES
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


@HALF_DTYPES
def test_another_precision_is_refused_as_before(half: claygrad.dtype):
    x, index = claygrad.zeros(3, dtype=half), claygrad.tensor([0])
    with pytest.raises(RuntimeError):
        x.scatter_add(0, index, claygrad.ones(1))
    with pytest.raises(RuntimeError):
        x.index_add(0, index, claygrad.ones(1))
    assert x.sum(dtype=claygrad.float32).dtype == claygrad.float32


@HALF_DTYPES
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


@HALF_DTYPES
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


WITH_DTYPE: dict[str, Callable[..., Tensor]] = {
    "sum": lambda x, d: x.sum(0, dtype=d), "prod": lambda x, d: x.prod(1, dtype=d), "mean": lambda x, d: x.mean(1, dtype=d),
    "nansum": lambda x, d: x.nansum(0, dtype=d), "cumsum": lambda x, d: x.cumsum(1, dtype=d), "cumprod": lambda x, d: x.cumprod(0, dtype=d),
    "softmax": lambda x, d: x.softmax(1, dtype=d), "log_softmax": lambda x, d: x.log_softmax(1, dtype=d),
    "softmin": lambda x, d: functional.softmin(x, 1, dtype=d), "norm": lambda x, d: x.norm(dim=1, dtype=d),
    "vector_norm": lambda x, d: claygrad.linalg.vector_norm(x, dtype=d), "masked.cumsum": lambda x, d: claygrad.masked.cumsum(x, 1, dtype=d),
}


@HALF_DTYPES
@pytest.mark.parametrize("name", WITH_DTYPE)
def test_the_dtype_that_is_asked_for(name: str, half: claygrad.dtype):
    plain = claygrad.randn(6, 9, generator=claygrad.Generator().manual_seed(0)).to(half)
    for x in (plain, plain.t().contiguous().t(), plain[::2]):
        for wanted in (half, claygrad.float32, claygrad.float64):
            found, wide = WITH_DTYPE[name](x, wanted), WITH_DTYPE[name](x.double(), claygrad.float64)
            assert found.dtype == wanted
            exact = 1e-2 if wanted == half else 1e-5
            assert claygrad.allclose(found.double(), wide, rtol=exact, atol=exact)
        assert claygrad.equal(WITH_DTYPE[name](x, half), WITH_DTYPE[name](x.float(), claygrad.float32).to(half))


OF_PAIRS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "neg": lambda x, y: -x,
    "abs": lambda x, y: x.abs(), "square": lambda x, y: x.square(), "conj": lambda x, y: x.conj().resolve_conj(), "eq": lambda x, y: x == y,
    "number": lambda x, y: x * 3, "complex": lambda x, y: x * (1 + 2j), "alpha": lambda x, y: x.add(y, alpha=3), "real": lambda x, y: x * y.real,
    "wide": lambda x, y: x + y.to(claygrad.complex64), "cat": lambda x, y: claygrad.cat([x, y]), "mm": lambda x, y: x @ y.mT,
    "sum": lambda x, y: x.sum(1), "flip": lambda x, y: x.flip(0), "to": lambda x, y: x.to(claygrad.complex64),
    "back": lambda x, y: x.to(claygrad.complex64).mul(70000).to(claygrad.complex32), "where": lambda x, y: claygrad.where(x == x, x, y),
    "in place": lambda x, y: x.clone().mul_(y), "number in place": lambda x, y: x.clone().add_(0.1),
    "fraction": lambda x, y: x * 0.1, "from a number": lambda x, y: 0.1 - x, "scaled": lambda x, y: x.sub(y, alpha=0.3),
    "fill": lambda x, y: claygrad.empty_like(x).fill_(0.1 - 3j), "fill by int": lambda x, y: claygrad.empty_like(x).fill_(7),
    "real alone": lambda x, y: x.to(claygrad.complex64).real.to(claygrad.complex32), "of doubles": lambda x, y: x.abs().double().to(claygrad.complex32),
    "of halves": lambda x, y: x.abs().to(claygrad.complex32), "of ints": lambda x, y: (x.abs() * 9).long().to(claygrad.complex32), "float": lambda x, y: x.abs().float(), "index": lambda x, y: x[[1, 0]], "exp": lambda x, y: x.exp(),
}


@pytest.mark.parametrize("name", OF_PAIRS)
def test_complex32_is_computed_in_complex64_and_rounded_once(name: str):
    draw = claygrad.Generator().manual_seed(0)
    dense = [claygrad.randn(4, 6, dtype=claygrad.complex64, generator=draw).to(claygrad.complex32) for _ in range(2)]
    for x, y in (dense, [t.mT for t in dense], [t[::2] for t in dense], [t[:, ::2] for t in dense], [dense[0], dense[1][:1]],
                 [dense[0].conj(), dense[1]]):
        if name in ("mm", "index") and len(x) != len(y):
            continue
        found = OF_PAIRS[name](x, y)
        with reference_only():
            wanted = OF_PAIRS[name](x, y)
        assert found.dtype == wanted.dtype
        assert found.stride() == wanted.stride()
        assert found.tolist() == wanted.tolist()
