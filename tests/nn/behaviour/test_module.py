"""What a module holds, under which names, and how it is told about."""

from __future__ import annotations

import copy
import pickle

import pytest

from tests.nn.behaviour.layers import affine, names, nested
from tests.support import raises


def test_parameters_buffers_and_modules_come_in_the_order_of_registration(lib):
    m = nested(lib)
    assert names(m.named_parameters()) == [
        "0.weight", "0.bias", "1.a.weight", "2.0.weight", "2.0.bias", "2.1.weight", "2.1.bias", "2.2.weight", "2.2.bias"]
    assert names(m.named_buffers())[:4] == ["0.count", "0.passing", "1.a.count", "1.a.passing"]
    assert names(m.named_modules()) == ["", "0", "1", "1.a", "2", "2.0", "2.1", "2.2"]
    assert names(m.named_children()) == ["0", "1", "2"]
    assert list(m.children()) == [m[0], m[1], m[2]]
    assert len(list(m.parameters())) == 9
    assert len(list(m.buffers())) == 10
    assert len(list(m.modules())) == 8


def test_prefix_and_recurse(lib):
    m = nested(lib)
    assert names(m[0].named_parameters(prefix="p")) == ["p.weight", "p.bias"]
    assert names(m.named_parameters(recurse=False)) == []
    assert names(m.named_modules(prefix="p"))[:2] == ["p", "p.0"]


def test_what_is_shared_comes_once_unless_asked_for(lib):
    m = lib.nn.Module()
    m.a = affine(lib)
    m.b = m.a
    m.w = m.a.weight
    assert names(m.named_parameters()) == ["w", "a.bias"]
    assert names(m.named_parameters(remove_duplicate=False)) == ["w", "a.weight", "a.bias", "b.weight", "b.bias"]
    assert names(m.named_modules()) == ["", "a"]
    assert names(m.named_modules(remove_duplicate=False)) == ["", "a", "b"]
    assert names(m.named_children()) == ["a"]


def test_the_text_of_nested_modules(lib):
    assert repr(nested(lib)) == (
        "Sequential(\n  (0): Affine(3 to 4)\n  (1): ModuleDict(\n    (a): Affine(4 to 4)\n  )\n"
        "  (2): ModuleList(\n    (0-1): 2 x Affine(1 to 1)\n    (2): Affine(2 to 1)\n  )\n)")
    m = affine(lib)
    m.extra_repr = lambda: "one\ntwo"
    m.inner = lib.nn.Module()
    m.none = None
    assert repr(m) == "Affine(\n  one\n  two\n  (inner): Module()\n)"


@pytest.mark.parametrize(("value", "text"), [
    (3, "cannot assign 'int' as parameter 'weight' (torch.nn.Parameter or None expected)"),
    ("tensor", "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)"),
])
def test_a_parameter_cannot_be_replaced_by_something_else(lib, value, text):
    m = affine(lib)
    with raises(lib, TypeError, text):
        m.weight = lib.ones(2) if value == "tensor" else value
    m.weight = None
    assert m.weight is None
    assert names(m.named_parameters()) == ["bias"]


def test_a_buffer_takes_tensors_and_none(lib):
    m = affine(lib)
    with raises(lib, TypeError, "cannot assign 'int' as buffer 'count' (torch.nn.Buffer, …"):
        m.count = 3
    m.count = lib.tensor(5)
    assert dict(m.named_buffers())["count"].item() == 5
    m.passing = lib.zeros(1)
    assert "passing" not in m.state_dict()
    m.count = None
    assert names(m.named_buffers()) == ["passing"]


def test_a_child_cannot_be_replaced_by_something_else(lib):
    m = nested(lib)
    m.extra = affine(lib)
    with raises(lib, TypeError, "cannot assign 'int' as child module 'extra' (torch.nn.Module or None expected)"):
        m.extra = 3
    m.extra = None
    assert m.extra is None
    assert "extra" in m._modules


def test_a_name_moves_between_tables(lib):
    m = lib.nn.Module()
    m.x = 3
    m.x = lib.nn.Parameter(lib.ones(1))
    assert "x" not in m.__dict__
    assert "x" in m._parameters
    m.y = lib.nn.Buffer(lib.ones(1), persistent=False)
    m.y = lib.nn.Parameter(lib.ones(1))
    assert "y" in m._parameters
    assert m._non_persistent_buffers_set == set()
    m.z = 1
    m.z = affine(lib)
    assert "z" not in m.__dict__
    assert "z" in m._modules


def test_a_buffer_object_is_registered_by_assignment(lib):
    m = lib.nn.Module()
    m.kept, m.lost = lib.nn.Buffer(lib.ones(2)), lib.nn.Buffer(lib.ones(2), persistent=False)
    assert list(m.state_dict()) == ["kept"]
    assert names(m.named_buffers()) == ["kept", "lost"]


