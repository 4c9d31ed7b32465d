"""Orders of lines of every length and kind: places and values against NumPy's stable sort."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import claygrad
from tests.kernels.kernel_api import special

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
SIZES = [1, 2, 7, 16, 17, 32, 33, 63, 64, 65, 129, 512, 513, 4096, 4097, 9000]


def lines(dtype: str, n: int) -> Iterator[claygrad.Tensor]:
    """In order, in reverse, all equal, of two values, of whole numbers, of any; floats with zeros, infinities and NaN."""
    rng = np.random.default_rng(n)
    kind = getattr(claygrad, dtype)
    whole = rng.integers(0, 120, n) if dtype == "uint8" else rng.integers(-120, 120, n)
    for values in (np.sort(whole), np.sort(whole)[::-1].copy(), np.full(n, 3), rng.integers(4, 6, n), whole):
        yield claygrad.tensor(values).to(kind)
    if kind.is_floating_point:
        x = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)
        yield claygrad.tensor(x).to(kind)
        odd = rng.random(n) < 0.3
        x[odd] = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], odd.sum())
        yield claygrad.tensor(x).to(kind)
    else:
        info = np.iinfo(dtype)
        yield claygrad.tensor(rng.integers(info.min, info.max, n, dtype, endpoint=True))


def places(x: np.ndarray, descending: bool) -> np.ndarray:
    """Stable; NaN is above all numbers."""
    if not descending:
        return np.argsort(x, kind="stable")
    return len(x) - 1 - np.argsort(x[::-1], kind="stable")[::-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_sorts(dtype: str, n: int):
    for t in lines(dtype, n):
        x = t.double().numpy() if t.is_floating_point() else t.numpy()
        for descending in (False, True):
            want = places(x, descending)
            values, indices = t.sort(stable=True, descending=descending)
            assert values.dtype == t.dtype
            assert np.array_equal(indices.numpy(), want)
            assert np.array_equal(values.to(claygrad.float64 if t.is_floating_point() else t.dtype).numpy(), x[want], equal_nan=t.is_floating_point())
            columns = t.reshape(-1, 1).expand(-1, 3).contiguous().sort(0, stable=True, descending=descending)
            assert np.array_equal(columns.indices.numpy()[:, 1], want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 9, 100, 5000])
def test_parts_of_orders(dtype: str, n: int):
    for t in lines(dtype, n):
        x = t.double().numpy() if t.is_floating_point() else t.numpy()
        nan = t.is_floating_point()
        for largest in (False, True):
            want = x[places(x, largest)]
            for k in {1, min(n, 3), n // 20, n // 2, n}:
                made = t.topk(k, largest=largest)
                assert made.values.dtype == t.dtype
                assert np.array_equal(made.values.to(claygrad.float64 if nan else t.dtype).numpy(), want[:k], equal_nan=nan)
                assert np.array_equal(x[made.indices.numpy()], want[:k], equal_nan=nan)
        ordered = x[places(x, False)]
        for k in {1, (n + 1) // 2, n}:
            made = t.kthvalue(k)
            assert np.array_equal(made.values.double().numpy(), float(ordered[k - 1]), equal_nan=True)
            assert np.array_equal(x[made.indices.item()], ordered[k - 1], equal_nan=nan)
        known = ordered[ordered == ordered]
        middle = np.nan if len(known) < n else float(ordered[(n - 1) // 2])
        assert np.array_equal(t.median().double().item(), middle, equal_nan=True)
        assert np.array_equal(t.median(0).values.double().item(), middle, equal_nan=True)
        if len(known) == n:
            values, counts = np.unique(x, return_counts=True)
            mode = t.mode()
            assert mode.values.double().item() == float(values[np.argmax(counts)])
            assert x[mode.indices.item()] == values[np.argmax(counts)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("copies", [1, 40])
def test_zeros_keep_their_signs_and_nans_their_bits(dtype: str, copies: int):
    x = np.tile(np.concatenate([special(dtype), special(dtype)[::-1]]), copies)
    for descending in (False, True):
        values, indices = claygrad.tensor(x).sort(descending=descending)
        assert np.array_equal(indices.numpy(), places(x, descending))
        assert values.numpy().tobytes() == x[indices.numpy()].tobytes()
