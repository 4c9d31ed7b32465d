"""`__torch_dispatch__`: modes and classes that answer operations below autograd."""
from __future__ import annotations

import threading
from typing import ClassVar

import pytest

import claygrad as torch
from claygrad.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _DisableTorchDispatch,
    _get_current_dispatch_mode_stack,
    is_in_torch_dispatch_mode,
)
from claygrad.utils.pytree import tree_map

aten = torch.ops.aten


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


class Wrapper(torch.Tensor):
    """Answers by what it wraps, and counts."""

    calls: ClassVar[list] = []

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        out = torch.Tensor._make_wrapper_subclass(cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(),
                                                  dtype=elem.dtype, device=elem.device, requires_grad=requires_grad)
        out.elem = elem
        return out

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        open_ = lambda x: x.elem if isinstance(x, cls) else x
        close = lambda x: cls(x) if isinstance(x, torch.Tensor) else x
        cls.calls.append(func)
        return tree_map(close, func(*tree_map(open_, args), **tree_map(open_, kwargs or {})))


def test_a_mode_sees_operators_below_autograd():
    x = torch.rand(3, 3, requires_grad=True)
    w = torch.rand(2, 3, requires_grad=True)
    with Log() as log:
        y = torch.nn.functional.linear(x, w)
        z = (y @ y.t()).softmax(-1)[0, 1:].sum() + torch.zeros(1)
        assert is_in_torch_dispatch_mode()
    assert not is_in_torch_dispatch_mode()
    assert log.seen == [aten.t.default, aten.mm.default, aten.t.default, aten.mm.default, aten._softmax.default, aten.select.int,
                        aten.slice.Tensor, aten.sum.default, aten.zeros.default, aten.add.Tensor]
    assert z.grad_fn.name() == "AddBackward0"
    z.backward()
    found = x.grad.clone(), w.grad.clone()
    x.grad = w.grad = None
    y = torch.nn.functional.linear(x, w)
    (y @ y.t()).softmax(-1)[0, 1:].sum().backward()
    assert x.grad.equal(found[0])
    assert w.grad.equal(found[1])


def test_a_mode_sees_writes_and_backward():
    x = torch.rand(3, requires_grad=True)
    with Log() as log:
        y = x.clone()
        y[1:].mul_(2).add_(1)
        assert log.seen == [aten.clone.default, aten.slice.Tensor, aten.mul_.Tensor, aten.add_.Tensor]
        del log.seen[:]
        y.exp().sum().backward()
    assert aten.exp.default in log.seen
    assert aten.expand.default in log.seen
    assert aten.mul.Tensor in log.seen
    a = x.detach().requires_grad_()
    b = torch.cat([a[:1], a[1:] * 2 + 1])
    b.exp().sum().backward()
    assert torch.allclose(x.grad, a.grad)


def test_a_mode_may_answer():
    class Zero(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out.zero_() if func is aten.exp.default else out

    x = torch.ones(2, requires_grad=True)
    with Zero():
        y = x.exp()
    assert y.equal(torch.zeros(2))
    assert y.grad_fn.name() == "ExpBackward0"
    y.sum().backward()
    assert x.grad.equal(torch.zeros(2))              # exp's own rule, with the result that it was given


def test_an_argument_may_be_the_answer():
    class Same(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0] if func is aten.sin.default else func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Same():
        y = x.sin()
    assert y is not x
    assert x.is_leaf
    assert y.grad_fn.name() == "SinBackward0"


def test_modes_nest_and_can_be_left():
    outer, inner = Log(), Log()
    x = torch.ones(2)
    with outer, inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner]
        x.sin()
        with _disable_current_modes():
            x.cos()
        with _DisableTorchDispatch():
            x.tan()
        x.exp()
    assert outer.seen == inner.seen == [aten.sin.default, aten.exp.default]
    x.sin()
    assert len(outer.seen) == 2


