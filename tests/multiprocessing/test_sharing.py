"""Tensors between processes: shared, not copied, freed by the last, whichever way processes are started and ended."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import time

import numpy
import pytest

import claygrad as torch
import claygrad.multiprocessing as mp
from claygrad import nn
from tests.multiprocessing import workers

METHODS = ["fork", "spawn", "forkserver"]
STRATEGIES = sorted(mp.get_all_sharing_strategies())


FAMILY = {os.getpid()}


def names() -> set[str]:
    """Names of shared memory that this process and those that it started have made."""
    return {name for name in os.listdir("/dev/shm") if name.startswith("claygrad_") and int(name.split("_")[1]) in FAMILY}


def descriptors() -> int:
    gc.collect()
    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]
    return sum("memfd:claygrad" in link for link in links)


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


@pytest.fixture(params=METHODS)
def context(request):
    return mp.get_context(request.param)


def started(context, target, *args):
    process = context.Process(target=target, args=args, daemon=True)
    process.start()
    FAMILY.add(process.pid)
    return process


def test_a_write_in_another_process_is_seen(context, strategy):
    before = names(), descriptors()
    queue, answers, done = context.Queue(), context.Queue(), context.Event()
    process = started(context, workers.add_one, queue, answers, done)
    base = torch.zeros(6)
    sent = [base, base[2:4], torch.nn.Parameter(torch.zeros(2)).detach(), torch.zeros(20_000)]
    queue.put(len(sent))
    for x in sent:
        queue.put(x)
        assert answers.get(timeout=workers.PATIENCE) == "added"
    done.set()
    process.join()
    assert base.tolist() == [1, 1, 2, 2, 1, 1]
    assert sent[3].sum().item() == 20_000
    assert all(x.is_shared() for x in sent)
    del base, sent, x
    gc.collect()
    assert (names(), descriptors()) == before


def test_what_comes_is_what_was_sent(context, strategy):
    before = names(), descriptors()
    queue, done = context.Queue(), context.Event()
    process = started(context, workers.send_some, queue, done)
    x, view, storage, empty, meta, parameter, module, tree, lazy, half = (queue.get(timeout=workers.PATIENCE) for _ in range(10))
    done.set()
    process.join()
    assert x.tolist() == torch.arange(12.0).reshape(3, 4).tolist()
    assert view.untyped_storage() is x.untyped_storage() is storage
    assert (view.stride(), view.storage_offset()) == ((1, 8), 1)
    x[0, 1] = 50
    assert view[0, 0] == 50
    assert tree["a"][0][1] == 50
    assert tree["b"] == 5
    assert (tuple(empty.shape), meta.device.type, tuple(meta.shape)) == ((0, 3), "meta", (3,))
    assert isinstance(parameter, nn.Parameter)
    assert parameter.requires_grad
    assert module.weight.tolist() == [[3, 3], [3, 3]]
    assert module.weight.is_shared()
    assert lazy.is_conj()
    assert lazy.tolist() == [1 - 2j]
    assert half.dtype is torch.bfloat16
    del x, view, storage, empty, meta, parameter, module, tree, lazy, half
    gc.collect()
    assert (names(), descriptors()) == before


def test_a_tensor_comes_back_as_the_one_that_left(strategy):
    receiver, sender = mp.Pipe(duplex=False)
    x = torch.arange(4.0)
    sender.send(x)
    sender.send([x[1:], x])
    first, (second, third) = receiver.recv(), receiver.recv()
    assert first.untyped_storage() is second.untyped_storage() is third.untyped_storage() is x.untyped_storage()
    assert second.storage_offset() == 1


def test_a_history_does_not_cross():
    _, sender = mp.Pipe(duplex=False)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        sender.send(x * 2)
    sender.send(x)
    sender.send((x * 2).detach())


def test_memory_of_the_file_system_outlives_its_sender(context):
    before, had = names(), mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    try:
        queue = context.Queue()
        process = started(context, workers.send_and_end, queue)
        process.join()
        assert names() != before
        assert queue.get(timeout=workers.PATIENCE).sum().item() == 5000
    finally:
        mp.set_sharing_strategy(had)
    gc.collect()
    assert names() == before


def test_arguments_of_a_process_are_shared(context, strategy):
    before = names(), descriptors()
    x = torch.zeros(3)
    process = started(context, workers.write, x.share_memory_(), 4.0)
    process.join()
    assert x.tolist() == [4, 4, 4]
    del x
    gc.collect()
    assert (names(), descriptors()) == before


@pytest.mark.parametrize("method", METHODS)
def test_plain_multiprocessing_shares_what_was_shared_before(method):
    context = multiprocessing.get_context(method)
    model = nn.Linear(2, 2)
    assert model.share_memory() is model
    process = started(context, workers.write, model.weight.detach(), 9.0)
    process.join()
    assert model.weight.tolist() == [[9, 9], [9, 9]]


def test_a_killed_process_leaves_nothing(context, strategy):
    before = names(), descriptors()
    queue, ready = context.Queue(), context.Queue()
    process = started(context, workers.hold, queue, ready)
    x = torch.ones(1000)
    queue.put(x)
    assert ready.get(timeout=workers.PATIENCE) == (1000.0, True)
    process.kill()
    process.join()
    assert x.add_(1).sum().item() == 2000
    del x
    gc.collect()
    assert descriptors() == before[1]
    if strategy == "file_descriptor":
        assert names() == before[0]


def test_names_of_killed_processes_are_removed_in_the_end():
    import subprocess
    import sys
    program = ("import claygrad as torch, claygrad.multiprocessing as mp, os, signal; mp.set_sharing_strategy('file_system'); "
               "x = torch.ones(9).share_memory_(); print([n for n in os.listdir('/dev/shm') if n.startswith('claygrad_%d_' % os.getpid())], "
               "flush=True); os.kill(os.getpid(), signal.SIGKILL)")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    name, = eval(out.stdout)
    limit = time.monotonic() + 20
    while os.path.exists(f"/dev/shm/{name}") and time.monotonic() < limit:
        time.sleep(0.05)
    assert not os.path.exists(f"/dev/shm/{name}")


def test_a_forked_child_that_ends_takes_nothing_along(strategy):
    x = torch.ones(3).share_memory_()
    there = names()
    process = started(mp.get_context("fork"), workers.write, x, 2.0)
    process.join()
    assert x.tolist() == [2, 2, 2]
    assert names() == there
    _, sender = mp.Pipe(duplex=False)
    sender.send(x)


def test_a_pool_gives_tensors_back(strategy):
    with mp.get_context("fork").Pool(2) as pool:
        made = pool.map(workers.square, [torch.full((3,), float(i)) for i in range(6)])
    assert [x.tolist() for x in made] == [[i * i] * 3 for i in range(6)]


def test_sharing_keeps_values_views_and_gradients(strategy):
    x = torch.arange(6.0, requires_grad=True)
    y = (x * x)
    view = y[2:4]
    assert y.share_memory_() is y
    assert view.is_shared()
    y.sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 6, 8, 10]
    assert torch.empty(0).share_memory_().is_shared()
    assert torch.ones(2, requires_grad=True).share_memory_().requires_grad
    with pytest.raises(RuntimeError, match="only available on CPU"):
        torch.empty(3, device="meta").share_memory_()


def test_arrays_handed_out_before_keep_their_memory():
    x = torch.ones(1000)
    array, part = x.numpy(), x.untyped_storage()[:8]
    x.share_memory_()
    x.zero_()
    numpy.zeros(1000, numpy.float32)
    assert array.sum() == 1000
    assert part.tolist() == [0, 0, 128, 63] * 2
    del x
    gc.collect()
    assert array.sum() == 1000


@pytest.mark.parametrize("size", [3, 50_000])
def test_what_another_process_writes_does_not_change_a_gradient(size):
    w = torch.full((size,), 5.0).share_memory_()
    x = torch.ones(size, requires_grad=True)
    z = x * w
    started(mp.get_context("fork"), workers.write, w, 0.0).join()
    assert w.sum() == 0
    z.sum().backward()
    assert x.grad.sum().item() == 5.0 * size


@pytest.mark.parametrize("size", [3, 50_000])
def test_a_value_saved_before_it_is_shared_is_kept(size):
    w, x = torch.full((size,), 5.0), torch.ones(size, requires_grad=True)
    z = x * w
    w.share_memory_()
    started(mp.get_context("fork"), workers.write, w, 0.0).join()
    z.sum().backward()
    assert x.grad.sum().item() == 5.0 * size


def test_hogwild_training_learns(strategy):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 200), nn.Tanh(), nn.Linear(200, 200), nn.Tanh(), nn.Linear(200, 1))
    model.share_memory()
    x = torch.randn(64, 8)
    before = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).item()
    mp.start_processes(workers.step_often, (model, 150), nprocs=2, start_method="fork")
    after = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).item()
    assert after < before / 3


def test_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("telepathy")


def test_a_plain_pickle_is_a_copy():
    x = torch.ones(3).share_memory_()
    y = pickle.loads(pickle.dumps(x))
    y.zero_()
    assert x.sum() == 3
    assert not y.is_shared()
