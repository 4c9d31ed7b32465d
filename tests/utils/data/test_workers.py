"""Worker processes: they give what one process gives, and whatever befalls them, the main process hears of it and goes on."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import claygrad as torch
from claygrad.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info


class Numbers(Dataset):
    """Gives its numbers; on the way to some of them, something happens."""

    def __init__(self, count=8, at=None, what=None):
        self.count, self.at, self.what = count, at, what

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i == self.at:
            self.what()
        return i


class Odd(Exception):
    """An exception whose constructor wants more than a text."""

    def __init__(self, a, b):
        super().__init__(f"odd {a} {b}")


def raise_key():
    raise KeyError("three")


def raise_odd():
    raise Odd(1, 2)


def raise_local():
    class Local(ValueError):
        pass
    raise Local("only here")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def wait():
    time.sleep(60)


def children():
    return [child for child in multiprocessing.active_children() if child.is_alive()]


@pytest.fixture(autouse=True)
def _none_is_left():
    yield
    limit = time.monotonic() + 10
    while children() and time.monotonic() < limit:
        gc.collect()                     # a traceback may hold the iterator
        time.sleep(0.05)
    assert children() == []


def values(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_batches_are_those_of_one_process(workers):
    with pytest.warns(UserWarning, match=r"suggested max number") if workers > len(os.sched_getaffinity(0)) else _nothing():
        loader = DataLoader(Numbers(10), batch_size=3, num_workers=workers)
        assert values(loader) == values(DataLoader(Numbers(10), batch_size=3))


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_large_batches_come_through_whole():
    x = torch.rand(64, 50_000)
    for (batch,), rows in zip(DataLoader(TensorDataset(x), batch_size=16, num_workers=2), x.split(16), strict=True):
        assert torch.equal(batch, rows)


def test_batches_are_made_ahead_while_nobody_reads():
    made = multiprocessing.Value("i", 0)

    class Counted(Dataset):
        def __len__(self):
            return 20

        def __getitem__(self, i):
            with made.get_lock():
                made.value += 1
            return torch.full((200_000,), float(i))
    batches = iter(DataLoader(Counted(), batch_size=1, num_workers=1, prefetch_factor=4))
    next(batches)
    limit = time.monotonic() + 20
    while made.value < 5 and time.monotonic() < limit:
        time.sleep(0.01)
    assert made.value == 5


@pytest.mark.parametrize("what", [raise_key, raise_local, raise_odd], ids=lambda f: f.__name__)
def test_an_exception_has_its_type_and_the_traceback_of_the_worker(what):
    kind = {raise_key: KeyError, raise_local: RuntimeError, raise_odd: RuntimeError}[what]
    name = {raise_key: "KeyError", raise_local: "Local", raise_odd: "Odd"}[what]
    with pytest.raises(kind) as caught:
        list(DataLoader(Numbers(8, 3, what), batch_size=2, num_workers=2))
    text = str(caught.value)
    assert text.startswith(f"Caught {name} in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n")
    assert f"in {what.__name__}" in text
    assert "\\n" not in text


def test_after_an_exception_the_next_batches_come():
    batches = iter(DataLoader(Numbers(8, 3, raise_key), batch_size=2, num_workers=2))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(KeyError):
        next(batches)
    assert values(batches) == [[4, 5], [6, 7]]


def test_exceptions_at_the_start():
    def begin(worker):
        raise ValueError(f"start of {worker}")
    with pytest.raises(ValueError, match=r"Caught ValueError in DataLoader worker process 0"):
        list(DataLoader(Numbers(), num_workers=1, worker_init_fn=begin))

    class Stream(IterableDataset):
        def __iter__(self):
            raise OSError("no data")
    with pytest.raises(OSError, match=r"no data"):
        list(DataLoader(Stream(), num_workers=1))


def test_results_that_cannot_be_sent():
    class Functions(Numbers):
        def __getitem__(self, i):
            return lambda: i
    with pytest.raises(Exception, match=r"(?s)in DataLoader worker process 0.*(lambda|pickle)"):
        list(DataLoader(Functions(), batch_size=None, num_workers=1))


@pytest.mark.parametrize(("what", "text"), [(die, "is killed by signal: Killed"), (leave, "ended with exit code 3")])
def test_a_worker_that_dies_is_noticed_at_once(what, text):
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly\n.*{text}"):
        list(DataLoader(Numbers(8, 3, what), batch_size=2, num_workers=2))
    assert time.monotonic() - begin < 20


def test_a_worker_killed_in_the_middle_of_a_batch():
    """It has written a part of a batch, larger than any pipe, and no more comes."""
    loader = DataLoader(TensorDataset(torch.zeros(8, 500_000)), batch_size=4, num_workers=2)
    batches = iter(loader)
    time.sleep(1.0)                      # both are full of a batch that nobody reads
    os.kill(batches.processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"exited unexpectedly\n.*Killed"):
        list(batches)


def test_persistent_workers_live_through_epochs():
    loader = DataLoader(Numbers(6), batch_size=2, num_workers=2, persistent_workers=True)
    first = values(loader)
    pids = [process.pid for process in loader._iterator.processes]
    for _ in loader:                     # left in the middle
        break
    assert values(loader) == first
    processes = loader._iterator.processes
    assert [process.pid for process in processes] == pids
    del loader
    assert not any(process.is_alive() for process in processes)


class Counting(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        yield from range(info.id * 100, info.id * 100 + 3)


def test_persistent_streams_begin_anew_when_left_in_the_middle():
    loader = DataLoader(Counting(), batch_size=2, num_workers=2, persistent_workers=True)
    whole = values(loader)
    for _ in range(2):
        next(iter(loader))
        assert values(loader) == whole
    del loader


def test_what_a_worker_knows_of_itself():
    class Who(Numbers):
        def __getitem__(self, i):
            info = get_worker_info()
            return info.id, info.num_workers, info.seed, info.dataset is self, torch.initial_seed() == info.seed
    torch.manual_seed(0)
    told = list(DataLoader(Who(4), batch_size=None, num_workers=2))
    assert [one[:2] for one in told] == [[0, 2], [1, 2]] * 2 or [tuple(one[:2]) for one in told] == [(0, 2), (1, 2)] * 2
    assert all(one[3] and one[4] for one in told)
    assert told[1][2] == told[0][2] + 1
    assert get_worker_info() is None


def test_without_an_order_the_quick_come_first():
    class Slow(Numbers):
        def __getitem__(self, i):
            if i == 0:
                time.sleep(1.5)
            return i
    loader = DataLoader(Slow(8), batch_size=1, num_workers=2, in_order=False, prefetch_factor=1)
    found = [batch.item() for batch in loader]
    assert sorted(found) == list(range(8))
    assert found.index(0) >= 4


def test_a_timeout():
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 1 seconds"):
        list(DataLoader(Numbers(4, 1, wait), num_workers=1, timeout=1))
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_every_way_to_start_a_process(method):
    loader = DataLoader(Numbers(6), batch_size=2, num_workers=1, multiprocessing_context=method)
    assert values(loader) == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0"):
        list(DataLoader(Numbers(2, 1, raise_key), num_workers=1, multiprocessing_context=method))


FAILING = """
import multiprocessing, sys
import claygrad as torch

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        return torch.ones(2, 3) @ torch.ones(2, i)

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    for batch in torch.utils.data.DataLoader(Rows(), num_workers=1):
        pass
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_program_whose_worker_fails_is_told_the_line(method, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(FAILING)
    said = subprocess.run([sys.executable, program, method], capture_output=True, text=True, check=False).stderr
    assert f"{program}:9, in __getitem__" in said
    assert "num_workers=0 runs it here" in said


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_dataset_that_cannot_be_sent(method):
    class Inner(Numbers):
        """Pickle does not find it."""

    loader = DataLoader(Inner(2), num_workers=1, multiprocessing_context=method)
    with pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker Process"), \
            pytest.raises((AttributeError, pickle.PicklingError)):
        iter(loader)
    assert values(DataLoader(Inner(2), num_workers=1, multiprocessing_context="fork")) == [[0], [1]]


def test_threads_of_the_main_process_do_not_stop_workers():
    torch.rand(300, 300) @ torch.rand(300, 300)

    class Products(Numbers):
        def __getitem__(self, i):
            return (torch.ones(200, 200) @ torch.ones(200, 200)).sum() + i
    assert values(DataLoader(Products(2), num_workers=1)) == [[8_000_000.0], [8_000_001.0]]


def test_an_iterator_that_is_dropped_takes_its_workers_with_it():
    batches = iter(DataLoader(Numbers(100), num_workers=2))
    next(batches)
    processes = batches.processes
    begin = time.monotonic()
    del batches
    assert not any(process.is_alive() for process in processes)
    assert time.monotonic() - begin < 4


# A shell starts what runs in its background with SIGINT ignored, and children inherit that.
PROGRAM = """
import os, signal, sys, time, claygrad
signal.signal(signal.SIGINT, signal.default_int_handler)
from claygrad.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i):
        time.sleep(0.05)
        return claygrad.full((100_000,), float(i))
batches = iter(DataLoader(Slow(), num_workers=2, batch_size=2))
next(batches)
print(*(process.pid for process in batches.processes), flush=True)
for batch in batches:
    pass
"""


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks for processes where Linux lists them")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_when_the_main_process_ends_no_worker_is_left(how):
    """Ctrl-C goes to all processes of a terminal, so here to the group; the others to the main process alone."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True,
                               env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)})
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    time.sleep(0.3)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    process.wait(30)
    limit = time.monotonic() + 20
    while not all(map(gone, workers)) and time.monotonic() < limit:
        time.sleep(0.1)
    assert all(map(gone, workers))
    errors = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    if how == signal.SIGINT:
        assert process.returncode in (-signal.SIGINT, 130, 1)
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1       # of the main process alone