def test_deleting_attributes(lib):
    m = nested(lib)
    del m[0].weight, m[0].count
    delattr(m, "1")
    m.plain = 1
    del m.plain
    assert names(m[0].named_parameters()) == ["bias"]
    assert names(m.named_children()) == ["0", "2"]
    with raises(lib, AttributeError, "'Affine' object has no attribute 'weight'"):
        m[0].weight


REGISTRATIONS = [
    ("register_buffer", "weight", "tensor", KeyError, "\"attribute 'weight' already exists\""),
    ("register_buffer", "a.b", "tensor", KeyError, "'buffer name can\\'t contain \".\"'"),
    ("register_buffer", "", "tensor", KeyError, "'buffer name can\\'t be empty string \"\"'"),
    ("register_buffer", 3, "tensor", TypeError, "buffer name should be a string. Got int"),
    ("register_buffer", "q", 3, TypeError, "cannot assign 'int' object to buffer 'q' (torch Tensor or None required)"),
    ("register_parameter", "count", None, KeyError, "\"attribute 'count' already exists\""),
    ("register_parameter", "a.b", None, KeyError, "'parameter name can\\'t contain \".\"'"),
    ("register_parameter", "", None, KeyError, "'parameter name can\\'t be empty string \"\"'"),
    ("register_parameter", 3, None, TypeError, "parameter name should be a string. Got int"),
    ("register_parameter", "q", "tensor", TypeError,
     "cannot assign 'torch.FloatTensor' object to parameter 'q' (torch.nn.Parameter or None required)"),
    ("register_parameter", "forward", None, KeyError, "\"attribute 'forward' already exists\""),
    ("add_module", "forward", None, KeyError, "\"attribute 'forward' already exists\""),
    ("add_module", "x", 3, TypeError, "int is not a Module subclass"),
    ("add_module", 3, None, TypeError, "module name should be a string. Got int"),
    ("add_module", "a.b", None, KeyError, "'module name can\\'t contain \".\", got: a.b'"),
    ("register_module", "", None, KeyError, "'module name can\\'t be empty string \"\"'"),
]


@pytest.mark.parametrize(("how", "name", "value", "kind", "text"), REGISTRATIONS)
def test_names_and_values_that_are_refused(lib, how, name, value, kind, text):
    m = affine(lib)
    with raises(lib, kind, text):
        getattr(m, how)(name, lib.ones(1) if value == "tensor" else value)


def test_a_computed_tensor_is_no_parameter(lib):
    m = lib.nn.Module()
    w = lib.nn.Parameter(lib.ones(1))
    computed = w * 2
    computed._is_param = True
    with raises(lib, ValueError, "Cannot assign non-leaf Tensor to parameter 'w'. Model parameters must be created "
                "explicitly. To express 'w' as a function of another Tensor, compute the value in the "
                "forward() method."):
        m.register_parameter("w", computed)


def test_assigning_before_init(lib):
    class NoInit(lib.nn.Module):
        def __init__(self, value):
            self.x = value

    with raises(lib, AttributeError, "cannot assign parameters before Module.__init__() call"):
        NoInit(lib.nn.Parameter(lib.ones(1)))
    with raises(lib, AttributeError, "cannot assign module before Module.__init__() call"):
        NoInit(lib.nn.Module())
    with raises(lib, AttributeError, "'NoInit' object has no attribute 'y'"):
        NoInit(3).y


def test_what_the_constructor_takes(lib):
    class Plain(lib.nn.Module):
        pass

    with raises(lib, TypeError, "Plain.__init__() takes 1 positional argument but 2 were given"):
        Plain(1)
    with raises(lib, TypeError, "Plain.__init__() got an unexpected keyword argument 'a'"):
        Plain(a=1)
    with raises(lib, NotImplementedError, 'Module [Plain] is missing the required "forward" function'):
        Plain()(1)


def test_init_can_go_on_to_another_base(lib):
    class Other:
        def __init__(self, a, b=0):
            self.ab = a, b

    class Both(lib.nn.Module, Other):
        call_super_init = True

    assert Both(1, b=2).ab == (1, 2)


def test_paths(lib):
    m = nested(lib)
    assert m.get_submodule("1.a") is m[1]["a"]
    assert m.get_submodule("") is m
    assert m.get_parameter("1.a.weight") is m[1]["a"].weight
    assert m.get_buffer("2.0.count") is m[2][0].count
    for path, kind, text in (("1.b", AttributeError, "ModuleDict has no attribute `b`"),
                             ("0.weight", AttributeError, "`weight` is not an nn.Module")):
        with raises(lib, kind, text):
            m.get_submodule(path)
    with raises(lib, AttributeError, "`count` is not an nn.Parameter"):
        m.get_parameter("1.a.count")
    with raises(lib, AttributeError, "`weight` is not a buffer"):
        m.get_buffer("1.a.weight")
    with raises(lib, AttributeError, "Affine has no attribute `nope`"):
        m.get_buffer("1.a.nope")


