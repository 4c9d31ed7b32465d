from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tests.kernels.kernel_api import Kernels, values

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture
def four_threads(kernels: Kernels):
    before = kernels.max_threads()
    kernels.set_max_threads(4)
    yield
    kernels.set_max_threads(before)


def ranges(kernels: Kernels, n: int, grain: int) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    body = BODY(lambda job, begin, end: seen.append((begin, end)))
    kernels.parallel_for(n, grain, ctypes.cast(body, ctypes.c_void_p), None)
    return sorted(seen)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize(("n", "grain"), [(1, 1), (2, 1), (100, 1), (1000, 10), (100_000, 64), (1_000_003, 999)])
def test_every_index_is_visited_once(kernels: Kernels, n: int, grain: int):
    seen = ranges(kernels, n, grain)
    assert seen[0][0] == 0
    assert seen[-1][1] == n
    assert all(a[1] == b[0] for a, b in itertools.pairwise(seen))


@pytest.mark.usefixtures("four_threads")
def test_little_work_stays_with_the_caller(kernels: Kernels):
    assert ranges(kernels, 19, 10) == [(0, 19)]
    assert ranges(kernels, 0, 10) == []


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_medium_work_is_shared_by_threads_that_are_awake(kernels: Kernels):
    before = kernels.max_threads()
    kernels.set_max_threads(2)
    try:
        ranges(kernels, 1000, 1)                             # the thread is there

        def after_a_rest() -> int:
            time.sleep(0.02)
            return len(ranges(kernels, 12288, 4096))

        assert any(after_a_rest() == 1 for _ in range(50))   # a busy machine may keep it awake
        assert any(len(ranges(kernels, 12288, 4096)) > 1 for _ in range(1000))
        for much, least in ((4 * 65536, 4096), (4 * 16384, 16384)):
            time.sleep(0.02)
            assert len(ranges(kernels, much, least)) > 1     # much work wakes it
        time.sleep(0.02)
        assert len(ranges(kernels, 20, 10)) == 2             # as do rows or tasks, of which nobody knows how much they are
    finally:
        kernels.set_max_threads(before)


@pytest.mark.usefixtures("four_threads")
def test_a_call_from_inside_a_body_runs_inline(kernels: Kernels):
    inner: list[list[tuple[int, int]]] = []
    body = BODY(lambda job, begin, end: inner.append(ranges(kernels, 1000, 1)))
    kernels.parallel_for(100, 10, ctypes.cast(body, ctypes.c_void_p), None)
    assert inner
    assert all(seen == [(0, 1000)] for seen in inner)


@pytest.mark.usefixtures("four_threads")
def test_several_python_threads_at_once(kernels: Kernels):
    x = values(np.float32, 400_000)
    want = kernels.unary("exp", x).copy()
    total = kernels.reduce("sum", x.reshape(1, -1, 1)).copy()
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(20):
            if not np.array_equal(kernels.unary("exp", x), want):
                wrong.append(k)
            if not np.array_equal(kernels.reduce("sum", x.reshape(1, -1, 1)), total):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.usefixtures("four_threads")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_computes_with_threads_of_its_own(kernels: Kernels):
    x = values(np.float32, 400_000)
    want = kernels.unary("exp", x).copy()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            ok = all(np.array_equal(kernels.unary("exp", x), want) for _ in range(10))
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert np.array_equal(kernels.unary("exp", x), want)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_in_the_middle_of_another_threads_work(kernels: Kernels):
    x = values(np.float32, 400_000)
    want = kernels.unary("exp", x).copy()
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            kernels.unary("exp", x)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(kernels.unary("exp", x), want) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def in_new_process(kernels: Kernels, code: str, **environment: str) -> str:
    program = f"import ctypes; lib = ctypes.CDLL({str(kernels.path)!r}); lib.clay_isa.restype = ctypes.c_char_p\n{code}"
    environment = {**os.environ, **environment}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_the_number_of_threads_comes_from_the_environment_or_the_machine(kernels: Kernels):
    assert in_new_process(kernels, "print(lib.clay_max_threads())", CLAYGRAD_NUM_THREADS="3") == "3"
    if hasattr(os, "sched_getaffinity"):
        clean = in_new_process(kernels, "print(lib.clay_max_threads())", CLAYGRAD_NUM_THREADS="")
        assert clean == str(len(os.sched_getaffinity(0)))
        one = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(lib.clay_max_threads())"
        assert in_new_process(kernels, one, CLAYGRAD_NUM_THREADS="") == "1"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_workers_keep_off_the_core_of_the_caller(kernels: Kernels):
    show = """
import os
body = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lambda *job: None)
run = lambda: lib.clay_parallel_for(ctypes.c_int64(100), ctypes.c_int64(1), body, None)
allowed, tasks = os.sched_getaffinity(0), set(os.listdir("/proc/self/task"))
run()
worker = int((set(os.listdir("/proc/self/task")) - tasks).pop())
print(len(allowed) - len(os.sched_getaffinity(worker)), end=" ")
lib.clay_set_max_threads(len(allowed) + 1)
run()
print(len(allowed) - len(os.sched_getaffinity(worker)))
"""
    assert in_new_process(kernels, show, CLAYGRAD_NUM_THREADS="2") == "1 0"


def test_the_instruction_set_can_be_chosen_by_the_environment(kernels: Kernels):
    show = "print(lib.clay_isa().decode())"
    assert in_new_process(kernels, show, CLAYGRAD_ISA="base") == "base"
    assert in_new_process(kernels, show, CLAYGRAD_ISA="unheard-of") == in_new_process(kernels, show, CLAYGRAD_ISA="")
    assert not kernels.use_isa(b"unheard-of")
