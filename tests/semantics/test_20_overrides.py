"""`__torch_function__`: of subclasses, of objects that are no tensors, and of function modes."""

from __future__ import annotations

import copy
import gc
import importlib
import io
import pickle
import textwrap
import weakref
from typing import ClassVar

import pytest

from tests.support import close, exact, fresh, raises


def subclass(lib):
    """A subclass without anything of its own, made for each library once; pickles find it here."""
    found = globals().get(f"Sub_{lib.__name__}")
    if found is None:
        found = type(lib.Tensor)(f"Sub_{lib.__name__}", (lib.Tensor,), {"__module__": __name__})
        globals()[f"Sub_{lib.__name__}"] = found
    return found


def logging(lib):
    class Logged(lib.Tensor):
        log: ClassVar[list] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append((func, types, args, kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs)

    return Logged


def duck(answer="duck"):
    class Duck:
        log: ClassVar[list] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append((func, types, args, kwargs or {}))
            return answer

    return Duck


# --- subclasses are kept ------------------------------------------------------------------------------------------------
def test_operations_give_instances_of_the_subclass(lib):
    S = subclass(lib)
    F = lib.nn.functional
    s = lib.ones(2, 2).as_subclass(S)
    for made in (s + 1, 1 + s, s - lib.ones(2, 2), lib.ones(2, 2) * s, -s, abs(s), s @ s, s > 0, s == s, s[0], s[:, None], s[s > 0],
                 s.clone(), s.detach(), s.data, s.to(lib.float64), s.double(), s.relu(), lib.relu(s), F.relu(s), F.softmax(s, -1),
                 F.linear(s, lib.ones(3, 2)), lib.cat([lib.ones(1, 2), s]), lib.stack((s, s)), s.T, s.mT, s.real, s.view(4),
                 s.reshape(-1), s.sum(), s.sum(dim=0), s.contiguous(), lib.zeros_like(s), s.new_zeros(3), lib.where(s > 0, s, s),
                 lib.linalg.inv(s + lib.eye(2)), lib.fft.fft(s), lib.special.expit(s), lib.einsum("ij,jk->ik", s, s), s.expand(3, 2, 2),
                 s.requires_grad_(), F.dropout(s, 0.5), F.mse_loss(s, lib.ones(2, 2))):
        assert type(made) is S
    for several in (s.split(1), s.unbind(0), s.chunk(2), s.max(0), s.sort(0), lib.topk(s, 1), list(s), lib.meshgrid(s[0], s[1], indexing="ij")):
        assert [type(x) is S for x in several] == [True] * len(several)
    assert type(s.max(0)) is type(lib.ones(2, 2).max(0))
    assert type(s.shape) is lib.Size
    assert type(s.tolist()) is list
    assert type(lib.tensor(s.detach())) is lib.Tensor
    assert type(lib.as_tensor(s)) is S


def test_writing_keeps_the_object(lib):
    s = lib.ones(3).as_subclass(subclass(lib))
    before = s
    s += 1
    assert s is before
    assert s.mul_(2) is s
    s[0] = 7
    s[1:] = s[1:] * 2
    assert exact(s.as_subclass(lib.Tensor), [7, 8, 8])
    out = lib.zeros(3)
    lib.add(s, 1, out=out)
    assert type(out) is lib.Tensor


def test_gradients_of_a_subclass_are_plain_tensors(lib):
    S = subclass(lib)
    s = lib.ones(3).as_subclass(S).requires_grad_()
    y = (s * 3).sum()
    assert type(y) is S
    y.backward()
    assert type(s.grad) is lib.Tensor
    assert exact(s.grad, [3, 3, 3])
    assert s.grad is s.grad


def test_a_more_derived_class_wins(lib):
    S = subclass(lib)

    class T(S):
        pass

    a, b = lib.ones(2).as_subclass(S), lib.ones(2).as_subclass(T)
    assert type(a + b) is T
    assert type(b + a) is T
    assert type(lib.cat([a, b])) is T


def test_two_classes_that_do_not_know_each_other_fail(lib):
    class A(lib.Tensor):
        pass

    class B(lib.Tensor):
        pass

    a, b = lib.ones(2).as_subclass(A), lib.ones(2).as_subclass(B)
    with raises(lib, TypeError, "unsupported operand type(s) for +: 'A' and 'B'"):
        a + b
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for '\w+.Tensor.add'; all __torch_function__ handlers returned NotImplemented"):
        a.add(b)


def test_a_class_can_switch_it_off(lib):
    off = lib.nn.Parameter.__torch_function__

    class Plain(lib.Tensor):
        __torch_function__ = off

    p = Plain([1.0, 2.0])
    assert type(p + 1) is lib.Tensor
    assert type(p[0]) is lib.Tensor
    assert type(lib.nn.Parameter(lib.ones(2)) * 2) is lib.Tensor


def test_parameter_of_a_subclass_keeps_the_class(lib):
    S = subclass(lib)
    p = lib.nn.Parameter(lib.ones(2).as_subclass(S))
    assert type(p) is S
    assert isinstance(p, lib.nn.Parameter)
    assert p.requires_grad
    assert p.is_leaf
    assert type(p * 2) is S
    assert not isinstance(p * 2, lib.nn.Parameter)

    class M(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = p

    assert [x is p for x in M().parameters()] == [True]


def test_parameter_refuses_a_class_that_detach_does_not_keep(lib):
    class Forgets(lib.Tensor):
        def detach(self):
            return self.as_subclass(lib.Tensor).detach()

    with raises(lib, RuntimeError, "Creating a Parameter from an instance of type Forgets requires that detach() returns an instance of "
                "the same type, but return type Tensor was found instead. To use the type as a Parameter, please correct the detach() "
                "semantics defined by its __torch_dispatch__() implementation."):
        lib.nn.Parameter(lib.ones(2).as_subclass(Forgets))


def test_pickles_keep_class_and_attributes(lib):
    S = subclass(lib)
    s = lib.ones(2).as_subclass(S)
    s.note = {"a": 1}
    again = pickle.loads(pickle.dumps(s))
    assert type(again) is S
    assert again.note == {"a": 1}
    shallow = copy.copy(s)
    assert type(shallow) is S
    assert shallow.note is s.note
    file = io.BytesIO()
    lib.save(s, file)
    file.seek(0)
    loaded = lib.load(file, weights_only=False)
    assert type(loaded) is S
    assert loaded.note == {"a": 1}


def test_the_dict_of_a_tensor_can_be_another(lib):
    for make in (lambda: lib.ones(2), lambda: lib.ones(2).as_subclass(subclass(lib)), lambda: lib.nn.Parameter(lib.ones(2))):
        t, own = make(), {"tag": 1}
        t.__dict__ = own
        assert (t.__dict__ is own, t.tag) == (True, 1)
        other = make()
        other.__dict__ = t.__dict__                    # shared from now on
        other.name_ = "x"
        assert t.name_ == "x"
        t.__dict__.update(grad=3, tag=2)               # what the class defines comes before it
        assert (t.grad, t.tag, other.tag) == (None, 2, 2)
        for wrong in (3, None, [], "tag"):
            with pytest.raises(TypeError, match=rf"__dict__ must be set to a dictionary, not a '{type(wrong).__name__}'"):
                t.__dict__ = wrong
        del t.__dict__
        assert (t.__dict__, other.tag) == ({}, 2)
        del t.__dict__, t.__dict__
        t.tag = 5
        assert t.__dict__ == {"tag": 5}
        t.__dict__ = {"me": t, 1: 2}                   # a cycle, and a key that is no name
        seen = weakref.ref(t)
        del t, other
        gc.collect()
        assert seen() is None


def test_a_dict_that_acts_when_it_goes(lib):
    class Last:
        def __init__(self, owner):
            self.owner = weakref.ref(owner)

        def __del__(self):
            if self.owner() is not None:
                self.owner().__dict__ = {"by": "last"}

    t = lib.ones(2)
    t.__dict__ = {"last": Last(t)}
    t.__dict__ = {}                                    # the old one goes after the new one is there
    assert t.__dict__ == {"by": "last"}


def test_the_text_names_the_class(lib):
    S = subclass(lib)
    assert repr(lib.ones(2).as_subclass(S)) == f"{S.__name__}([1., 1.])"


# --- what arrives ----------------------------------------------------------------------------------------------------------
def test_functions_and_methods_arrive_as_themselves(lib):
    L = logging(lib)
    s = lib.ones(2, 2).as_subclass(L)
    t = lib.ones(2, 2)
    plain = lib.Tensor
    for call, func in ((lambda: lib.relu(s), lib.relu), (lambda: s.relu(), plain.relu), (lambda: s.add(1), plain.add),
                       (lambda: s + 1, plain.add), (lambda: 1 + s, plain.add), (lambda: t + s, plain.add), (lambda: 1 - s, plain.__rsub__),
                       (lambda: s / 2, plain.div), (lambda: s % 2, plain.remainder),
                       (lambda: s.add_(1), plain.add_), (lambda: s.__iadd__(1), plain.add_), (lambda: s[0], plain.__getitem__),
                       (lambda: s.__setitem__(0, 1), plain.__setitem__), (lambda: t.__setitem__(0, s[0]), plain.__setitem__),
                       (lambda: t[(s * 0).long()], plain.__getitem__), (lambda: s.shape, plain.shape.__get__), (lambda: s.T, plain.T.__get__),
                       (lambda: s.size(), plain.size), (lambda: s.size(0), plain.size), (lambda: plain.size(s), plain.size),
                       (lambda: s.grad, plain.grad.__get__), (lambda: setattr(s, "grad", None), plain.grad.__set__),
                       (lambda: s.requires_grad, plain.requires_grad.__get__), (lambda: len(s), plain.__len__), (lambda: -s, plain.neg),
                       (lambda: bool(s.sum() > 0), plain.__bool__), (lambda: float(s.sum()), plain.__float__),
                       (lambda: s.tolist(), plain.tolist), (lambda: s.to(lib.float64), plain.to), (lambda: s.double(), plain.double),
                       (lambda: lib.cat([t, s]), lib.cat), (lambda: s.sum().item(), plain.item), (lambda: s.detach(), plain.detach),
                       (lambda: s.numpy(), plain.numpy), (lambda: lib.nn.functional.gelu(s), lib.nn.functional.gelu),
                       (lambda: lib.linalg.inv(s + 2 * lib.eye(2)), lib.linalg.inv), (lambda: lib.fft.fft(s), lib.fft.fft)):
        L.log.clear()
        call()
        assert L.log[-1][0] == func, func
        assert L.log[-1][1] == (L,)


def test_only_the_outermost_call_is_reported(lib):
    L = logging(lib)
    s = lib.ones(2, 3).as_subclass(L)
    for call in (lambda: lib.nn.functional.cross_entropy(s, lib.tensor([0, 1])), lambda: s.norm(), lambda: lib.einsum("ij->i", s),
                 lambda: lib.nn.functional.layer_norm(s, (3,)), lambda: lib.var(s)):
        L.log.clear()
        call()
        assert len(L.log) == 1


def test_arguments_arrive_as_they_were_given(lib):
    L = logging(lib)
    s = lib.ones(2, 2).as_subclass(L)
    lib.sum(s, dim=1)
    func, types, args, kwargs = L.log[-1]
    assert (func, types, args[0] is s, len(args), kwargs) == (lib.sum, (L,), True, 1, {"dim": 1})
    lib.add(lib.ones(2), s, alpha=2)
    _, _, args, kwargs = L.log[-1]
    assert type(args[0]) is lib.Tensor
    assert args[1] is s
    assert kwargs == {"alpha": 2}


# --- objects that are no tensors ------------------------------------------------------------------------------------------------
def test_any_object_may_answer(lib):
    D = duck()
    d, t = D(), lib.ones(2)
    F = lib.nn.functional
    for call in (lambda: lib.add(d, 1), lambda: lib.add(1, d), lambda: lib.add(t, other=d), lambda: lib.matmul(t, d), lambda: lib.sum(d, dim=0),
                 lambda: t + d, lambda: t @ d, lambda: t * d, lambda: t < d, lambda: t.add(d), lambda: t.add_(d), lambda: lib.cat([t, d]),
                 lambda: lib.cat((d,)), lambda: lib.stack([d, d]), lambda: F.relu(d), lambda: F.linear(t, d), lambda: F.softmax(d, dim=-1),
                 lambda: lib.linalg.inv(d), lambda: lib.fft.fft(d), lambda: lib.special.expit(d), lambda: lib.einsum("i,i", t, d),
                 lambda: lib.where(t > 0, d, t), lambda: lib.zeros_like(d), lambda: lib.clamp(d, min=0), lambda: t.clamp(min=d),
                 lambda: lib.nn.Linear(2, 2)(d), lambda: t[d], lambda: lib.flatten(d), lambda: lib.max(d, 0), lambda: lib.isnan(d),
                 lambda: lib.broadcast_tensors(t, d), lambda: lib.nn.init.uniform_(d), lambda: lib.bernoulli(d)):
        D.log.clear()
        assert call() == "duck"
        assert len(D.log) == 1
    D.log.clear()
    t[0] = d
    assert D.log[-1][0] == lib.Tensor.__setitem__


def test_the_first_object_of_its_kind_is_met_in_a_fresh_process(lib):
    code = """
        import {name} as torch
        class D:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, len(types), len(args), kwargs or {{}}
        t = torch.ones(2)
        CALL
    """
    for call in ("print(t + D())", "print(torch.add(D(), 1, alpha=2))", "print(torch.cat([t, D()]))", "print(t[D()])", "t[0] = D(); print(1)",
                 "print(torch.einsum('i', D()))", "t += D(); print(t)", "print(t.clamp(min=D()))", "print(torch.nn.functional.linear(t, D()))"):
        assert fresh(lib, textwrap.dedent(code).format(name=lib.__name__).replace("CALL", call)).strip()


def test_nobody_answers(lib):
    D = duck(NotImplemented)
    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented:\n\n  - tensor subclass <class "):
        lib.add(D(), 1)
    with pytest.raises(TypeError):
        lib.ones(2) + D()


def test_the_order_of_asking(lib):
    asked = []

    def kind(name, base=object, answer=NotImplemented):
        def ask(cls, func, types, args=(), kwargs=None):
            asked.append((name, tuple(t.__name__ for t in types)))
            return answer
        return type(name, (base,), {"__torch_function__": classmethod(ask)})

    A = kind("A")
    B = kind("B", A)
    C = kind("C", answer=1)
    assert lib.cat([A(), C(), B(), A()]) == 1
    assert asked == [("B", ("B", "A", "C")), ("A", ("B", "A", "C")), ("C", ("B", "A", "C"))]


def test_a_plain_method_answers_with_a_warning(lib):
    class Old:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return self

    old = Old()
    with pytest.warns(UserWarning, match="Defining your `__torch_function__` as a plain method is deprecated"):
        assert lib.add(old, 1) is old


# --- the module --------------------------------------------------------------------------------------------------------------------
def _overrides(lib):
    return importlib.import_module(f"{lib.__name__}.overrides")


def test_questions(lib):
    o = _overrides(lib)
    s, d, t = lib.ones(2).as_subclass(subclass(lib)), duck()(), lib.ones(2)
    assert o.has_torch_function((t, s))
    assert o.has_torch_function_unary(d)
    assert o.has_torch_function_variadic(t, 1, d)
    assert not o.has_torch_function((t, 1, None))
    assert not o.has_torch_function_unary(lib.nn.Parameter(t))
    assert o.is_tensor_like(t)
    assert o.is_tensor_like(d)
    assert not o.is_tensor_like(3)
    assert o.is_tensor_method_or_property(lib.Tensor.add)
    assert o.is_tensor_method_or_property(lib.Tensor.shape.__get__)
    assert not o.is_tensor_method_or_property(lib.add)
    assert o.resolve_name(lib.Tensor.add) == "torch.Tensor.add"
    assert o.resolve_name(lib.add) == "torch.add"
    assert o.resolve_name(lib.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert o.resolve_name(lib.Tensor.grad.__set__) == "torch.Tensor.grad.__set__"
    assert lib.Tensor.add in o.get_overridable_functions()[lib.Tensor]
    assert lib.tensor in o.get_ignored_functions()
    assert o.get_testing_overrides()[lib.add](1, 2) == -1


def test_functions_of_users_can_take_part(lib):
    o = _overrides(lib)
    D = duck()

    def double(x):
        if o.has_torch_function_unary(x):
            return o.handle_torch_function(double, (x,), x)
        return x + x

    @o.wrap_torch_function(lambda a, b=None: (a, b))
    def pair(a, b=None):
        return a

    assert double(D()) == "duck"
    assert D.log[-1][0] is double
    assert pair(1, b=D()) == "duck"
    assert D.log[-1][0] is pair
    assert pair(1) == 1
    assert exact(double(lib.ones(2)), [2, 2])
    with pytest.raises(TypeError, match=r"no implementation found for '.*' on types that implement __torch_function__"):
        double(duck(NotImplemented)())


# --- modes -------------------------------------------------------------------------------------------------------------------------
def _mode(lib, log, name=""):
    class Mode(_overrides(lib).TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((name, func) if name else func)
            return func(*args, **(kwargs or {}))
    return Mode()


def test_a_mode_sees_every_call(lib):
    log = []
    t = lib.ones(2)
    with _mode(lib, log) as mode:
        y = t + 1
        lib.zeros(2)
        lib.tensor([1.0])
        lib.nn.functional.relu(t)
        t.sum()
        t[0]
        t.shape
    assert type(y) is lib.Tensor
    for func in (lib.Tensor.add, lib.zeros, lib.tensor, lib.Tensor.sum, lib.Tensor.__getitem__, lib.Tensor.shape.__get__):
        assert func in log
    count = len(log)
    t + 1
    assert len(log) == count
    with mode, mode:
        t * 2
    assert log[count:] == [lib.Tensor.mul, lib.Tensor.mul]


def test_modes_are_asked_from_the_inside_out(lib):
    log = []
    with _mode(lib, log, "outer"), _mode(lib, log, "inner"):
        lib.ones(2).exp()
    assert log == [("inner", lib.ones), ("outer", lib.ones), ("inner", lib.Tensor.exp), ("outer", lib.Tensor.exp)]


def test_a_mode_may_change_results_and_raise(lib):
    class Five(_overrides(lib).TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 5

    class Fails(_overrides(lib).TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    class Passes(_overrides(lib).TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    t = lib.ones(2)
    with Five():
        assert t + 1 == 5
        assert lib.rand(3) == 5
    with pytest.raises(ValueError), Fails():
        t + 1
    assert exact(t + 1, [2, 2])
    with Passes(), pytest.raises(TypeError, match="handlers returned NotImplemented"):
        t.add(1)
    with _overrides(lib).BaseTorchFunctionMode():
        assert exact(t + 1, [2, 2])


def test_a_mode_comes_before_subclasses(lib):
    log = []
    s = lib.ones(2).as_subclass(subclass(lib))
    with _mode(lib, log):
        assert type(s + 1) is subclass(lib)
    assert log == [lib.Tensor.add]


def test_backward_is_not_asked_for(lib):
    log = []
    x = lib.ones(2, requires_grad=True)
    seen = []
    with _mode(lib, log):
        y = (x * x).sum()
        y.register_hook(lambda g: seen.append(g * 2))
        log.clear()
        y.backward()
    assert log[0] == lib.Tensor.backward
    assert [f for f in log if f in (lib.Tensor.add_, lib.Tensor.add, lib.Tensor.expand)] == []
    assert close(x.grad, [2, 2])


def test_dispatch_is_below_autograd(lib):
    seen = []

    class Low(lib.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((str(func), types))
            with lib._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    low = lib.ones(2).as_subclass(Low)
    assert type(low) is Low
    del seen[:]
    x = lib.full((2,), 2.0, requires_grad=True)
    y = x * low
    assert seen == [("aten.mul.Tensor", (Low,))]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
