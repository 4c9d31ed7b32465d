"""Products of few rows, or against much memory: read once and in order, and the sums of every other way."""

from __future__ import annotations

import numpy
import pytest

import claygrad

ROWS = [1, 2, 3, 4, 5, 8, 9, 15, 16, 17]
# Short, odd and long sums; the last two are beyond what is read in any order
SIZES = [(5, 3), (17, 31), (33, 32), (130, 300), (7, 4100), (530, 520), (1100, 261)]


def close(made: claygrad.Tensor, want: numpy.ndarray, k: int) -> None:
    numpy.testing.assert_allclose(made.numpy(), want, rtol=0, atol=2 * (k + 4) * float(numpy.finfo(made.numpy().dtype).eps))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_few_rows_and_few_columns(isa: str, dtype: str, size: tuple[int, int]):
    n, k = size
    rng = numpy.random.default_rng(n)
    w, bias = rng.uniform(-1, 1, (n, k)).astype(dtype), rng.uniform(-1, 1, n).astype(dtype)
    turned = claygrad.from_numpy(numpy.ascontiguousarray(w.T)).t()
    for m in ROWS:
        x = rng.uniform(-1, 1, (m, k)).astype(dtype)
        want = x.astype(float) @ w.T.astype(float)
        for a in (claygrad.from_numpy(x), claygrad.from_numpy(numpy.ascontiguousarray(x.T)).t()):
            for b in (claygrad.from_numpy(w), turned):
                close(claygrad.mm(a, b.t()), want, k)
                close(claygrad.mm(b, a.t()), want.T, k)
                close(claygrad.addmm(claygrad.from_numpy(bias), a, b.t()), want + bias, k)


@pytest.mark.parametrize("rows", [2, 7, 15])
def test_nothing_reaches_other_rows_and_columns(isa: str, rows: int):
    x, w = numpy.ones((rows, 700), numpy.float32), numpy.ones((403, 700), numpy.float32)
    x[1, 699], w[402, 3], w[0, 0] = numpy.nan, numpy.inf, -numpy.inf
    x[0, 3] = 0                                                          # 0 times inf
    want = numpy.ones((rows, 403)) * 700
    want[0, 1:] = 699
    want[:, 402], want[:, 0] = numpy.inf, -numpy.inf
    want[0, 402] = want[1] = numpy.nan
    a, b = claygrad.from_numpy(x), claygrad.from_numpy(w)
    for other in (b, b.t().contiguous().t()):
        numpy.testing.assert_array_equal(claygrad.mm(a, other.t()).numpy(), want)
        numpy.testing.assert_array_equal(claygrad.mm(other, a.t()).numpy(), want.T)


def test_no_sum_depends_on_the_threads(isa: str):
    before = claygrad.get_num_threads()
    x, w = claygrad.randn(40, 700), claygrad.randn(1100, 700)
    try:
        for m in (1, 2, 9, 15, 16, 33, 40):
            for b in (w, w.t().contiguous().t(), w[:40], w[:40].t().contiguous().t()):
                made = []
                for threads in (1, 2, 5):
                    claygrad.set_num_threads(threads)
                    made.append(claygrad.mm(x[:m], b.t()).numpy())
                for other in made[1:]:
                    if isa == "avx512":                                  # the others leave these to BLAS
                        numpy.testing.assert_array_equal(made[0], other)
                    numpy.testing.assert_allclose(made[0], other, rtol=1e-3, atol=1e-3)
    finally:
        claygrad.set_num_threads(before)
