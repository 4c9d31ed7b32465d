"""Batches of matrix products: shared out over threads when they are small, each as NumPy has it."""

from __future__ import annotations

import numpy
import pytest

import claygrad


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (3, 5, 7, 2), (40, 33, 17, 65), (9, 64, 64, 64), (2, 130, 131, 129), (4, 3, 0, 2)])
def test_bmm(isa, dtype, sizes, threads):
    count, m, k, n = sizes
    rng = numpy.random.default_rng(count)
    a, b = rng.standard_normal((count, m, k)).astype(dtype), rng.standard_normal((count, k, n)).astype(dtype)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype != "float64" else {"rtol": 1e-11, "atol": 1e-11}
    turned = [(claygrad.from_numpy(numpy.ascontiguousarray(x.swapaxes(1, 2))).transpose(1, 2), claygrad.from_numpy(x)) for x in (a, b)]
    before = claygrad.get_num_threads()
    claygrad.set_num_threads(threads)
    try:
        for x in turned[0]:
            for y in turned[1]:
                numpy.testing.assert_allclose(claygrad.bmm(x, y).numpy(), a @ b, **close)
        one = claygrad.from_numpy(a[:1]).expand(count, m, k)            # the same matrix every time
        numpy.testing.assert_allclose(claygrad.bmm(one, claygrad.from_numpy(b)).numpy(), a[:1] @ b, **close)
    finally:
        claygrad.set_num_threads(before)
