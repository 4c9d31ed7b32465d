"""Operations on integers of one and two bytes that have loops of their own: fills, flips, bounds."""

from __future__ import annotations

import numpy as np
import pytest

import claygrad

DTYPES = ["uint8", "int8", "int16", "int32", "int64"]


def drawn(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.random.default_rng(7).integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "float16", "complex64"])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 4095, 4096, 4097, 70_001])
def test_fills_and_flips(dtype: str, size: int):
    x = (drawn("int64", size) % 251).astype(dtype)
    t = claygrad.tensor(x)
    assert np.array_equal(t.flip(0).numpy(), x[::-1])
    for value in (0, 1):
        assert np.array_equal(claygrad.full_like(t, value).numpy(), np.full_like(x, value))
    wide = claygrad.tensor(np.stack([x, x]))[:, :size // 2]
    assert np.array_equal(wide.flip(1).numpy(), wide.numpy()[:, ::-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bounds", [(-5, 100), (None, 7), (3, None), (9, 2), (0, 0)])
def test_bounds(dtype: str, bounds: tuple[int | None, int | None]):
    low, high = bounds
    if dtype == "uint8" and low == -5:
        low = 5
    for shape in ((0,), (13,), (40, 50), (300, 300)):
        x = drawn(dtype, *shape)
        want = x if low is None else np.maximum(x, x.dtype.type(low))
        want = want if high is None else np.minimum(want, x.dtype.type(high))
        t = claygrad.tensor(x)
        assert np.array_equal(t.clamp(low, high).numpy(), want)
        given = [None if b is None else claygrad.tensor(b, dtype=t.dtype) for b in (low, high)]
        assert np.array_equal(t.clamp(*given).numpy(), want)
        if t.ndim == 2:
            assert np.array_equal(t.t().clamp(low, high).numpy(), want.T)
            assert np.array_equal(t[:, 1:-1].clamp(low, high).numpy(), want[:, 1:-1])
