from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.kernels.kernel_api import CODES, Kernels, guarded

DTYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [(1, 1, 1), (2, 3, 4), (1, 7, 5), (7, 1, 5), (1, 1, 9), (5, 5, 0), (0, 3, 2), (3, 0, 2), (8, 16, 8),
         (17, 33, 9), (4, 17, 300), (64, 64, 64), (10, 100, 31), (1, 300, 200), (300, 1, 200), (90, 70, 600)]


@pytest.fixture(autouse=True)
def blas(kernels: Kernels) -> None:
    assert kernels.blas_load(np._core._multiarray_umath.__file__.encode())
    assert kernels.blas_ready()


def numbers(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = generator.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        x = x + 1j * generator.uniform(-1, 1, shape)
    return x.astype(dtype)


def product(kernels: Kernels, a: np.ndarray, b: np.ndarray, trans_a: bool, trans_b: bool, extra: int,
            start: np.ndarray | None = None) -> np.ndarray:
    """op(a) @ op(b), rows of all three `extra` elements longer than they need to be."""
    def padded(x: np.ndarray) -> np.ndarray:
        room = np.full((x.shape[0], x.shape[1] + extra), np.nan, x.dtype)
        room[:, :x.shape[1]] = x
        return room

    m, k = a.shape[::-1] if trans_a else a.shape
    n = b.shape[0] if trans_b else b.shape[1]
    a_room, b_room = padded(a), padded(b)
    out = guarded((m, n + extra), a.dtype)
    out[...] = 7
    if start is not None:
        out[:, :n] = start
    kernels.gemm(CODES[a.dtype.name], trans_a, trans_b, m, n, k, a_room.ctypes.data, max(a_room.shape[1], 1),
                 b_room.ctypes.data, max(b_room.shape[1], 1), out.ctypes.data, max(n + extra, 1), start is not None)
    assert (out[:, n:] == 7).all()
    return out[:, :n]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_products_of_all_transposes(kernels: Kernels, isa: str, dtype: str, size: tuple[int, int, int]):
    m, n, k = size
    generator = np.random.default_rng(m + 10 * n + 100 * k)
    for trans_a in (False, True):
        for trans_b in (False, True):
            for extra in (0, 3):
                a = numbers(generator, (k, m) if trans_a else (m, k), dtype)
                b = numbers(generator, (n, k) if trans_b else (k, n), dtype)
                wide = np.complex128 if dtype.startswith("complex") else np.float64
                want = (a.T if trans_a else a).astype(wide) @ (b.T if trans_b else b).astype(wide)
                bound = 2 * (k + 4) * np.finfo(dtype).eps
                np.testing.assert_allclose(product(kernels, a, b, trans_a, trans_b, extra), want, rtol=0, atol=bound)
                start = numbers(generator, (m, n), dtype)
                total = product(kernels, a, b, trans_a, trans_b, extra, start)
                np.testing.assert_allclose(total, want + start, rtol=0, atol=bound + np.finfo(dtype).eps)


def test_nan_and_infinity_reach_the_product_and_old_contents_do_not(kernels: Kernels, isa: str):
    a, b = np.ones((5, 6), np.float32), np.ones((6, 7), np.float32)
    a[2, 3] = np.nan
    b[1, 4] = np.inf
    out = np.full((5, 7), np.nan, np.float32)
    kernels.gemm(CODES["float32"], 0, 0, 5, 7, 6, a.ctypes.data, 6, b.ctypes.data, 7, out.ctypes.data, 7, 0)
    want = a @ b
    assert np.array_equal(out, want, equal_nan=True)


OWN = """
import ctypes, numpy as np
lib = ctypes.CDLL({path!r})
i, p = ctypes.c_int64, ctypes.c_void_p
lib.clay_gemm.argtypes = [ctypes.c_int] * 3 + [i, i, i, p, i, p, i, p, i, ctypes.c_int]
assert not lib.clay_blas_load(b"there/is/no/such.so")
assert not lib.clay_blas_ready()
for isa in (b"base", b"portable", b"neon", b"avx2", b"avx512"):
    if not lib.clay_use_isa(isa):
        continue
    for code, dtype in ((6, "f4"), (7, "f8"), (8, "c8"), (9, "c16")):
        for m, n, k in ((3, 4, 5), (40, 50, 60), (1, 90, 80), (90, 1, 80), (133, 121, 300)):
            for ta in (0, 1):
                for tb in (0, 1):
                    g = np.random.default_rng(m)
                    unit = 1 + 1j if dtype[0] == "c" else 1
                    a = (g.uniform(-1, 1, (k, m) if ta else (m, k)) * unit).astype(dtype)
                    b = g.uniform(-1, 1, (n, k) if tb else (k, n)).astype(dtype)
                    c = np.full((m, n), np.nan, dtype)
                    lib.clay_gemm(code, ta, tb, m, n, k, a.ctypes.data, a.shape[1], b.ctypes.data, b.shape[1],
                                  c.ctypes.data, n, 0)
                    want = (a.T if ta else a).astype("c16") @ (b.T if tb else b)
                    assert abs(c - want).max() <= 4 * k * np.finfo(dtype).eps, (isa, dtype, m, n, k, ta, tb)
print("fine")
"""


SLOW = """
#include <math.h>
#define GEMM(name, T) void name(int o, int ta, int tb, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, \\
                                T* c, int ldc) { for (int i = 0; i < m * n; i++) c[i] = NAN; }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
"""
BESIDE_SLOW = """
import ctypes, numpy as np
lib = ctypes.CDLL({path!r})
i, p = ctypes.c_int64, ctypes.c_void_p
lib.clay_gemm.argtypes = [ctypes.c_int] * 3 + [i, i, i, p, i, p, i, p, i, ctypes.c_int]
assert lib.clay_blas_load({blas!r}.encode()) and lib.clay_blas_ready()
n = 660
a, b, c = np.ones((n, n), "f4"), np.ones((n, n), "f4"), np.zeros((n, n), "f4")
for isa in (b"portable", b"neon", b"avx2", b"avx512"):
    if lib.clay_use_isa(isa):
        c[:] = 0
        lib.clay_gemm(6, 0, 0, n, n, n, a.ctypes.data, n, b.ctypes.data, n, c.ctypes.data, n, 0)
        assert (c == n).all(), isa
print("fine")
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="makes a BLAS of its own, with a compiler")
def test_a_blas_that_is_not_tuned_gets_no_large_products(kernels: Kernels, tmp_path):
    """Debian's reference BLAS, for one: a thirtieth of the speed. The one made here answers NaN."""
    (tmp_path / "slow.c").write_text(SLOW)
    blas = tmp_path / "libslow.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", blas, tmp_path / "slow.c"], check=True)
    program = BESIDE_SLOW.format(path=str(kernels.path), blas=str(blas))
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "fine", run.stderr


