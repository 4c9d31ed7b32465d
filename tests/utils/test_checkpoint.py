"""Checkpoints: the same gradients with less memory, in both ways."""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys
import weakref

import pytest

from tests.support import close, leaf, raises, silent, warns

both = pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "hooks"])


def module(lib):
    return importlib.import_module(f"{lib.__name__}.utils.checkpoint")


def body(lib, w):
    def function(x, scale=1.0):
        h = lib.tanh(x @ w) * scale
        return (lib.nn.functional.dropout(h, 0.5) @ w).exp()
    return function


def gradients(lib, run):
    """What two leaves get, and the random number after it."""
    lib.manual_seed(5)
    w, x = leaf(lib, [[0.5, -1.0], [0.25, 0.75]]), leaf(lib, [[1.0, 2.0], [3.0, -4.0], [0.5, 0.1]])
    run(body(lib, w), x).sum().backward()
    return w.grad.tolist(), x.grad.tolist(), lib.rand(1).item()


@both
def test_gradients_and_random_numbers_are_those_without(lib, reentrant):
    plain = gradients(lib, lambda f, x: f(x))
    checkpoint = module(lib).checkpoint
    assert gradients(lib, lambda f, x: checkpoint(f, x, use_reentrant=reentrant)) == plain
    with module(lib).set_checkpoint_early_stop(False):
        assert gradients(lib, lambda f, x: checkpoint(f, x, use_reentrant=reentrant)) == plain


@both
def test_other_random_numbers_if_they_need_not_be_kept(lib, reentrant):
    lib.manual_seed(0)
    x = lib.ones(1000, requires_grad=True)
    out = module(lib).checkpoint(lambda x: lib.nn.functional.dropout(x, 0.5), x, use_reentrant=reentrant,
                                 preserve_rng_state=False)
    if reentrant:
        out.sum().backward()
        assert ((x.grad > 0) != (out > 0)).sum().item() > 300
    assert out.shape == (1000,)


def test_what_is_computed_between_is_not_kept(lib):
    seen = []

    def function(x):
        h = x.exp()
        seen.append(weakref.ref(h))
        return h.sin()

    x = leaf(lib, [1.0, 2.0])
    out = module(lib).checkpoint(function, x, use_reentrant=False)
    assert seen[0]() is None
    out.sum().backward()
    assert len(seen) == 2
    assert close(x.grad, [2.718281828 * -0.911733915, 7.389056099 * 0.448356241])


def test_checkpoints_nest(lib):
    checkpoint = module(lib).checkpoint

    def nested(f, x):
        return checkpoint(lambda x: checkpoint(f, x.sin(), use_reentrant=False) * x, x, use_reentrant=False)

    assert gradients(lib, nested) == gradients(lib, lambda f, x: f(x.sin()) * x)


def test_backward_twice_second_derivatives_and_keywords(lib):
    checkpoint = module(lib).checkpoint
    x = leaf(lib, [0.5])
    out = checkpoint(lambda x, scale: (x ** 3 * scale).sin(), x, scale=2.0, use_reentrant=False)
    out.backward(retain_graph=True)
    first = x.grad.item()
    out.backward()
    assert x.grad.item() == pytest.approx(2 * first)
    out = checkpoint(lambda x: x ** 3, x, use_reentrant=False)
    g, = lib.autograd.grad(out, x, create_graph=True)
    assert lib.autograd.grad(g, x)[0].item() == pytest.approx(3.0)


def test_a_checkpoint_without_recording_is_a_call(lib):
    with lib.no_grad():
        out = module(lib).checkpoint(lambda x: x * 2, leaf(lib, [1.0]), use_reentrant=False)
    assert out.grad_fn is None


@both
def test_several_outputs_and_other_arguments(lib, reentrant):
    x, y = leaf(lib, [2.0]), leaf(lib, [3.0])
    a, word, b = module(lib).checkpoint(lambda x, name, y: (x * y, name, x + y), x, "name", y, use_reentrant=reentrant)
    assert word == "name"
    (a + b).backward()
    assert (x.grad.item(), y.grad.item()) == (4.0, 3.0)


