"""Forward and backward from several threads at once."""

from __future__ import annotations

import threading

from tests.support import close, leaf

THREADS = 8


def _together(work):
    """Runs work(number) in several threads that start at the same moment; their exceptions are the test's."""
    failures, barrier = [], threading.Barrier(THREADS)

    def run(number):
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_threads_with_graphs_of_their_own(lib):
    def work(number):
        for _ in range(50):
            w = leaf(lib, [[float(number + 1)] * 4] * 4)
            ((w @ w).relu().sum() + w.exp().sum() * 0).backward()
            assert close(w.grad, [[8.0 * (number + 1)] * 4] * 4)

    _together(work)


def test_threads_that_accumulate_into_one_leaf(lib):
    x = leaf(lib, [1.0, 2.0])

    def work(number):
        for _ in range(100):
            (x * 3).sum().backward()

    _together(work)
    assert close(x.grad, [3.0 * 100 * THREADS] * 2)


def test_threads_over_one_retained_graph(lib):
    x = leaf(lib, [1.0, 2.0])
    y = (x.exp() * x).sum()
    (expected,) = lib.autograd.grad(y, x, retain_graph=True)

    def work(number):
        for _ in range(50):
            (g,) = lib.autograd.grad(y, x, retain_graph=True)
            assert g.tolist() == expected.tolist()

    _together(work)


def test_a_graph_made_here_and_run_there(lib):
    x = leaf(lib, [2.0])
    y = x * x
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert close(x.grad, [4.0])


def test_grad_modes_do_not_leak_between_threads(lib):
    def work(number):
        for _ in range(200):
            with lib.set_grad_enabled(number % 2 == 0):
                y = leaf(lib, [1.0]) * 2
                assert y.requires_grad is (number % 2 == 0)
        assert lib.is_grad_enabled()

    _together(work)


def test_threads_writing_to_their_own_views_of_saved_memory(lib):
    x = lib.ones(THREADS * 100, requires_grad=True)
    y = x * 2
    z = (y * y).sum()

    def work(number):
        part = y.detach()[number * 100 : (number + 1) * 100]
        for _ in range(20):
            part.add_(1)

    _together(work)
    if lib.__name__ == "torch":
        return
    z.backward()
    assert close(x.grad, [8.0] * (THREADS * 100))
    assert close(y, [22.0] * (THREADS * 100))


def test_large_operations_from_several_threads(lib):
    def work(number):
        a = lib.full((300, 300), float(number))
        for _ in range(5):
            b = (a @ lib.eye(300)).tanh().sum()
        assert abs(b.item() - lib.tensor(float(number)).tanh().item() * 90_000) < 1

    _together(work)


def test_hooks_and_custom_functions_from_several_threads(lib):
    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    def work(number):
        for _ in range(100):
            x = leaf(lib, [float(number)])
            x.register_hook(lambda g: g + 1)
            Twice.apply(x).backward()
            assert close(x.grad, [2.0 * number + 1])

    _together(work)
