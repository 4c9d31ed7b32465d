"""The native Fourier transforms against NumPy's, for every instruction set: lengths, layouts, precisions, odd values."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import claygrad
from claygrad.core.python_api import get_num_threads, set_num_threads
from claygrad.ops import _fft
from tests.support.forms import native

LENGTHS = [*range(1, 301), 360, 500, 512, 625, 729, 1000, 1001, 1009, 1024, 1125, 1250, 2018, 2048, 3000, 3375, 4096, 4099,
           6561]
LARGE = [16384, 65536, 98304, 131072, 262144]
SINGLE, DOUBLE = (np.float32, np.complex64), (np.float64, np.complex128)
# Errors relative to the largest element: some roundings, more with the logarithm of the length
NEAR = {np.float32: 2e-6, np.float64: 4e-15}
PLAIN, ROOT, MEAN = range(3)


def transform(x: np.ndarray, dim: tuple[int, ...], scale: int, forward: bool, onesided: bool = False,
              last: int = 0) -> np.ndarray:
    if last:
        return native(_fft.fft_c2r, x, dim, scale, last)
    if x.dtype.kind == "c":
        return native(_fft.fft_c2c, x, dim, scale, forward)
    return native(_fft.fft_r2c, x, dim, scale, onesided)


def signal(*shape: int, dtype=np.complex128, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)


def near(got: np.ndarray, wanted: np.ndarray, dtype) -> None:
    assert got is not None
    assert got.shape == wanted.shape
    assert np.max(np.abs(got - wanted), initial=0) <= NEAR[dtype] * np.max(np.abs(wanted), initial=1e-30)


def check_rows(n: int, rows: int, real, complex_) -> None:
    c, r = signal(rows, n, dtype=complex_), signal(rows, n, dtype=real)
    wide = c.astype(np.complex128)
    got = transform(c, (1,), PLAIN, True)
    assert got.dtype == complex_
    near(got, np.fft.fft(wide), real)
    near(transform(c, (1,), MEAN, False), np.fft.ifft(wide), real)
    near(transform(c, (1,), ROOT, True), np.fft.fft(wide, norm="ortho"), real)
    near(transform(r, (1,), PLAIN, True), np.fft.fft(r.astype(float)), real)
    near(transform(r, (1,), PLAIN, True, True), np.fft.rfft(r.astype(float)), real)
    half = c[:, :n // 2 + 1]
    back = transform(half, (1,), MEAN, False, last=n)
    assert back.dtype == real
    near(back, np.fft.irfft(half.astype(np.complex128), n), real)


def check_columns(n: int, columns: int, real, complex_) -> None:
    c, r = signal(2, n, columns, dtype=complex_), signal(2, n, columns, dtype=real)
    wide = c.astype(np.complex128)
    near(transform(c, (1,), PLAIN, True), np.fft.fft(wide, axis=1), real)
    near(transform(c, (1,), MEAN, False), np.fft.ifft(wide, axis=1), real)
    near(transform(r, (1,), PLAIN, True, True), np.fft.rfft(r.astype(float), axis=1), real)
    near(transform(r, (1,), PLAIN, True), np.fft.fft(r.astype(float), axis=1), real)
    half = np.ascontiguousarray(c[:, :n // 2 + 1])
    near(transform(half, (1,), MEAN, False, last=n), np.fft.irfft(half.astype(np.complex128), n, axis=1), real)


@pytest.mark.parametrize(("real", "complex_"), [SINGLE, DOUBLE], ids=["single", "double"])
def test_rows_of_every_length(isa, real, complex_):
    for n in LENGTHS:
        for rows in (1, 3, 17):
            check_rows(n, rows, real, complex_)


@pytest.mark.parametrize(("real", "complex_"), [SINGLE, DOUBLE], ids=["single", "double"])
def test_columns_of_every_length(isa, real, complex_):
    for n in LENGTHS[::1 if isa == "avx512" else 3]:
        for columns in (2, 21):
            check_columns(n, columns, real, complex_)


@pytest.mark.parametrize(("real", "complex_"), [SINGLE, DOUBLE], ids=["single", "double"])
@pytest.mark.parametrize("n", LARGE)
def test_long_rows(isa, n, real, complex_):
    check_rows(n, 1, real, complex_)


@pytest.mark.parametrize(("real", "complex_"), [SINGLE, DOUBLE], ids=["single", "double"])
@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (3, 64, 64), (5, 7, 9), (128, 200), (4, 33, 47), (2, 1, 16), (40, 16, 16)])
def test_several_axes(isa, shape, real, complex_):
    c, r = signal(*shape, dtype=complex_), signal(*shape, dtype=real)
    wide, last = c.astype(np.complex128), len(shape) - 1
    for axes in [(last - 1, last), (last, last - 1), (0, last), tuple(range(len(shape)))]:
        if len(set(axes)) < len(axes):
            continue
        near(transform(c, axes, PLAIN, True), np.fft.fftn(wide, axes=axes), real)
        near(transform(c, axes, MEAN, False), np.fft.ifftn(wide, axes=axes), real)
        near(transform(r, axes, ROOT, True, True), np.fft.rfftn(r.astype(float), axes=axes, norm="ortho"), real)
        half = np.fft.rfftn(r.astype(float), axes=axes)
        kept = half.astype(complex_)
        near(transform(kept, axes, MEAN, False, last=shape[axes[-1]]), r, real)
        assert np.array_equal(kept, half.astype(complex_))          # the input stays


def test_any_layout_of_the_input(isa):
    x = signal(6, 10, 12)
    for view in (x.T, x[::2], x[:, 1::3], x.transpose(1, 0, 2), x[..., 1:], x[..., ::2]):
        for axis in range(3):
            near(transform(view, (axis,), PLAIN, True), np.fft.fft(view, axis=axis), np.float64)
    one = claygrad.from_numpy(x[0]).expand(4, 10, 12)
    near(claygrad.fft.fft(one, dim=1).numpy(), np.fft.fft(np.broadcast_to(x[0], (4, 10, 12)), axis=1), np.float64)


@pytest.mark.parametrize("n", [2, 8, 60, 64, 67, 128, 1000, 1009, 16384])
def test_the_error_grows_with_the_logarithm_of_the_length(isa, n):
    x = signal(5, n, dtype=np.complex64)
    exact = np.fft.fft(x.astype(np.complex128))
    error = np.linalg.norm(transform(x, (1,), PLAIN, True) - exact) / np.linalg.norm(exact)
    assert error <= np.finfo(np.float32).eps * (2 + np.log2(n)) / 4


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("n", [1, 4, 15, 64, 67, 256, 1000])
def test_what_is_not_finite_stays_in_its_row(isa, n):
    for bad in (np.nan, np.inf, -np.inf):
        x = signal(5, n, dtype=np.complex64)
        want = np.fft.fft(x.astype(np.complex128))
        x[2, n // 2] = bad
        r = x.real.copy()
        for got, wanted in ((transform(x, (1,), PLAIN, True), want),
                            (transform(r, (1,), PLAIN, True, True), np.fft.rfft(x.real.astype(float)))):
            assert not np.isfinite(got[2]).all(axis=-1)
            others = [0, 1, 3, 4]
            near(got[others], wanted[others], np.float32)
        columns = transform(np.ascontiguousarray(x.T), (0,), PLAIN, True)
        near(columns[:, others], want.T[:, others], np.float32)


def test_denormal_and_huge_numbers_keep_their_scale(isa):
    for scale in (1e-39, 1e-30, 1e30):
        x = (signal(3, 64) * scale).astype(np.complex64)
        want = np.fft.fft(x.astype(np.complex128))
        assert np.max(np.abs(transform(x, (1,), PLAIN, True) - want)) <= 4e-6 * np.max(np.abs(want)) + 1e-43


def test_the_imaginary_parts_that_a_real_signal_cannot_have_are_ignored(isa):
    for n in (6, 7, 64):
        x = signal(4, n // 2 + 1)
        other = x.copy()
        other[:, 0] += 5j
        if n % 2 == 0:
            other[:, -1] += 7j
        assert np.array_equal(transform(x, (1,), PLAIN, False, last=n), transform(other, (1,), PLAIN, False, last=n))


def test_nothing_and_no_axes():
    assert claygrad.fft.fft(claygrad.zeros(0, 6)).shape == (0, 6)
    assert claygrad.fft.rfft(claygrad.zeros(3, 0, 6)).shape == (3, 0, 4)
    assert claygrad.fft.irfft2(claygrad.zeros(0, 5, 6)).shape == (0, 5, 10)
    x = claygrad.tensor([1 + 2j, 3j])
    assert claygrad.fft.fftn(x, dim=()).equal(x)


@pytest.fixture
def threads():
    before = get_num_threads()
    set_num_threads(4)
    yield
    set_num_threads(before)


@pytest.mark.parametrize("shape", [(300, 512), (1, 131072), (512, 260), (40, 3, 32, 32)])
def test_threads_do_not_change_the_result(isa, shape, threads):
    x, r = signal(*shape, dtype=np.complex64), signal(*shape, dtype=np.float32)
    calls = [lambda: transform(x, (len(shape) - 1,), PLAIN, True), lambda: transform(x, (0,), PLAIN, True),
             lambda: transform(x, tuple(range(len(shape))), PLAIN, True),
             lambda: transform(r, (len(shape) - 1,), PLAIN, True, True)]
    many = [call() for call in calls]
    set_num_threads(1)
    assert all(np.array_equal(call(), got) for call, got in zip(calls, many))


def test_plans_are_made_used_and_let_go_by_many_threads_at_once(isa):
    wrong = []

    def work(seed: int) -> None:
        for n in np.random.default_rng(seed).permutation(np.arange(2, 160)):
            x = signal(2, int(n), seed=seed)
            if np.max(np.abs(transform(x, (1,), PLAIN, True) - np.fft.fft(x))) > 1e-10:
                wrong.append(n)

    team = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    assert wrong == []
