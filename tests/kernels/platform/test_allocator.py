from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from tests.kernels.kernel_api import Kernels


class Stats(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_int64), ("reserved", ctypes.c_int64), ("peak", ctypes.c_int64)]


def stats(kernels: Kernels) -> Stats:
    out = Stats()
    kernels.pool_stats(ctypes.byref(out))
    return out


SIZES = [0, 1, 63, 64, 65, 4095, 4096, 4097, 10_000, 65_535, 65_536, 65_537, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 50_000_000]


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


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux says how much memory a process has")
@pytest.mark.parametrize("size", [1 << 18, 3_000_000, 30_000_000])
def test_what_is_trimmed_goes_back_to_the_system_and_its_place_is_used_again(kernels: Kernels, size: int):
    kernels.pool_trim()
    many = 60_000_000 // size
    before, held = resident(), stats(kernels).reserved
    for _ in range(3):
        blocks = [kernels.pool_alloc(size) for _ in range(many)]
        assert len(set(blocks)) == many
        for block in blocks:
            ctypes.memset(block, 1, size)
        assert resident() - before >= 0.9 * many * size
        for block in blocks:
            kernels.pool_free(block, size)
        kernels.pool_trim()
        assert resident() - before <= 0.2 * many * size
        assert stats(kernels).reserved <= held


def test_blocks_of_a_region_do_not_begin_alike(kernels: Kernels):
    blocks = [kernels.pool_alloc(1 << 19) for _ in range(12)]
    assert len({block % 4096 for block in blocks}) > 6
    for block in blocks:
        kernels.pool_free(block, 1 << 19)


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


LITTLE = """
import resource
import claygrad
filled = [claygrad.ones(1 << 19) for _ in range(30)]        # the first region
with open("/proc/self/statm") as file:
    held = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (48 << 20), resource.RLIM_INFINITY))
kept = [claygrad.ones(1 << 18) for _ in range(24)]
print(sum(float(x.sum()) for x in kept))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux says how much memory a process has")
def test_a_process_with_little_room_gets_what_there_is():
    done = subprocess.run([sys.executable, "-c", LITTLE], capture_output=True, text=True)
    assert done.stdout.split() == [str(float(24 << 18))], done.stderr
