"""Graphs of any depth: built, run and freed without recursion, in memory that grows with their length and no faster."""

from __future__ import annotations

import gc
import threading

import pytest

from tests.support import close, fresh, leaf


def _chain(lib, length, step):
    x = leaf(lib, [1.0])
    y = x
    for _ in range(length):
        y = step(y)
    return x, y


def _on_a_small_stack(work):
    """Runs in a thread whose stack could not hold a recursion over the graph."""
    failures = []

    def run():
        try:
            work()
        except BaseException as error:
            failures.append(error)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert not failures, failures


def test_a_chain_of_a_million_operations_builds_runs_backward_and_is_freed(lib):
    def work():
        x, y = _chain(lib, 1_000_000, lambda y: y + 1)
        y.backward()
        assert close(x.grad, [1.0])
        del y
        gc.collect()

    _on_a_small_stack(work)


def test_a_million_operations_take_memory_linear_in_their_number(lib):
    out = fresh(
        lib,
        """
        def resident():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4
        def used(length):
            before = resident()
            x = torch.tensor([1.], requires_grad=True)
            y = x
            for _ in range(length):
                y = y * 1.0000001
            built = resident() - before
            y.backward()
            return built
        first = used(250_000)
        second = used(1_000_000)
        print(first, second)
        """,
    )
    first, second = map(int, out.split())
    assert second < 1_200_000  # KiB: less than 1.2 kB a step
    assert second < 4.5 * max(first, 1)  # the second finds some memory of the first


def test_a_chain_that_is_never_run_is_freed_on_a_small_stack(lib):
    def work():
        _, y = _chain(lib, 300_000, lambda y: y * 2)
        del y
        gc.collect()

    _on_a_small_stack(work)


@pytest.mark.parametrize(
    ("name", "step", "length"),
    [
        ("in place", lambda y: y.add_(1) if y.grad_fn else y * 1, 100_000),
        ("views", lambda y: y.view(1), 100_000),
        ("write through a view", lambda y: (y[:1].add_(1), y)[1] if y.grad_fn else y * 1, 20_000),
        ("two edges", lambda y: y + y * 0, 50_000),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_deep_chains_run_on_a_small_stack(lib, name, step, length):
    def work():
        x, y = _chain(lib, length, step)
        y.sum().backward()
        assert close(x.grad, [1.0])
        del y
        gc.collect()

    _on_a_small_stack(work)


def test_a_deep_chain_of_custom_functions(lib):
    class Plus(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a + 1

        @staticmethod
        def backward(ctx, g):
            return g

    def work():
        x, y = _chain(lib, 50_000, Plus.apply)
        y.backward()
        assert close(x.grad, [1.0])
        del y
        gc.collect()

    _on_a_small_stack(work)


def test_the_derivative_of_a_deep_chain_is_itself_a_deep_graph(lib):
    def work():
        x, y = _chain(lib, 20_000, lambda y: y * 1.0)
        (g,) = lib.autograd.grad(y * y, x, create_graph=True)
        (h,) = lib.autograd.grad(g, x)
        assert close(h, [2.0])

    _on_a_small_stack(work)


def test_a_wide_graph(lib):
    x = leaf(lib, [1.0], dtype=lib.float64)
    total = sum((x * i for i in range(20_000)), lib.zeros(1))
    total.backward()
    assert close(x.grad, [sum(range(20_000))])
