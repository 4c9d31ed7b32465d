"""What an override receives, (func, types, args, kwargs), for every declared operation: as in torch."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from tests.ops.cases import in_torch, is_property, is_tensor, only_in_place, ours
from tests.ops.factory import Build

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402
from tests.oracle.opcompare import KEYS, SAID, samples_of  # noqa: E402
from tests.oracle.test_overrides_torch import UNLIKE, UNLIKE_IN_MODES, name_of  # noqa: E402

UNLOOKED = "max_unpool1d max_unpool2d max_unpool3d stft istft __contains__".split()
DIFFERS = {
    "torch does not ask the argument that overrides, but reports a function inside": {(key, "last") for key in UNLOOKED},
    "the method's sample is a call that torch refuses before it asks": {("where", kind) for kind in ("all", "first", "last", "mode")},
    "torch takes a list of tensors for a list of numbers first": {("histogramdd", kind) for kind in ("all", "last", "mode")},
}
KINDS = ("all", "first", "last", "duck", "mode")


@cache
def watching(lib: ModuleType) -> tuple[Any, Any, Any, list]:
    """A subclass, an object and a mode that note what they receive, and the notes."""
    notes: list = []

    class Sub(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            notes.append((func, types, args, kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs)

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            notes.append((func, types, args, kwargs or {}))
            return "duck"

    class Mode(importlib.import_module(f"{lib.__name__}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            notes.append((func, types, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    return Sub, Duck, Mode(), notes


def exchanged(value: Any, lib: ModuleType, make: Any) -> Any:
    if isinstance(value, lib.Tensor):
        return make(value)
    if type(value) in (list, tuple):
        return type(value)(exchanged(v, lib, make) for v in value)
    return value


def plain(lib: ModuleType, value: Any) -> Any:
    """What can be compared between the two libraries."""
    if isinstance(value, lib.Tensor):
        return f"{type(value).__name__}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return [plain(lib, v) for v in value]
    if isinstance(value, dict):
        return {k: plain(lib, v) for k, v in value.items()}
    if isinstance(value, str | int | float | complex | None):
        return repr(value)
    if isinstance(value, lib.dtype | lib.device | lib.memory_format | lib.layout):
        return str(value).removeprefix(lib.__name__ + ".").removeprefix("torch.")
    return type(value).__name__


def received(lib: ModuleType, function: Any, call: Any, kind: str) -> Any:
    sub, duck, mode, notes = watching(lib)
    changed: list = []

    def make(t: Any) -> Any:
        if kind == "mode" or (kind in ("first", "last") and changed):
            return t
        changed.append(t)
        return duck() if kind == "duck" else t.as_subclass(sub)

    args, kwargs = call.build(Build(lib))
    args = list(args)
    if kind == "last":
        args.reverse()
    args = [exchanged(a, lib, make) for a in args]
    kwargs = {k: exchanged(v, lib, make) for k, v in kwargs.items()}
    if kind == "last":
        args.reverse()
    notes.clear()
    with contextlib.suppress(Exception), mode if kind == "mode" else contextlib.nullcontext():
        function(*args, **kwargs)               # what was received is compared here, results elsewhere
    if not notes:
        return None
    func, types, given, named = notes[0]
    return name_of(func), [t.__name__ for t in types], plain(lib, list(given)), plain(lib, dict(named))


def functions(lib: ModuleType, key: str) -> dict[str, Any]:
    """The forms of an operation: the function, the method, the in-place method."""
    said = SAID[key]
    found = {"function": in_torch(lib, said) if lib is torch or not (said.public or is_property(said)) else ours(lib, said, raw=True)}
    if not is_property(said) and said.public and "torch" in said.namespaces:
        for form, name in (("method", said.name), ("in place", said.name + "_")):
            if hasattr(lib.Tensor, name):
                found[form] = getattr(lib.Tensor, name)
    return found


def cases() -> list[tuple[str, str]]:
    return [(key, kind) for key in KEYS for kind in KINDS
            if not any((key, kind) in pairs for pairs in DIFFERS.values()) and key not in (UNLIKE_IN_MODES if kind == "mode" else UNLIKE)
            and (kind != "duck" or (not is_property(SAID[key]) and not only_in_place(SAID[key]) and SAID[key].public))]


def differences(key: str, kind: str) -> list[tuple[str, Any, Any]]:
    found = []
    here, there = functions(claygrad, key), functions(torch, key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for form in here.keys() & there.keys():
            if kind == "duck" and form != "function":
                continue
            for call in samples_of(key)[:3]:
                if form != "function" and not is_tensor(call.build(Build(torch))[0][0]):
                    continue
                mine, other = received(claygrad, here[form], call, kind), received(torch, there[form], call, kind)
                if mine != other:
                    found.append((form, mine, other))
    return found


def test_two_functions():
    """nn.functional.relu and torch.relu are two functions where they are in torch, but for the three that are named."""
    here, there = claygrad.nn.functional, torch.nn.functional
    names = [name for name in dir(there) if hasattr(torch, name) and hasattr(here, name) and hasattr(claygrad, name)
             and callable(getattr(there, name)) and not isinstance(getattr(torch, name), type)]
    one = {name for name in names if getattr(there, name) is getattr(torch, name)}
    assert {name for name in names if name not in one and getattr(here, name) is getattr(claygrad, name)} \
        == {"sigmoid", "tanh", "threshold"}


@pytest.mark.parametrize(("key", "kind"), cases())
def test_received(key, kind):
    for form, mine, other in differences(key, kind):
        assert (form, mine) == (form, other)