def test_inputs_changed_since_are_seen_as_they_were(lib):
    x = leaf(lib, [2.0])
    y = x * 1
    out = module(lib).checkpoint(lambda y: y * y, y, use_reentrant=False)
    with lib.no_grad():
        y.mul_(10)
    if lib.__name__ == "torch":
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()
    else:
        out.backward()
        assert x.grad.item() == 4.0


def test_autocast_is_as_it_was(lib):
    w, seen = leaf(lib, [[1.0]]), []

    def function(x):
        out = x @ w
        seen.append(out.dtype)
        return out.float() * out

    for reentrant in (True, False):
        with lib.autocast("cpu"):
            out = module(lib).checkpoint(function, leaf(lib, [[2.0]]), use_reentrant=reentrant)
        with module(lib).set_checkpoint_early_stop(False):
            out.sum().backward()
    assert seen == [lib.bfloat16] * 4


def test_contexts_of_both_runs(lib):
    log = []

    @contextlib.contextmanager
    def noting(name):
        log.append(name)
        yield

    out = module(lib).checkpoint(lambda x: x.sin().cos(), leaf(lib, [1.0]), use_reentrant=False,
                                 context_fn=lambda: (noting("forward"), noting("again")))
    out.backward()
    assert log == ["forward", "again"]


class Changing:
    """A function that does another thing the second time."""

    def __init__(self, *functions):
        self.functions = list(functions)

    def __call__(self, x):
        return self.functions.pop(0)(x)


def test_functions_that_change_are_noticed(lib):
    checkpoint_error = module(lib).CheckpointError

    def run(*functions, **options):
        module(lib).checkpoint(Changing(*functions), leaf(lib, [1.0, 2.0]), use_reentrant=False, **options).sum().backward()

    with pytest.raises(checkpoint_error, match=r"(?s)A different number of tensors was saved during the original forward and "
                                               r"recomputation\.\nNumber of tensors saved during forward: 2\nNumber of tensors "
                                               r"saved during recomputation: 1\."):
        run(lambda x: x.sin().cos(), lambda x: x.sin())
    with pytest.raises(checkpoint_error, match=r"trying to save more tensors during recomputation than during the original "
                                               r"forward pass\."):
        run(lambda x: x.sin(), lambda x: x.sin().cos(), early_stop=False)
    with pytest.raises(checkpoint_error, match=r"(?s)Recomputed values for the following tensors have different metadata than "
                                               r"during the forward pass\.\ntensor at position 0:\nsaved metadata: "):
        run(lambda x: x.sin(), lambda x: x[:1].sin())
    with pytest.raises(checkpoint_error, match="An error happened while unpacking tensors; dumping logs of latest"):
        run(lambda x: x.sin().cos(), lambda x: x.sin(), debug=True)
    run(lambda x: x.sin(), lambda x: x.double().sin(), determinism_check="none")


def test_what_checkpoints_refuse(lib):
    checkpoint = module(lib).checkpoint
    x = leaf(lib, [1.0])
    square = lambda x, scale=1.0: x * x * scale
    with warns(lib, "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
                    "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if "
                    "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more "
                    "details on the differences between the two variants."):
        checkpoint(square, x)
    with warns(lib, "None of the inputs have requires_grad=True. Gradients will be None"):
        checkpoint(square, x.detach(), use_reentrant=True)
    with raises(lib, ValueError, "Unexpected keyword arguments: scale"):
        checkpoint(square, x, use_reentrant=True, scale=2.0)
    with raises(lib, ValueError, "Passing `context_fn` or `debug` is only supported when use_reentrant=False."):
        checkpoint(square, x, use_reentrant=True, debug=True)
    with raises(lib, ValueError, "determinism_check should be one of ['default', 'none'], but got x"):
        checkpoint(square, x, use_reentrant=False, determinism_check="x")
    with raises(lib, ValueError, "debug=True is incompatible with non-default context_fn"):
        checkpoint(square, x, use_reentrant=False, debug=True, context_fn=lambda: None)
    text = ("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
            ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
            "`inputs` argument.")
    with raises(lib, RuntimeError, text):
        lib.autograd.grad(checkpoint(square, x, use_reentrant=True), x)
    with raises(lib, RuntimeError, text):
        checkpoint(square, x, use_reentrant=True).backward(inputs=[x])
    with raises(lib, RuntimeError, "none of output has requires_grad=True, this checkpoint() is not necessary"):
        checkpoint(lambda x: x.detach(), x, use_reentrant=True).backward()
    with pytest.raises(ZeroDivisionError):
        checkpoint(lambda x: 1 / 0, x, use_reentrant=False)


