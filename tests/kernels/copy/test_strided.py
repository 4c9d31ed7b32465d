from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.kernels.kernel_api import Kernels, checked, guarded, values


def copy(kernels: Kernels, source: np.ndarray, target: np.ndarray) -> None:
    numbers = ctypes.c_int64 * max(source.ndim, 1)
    kernels.copy_strided(source.ctypes.data, numbers(*source.strides), target.ctypes.data, numbers(*target.strides),
                         numbers(*source.shape), source.ndim, source.itemsize)


DTYPES = ["u1", "f2", "f4", "f8", "c16", "V3", "V32"]


def filled(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.random.default_rng(count).integers(0, 256, count, np.uint8).view(dtype).reshape(shape)


def same(x: np.ndarray, y: np.ndarray) -> bool:
    return np.ascontiguousarray(x).tobytes() == np.ascontiguousarray(y).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_layouts_on_both_sides(kernels: Kernels, dtype: str):
    generator = np.random.default_rng(7)
    for _ in range(150):
        ndim = int(generator.integers(0, 6))
        shape = tuple(int(s) for s in generator.integers(0 if generator.random() < 0.1 else 1, 9, ndim))
        source, target = (random_view(generator, shape, dtype) for _ in range(2))
        source[...] = filled(shape, dtype)
        outside = target.base.copy() if target.base is not None else None
        copy(kernels, source, target)
        assert same(source, target), (shape, source.strides, target.strides)
        if outside is not None:                                  # nothing but the target has changed
            again = outside.copy()
            view_like(again, target)[...] = source
            assert same(again, root(target))


def random_view(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A view of that shape: axes in any order, steps, reversed axes."""
    order = generator.permutation(len(shape))
    steps = generator.integers(1, 4, len(shape))
    whole = np.zeros([max(shape[a] * steps[a], 1) for a in order], dtype)
    cuts = tuple(slice(0, shape[a] * steps[a], steps[a]) for a in order)
    view = whole[cuts].transpose(np.argsort(order)) if shape else whole
    for axis in range(len(shape)):
        if generator.random() < 0.2:
            view = np.flip(view, axis)
    return view


def root(x: np.ndarray) -> np.ndarray:
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def view_like(memory: np.ndarray, view: np.ndarray) -> np.ndarray:
    offset = view.ctypes.data - root(view).ctypes.data
    return np.ndarray(view.shape, view.dtype, memory, offset, view.strides)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (31, 33), (64, 64), (100, 257), (700, 900)])
def test_a_transpose(kernels: Kernels, shape: tuple[int, int], dtype: str):
    x = filled(shape, dtype)
    out = guarded(shape[::-1], dtype)
    copy(kernels, x.T, out)
    assert same(out, x.T)


@pytest.mark.parametrize("shape", [(2_000_000,), (3, 700_001), (5, 7, 9, 11, 13)])
def test_large_and_deep_blocks(kernels: Kernels, shape: tuple[int, ...]):
    x = values(np.float32, int(np.prod(shape))).reshape(shape)
    for view in (x, x[..., ::-1], x.T, x[..., ::2]):
        out = guarded(view.shape, x.dtype)
        copy(kernels, view, out)
        assert np.array_equal(out, view)


def test_a_broadcast_source(kernels: Kernels):
    for view in (np.broadcast_to(np.float32(3), (50, 60)), np.broadcast_to(values(np.float32, 60), (50, 60)),
                 np.broadcast_to(values(np.float32, 50)[:, None], (50, 60))):
        out = guarded((50, 60), np.float32)
        copy(kernels, view, out)
        assert np.array_equal(out, view)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 9, 1023, 5000, 1 << 18, (1 << 18) + 1, 1 << 20, (1 << 20) + 7])
def test_one_element_all_along(kernels: Kernels, size: int, dtype: str):
    view, out = np.broadcast_to(filled((1,), dtype), (size,)), guarded((size,), dtype)
    copy(kernels, view, out)
    assert same(checked(out), view)


def test_a_permuted_image_batch(kernels: Kernels):
    x = values(np.float32, 4 * 50 * 60 * 3).reshape(4, 50, 60, 3)
    view = x.transpose(0, 3, 1, 2)
    out = guarded(view.shape, np.float32)
    copy(kernels, view, out)
    assert np.array_equal(out, view)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", range(1, 8))
def test_short_lines(kernels: Kernels, width: int, dtype: str):
    """As they lie, one element all along, backwards, apart; few, and more than one thread's share."""
    for rows in (2, 24, 25, 300, 40_001):
        x, one = filled((2, rows, 8), dtype), filled((2, rows, 1), dtype)
        for view in (x[..., :width], np.broadcast_to(one, (2, rows, width)), x[..., width - 1::-1] if width > 1 else one,
                     x[..., :width:2], x[:, ::-1, :width]):
            out = guarded(view.shape, dtype)
            copy(kernels, view, out)
            assert same(checked(out), view)
            wide = filled((2, rows, 9), dtype)
            wanted = wide.copy()
            wanted[..., :view.shape[-1]] = view
            copy(kernels, view, wide[..., :view.shape[-1]])
            assert same(wide, wanted)


# Rows by index

@pytest.mark.parametrize("row", [1, 2, 4, 8, 12, 64, 1000])
@pytest.mark.parametrize("count", [0, 1, 10, 40_000])
def test_rows_by_index_count_from_either_end(kernels: Kernels, row: int, count: int):
    x = filled((50, row), "u1")
    index = np.random.default_rng(count).integers(-50, 50, count)
    out = guarded((count, row), np.uint8)
    assert kernels.take_rows(x.ctypes.data, index.ctypes.data, out.ctypes.data, count, 50, row) == -1
    assert np.array_equal(out, x[index])


def test_the_first_index_out_of_range_is_named(kernels: Kernels):
    x, out = np.zeros((5, 2)), np.zeros((4, 2))
    for bad in (5, -6, 2**62, -2**62):
        index = np.array([0, 4, bad, bad])
        assert kernels.take_rows(x.ctypes.data, index.ctypes.data, out.ctypes.data, 4, 5, 16) == 2
    assert kernels.take_rows(x.ctypes.data, np.array([0]).ctypes.data, out.ctypes.data, 1, 0, 16) == 0


# Fingerprints

@pytest.mark.parametrize("size", [1, 7, 8, 31, 32, 33, 1000, 300_000, 1_000_001])
def test_any_changed_bit_changes_the_fingerprint(kernels: Kernels, size: int):
    x = filled((size,), "u1")
    before = kernels.fingerprint(x.ctypes.data, size)
    assert kernels.fingerprint(x.ctypes.data, size) == before
    for at in {0, size // 3, size // 2, size - 1}:
        for bit in range(8):
            x[at] ^= 1 << bit
            assert kernels.fingerprint(x.ctypes.data, size) != before
            x[at] ^= 1 << bit
    assert kernels.fingerprint(x.ctypes.data, size) == before


def test_swapped_negated_and_longer_blocks_have_other_fingerprints(kernels: Kernels):
    x = values(np.float32, 1000)
    seen = {kernels.fingerprint(y.ctypes.data, y.nbytes)
            for y in (x, -x, x[::-1].copy(), np.roll(x, 1), np.roll(x, 8), x * 0, np.append(x, np.float32(0)))}
    seen.add(kernels.fingerprint(x.ctypes.data, 0))
    assert len(seen) == 8


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 7), (127, 33), (129, 31), (260, 66), (3, 130, 67), (2, 61, 3, 45)])
def test_transposed_planes(kernels: Kernels, dtype: str, shape: tuple[int, ...]):
    """Whole tiles, what is left beside and below them, and planes among other axes."""
    plain = filled(shape, dtype)
    for axes in ([*range(len(shape))][::-1], [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]):
        source = plain.transpose(axes)
        target = guarded(source.shape, dtype, offset=1)
        copy(kernels, source, target)
        assert same(source, checked(target))
