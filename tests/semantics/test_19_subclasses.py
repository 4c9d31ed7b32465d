"""Subclasses of Tensor with constructors of their own, and tensors made by `__new__` alone."""

from __future__ import annotations

import copy
import pickle

import pytest

from tests.support import close, raises


def _subclasses(lib):
    class Extra(lib.Tensor):
        def __new__(cls, x, extra):
            return super().__new__(cls, x)

        def __init__(self, x, extra):
            self.extra = extra

    class CallsInit(lib.Tensor):
        def __init__(self, x):
            super().__init__()

    class NoInit(lib.Tensor):
        def __init__(self, x):
            pass

    return Extra, CallsInit, NoInit


def test_a_subclass_with_its_own_new_and_init_holds_its_data(lib):
    Extra, _, _ = _subclasses(lib)
    for data in ([1.0, 2.0], lib.tensor([1.0, 2.0])):
        x = Extra(data, 3)
        assert type(x) is Extra
        assert x.extra == 3
        assert close(x.as_subclass(lib.Tensor) + 1, [2.0, 3.0])


@pytest.mark.parametrize("which", [1, 2])
def test_an_init_need_not_pass_the_data_on(lib, which):
    kind = _subclasses(lib)[which]
    assert close(kind([1.0, 2.0]).as_subclass(lib.Tensor), [1.0, 2.0])
    assert kind(lib.ones(2, dtype=lib.int64)).dtype == lib.int64
    assert kind((2, 3)).tolist() == [2.0, 3.0]
    assert kind(3).shape == (3,)


def test_init_of_a_subclass_takes_no_arguments_up(lib):
    class Passes(lib.Tensor):
        def __init__(self, x):
            super().__init__(x)

    with raises(lib, TypeError, "object.__init__() takes exactly one argument (the instance to initialize)"):
        Passes([1.0])


def test_new_without_arguments_is_an_empty_tensor(lib):
    class Plain(lib.Tensor):
        pass

    class Bare(lib.Tensor):
        def __new__(cls, x):
            return super().__new__(cls)

    for x in (lib.Tensor.__new__(lib.Tensor), lib.Tensor.__new__(Plain), Plain(), Bare(5), Plain.__new__(Plain)):
        assert x.shape == (0,)
        assert x.dtype == lib.float32
        assert (x + 1).tolist() == []
        assert x.is_leaf
        assert copy.copy(x).shape == (0,)
    assert pickle.loads(pickle.dumps(lib.Tensor.__new__(lib.Tensor))).shape == (0,)


def test_new_makes_what_the_class_makes(lib):
    class Plain(lib.Tensor):
        pass

    x = lib.Tensor.__new__(Plain, [1.0, 2.0])
    assert type(x) is Plain
    assert x.tolist() == [1.0, 2.0]
    assert lib.Tensor.__new__(lib.Tensor, 2, 3).shape == (2, 3)
    assert Plain(2, 3).shape == (2, 3)
    with raises(lib, TypeError, "new(): invalid data type 'str'"):
        Plain("a")
    with raises(lib, TypeError, "new(): data must be a sequence (got NoneType)"):
        Plain(None)


def test_init_of_a_made_tensor_changes_nothing(lib):
    x = lib.tensor([1.0, 2.0])
    lib.Tensor.__init__(x, 5)
    lib.Tensor.__init__(x)
    assert x.tolist() == [1.0, 2.0]


def test_object_cannot_make_a_tensor(lib):
    with raises(lib, TypeError, "object.__new__(Tensor) is not safe, use Tensor.__new__()"):
        object.__new__(lib.Tensor)
    with pytest.raises(TypeError, match="is not a subtype of"):
        lib.Tensor.__new__(int)
    with pytest.raises(TypeError, match="is not a type object"):
        lib.Tensor.__new__(5)


def test_parameters_made_without_data(lib):
    for kind in (lib.nn.Parameter, lib.nn.Buffer):
        assert lib.Tensor.__new__(kind).shape == (0,)
        assert (lib.Tensor.__new__(kind) + 1).tolist() == []
        assert kind().shape == (0,)
        with raises(lib, AttributeError, "'int' object has no attribute 'detach'"):
            kind(3)
    lazy = lib.Tensor.__new__(lib.nn.parameter.UninitializedParameter)
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        lazy + 1
    with raises(lib, TypeError, "_make_subclass(): argument 'require_grad' (position 3) must be bool, not int"):
        lib.nn.parameter.UninitializedParameter(3)


def test_make_subclass_refuses_what_it_cannot_use(lib):
    class Plain(lib.Tensor):
        pass

    make = lib.Tensor._make_subclass
    assert type(make(Plain, lib.ones(2), True)) is Plain
    assert make(Plain, lib.ones(2), True).requires_grad
    no_tensor = ("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
                 "your class inherits from Tensor.")
    for call in (lambda: make(int, lib.ones(2)), lambda: lib.ones(2).as_subclass(int),
                 lambda: lib.Tensor._make_wrapper_subclass(int, (2, 3))):
        with raises(lib, TypeError, no_tensor):
            call()
    for call in (lambda: make(5, lib.ones(2)), lambda: lib.ones(2).as_subclass(5)):
        with raises(lib, TypeError, "cls must be a type (got int)"):
            call()
    with raises(lib, TypeError, "_make_subclass(): argument 'data' (position 2) must be Tensor, not NoneType"):
        make(Plain, None)
    with raises(lib, TypeError, "_make_subclass(): argument 'data' (position 2) must be Tensor, not int"):
        make(Plain, 3)
    with raises(lib, TypeError, "Plain must define __torch_dispatch__"):
        lib.Tensor._make_wrapper_subclass(Plain, (2, 3))


def test_as_subclass_does_not_ask_how_a_subclass_indexes(lib):
    class Indexed(lib.Tensor):
        def __getitem__(self, key):
            return self.as_subclass(lib.Tensor)[0] if key == "first" else "its own"

    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x.as_subclass(Indexed)
    assert y[0] == "its own"
    assert close(y["first"].detach(), 1.0)
    (y.as_subclass(lib.Tensor) * 3).sum().backward()
    assert close(x.grad, [3.0, 3.0])
