"""Exceptions and interrupts leave the engine usable and the modes as they were."""

from __future__ import annotations

import signal
import threading
import time
import warnings

import pytest

from tests.support import close, leaf


class Mine(Exception):
    pass


def _still_works(lib):
    assert lib.is_grad_enabled()
    assert not lib.is_inference_mode_enabled()
    x = leaf(lib, [2.0])
    (x * x).backward()
    assert close(x.grad, [4.0])
    (g,) = lib.autograd.grad(x**3, x, create_graph=True)
    assert close(lib.autograd.grad(g, x)[0], [12.0])


def _raise(kind):
    def fail(*_):
        raise kind("stop")

    return fail


@pytest.mark.parametrize("kind", [Mine, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_that_raises(lib, kind, create_graph):
    x = leaf(lib, [2.0])
    y = x * 1
    y.register_hook(_raise(kind))
    for _ in range(3):
        with pytest.raises(kind):
            lib.autograd.grad((y * y).sum(), x, create_graph=create_graph)
        _still_works(lib)


@pytest.mark.parametrize("kind", [Mine, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["forward", "backward"])
def test_a_custom_function_that_raises(lib, kind, place):
    def good(ctx, a):
        return a * 1

    methods = {"forward": good, "backward": good, place: _raise(kind)}
    f = type("F", (lib.autograd.Function,), {k: staticmethod(v) for k, v in methods.items()})
    x = leaf(lib, [2.0])
    for _ in range(3):
        with pytest.raises(kind):
            f.apply(x).backward()
        _still_works(lib)
    assert x.grad is None


@pytest.mark.parametrize("place", ["pack", "unpack"])
def test_a_saved_tensor_hook_that_raises(lib, place):
    hooks = {"pack": lambda t: t, "unpack": lambda t: t, place: _raise(Mine)}
    x = leaf(lib, [2.0])
    with pytest.raises(Mine), lib.autograd.graph.saved_tensors_hooks(hooks["pack"], hooks["unpack"]):
        (x * x).backward()
    _still_works(lib)


@pytest.mark.parametrize("method", ["register_hook", "register_prehook"])
def test_a_node_hook_that_raises(lib, method):
    x = leaf(lib, [2.0])
    y = x * x
    getattr(y.grad_fn, method)(_raise(Mine))
    with pytest.raises(Mine):
        y.backward()
    _still_works(lib)


def test_a_post_accumulate_hook_that_raises(lib):
    x = leaf(lib, [2.0])
    handle = x.register_post_accumulate_grad_hook(_raise(Mine))
    with pytest.raises(Mine):
        (x * x).backward()
    handle.remove()
    _still_works(lib)


def test_a_retained_graph_can_be_run_again_after_a_failure(lib):
    x = leaf(lib, [2.0])
    y = x * 1
    handle = y.register_hook(_raise(Mine))
    z = y * y
    with pytest.raises(Mine):
        z.backward(retain_graph=True)
    handle.remove()
    z.backward()
    assert close(x.grad, [4.0])


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
def test_a_mode_left_by_an_interrupt_is_restored(lib, mode):
    with pytest.raises(KeyboardInterrupt), getattr(lib, mode)():
        raise KeyboardInterrupt
    _still_works(lib)


def test_a_decorated_function_that_raises_restores_the_mode(lib):
    @lib.no_grad()
    def fail():
        raise Mine

    with pytest.raises(Mine):
        fail()
    _still_works(lib)


def test_a_refused_write_changes_nothing(lib):
    y = leaf(lib, [1.0, 2.0]) * 1
    node, version = y.grad_fn, y._version
    for write in (
        lambda: y.add_(lib.ones(3)),
        lambda: y.copy_(lib.ones(5)),
        lambda: y.__setitem__(7, 1.0),
        lambda: y.__setitem__(lib.tensor([0, 9]), 1.0),
        lambda: y.masked_fill_(lib.tensor([1, 0]), 1.0),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            write()
        assert close(y, [1.0, 2.0])
        assert (y._version, y.grad_fn is node) == (version, True)


def test_a_failing_forward_inside_a_graph_leaves_its_inputs_usable(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x.exp()
    with pytest.raises(RuntimeError):
        y @ lib.ones(3)
    y.sum().backward()
    assert close(x.grad, [2.7182818, 7.3890561])


def test_a_warning_made_an_error_is_raised_where_it_warns(lib):
    y = leaf(lib, [1.0]) * 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            y.grad
    _still_works(lib)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an interval timer")
def test_a_real_interrupt_during_a_long_backward(lib):
    """SIGINT arrives while Python hooks run in the middle of backward."""
    assert threading.current_thread() is threading.main_thread()
    x = leaf(lib, [1.0])
    y = x
    for _ in range(50):
        y = y * 1
        y.register_hook(lambda g: time.sleep(0.02))

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            y.backward()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    _still_works(lib)


def test_an_exception_keeps_the_frames_of_the_user(lib):
    def culprit(g):
        raise Mine("here")

    x = leaf(lib, [1.0])
    x.register_hook(culprit)
    with pytest.raises(Mine) as caught:
        (x * 2).backward()
    assert "culprit" in [entry.name for entry in caught.traceback]
