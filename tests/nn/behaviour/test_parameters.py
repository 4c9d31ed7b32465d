"""Parameters, buffers, and those that do not know their shape yet."""

from __future__ import annotations

import copy
import pickle

import pytest

from tests.support import raises


def test_the_text_of_a_parameter(lib):
    assert repr(lib.nn.Parameter(lib.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert repr(lib.nn.Parameter(lib.ones(2), False)) == "Parameter containing:\ntensor([1., 1.])"


def test_a_parameter_is_a_leaf_on_the_same_memory(lib):
    x = lib.ones(2)
    p = lib.nn.Parameter(x)
    assert p.is_leaf
    assert p.requires_grad
    assert p.data_ptr() == x.data_ptr()
    assert not x.requires_grad
    assert lib.nn.Parameter(requires_grad=False).shape == (0,)
    with lib.no_grad():
        assert lib.nn.Parameter(x).requires_grad


def test_what_is_made_of_a_parameter_is_a_plain_tensor(lib):
    p = lib.nn.Parameter(lib.ones(2))
    for made in (p.data, p.detach(), p * 1, p.clone(), p[0]):
        assert type(made) is lib.Tensor
        assert not isinstance(made, lib.nn.Parameter)
    assert type(copy.deepcopy(p)) is lib.nn.Parameter


def test_integers_need_requires_grad_off(lib):
    with raises(lib, RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"):
        lib.nn.Parameter(lib.ones(2, dtype=lib.int64))
    assert lib.nn.Parameter(lib.ones(2, dtype=lib.int64), requires_grad=False).dtype is lib.int64


def test_pickled_parameters_keep_attributes(lib):
    p = lib.nn.Parameter(lib.ones(2), requires_grad=False)
    p.note = "kept"
    back = pickle.loads(pickle.dumps(p))
    assert type(back) is lib.nn.Parameter
    assert back.note == "kept"
    assert not back.requires_grad


def test_a_subclass_of_tensor_stays_one(lib):
    class Own(lib.Tensor):
        pass

    p = lib.nn.Parameter(lib.ones(2).as_subclass(Own))
    assert type(p) is Own
    assert isinstance(p, lib.nn.Parameter)
    assert p.requires_grad
    m = lib.nn.Module()
    m.w = p
    assert list(m.parameters())[0] is p


def test_uninitialized_parameters(lib):
    u = lib.nn.UninitializedParameter(dtype=lib.float64)
    assert repr(u) == "<UninitializedParameter>"
    assert isinstance(u, lib.nn.Parameter)
    assert u.requires_grad
    assert lib.nn.parameter.is_lazy(u)
    assert not lib.nn.parameter.is_lazy(lib.ones(1))
    with raises(lib, RuntimeError, "Can't access the shape of an uninitialized parameter or buffer. This error usually "
                "happens in `load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
                "Call `forward` to initialize the parameters before accessing their attributes."):
        u.shape
    with raises(lib, RuntimeError, "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
                "initialize the parameters before calling `module.share_memory()`."):
        u.share_memory_()
    for use in (lambda: u + 1, lambda: 1 * u, lambda: u.sum(), lambda: u[0], lambda: lib.ones(1) * u, lambda: u.exp_()):
        with pytest.raises(ValueError, match=r"Attempted to use an uninitialized parameter in .* This error "
                           r"happens when you are using a `LazyModule` or explicitly manipulating"):
            use()
    u.materialize((2, 3))
    assert type(u) is lib.nn.Parameter
    assert u.shape == (2, 3)
    assert u.dtype is lib.float64
    assert u.requires_grad


def test_uninitialized_buffers(lib):
    b = lib.nn.UninitializedBuffer(persistent=False)
    m = lib.nn.Module()
    m.b = b
    assert "b" not in m.state_dict()
    assert isinstance(b, lib.nn.Buffer)
    assert repr(b) == "<UninitializedBuffer>"
    b.materialize((3,), dtype=lib.int64)
    assert type(b) is lib.Tensor
    assert b.shape == (3,)
    assert b.dtype is lib.int64
    assert m.b is b
    assert (b.zero_() + 1).sum().item() == 3


def test_uninitialized_copies_and_pickles(lib):
    u = lib.nn.UninitializedParameter(requires_grad=False)
    for other in (copy.deepcopy(u), pickle.loads(pickle.dumps(u))):
        assert type(other) is lib.nn.UninitializedParameter
        assert not other.requires_grad


def lazy_scale(lib):
    class Scale(lib.nn.Module):
        def __init__(self, size=0):
            super().__init__()
            self.w = lib.nn.Parameter(lib.ones(size))

        def forward(self, x, times=1):
            return x * self.w * times

    class LazyScale(lib.nn.modules.lazy.LazyModuleMixin, Scale):
        cls_to_become = Scale

        def __init__(self):
            super().__init__()
            self.w = lib.nn.UninitializedParameter()

        def initialize_parameters(self, x, times=1):
            if self.has_uninitialized_params():
                self.w.materialize((x.shape[-1],))
                with lib.no_grad():
                    self.w.fill_(times)

    return LazyScale(), Scale


def test_a_lazy_module_learns_its_sizes_from_the_first_input(lib):
    m, Scale = lazy_scale(lib)
    w = m.w
    assert m.has_uninitialized_params()
    assert type(m.state_dict()["w"]) is lib.nn.UninitializedParameter
    assert m(lib.ones(2, 3), times=2).tolist() == [[4.0] * 3] * 2
    assert type(m) is Scale
    assert m.w is w
    assert w.shape == (3,)
    assert not m._forward_pre_hooks
    assert not m._load_state_dict_pre_hooks
    assert not hasattr(m, "_initialize_hook")


def test_a_lazy_module_learns_its_sizes_from_a_state(lib):
    m, _Scale = lazy_scale(lib)
    m.load_state_dict({"w": lib.ones(5) * 3})
    assert m.w.shape == (5,)
    assert m.w[0].item() == 3
    other, _ = lazy_scale(lib)
    fresh, _ = lazy_scale(lib)
    other.load_state_dict(fresh.state_dict())
    assert lib.nn.parameter.is_lazy(other.w)


def test_a_lazy_module_can_be_cast_before_it_knows_its_sizes(lib):
    m, _ = lazy_scale(lib)
    m.double()
    assert m(lib.ones(1, 2, dtype=lib.float64)).dtype is lib.float64


def test_lazy_modules_say_what_is_missing(lib):
    class Nothing(lib.nn.modules.lazy.LazyModuleMixin, lib.nn.Module):
        pass

    with raises(lib, NotImplementedError, "initialize_parameters is not implemented for Nothing"):
        Nothing()(1)

    class Half(Nothing):
        def __init__(self):
            super().__init__()
            self.w = lib.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    with raises(lib, RuntimeError, "module Half has not been fully initialized"):
        Half()(1)
