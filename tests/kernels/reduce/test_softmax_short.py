"""Rows of a few elements, which go several at a time: each as if it were alone, in every number of rows and on every thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import claygrad
from tests.kernels.kernel_api import special

pytestmark = pytest.mark.usefixtures("isa")

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65]
COUNTS = [1, 2, 7, 8, 9, 17, 100]

f = claygrad.nn.functional
OPERATIONS: dict[str, Callable] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "prod": lambda x: x.prod(-1),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(-1),
    "cross_entropy": lambda x: f.cross_entropy(x, claygrad.arange(len(x)) % x.shape[-1], reduction="none"),
}


def alone(call: Callable, x: claygrad.Tensor) -> np.ndarray:
    """Row by row, in double precision."""
    return np.stack([call(x[i:i + 1].double()).numpy()[0] for i in range(len(x))])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "cross_entropy"])
def test_rows_together_are_as_rows_alone(name: str, dtype: str):
    call = OPERATIONS[name]
    for n in LENGTHS:
        x = claygrad.tensor(np.random.default_rng(n).standard_normal((max(COUNTS), n)).astype(dtype))
        want = alone(call, x)
        for count in COUNTS:
            rtol, atol = (2e-5, 1e-6) if dtype == "float32" else (1e-12, 1e-14)
            assert np.allclose(call(x[:count]).numpy(), want[:count], rtol=rtol, atol=atol), n


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_special_values_stay_in_their_row(name: str, dtype: str):
    """NaN, infinities, the smallest and largest numbers among ordinary rows."""
    call, values = OPERATIONS[name], special(np.dtype(dtype))
    for n in (2, 3, 7, 8, 10, 16, 33):
        plain = np.random.default_rng(n).standard_normal((40, n)).astype(dtype)
        for k, value in enumerate(values):
            x = plain.copy()
            x[k % 40, k % n] = value
            x[(k + 9) % 40] = value
            got, before = call(claygrad.tensor(x)).numpy(), call(claygrad.tensor(plain)).numpy()
            others = [i for i in range(40) if i not in (k % 40, (k + 9) % 40)]
            assert np.array_equal(got[others], before[others])
            with np.errstate(all="ignore"):
                want = {"sum": x.sum(-1), "mean": x.mean(-1), "amax": x.max(-1), "amin": x.min(-1)}.get(name)
            if want is not None:
                assert np.allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True)
            elif name in ("softmax", "log_softmax"):
                hopeless = np.isnan(x).any(-1) | (x == np.inf).any(-1) | (x == -np.inf).all(-1)
                assert np.array_equal(np.isnan(got).any(-1), hopeless)
                assert np.allclose(np.exp(got[~hopeless]).sum(-1) if name == "log_softmax" else got[~hopeless].sum(-1), 1, rtol=1e-5)
            elif name == "logsumexp":
                assert np.array_equal(np.isnan(got), np.isnan(x).any(-1))
                assert np.array_equal(got == np.inf, (x == np.inf).any(-1) & ~np.isnan(x).any(-1))
                assert np.array_equal(got == -np.inf, (x == -np.inf).all(-1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_and_its_gradient_are_those_of_log_softmax(reduction: str, dtype: str):
    for n in LENGTHS[1:]:
        x = claygrad.tensor(3 * np.random.default_rng(n).standard_normal((37, n)).astype(dtype), requires_grad=True)
        target = claygrad.arange(37) % n
        target[5] = -100                                         # is left out
        loss = f.cross_entropy(x, target, reduction=reduction)
        kept = target != -100
        picked = -(x.double() - x.double().exp().sum(-1, keepdim=True).log())[claygrad.arange(37), target.clamp(min=0)] * kept
        want = {"none": picked, "sum": picked.sum(), "mean": picked.sum() / kept.sum()}[reduction]
        assert claygrad.allclose(loss.double(), want, rtol=1e-5, atol=1e-6)
        weights = claygrad.arange(37.0) if reduction == "none" else claygrad.tensor(1.5)
        mine, = claygrad.autograd.grad(loss, x, weights.to(loss.dtype))
        theirs, = claygrad.autograd.grad(want, x, weights.double())
        assert claygrad.allclose(mine, theirs, rtol=1e-4, atol=1e-6)
        assert not mine[5].any()


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_number_depends_on_the_threads(name: str):
    threads, call = claygrad.get_num_threads(), OPERATIONS[name]
    try:
        for n in (3, 10, 33):
            x = claygrad.tensor(np.random.default_rng(n).standard_normal((20_003, n)).astype("float32"))
            results = []
            for count in (1, 2, 3):
                claygrad.set_num_threads(count)
                results.append(call(x).numpy())
            assert np.array_equal(results[0], results[1])
            assert np.array_equal(results[0], results[2])
    finally:
        claygrad.set_num_threads(threads)
