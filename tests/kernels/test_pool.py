from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.kernels.door import Kernels


class Stats(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_int64), ("reserved", ctypes.c_int64), ("peak", ctypes.c_int64)]


def stats(kernels: Kernels) -> Stats:
    out = Stats()
    kernels.pool_stats(ctypes.byref(out))
    return out


SIZES = [0, 1, 63, 64, 65, 4095, 4096, 4097, 10_000, 65_536, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 50_000_000]


@pytest.mark.parametrize("size", SIZES)
def test_a_block_is_aligned_writable_and_comes_back(kernels: Kernels, size: int):
    block = kernels.pool_alloc(size)
    assert block
    assert block % 64 == 0
    ctypes.memset(block, 0x5A, size)
    kernels.pool_free(block, size)
    again = kernels.pool_alloc(size)
    assert again == block
    kernels.pool_free(again, size)


def test_live_blocks_never_overlap(kernels: Kernels):
    generator = np.random.default_rng(3)
    live: dict[int, tuple[int, int]] = {}
    for step in range(4000):
        if live and generator.random() < 0.45:
            block = list(live)[int(generator.integers(len(live)))]
            size, mark = live.pop(block)
            assert ctypes.string_at(block, size) == bytes([mark]) * size
            kernels.pool_free(block, size)
        else:
            most = generator.choice([300, 9000, 200_000], p=[0.6, 0.35, 0.05])
            size = int(generator.integers(0, most))
            block = kernels.pool_alloc(size)
            assert block not in live
            live[block] = size, step % 251
            ctypes.memset(block, step % 251, size)
    for block, (size, mark) in live.items():
        assert ctypes.string_at(block, size) == bytes([mark]) * size
        kernels.pool_free(block, size)


def test_the_counts_follow(kernels: Kernels):
    kernels.pool_trim()
    before = stats(kernels)
    block = kernels.pool_alloc(30_000_000)
    during = stats(kernels)
    assert 30_000_000 <= during.allocated - before.allocated <= 30_000_000 * 9 // 8
    assert during.peak >= during.allocated
    kernels.pool_free(block, 30_000_000)
    after = stats(kernels)
    assert after.allocated == before.allocated
    assert after.reserved == during.reserved
    kernels.pool_trim()
    assert stats(kernels).reserved <= before.reserved


def test_what_is_cached_stays_bounded(kernels: Kernels):
    kernels.pool_trim()
    start = stats(kernels).reserved
    for megabytes in range(1, 200):
        size = megabytes * 1_000_003
        block = kernels.pool_alloc(size)
        kernels.pool_free(block, size)
    now = stats(kernels)
    assert now.reserved - start <= max(now.peak, 64 << 20) * 9 // 8
    kernels.pool_trim()


def test_an_impossible_request_gives_nothing(kernels: Kernels):
    assert kernels.pool_alloc(1 << 62) is None
    assert kernels.pool_alloc(1 << 49) is None
    assert kernels.pool_alloc(100)
