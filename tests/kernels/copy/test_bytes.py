"""Bytes moved as they are: in one piece, and rows of several parts side by side."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.kernels.kernel_api import Kernels, checked, guarded

PAGE = 4096


def filled(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("size", [0, 1, 31, 511, 512, 513, 543, 640, 641, 2047, 2048, 5000, 16384, 70_001, 300_000])
def test_bytes_go_anywhere_in_a_page_and_nowhere_else(kernels: Kernels, size: int):
    memory = np.zeros(size + 3 * PAGE, np.uint8)
    source = filled(size + PAGE)
    start = -memory.ctypes.data % PAGE + PAGE
    for at in (0, 1, 4, 31, 32, 33, 63, 64, 100, PAGE - 1):
        for begin in (0, 1, 7, 32):
            memory[:] = 7
            kernels.copy_bytes(memory.ctypes.data + start + at, source.ctypes.data + begin, size)
            first = start + at
            assert np.array_equal(memory[first:first + size], source[begin:begin + size])
            assert (memory[:first] == 7).all()
            assert (memory[first + size:] == 7).all()


def joined(kernels: Kernels, parts: list[np.ndarray]) -> np.ndarray:
    rows, lengths = parts[0].shape[0], [part.shape[1] for part in parts]
    out = guarded((rows, sum(lengths)), np.uint8)
    count = len(parts)
    kernels.join_rows((ctypes.c_void_p * count)(*(part.ctypes.data for part in parts)), (ctypes.c_int64 * count)(*lengths), count,
                      out.ctypes.data, rows)
    return checked(out)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 255, 256, 257, 5000])
@pytest.mark.parametrize("lengths", [(1,), (1, 2, 3, 4, 5, 6, 7, 8), (4, 4, 4), (0, 12, 0), (15, 16, 17, 31, 32, 33), (63, 64),
                                     (64, 65), (1, 700), (0, 100, 0, 1780, 1780), (3000, 4, 3000)])
def test_rows_of_parts_side_by_side(kernels: Kernels, lengths: tuple[int, ...], rows: int):
    parts = [filled(rows * length + k)[k:].reshape(rows, length) for k, length in enumerate(lengths)]
    assert np.array_equal(joined(kernels, parts), np.concatenate(parts, 1))


@pytest.mark.parametrize("lengths", [(1_000_003, 5, 0, 700_000), (65_536, 65_536, 131_072), tuple(range(3000))])
@pytest.mark.parametrize("rows", [1, 2])
def test_long_rows_are_cut_anywhere(kernels: Kernels, lengths: tuple[int, ...], rows: int):
    parts = [filled(rows * length).reshape(rows, length) for length in lengths]
    assert np.array_equal(joined(kernels, parts), np.concatenate(parts, 1))