def test_putting_a_module_at_a_path(lib):
    m, new = nested(lib), affine(lib, 1, 2)
    m.set_submodule("1.a", new)
    m.set_submodule("1.b", new)
    assert m[1]["a"] is new
    assert m[1]["b"] is new
    with raises(lib, AttributeError, "ModuleDict has no attribute `c`"):
        m.set_submodule("1.c", new, strict=True)
    with raises(lib, AttributeError, "`weight` is not an nn.Module"):
        m.set_submodule("0.weight", new)
    with raises(lib, ValueError, "Cannot set the submodule without a target name!"):
        m.set_submodule("", new)
    with raises(lib, ValueError, "`module` is not an nn.Module, found <class 'int'>"):
        m.set_submodule("1.a", 3)


def test_a_property_that_fails_looks_like_a_missing_attribute(lib):
    class Fails(lib.nn.Module):
        @property
        def q(self):
            raise AttributeError("inner")

        @property
        def v(self):
            raise ValueError("inner")

    with raises(lib, AttributeError, "'Fails' object has no attribute 'q'"):
        Fails().q
    with raises(lib, ValueError, "inner"):
        Fails().v


def test_a_class_may_answer_for_missing_attributes(lib):
    class Wrapper(lib.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    w = Wrapper(affine(lib))
    assert w.weight is w.inner.weight
    with raises(lib, AttributeError, "'Affine' object has no attribute 'nope'"):
        w.nope


def test_dir_names_everything_but_numbers(lib):
    m = nested(lib)
    m.plain = 1
    found = dir(m)
    assert {"plain", "training", "forward", "parameters"} <= set(found)
    assert not any(name[0].isdigit() for name in found)
    assert found == sorted(found)
    assert {"weight", "bias", "count"} <= set(dir(m[0]))


def test_training_flags(lib):
    m = nested(lib)
    assert m.training
    assert m.eval() is m
    assert not any(inner.training for inner in m.modules())
    assert m[0].train() is m[0]
    assert m[0].training
    assert not m.training
    with raises(lib, ValueError, "training mode is expected to be boolean"):
        m.train(1)


def test_requires_grad_and_zero_grad(lib):
    m = affine(lib)
    m(lib.ones(2, 3)).sum().backward()
    grad = m.weight.grad
    m.zero_grad(set_to_none=False)
    assert m.weight.grad is grad
    assert grad.abs().sum().item() == 0
    m.zero_grad()
    assert m.weight.grad is None
    assert m.requires_grad_(False) is m
    assert not any(p.requires_grad for p in m.parameters())


def test_apply_goes_from_children_to_parents(lib):
    m, seen = nested(lib), []
    assert m.apply(lambda inner: seen.append(type(inner).__name__)) is m
    assert seen == ["Affine", "Affine", "ModuleDict", "Affine", "Affine", "Affine", "ModuleList", "Sequential"]


def test_copies_share_nothing_but_what_was_shared(lib):
    m = lib.nn.Module()
    m.w = lib.nn.Parameter(lib.ones(2))
    m.same = m.w
    m.register_buffer("b", lib.ones(1))
    m.hook = m.register_forward_hook(lambda mod, args, out: ("hooked", out))
    m.forward = None
    c = copy.deepcopy(m)
    assert c.w is c.same
    assert c.w is not m.w
    assert c.w.data_ptr() != m.w.data_ptr()
    assert type(c.w) is lib.nn.Parameter
    assert c.b is not m.b
    c.hook.remove()
    assert len(c._forward_hooks) == 0
    assert len(m._forward_hooks) == 1


def test_pickles_keep_everything(lib):
    nn = lib.nn
    m = nn.Sequential(nn.ParameterList([lib.ones(2)]), nn.ModuleDict({"a": nn.ParameterDict({"b": lib.ones(1)})}))
    m.eval()
    m[0].register_buffer("gone", lib.zeros(1), persistent=False)
    back = pickle.loads(pickle.dumps(m))
    assert repr(back) == repr(m)
    assert not back.training
    assert names(back.named_buffers()) == ["0.gone"]
    assert lib.equal(back[0][0], m[0][0])
    assert type(back[0][0]) is lib.nn.Parameter
    assert "0.gone" not in back.state_dict()


def test_registration_hooks_of_all_modules(lib):
    module = lib.nn.modules.module
    seen = []
    handles = [
        module.register_module_parameter_registration_hook(lambda m, name, p: seen.append(("parameter", name))),
        module.register_module_buffer_registration_hook(lambda m, name, b: b if b is None else b + 1),
        module.register_module_module_registration_hook(lambda m, name, c: seen.append(("module", name))),
    ]
    try:
        m = lib.nn.Module()
        m.p = lib.nn.Parameter(lib.ones(1))
        m.register_buffer("b", lib.ones(1))
        m.c = lib.nn.Module()
        m.add_module("d", lib.nn.Module())
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [("parameter", "p"), ("module", "c"), ("module", "d")]
    assert m.b.item() == 2


def test_compile_is_accepted_and_changes_nothing(lib):
    m = affine(lib)
    before = m(lib.ones(2, 3))
    m.compile(backend="eager")
    assert lib.equal(m(lib.ones(2, 3)), before)
