"""Hooks of modules: their order, what they get, and what they may replace."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from tests.nn.behaviour.layers import affine
from tests.support import close, leaf, raises, silent, warns


class Log(list):
    """Remembers what hooks saw."""

    def hook(self, name, out=None):
        return lambda *args: self.append(name) or out


def shapes(tensors):
    return [None if t is None else tuple(t.shape) for t in tensors]


def test_the_order_of_all_hooks(lib):
    m, log = affine(lib), Log()
    m.register_forward_pre_hook(log.hook("pre 1"))
    m.register_forward_pre_hook(log.hook("pre 2"))
    m.register_forward_pre_hook(log.hook("pre 0"), prepend=True)
    m.register_forward_hook(log.hook("forward 1"))
    m.register_forward_hook(log.hook("forward 0"), prepend=True)
    m.register_full_backward_pre_hook(log.hook("backward pre 1"))
    m.register_full_backward_pre_hook(log.hook("backward pre 0"), prepend=True)
    m.register_full_backward_hook(log.hook("backward 1"))
    m.register_full_backward_hook(log.hook("backward 0"), prepend=True)
    m(leaf(lib, [[1.0, 2.0, 3.0]])).sum().backward()
    assert log == ["pre 0", "pre 1", "pre 2", "forward 0", "forward 1", "backward pre 0", "backward pre 1", "backward 0",
                   "backward 1"]


def test_hooks_of_all_modules_come_first(lib):
    m, log = affine(lib), Log()
    module = lib.nn.modules.module
    m.register_forward_pre_hook(log.hook("own pre"))
    m.register_forward_hook(log.hook("own forward"))
    m.register_full_backward_hook(log.hook("own backward"))
    handles = [module.register_module_forward_pre_hook(log.hook("pre")),
               module.register_module_forward_hook(log.hook("forward")),
               module.register_module_full_backward_pre_hook(log.hook("backward pre")),
               module.register_module_full_backward_hook(log.hook("backward"))]
    try:
        m(leaf(lib, [[1.0, 2.0, 3.0]])).sum().backward()
        with raises(lib, RuntimeError, "Cannot use both regular backward hooks and full backward hooks as a global "
                    "Module hook. Please use only one of them."):
            module.register_module_backward_hook(log.hook("old"))
    finally:
        for handle in handles:
            handle.remove()
    assert log == ["pre", "own pre", "forward", "own forward", "backward pre", "backward", "own backward"]
    log.clear()
    m(lib.ones(1, 3))
    assert log == ["own pre", "own forward"]


def test_tables_of_global_hooks_can_be_replaced(lib):
    m, log = affine(lib), Log()
    module = lib.nn.modules.module
    module.register_module_forward_pre_hook(log.hook("pre"))
    module.register_module_forward_hook(log.hook("forward"), always_call=True)
    module.register_module_full_backward_hook(log.hook("backward"))
    m(leaf(lib, [[1.0, 2.0, 3.0]])).sum().backward()
    assert log == ["pre", "forward", "backward"]
    log.clear()
    assert module._global_is_full_backward_hook is True
    for name in ("backward_hooks", "forward_hooks", "forward_hooks_always_called", "forward_pre_hooks"):
        assert len(getattr(module, f"_global_{name}")) == 1
        setattr(module, f"_global_{name}", OrderedDict())
        assert len(getattr(module, f"_global_{name}")) == 0
    module._global_is_full_backward_hook = None
    m(leaf(lib, [[1.0, 2.0, 3.0]])).sum().backward()
    assert log == []
    module._global_forward_hooks = OrderedDict({0: log.hook("given")})
    m(lib.ones(1, 3))
    module._global_forward_hooks = OrderedDict()
    m(lib.ones(1, 3))
    assert log == ["given"]


def test_a_forward_pre_hook_replaces_arguments(lib):
    m = affine(lib)
    x = lib.ones(1, 3)
    expected = m(x * 2)
    m.register_forward_pre_hook(lambda mod, args: args[0] * 2)
    assert lib.equal(m(x), expected)
    m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"scale": 3}), with_kwargs=True)
    assert close(m(x), (expected * 3).tolist())
    m.register_forward_pre_hook(lambda mod, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"forward pre-hook must return None or a tuple of \(new_args, new_kwargs\)"):
        m(x)


def test_a_forward_hook_replaces_the_result(lib):
    m, seen = affine(lib), []
    m.register_forward_hook(lambda mod, args, kwargs, out: seen.append((len(args), dict(kwargs))) or out * 0,
                            with_kwargs=True)
    m.register_forward_hook(lambda mod, args, out: out + 1)
    assert m(lib.ones(1, 3), scale=2).tolist() == [[1.0] * 4]
    assert seen == [(1, {"scale": 2})]


def test_always_called_hooks_run_when_forward_fails(lib):
    m, log = affine(lib), Log()
    m.register_forward_hook(log.hook("sometimes"))
    m.register_forward_hook(log.hook("always"), always_call=True)
    m.register_forward_hook(lambda mod, args, kwargs, out: log.append((out, sorted(kwargs))), always_call=True,
                            with_kwargs=True)
    with pytest.raises(TypeError):
        m(lib.ones(1, 3), nope=1)
    assert log == ["always", (None, ["nope"])]
    m.register_forward_hook(lambda *args: 1 / 0, always_call=True)
    with warns(lib, "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
               "error was raised in forward: division by zero"), pytest.raises(TypeError):
        m(lib.ones(1, 3), nope=1)


def test_an_always_called_hook_that_fails_after_forward_is_not_called_again(lib):
    m, calls = affine(lib), []

    def fails(*args):
        calls.append(1)
        raise ValueError("mine")

    m.register_forward_hook(fails, always_call=True)
    with raises(lib, ValueError, "mine"):
        m(lib.ones(1, 3))
    assert calls == [1]


def test_what_full_backward_hooks_get(lib):
    m, seen = affine(lib), []
    m.register_full_backward_pre_hook(lambda mod, grads: seen.append((mod is m, shapes(grads))))
    m.register_full_backward_hook(lambda mod, into, out: seen.append((mod is m, shapes(into), shapes(out))))
    y = m(leaf(lib, [[1.0, 2.0, 3.0]]))
    assert y.grad_fn.name() == "BackwardHookFunctionBackward"
    y.sum().backward()
    assert seen == [(True, [(1, 4)]), (True, [(1, 3)], [(1, 4)])]


def test_full_backward_hooks_replace_gradients(lib):
    m = affine(lib)
    x = leaf(lib, [[1.0, 2.0, 3.0]])
    m.register_full_backward_pre_hook(lambda mod, grads: (grads[0] * 2,))
    m.register_full_backward_hook(lambda mod, into, out: (into[0] * 10,))
    m(x).sum().backward()
    assert close(m.bias.grad, [2.0] * 4)
    assert close(x.grad, (m.weight.sum(0, keepdim=True) * 20).tolist())


def test_several_inputs_and_outputs(lib):
    class Two(lib.nn.Module):
        def forward(self, a, n, b):
            return a * n, b.detach(), a + b

    m, seen = Two(), []
    m.register_full_backward_hook(lambda mod, into, out: seen.append((shapes(into), shapes(out))))
    a, b = leaf(lib, [1.0, 2.0]), lib.ones(2)
    first, _, last = m(a, 3, b)
    (first + last).sum().backward()
    assert seen == [([(2,), None, (2,)], [(2,), None, (2,)])]
    assert close(a.grad, [4.0, 4.0])


def test_numbers_of_gradients_are_checked(lib):
    m = affine(lib)
    handle = m.register_full_backward_hook(lambda mod, into, out: into + into)
    with raises(lib, RuntimeError, "Backward hook returned an invalid number of grad_input, got 2, but expected 1"):
        m(leaf(lib, [[1.0, 2.0, 3.0]])).sum().backward()
    handle.remove()
    m.register_full_backward_pre_hook(lambda mod, out: out + out)
    with raises(lib, RuntimeError, "Backward pre hook returned an invalid number of grad_output, got 2, but "
                "expected 1"):
        m(leaf(lib, [[1.0, 2.0, 3.0]])).sum().backward()


def test_full_backward_hook_without_an_input_that_requires_grad(lib):
    m, seen = affine(lib), []
    handle = m.register_full_backward_hook(lambda mod, into, out: seen.append((into, shapes(out))))
    with warns(lib, "Full backward hook is firing when gradients are computed with respect to module outputs since no "
               "inputs require gradients. …"):
        m(lib.ones(1, 3)).sum().backward()
    assert seen == [((None,), [(1, 4)])]
    handle.remove()
    m.register_full_backward_hook(lambda mod, into, out: out)
    with raises(lib, RuntimeError, "Backward hook for Modules where no input requires gradient should always return "
                "None or None for all gradients."):
        m(lib.ones(1, 3)).sum().backward()


def test_backward_hooks_stay_silent_without_grad(lib):
    m, log = affine(lib), Log()
    m.register_full_backward_hook(log.hook("backward"))
    with lib.no_grad(), silent():
        assert m(leaf(lib, [[1.0, 2.0, 3.0]])).grad_fn is None
    assert log == []


def test_a_result_that_is_no_tensor_cannot_be_hooked(lib):
    class Dict(lib.nn.Module):
        def forward(self, x):
            return {"x": x}

    m = Dict()
    m.register_full_backward_hook(lambda *args: None)
    with warns(lib, "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
               "received <class 'dict'>"):
        m(leaf(lib, [1.0]))


def test_old_backward_hooks(lib):
    class Times(lib.nn.Module):
        def forward(self, x):
            return x * 2

    m, seen = Times(), []
    m.register_backward_hook(lambda mod, into, out: seen.append((mod is m, shapes(into), shapes(out))))
    m(leaf(lib, [1.0, 2.0]) + 0).sum().backward()
    assert seen == [(True, [(2,), None], [(2,)])]
    with raises(lib, RuntimeError, "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."):
        m.register_full_backward_hook(lambda *args: None)
    full = affine(lib)
    full.register_full_backward_hook(lambda *args: None)
    with raises(lib, RuntimeError, "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."):
        full.register_backward_hook(lambda *args: None)


DEPRECATED = "is deprecated and will be removed in future versions. This hook will be missing some"


@pytest.mark.parametrize(("result", "text"), [
    (lambda x: x * 2 + 1, "Using a non-full backward hook when the forward contains multiple autograd Nodes"),
    (lambda x: {"a": x * 2}, ("Using non-full backward hooks on a Module that does not return a single Tensor or a "
                             "tuple of Tensors")),
    (lambda x: (x * 2, x + 1), "Using a non-full backward hook when outputs are generated by different autograd Nodes"),
])
def test_old_backward_hooks_warn_of_what_they_miss(lib, result, text):
    class Some(lib.nn.Module):
        def forward(self, x):
            return result(x)

    m = Some()
    m.register_backward_hook(lambda *args: None)
    with warns(lib, f"{text} {DEPRECATED} …", FutureWarning):
        m(leaf(lib, [1.0, 2.0]) + 0)


def test_handles_are_context_managers_and_can_be_removed_twice(lib):
    m, log = affine(lib), Log()
    with m.register_forward_hook(log.hook("inside"), with_kwargs=True, always_call=True) as handle:
        m(lib.ones(1, 3))
    handle.remove()
    m(lib.ones(1, 3))
    assert log == ["inside"]
    assert not m._forward_hooks
    assert not m._forward_hooks_with_kwargs
    assert not m._forward_hooks_always_called


def test_a_forward_assigned_to_the_instance_is_called(lib):
    m = affine(lib)
    m.forward = lambda x: ("mine", x)
    assert m(1) == ("mine", 1)


def test_double_backward_through_hooks(lib):
    m, log = affine(lib), Log()
    m.register_full_backward_hook(log.hook("backward"))
    x = leaf(lib, [[1.0, 2.0, 3.0]])
    (g,) = lib.autograd.grad((m(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad is not None
    assert log[0] == "backward"