def test_without_a_blas_the_products_are_our_own(kernels: Kernels):
    run = subprocess.run([sys.executable, "-c", OWN.format(path=str(kernels.path))], capture_output=True, text=True)
    assert run.stdout.strip() == "fine", run.stderr


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(1, 5, 7), (40, 1, 70), (1, 60, 70), (60, 50, 1), (60, 50, 40)])
def test_the_stride_of_a_single_row_is_of_no_account_and_rows_may_overlap(kernels, isa, dtype, size):
    m, n, k = size
    generator = np.random.default_rng(1)
    a, b = numbers(generator, (m, k), dtype), numbers(generator, (k, n), dtype)
    lda, ldb = 0 if m > 1 else 1, 0 if k > 1 else 1           # 0: all rows are the first
    out = guarded((m, n), dtype)
    kernels.gemm(CODES[dtype], 0, 0, m, n, k, a.ctypes.data, lda, b.ctypes.data, ldb, out.ctypes.data, n, 0)
    want = np.broadcast_to(a[:1], (m, k)).astype(complex) @ np.broadcast_to(b[:1], (k, n))
    np.testing.assert_allclose(out, want, rtol=0, atol=8 * k * np.finfo(dtype).eps)


def test_the_chosen_number_of_threads_reaches_blas(kernels: Kernels):
    program = f"""
import ctypes, numpy
lib = ctypes.CDLL({str(kernels.path)!r})
umath = numpy._core._multiarray_umath.__file__
assert lib.clay_blas_load(umath.encode())
blas = ctypes.CDLL(umath)
names = [prefix + "openblas_get_num_threads" + suffix for prefix in ("scipy_", "") for suffix in ("64_", "")]
count = next((getattr(blas, name) for name in names if hasattr(blas, name)), None)
if count:
    assert count() == 1, count()
    lib.clay_set_max_threads(2)
    assert count() == 2, count()
"""
    environment = {**os.environ, "CLAYGRAD_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
