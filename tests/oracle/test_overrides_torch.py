"""Every declared operation with a subclass of Tensor, with another object, and in a function mode: what is asked, as in torch."""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from tests.ops.cases import in_torch, is_property, only_in_place, ours
from tests.ops.factory import Build

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402
from tests.oracle.opcompare import KEYS, SAID, samples_of  # noqa: E402

# Operations where the report differs, by reason.
DIFFERS = {
    "torch reports the functions that these are made of": "upsample upsample_nearest upsample_bilinear "
        + " ".join(key for key in KEYS if key.startswith("masked_") and SAID[key].namespaces[0] == "masked"),
    "the function behind it has another name in torch": "logsigmoid fractional_max_pool2d fractional_max_pool3d",
}
UNLIKE = {key for keys in DIFFERS.values() for key in keys.split()}
MODES_ONLY = {
    "torch's modes do not see them": "is_tensor is_storage from_numpy frombuffer closed_range broadcast_shapes",
    "torch's modes see the functions that these are made of": "svd_lowrank pca_lowrank exponential cosine gaussian kaiser bartlett "
        "general_cosine general_hamming hamming hann blackman nuttall",
}
UNLIKE_IN_MODES = UNLIKE | {key for keys in MODES_ONLY.values() for key in keys.split()}


@cache
def asked(lib: ModuleType) -> tuple[type, type, list]:
    """A subclass that notes what it is asked, an object that does, and the notes."""
    notes: list = []

    class Sub(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            notes.append((func, {t for t in types if t is not lib.Tensor} == {cls}))
            return super().__torch_function__(func, types, args, kwargs)

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            notes.append((func, {t for t in types if t is not lib.Tensor} == {cls}))
            return "duck"

    return Sub, Duck, notes


def name_of(func: Any) -> str:
    name = getattr(func, "__name__", repr(func))
    return f"{func.__self__.__name__}.{name}" if name == "__get__" else name.removeprefix("special_").removeprefix("linalg_").removeprefix("fft_")


def exchanged(value: Any, lib: ModuleType, make: Any) -> Any:
    if isinstance(value, lib.Tensor):
        return make(value)
    if type(value) in (list, tuple):
        return type(value)(exchanged(v, lib, make) for v in value)
    return value


def classes(lib: ModuleType, value: Any) -> Any:
    if isinstance(value, list | tuple) and type(value).__name__ != "Size":
        return [classes(lib, v) for v in value]
    return type(value).__name__ if isinstance(value, lib.Tensor | str) else "other"


def reports(lib: ModuleType, key: str, function: Any, make: Any, mode: Any = None) -> list:
    """For the samples of an operation: what was reported first, whether to the right class, and the classes of the results."""
    found = []
    notes = asked(lib)[2]
    for call in samples_of(key)[:2]:
        args, kwargs = call.build(Build(lib))
        args = [exchanged(a, lib, make) for a in args]
        kwargs = {k: exchanged(v, lib, make) for k, v in kwargs.items()}
        notes.clear()
        try:
            if mode is None:
                result = classes(lib, function(*args, **kwargs))
            else:
                with mode:
                    result = classes(lib, function(*args, **kwargs))
        except Exception as error:
            result = type(error).__name__
        found.append((name_of(notes[0][0]) if notes else None, len(notes) > 0 and notes[0][1], result))
    return found


def compare(key: str, make: Any, modes: tuple = (None, None)) -> None:
    said = SAID[key]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = reports(claygrad, key, ours(claygrad, said, raw=True), make(claygrad), modes[0])
        other = reports(torch, key, _plain(said), make(torch), modes[1])
    assert mine == other


def _plain(said: Any) -> Any:
    return in_torch(torch, said)


@pytest.mark.parametrize("key", [key for key in KEYS if key not in UNLIKE])
def test_subclasses(key):
    compare(key, lambda lib: lambda t: t.as_subclass(asked(lib)[0]))


@pytest.mark.parametrize("key", [key for key in KEYS if key not in UNLIKE and not is_property(SAID[key]) and not only_in_place(SAID[key])
                                 and SAID[key].public])
def test_other_objects(key):
    compare(key, lambda lib: lambda t: asked(lib)[1]())


def _mode(lib: ModuleType) -> Any:
    notes = asked(lib)[2]

    class Mode(importlib.import_module(f"{lib.__name__}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            notes.append((func, set(types) <= {lib.Tensor}))
            return func(*args, **(kwargs or {}))

    return Mode()


@pytest.mark.parametrize("key", [key for key in KEYS if key not in UNLIKE_IN_MODES])
def test_modes(key):
    compare(key, lambda lib: lambda t: t, (_mode(claygrad), _mode(torch)))