@both
@pytest.mark.parametrize("segments", [1, 2, 5])
def test_chains_in_segments(lib, reentrant, segments):
    lib.manual_seed(0)
    model = lib.nn.Sequential(*(lib.nn.Linear(3, 3) for _ in range(5)))
    x = lib.randn(2, 3, requires_grad=True)
    model(x).sum().backward()
    plain = [p.grad.clone() for p in model.parameters()]
    for functions in (model, list(model)):
        model.zero_grad()
        with silent():
            out = module(lib).checkpoint_sequential(functions, segments, x, use_reentrant=reentrant)
        out.sum().backward()
        assert all(lib.equal(p.grad, g) for p, g in zip(model.parameters(), plain, strict=True))
    with raises(lib, ValueError, "Unexpected keyword arguments: other"):
        module(lib).checkpoint_sequential(model, 2, x, use_reentrant=False, other=1)


# --- several backward passes over one checkpoint ----------------------------------------------------------------------
@pytest.mark.parametrize("grouped", [True, False])
def test_a_group_of_backward_passes_computes_a_checkpoint_once_more(lib, grouped: bool) -> None:
    runs = []

    def f(x):
        runs.append(1)
        y = x.sin().cos()
        return y, y.sin().cos()

    x = leaf(lib, [1.0, 2.0, 3.0])
    y, z = module(lib).checkpoint(f, x, use_reentrant=False)
    with module(lib).GraphExecGroup() if grouped else contextlib.nullcontext():
        g, = lib.autograd.grad(z, y, lib.ones(3, dtype=y.dtype))
        found, = lib.autograd.grad(y, x, g)
    assert len(runs) == (2 if grouped else 3)
    wanted, = lib.autograd.grad(f(x)[1].sum(), x)
    assert found.tolist() == wanted.tolist()


def test_passes_of_a_group_may_not_need_the_same_tensor(lib) -> None:
    x = leaf(lib, [1.0, 2.0, 3.0])
    y = module(lib).checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False)
    with module(lib).GraphExecGroup() as group:
        y.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="Performing two backward calls that overlap"):
            y.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match=f"cannot be nested. Already inside group {group}"), \
                module(lib).GraphExecGroup():
            pass
    y.sum().backward()


@pytest.mark.parametrize("stands_in", [False, True])
def test_the_log_of_a_checkpoint_names_the_lines_of_the_program(stands_in: bool) -> None:
    program = f"""
import claygrad
if {stands_in}:
    claygrad.as_torch()
from claygrad.utils.checkpoint import checkpoint
calls = []
def f(x):
    calls.append(1)
    return x.sin().exp() if len(calls) == 1 else x.sin() * claygrad.tensor([1.0, 2.0])      # another shape
y = checkpoint(f, claygrad.ones(1, requires_grad=True), use_reentrant=False, debug=True)
try:
    y.backward()
except RuntimeError as error:
    assert "You are seeing this error because you passed `debug=True`" in str(error)
    print(str(error).count("(<string>:"), "site-packages" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "4 False\n"), done.stderr
