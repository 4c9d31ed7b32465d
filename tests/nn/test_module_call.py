"""Module calls and attributes in C give what the Python methods give (Note [Native module calls])."""

from __future__ import annotations

import gc
import subprocess
import sys
from abc import ABC, abstractmethod
from typing import Any

import pytest

import claygrad
from claygrad.core.graph.module_call import use_native_call
from claygrad.nn import Module, Parameter, Sequential
from claygrad.nn.modules import _calling
from claygrad.nn.modules._calling import CALL_HOOKS


class Linear(Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(claygrad.ones(2, 3))
        self.register_parameter("bias", None)
        self.register_buffer("kept", claygrad.zeros(1))
        self.inner = Module()
        self.plain = 3

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    @property
    def both(self) -> str:
        return "property"


def slow(module: Module, name: str) -> Any:
    """What Python's own way finds: first the ordinary attribute, then __getattr__."""
    try:
        return object.__getattribute__(module, name)
    except AttributeError:
        return Module.__getattr__(module, name)


@pytest.mark.parametrize("name", ["weight", "bias", "kept", "inner", "plain", "training", "both", "forward", "__dict__",
                                  "__class__", "_parameters", "named_parameters"])
def test_attributes_are_those_of_the_slow_way(name):
    m = Linear()
    m._parameters["both"] = Parameter(claygrad.ones(1))
    assert getattr(m, name) == slow(m, name) if name != "weight" else getattr(m, name) is slow(m, name)


def test_an_attribute_of_the_instance_comes_before_the_tables():
    m = Linear()
    m.__dict__["weight"] = "mine"
    assert m.weight == slow(m, "weight") == "mine"


def test_missing_attributes():
    m = Linear()
    for name in ("nope", "__len__"):
        with pytest.raises(AttributeError, match=f"'Linear' object has no attribute '{name}'"):
            getattr(m, name)
    assert not hasattr(m, "nope")
    assert getattr(m, "nope", 5) == 5


def test_a_module_without_init_has_no_tables():
    m = Linear.__new__(Linear)
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weight'"):
        m.weight
    with pytest.raises(AttributeError, match="'Linear' object has no attribute '_backward_hooks'"):
        m(1)


@pytest.mark.parametrize("count", [0, 1, 8, 9, 20])
def test_arguments_arrive(count):
    args = tuple(range(count))
    assert Linear()(*args) == (args, {})
    assert Linear()(*args, a=1, b=2) == (args, {"a": 1, "b": 2})


def test_forward_may_be_static_a_class_method_or_any_callable():
    class Static(Module):
        @staticmethod
        def forward(x: Any) -> Any:
            return "static", x

    class Classy(Module):
        @classmethod
        def forward(cls, x: Any) -> Any:
            return cls, x

    class Callable(Module):
        forward = dict        # type: ignore[assignment]

    assert Static()(1) == ("static", 1)
    assert Classy()(1) == (Classy, 1)
    assert Callable()(a=1) == {"a": 1}


def test_everything_unusual_goes_the_slow_way():
    m = Linear()
    m.forward = lambda x: ("instance", x)       # type: ignore[method-assign]
    assert m(1) == ("instance", 1)
    m = Linear()
    m._compiled_call_impl = lambda x: ("compiled", x)
    assert m(1) == ("compiled", 1)
    m = Linear()
    m._forward_hooks[0] = lambda module, args, out: "hooked"        # without registering
    assert m(1) == "hooked"

    class Impl(Linear):
        def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
            return "impl", super()._call_impl(*args, **kwargs)

    assert Impl()(1) == ("impl", ((1,), {}))


def test_methods_assigned_to_a_class_later_count():
    class Late(Linear):
        pass

    class Later(Late):
        pass

    m = Later()
    assert m(1) == ((1,), {})
    Late.__call__ = lambda self, x: ("late", x)         # type: ignore[method-assign, assignment]
    Late.__getattr__ = lambda self, name: "late"        # type: ignore[method-assign, assignment]
    assert m(1) == ("late", 1)
    assert m.weight == "late"
    del Late.__call__, Late.__getattr__
    assert m(1) == ((1,), {})
    assert m.weight.shape == (2, 3)


def test_patching_module_itself_reaches_all_classes():
    m, original = Linear(), Module.__call__
    try:
        Module.__call__ = lambda self, *args: ("patched", original(self, *args))    # type: ignore[method-assign, assignment]
        assert m(1) == ("patched", ((1,), {}))
    finally:
        Module.__call__ = original                      # type: ignore[method-assign]
    assert m(1) == ((1,), {})
    classes = [Module]
    for cls in classes:                                 # quick again, for the tests after this one
        use_native_call(cls)
        classes += cls.__subclasses__()
    assert m(1) == ((1,), {})


def test_other_metaclasses_and_bases():
    class Abstract(Module, ABC):
        @abstractmethod
        def forward(self, x: Any) -> Any: ...

    class Concrete(Abstract):
        def forward(self, x: Any) -> Any:
            return x

    class Odd(Module, Exception):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Abstract()
    assert Concrete()(3) == 3
    assert isinstance(Odd(), Exception)


def test_nothing_leaks():
    def use() -> None:
        m = Linear()
        m.weight, m.inner
        m(1, a=2)
        hasattr(m, "nope")
        b = claygrad.nn.UninitializedBuffer()
        b.materialize((3,))

    use()
    gc.collect()
    before = sys.getrefcount(Linear), sys.getrefcount(claygrad.nn.UninitializedBuffer), len(gc.get_objects())
    for _ in range(200):
        use()
    gc.collect()
    after = sys.getrefcount(Linear), sys.getrefcount(claygrad.nn.UninitializedBuffer), len(gc.get_objects())
    assert after[:2] == before[:2]
    assert after[2] - before[2] < 50


class Note(Module):
    """Adds its name to a list."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, seen: list[str]) -> list[str]:
        return [*seen, self.name]


@pytest.mark.parametrize("count", [0, 1, 3, 32, 33, 100])
def test_a_sequence_calls_its_modules_in_turn(count):
    m = Sequential(*(Note(str(i)) for i in range(count)))
    start = ["start"]
    assert m(start) == m.forward(start) == m(input=start) == [*start, *map(str, range(count))]
    assert count or m(start) is start


def test_hooks_and_forwards_of_a_sequence_and_its_modules_count():
    m = Sequential(Note("a"), Note("b"))
    m[1].register_forward_hook(lambda _, args, out: [*out, "hook"])
    assert m([]) == ["a", "b", "hook"]
    m.register_forward_pre_hook(lambda _, args: (["first"],))
    assert m([]) == ["first", "a", "b", "hook"]

    class Twice(Sequential):
        def forward(self, input: Any) -> Any:
            return super().forward(super().forward(input))

    assert Twice(Note("a"), Note("b"))([]) == ["a", "b"] * 2
    own = Sequential(Note("a"))
    own.forward = lambda input: "mine"
    assert own([]) == "mine"


def test_a_sequence_that_fails_or_changes_meanwhile(monkeypatch):
    m = Sequential(Note("a"), Note("b"))

    class Drop(Module):
        def forward(self, seen: list[str]) -> list[str]:
            del m[1]
            return [*seen, "drop"]

    m.insert(0, Drop())
    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        m([])
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        Sequential(Note("a"))([], [])
    m = Sequential(Note("a"))
    m._modules["none"] = None
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        m([])
    monkeypatch.setattr(Sequential, "forward", lambda self, input: "patched")
    assert Sequential(Note("a"))([]) == "patched"


def test_the_modes_are_made_quickly_and_still_decorate():
    assert type(claygrad.no_grad()) is claygrad.no_grad
    assert claygrad.no_grad().prev is True

    @claygrad.no_grad
    def bare() -> bool:
        return claygrad.is_grad_enabled()

    @claygrad.no_grad()
    def called() -> bool:
        return claygrad.is_grad_enabled()

    assert (bare(), called(), claygrad.no_grad(orig_func=claygrad.is_grad_enabled)()) == (False, False, False)
    assert isinstance(claygrad.no_grad(None), claygrad.no_grad)
    for wrong in ((1, 2), ("x", "y", "z")):
        with pytest.raises(TypeError):
            claygrad.no_grad(*wrong)
    with pytest.raises(TypeError):
        claygrad.enable_grad(unknown=1)

    class Own(claygrad.no_grad):
        def __init__(self) -> None:
            self.made = True

    assert Own().made
    with Own():
        assert not claygrad.is_grad_enabled()
    assert claygrad.is_grad_enabled()


# --- hooks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", CALL_HOOKS)
@pytest.mark.parametrize("common", [False, True])
def test_a_call_with_any_kind_of_hook_is_not_native(name: str, common: bool, monkeypatch: pytest.MonkeyPatch):
    """The native call looks at every kind of CALL_HOOKS, of the module and of all modules."""
    seen: list[str] = []
    monkeypatch.setattr(_calling._Call, "run", lambda self: seen.append("hooked"))
    m = Linear()
    assert m(1) == ((1,), {})
    table = CALL_HOOKS[name] if common else m.__dict__[name]
    table[0] = lambda *args: None
    try:
        m(1)
    finally:
        table.clear()
    assert seen == ["hooked"]
    assert m(1) == ((1,), {})


def test_a_new_kind_of_hook_is_one_line():
    """In a process of its own, CALL_HOOKS with one more kind: native calls see it, of the module and of all modules."""
    program = """
import claygrad
from claygrad.core.graph.module_call import prepare
from claygrad.nn.modules import _calling
seen = []
_calling.CALL_HOOKS["_probe_hooks"] = common = {}
prepare(claygrad.nn.Module, _calling.CALL_HOOKS)
_calling._Call.run = lambda self: seen.append(type(self.module).__name__)
m = claygrad.nn.Identity()
m._probe_hooks = {}
assert m(2) == 2 and seen == []
m._probe_hooks[0] = print
m(2)
m._probe_hooks.clear()
common[0] = print
m(2)
assert seen == ["Identity", "Identity"], seen
"""
    subprocess.run([sys.executable, "-c", program], check=True)
