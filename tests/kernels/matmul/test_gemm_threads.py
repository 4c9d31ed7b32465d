"""Products that threads share out: the numbers of one thread, whatever the layout, and BLAS left as it was found."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator

import numpy
import pytest

import claygrad

# Odd sizes on both sides of what is worth a thread; shares of rows, of columns, and of a single row or column
SIZES = [(129, 131, 127), (67, 515, 301), (1030, 33, 301), (1, 4097, 301), (4097, 1, 301), (9, 2050, 130), (40, 40, 700),
         (131, 135, 513)]


@pytest.fixture(params=[2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = claygrad.get_num_threads()
    claygrad.set_num_threads(request.param)
    yield request.param
    claygrad.set_num_threads(before)


def alone(f: Callable[[], claygrad.Tensor]) -> numpy.ndarray:
    now = claygrad.get_num_threads()
    claygrad.set_num_threads(1)
    try:
        return f().numpy()
    finally:
        claygrad.set_num_threads(now)


def layouts(x: numpy.ndarray) -> list[claygrad.Tensor]:
    """The matrix in rows, in columns, and as a part of a larger one."""
    padded = numpy.full((x.shape[0], x.shape[1] + 5), numpy.nan, x.dtype)
    padded[:, 2:-3] = x
    return [claygrad.from_numpy(x), claygrad.from_numpy(numpy.ascontiguousarray(x.T)).t(), claygrad.from_numpy(padded)[:, 2:-3]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_shares_give_what_one_thread_does(isa: str, threads: int, dtype: str, size: tuple[int, int, int]):
    m, n, k = size
    rng = numpy.random.default_rng(m)
    a, b = rng.uniform(-1, 1, (m, k)).astype(dtype), rng.uniform(-1, 1, (k, n)).astype(dtype)
    row, full = rng.uniform(-1, 1, n).astype(dtype), rng.uniform(-1, 1, (m, n)).astype(dtype)
    wide = numpy.complex128 if dtype == "complex64" else numpy.float64
    want, bound = a.astype(wide) @ b.astype(wide), 2 * (k + 4) * float(numpy.finfo(dtype).eps)
    for x in layouts(a):
        for y in layouts(b):
            made = claygrad.mm(x, y)
            numpy.testing.assert_allclose(made.numpy(), want, rtol=0, atol=bound)
            numpy.testing.assert_array_equal(made.numpy(), claygrad.mm(x, y).numpy())
            if isa == "avx512" and not made.is_complex():        # our own loops: no sum depends on the threads
                numpy.testing.assert_array_equal(made.numpy(), alone(lambda x=x, y=y: claygrad.mm(x, y)))
        for start in (row, full, full[:1]):
            made = claygrad.addmm(claygrad.from_numpy(start), x, claygrad.from_numpy(b))
            numpy.testing.assert_allclose(made.numpy(), want + start, rtol=0, atol=bound)


def test_nan_and_infinity_stay_in_their_rows_and_columns(isa: str, threads: int):
    a, b = numpy.ones((300, 200), numpy.float32), numpy.ones((200, 310), numpy.float32)
    a[17, 3], a[299, 199], b[5, 309], b[0, 64] = numpy.nan, numpy.inf, -numpy.inf, numpy.nan
    for x in layouts(a):
        for y in layouts(b):
            numpy.testing.assert_array_equal(claygrad.mm(x, y).numpy(), a @ b)


@pytest.mark.parametrize("size", [(0, 300, 4), (300, 0, 4), (2000, 2000, 0)])
def test_products_of_nothing(isa: str, threads: int, size: tuple[int, int, int]):
    m, n, k = size
    a, b, row = claygrad.ones(m, k), claygrad.ones(k, n), claygrad.ones(n)
    assert claygrad.mm(a, b).eq(0).all()
    assert claygrad.addmm(row, a, b).eq(1).all()


def test_blas_has_its_threads_again_after_products_of_several_threads(isa: str, threads: int):
    library = ctypes.CDLL(numpy._core._multiarray_umath.__file__)
    names = [prefix + "openblas_get_num_threads" + suffix for prefix in ("scipy_", "") for suffix in ("64_", "")]
    count = next((getattr(library, name) for name in names if hasattr(library, name)), None)
    if count is None:
        pytest.skip("this NumPy has another BLAS")
    before = count()
    x = claygrad.randn(200, 200, dtype=claygrad.complex64)          # always by BLAS
    want = (x @ x).numpy()

    def work() -> None:
        for _ in range(20):
            numpy.testing.assert_allclose((x @ x).numpy(), want, rtol=1e-3, atol=1e-3)

    several = [threading.Thread(target=work) for _ in range(3)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert count() == before


def test_large_batches_and_few_large_matrices(isa: str, threads: int):
    rng = numpy.random.default_rng(0)
    for count, m, k, n in ((50, 70, 33, 90), (3, 300, 290, 310), (2, 5, 3000, 401)):
        a, b = rng.uniform(-1, 1, (count, m, k)), rng.uniform(-1, 1, (count, k, n))
        made = claygrad.bmm(claygrad.from_numpy(a), claygrad.from_numpy(b))
        numpy.testing.assert_allclose(made.numpy(), a @ b, rtol=0, atol=1e-12 * k)
