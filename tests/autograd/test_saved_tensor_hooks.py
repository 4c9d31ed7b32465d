"""Saved-tensor hooks and checkpoints around operations in place."""

from __future__ import annotations

import pytest

from tests.support import close, leaf


def double(lib, *values):
    return leaf(lib, list(values), dtype=lib.float64)


KEPT: dict = {}


def key(t):
    KEPT[len(KEPT)] = t
    return len(KEPT) - 1


HOOKS = {
    "identity": (lambda t: t, lambda t: t),
    "detach": (lambda t: t.detach(), lambda t: t),
    "tuple": (lambda t: (t.device, t), lambda p: p[1]),
    "list in dict": (lambda t: {"a": [t]}, lambda p: p["a"][0]),
    "clone": (lambda t: t.clone(), lambda t: t),
    "numpy": (lambda t: t.detach().clone().numpy(), None),
}
OURS = {"key": (key, KEPT.__getitem__), "computed": (lambda t: t, lambda t: t * 1), "view": (lambda t: t.view(-1), lambda t: t)}

PROGRAMS = {
    "pow_": (lambda x: (x * 3).pow_(2), [18.0, 36.0]),
    "square_ and sqrt": (lambda x: (x * 3).square_().sqrt(), [3.0, 3.0]),
    "sin_ and cos_": (lambda x: (x * 1).mul_(2).square_().div_(2), [4.0, 8.0]),
}


def run(lib, pack, unpack, program):
    unpack = unpack or (lambda a: lib.from_numpy(a))
    x = double(lib, 1.0, 2.0)
    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        z = program(x)
    (g,) = lib.autograd.grad(z.sum(), x, retain_graph=True)
    (again,) = lib.autograd.grad(z.sum(), x)
    assert close(again, g.tolist())
    return g


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("hooks", HOOKS)
def test_hooks_around_operations_in_place(lib, hooks, program):
    made, expected = PROGRAMS[program]
    assert close(run(lib, *HOOKS[hooks], made), expected)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_of_operations_in_place(lib, program, use_reentrant):
    made, expected = PROGRAMS[program]
    for early_stop in (True, False):
        x = double(lib, 1.0, 2.0)
        with lib.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            lib.utils.checkpoint.checkpoint(made, x, use_reentrant=use_reentrant).sum().backward()
        assert close(x.grad, expected)


def test_nested_checkpoints_of_operations_in_place(lib):
    def inner(t):
        return lib.utils.checkpoint.checkpoint(lambda p: (p * 3).square_().sqrt(), t, use_reentrant=False)

    x = double(lib, 1.0, 2.0)
    out = lib.utils.checkpoint.checkpoint(lambda p: inner(p).square_().mul_(p), x, use_reentrant=False)
    out.sum().backward()
    assert close(x.grad, [27.0, 108.0])


def test_pack_runs_without_recording_and_unpack_as_backward_does(lib):
    x, seen = double(lib, 1.0, 2.0), []

    def pack(t):
        seen.append(("pack", lib.is_grad_enabled()))
        return t

    def unpack(t):
        seen.append(("unpack", lib.is_grad_enabled()))
        return t

    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        z = x.exp()
    assert seen == [("pack", False)]
    (g,) = lib.autograd.grad(z.sum(), x, create_graph=True)
    lib.autograd.grad(g.sum(), x)
    assert seen[1:] == [("unpack", True), ("unpack", False)]