def test_a_mode_belongs_to_its_thread_and_ends_with_an_exception():
    log = Log()
    x = torch.ones(2)
    with pytest.raises(ZeroDivisionError), log:
        thread = threading.Thread(target=x.sin)
        thread.start()
        thread.join()
        assert log.seen == []
        1 / 0
    x.sin()
    assert log.seen == []


def test_every_operation_can_be_run_again_by_its_operator():
    """What a mode is given, it can call: operators take the arguments with which they are told."""
    x = torch.rand(4, 4, dtype=torch.float64)
    calls = [lambda: torch.var_mean(x, 0, keepdim=True), lambda: x.std(1, correction=0), lambda: x.max(1), lambda: x.to(torch.float32),
             lambda: torch.stack([x, x], 1), lambda: x.reshape(2, 8).t().reshape(-1), lambda: torch.where(x > 0.5, x, 0.0),
             lambda: x.clamp(0.1, 0.2), lambda: x[x > 0.5], lambda: x.masked_fill(x > 0.5, 0.0), lambda: x.pow(2), lambda: 2**x,
             lambda: torch.nn.functional.conv1d(x[None], x[:, :, None]), lambda: torch.nn.functional.layer_norm(x, (4,)),
             lambda: torch.nn.functional.max_pool1d(x[None], 2), lambda: x.sort(0), lambda: x.cumsum(0), lambda: torch.linalg.qr(x),
             lambda: torch.einsum("ij,jk->ik", x, x), lambda: torch.nn.functional.gelu(x), lambda: x.norm(dim=0), lambda: x.unbind(0)]
    flat = lambda r: [r] if isinstance(r, torch.Tensor) else list(r)
    for call in calls:
        expected = flat(call())
        with Log() as log:
            found = flat(call())
        assert log.seen
        assert all(torch.allclose(a, b) for a, b in zip(found, expected, strict=True))


def test_wrappers():
    x = Wrapper(torch.tensor([1.0, 2.0]), requires_grad=True)
    assert x.shape == (2,)
    assert x.device == torch.device("cpu")
    assert x.is_cpu
    assert x.is_leaf
    y = (x.exp() * x).sum()
    assert type(y) is Wrapper
    assert y.grad_fn.name() == "SumBackward0"
    y.backward()
    assert type(x.grad) is Wrapper
    plain = torch.tensor([1.0, 2.0], requires_grad=True)
    (plain.exp() * plain).sum().backward()
    assert torch.allclose(x.grad.elem, plain.grad)
    g, = torch.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
    h, = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h.elem, (plain.exp() * (plain + 2)).detach())
    assert x.sum().item() == 3
    assert repr(x).startswith("Wrapper(...")
    with pytest.raises(TypeError, match="wrapper without memory"):
        x.detach().numpy()
    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,))
    with pytest.raises(NotImplementedError, match="asks no class for its sizes"):
        torch.Tensor._make_wrapper_subclass(Wrapper, (2,), dispatch_sizes_strides_policy="sizes")


def test_a_wrapper_that_was_written_after_it_was_saved_is_an_error():
    x = Wrapper(torch.tensor([1.0, 2.0]), requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        z.backward()


def test_nothing_reaches_the_memory_that_a_wrapper_has_not():
    x = Wrapper(torch.ones(2))
    with _DisableTorchDispatch():
        for call in (lambda: x + 1, lambda: x.sum(), lambda: x[0], lambda: x.clone(), lambda: x.mul_(2), lambda: x.tolist(), x.item,
                     lambda: x @ x, lambda: torch.cat([x, x]), lambda: x.copy_(torch.ones(2)), lambda: bool(x.sum() > 0)):
            try:
                call()
            except (RuntimeError, TypeError, ValueError):
                continue


def test_not_implemented_everywhere_is_an_error():
    class No(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.ops.aten.sin.default'"):
        No(torch.ones(2)).sin()


def test_plain_tensors_are_as_before_beside_wrappers():
    x = torch.rand(3, requires_grad=True)
    Wrapper(torch.ones(2))
    del Wrapper.calls[:]
    torch.nn.functional.linear(x, torch.rand(2, 3)).softmax(0)[0].backward()
    assert Wrapper.calls == []
