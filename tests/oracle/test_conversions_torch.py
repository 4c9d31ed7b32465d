"""Numbers, arrays and tensors as elements of every dtype, by every way in: PyTorch's values, or its refusal."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import claygrad

KINDS = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "float16", "bfloat16", "float32", "float64",
         "complex32", "complex64", "complex128")
NUMBERS: dict[str, Callable[[Any], Any]] = {
    **{repr(value): lambda lib, value=value: value for value in (
        0, 1, -1, 1.5, True, 1j, 300, 2**40, 2**64, -2**64, 1e300, 70000.0, float("inf"), float("nan"))},
    "numpy.float32(1.5)": lambda lib: numpy.float32(1.5), "numpy.int8(-3)": lambda lib: numpy.int8(-3),
    "tensor(3)": lambda lib: lib.tensor(3), "tensor(1.5)": lambda lib: lib.tensor(1.5), "tensor([3.0])": lambda lib: lib.tensor([3.0]),
}
DATA: dict[str, Callable[[Any], Any]] = {
    **{repr(value): lambda lib, value=value: value for value in ([1, 2], [1.5, -2.5], [True, False], [1 + 2j, 3], [[1, 0], [2, 3]], [], range(3))},
    **{f"array of {kind}": lambda lib, kind=kind: numpy.array([1, 0, 3], kind) for kind in ("?", "u1", "u2", "u8", "i1", "i4", "i8", "f2", "f4", "f8", "c8")},
    "array with steps": lambda lib: numpy.arange(6.0).reshape(2, 3).T, "array of nothing": lambda lib: numpy.zeros((0, 3)),
    "tensor": lambda lib: lib.tensor([1.5, 2.0]), "complex tensor": lambda lib: lib.tensor([1 + 2j]),
}
WITH_NUMBER: dict[str, Callable[[Any, Any, Any], Any]] = {
    "full": lambda lib, value, kind: lib.full((2,), value, dtype=kind),
    "full_like": lambda lib, value, kind: lib.full_like(lib.ones(2), value, dtype=kind),
    "new_full": lambda lib, value, kind: lib.ones(2).new_full((2,), value, dtype=kind),
    "scalar_tensor": lambda lib, value, kind: lib.scalar_tensor(value, dtype=kind),
    "tensor": lambda lib, value, kind: lib.tensor(value, dtype=kind),
    "fill_": lambda lib, value, kind: lib.zeros(2, dtype=kind).fill_(value),
    "[0]": lambda lib, value, kind: _assigned(lib.zeros(2, dtype=kind), 0, value),
    "[tensor]": lambda lib, value, kind: _assigned(lib.zeros(2, dtype=kind), lib.tensor([0]), value),
    "[mask]": lambda lib, value, kind: _assigned(lib.zeros(2, dtype=kind), lib.tensor([False, True]), value),
    "where": lambda lib, value, kind: lib.where(lib.tensor([True, False]), lib.zeros(2, dtype=kind), value),
    "masked_fill": lambda lib, value, kind: lib.zeros(2, dtype=kind).masked_fill(lib.tensor([True, False]), value),
    "pad": lambda lib, value, kind: lib.nn.functional.pad(lib.zeros(2, dtype=kind), (1, 0), value=value),
    "index_fill": lambda lib, value, kind: lib.zeros(2, dtype=kind).index_fill(0, lib.tensor([0]), value),
    "result_type": lambda lib, value, kind: lib.zeros(2, dtype=lib.result_type(lib.zeros(1, dtype=kind), value)),
    "linspace": lambda lib, value, kind: lib.linspace(0, value, 3, dtype=kind),
    "range": lambda lib, value, kind: lib.range(value, 5, 2, dtype=kind),
    "range by fractions": lambda lib, value, kind: lib.range(5.5, 0.5, -1.5, dtype=kind),
    "logspace": lambda lib, value, kind: lib.logspace(-1, 1, 4, dtype=lib.float32 if kind.is_complex else kind),
    "one of linspace": lambda lib, value, kind: lib.linspace(1, 2, 1, dtype=kind),
    "window": lambda lib, value, kind: lib.hann_window(3, dtype=kind),
}
WITH_DATA: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tensor": lambda lib, data, kind: lib.tensor(data, dtype=kind),
    "as_tensor": lambda lib, data, kind: lib.as_tensor(data, dtype=kind),
    "asarray": lambda lib, data, kind: lib.asarray(data, dtype=kind),
    "new_tensor": lambda lib, data, kind: lib.ones(1).new_tensor(data, dtype=kind),
    "copy_": lambda lib, data, kind: (x := lib.as_tensor(data)) is not None and lib.zeros(x.shape, dtype=kind).copy_(x),
    "out=": lambda lib, data, kind: lib.neg(lib.as_tensor(data), out=lib.zeros(0, dtype=kind)),
    "out= of a sum": lambda lib, data, kind: lib.add(lib.as_tensor(data), 1, out=lib.zeros(0, dtype=kind)),
    "to": lambda lib, data, kind: lib.as_tensor(data).to(kind),
    "[...]": lambda lib, data, kind: (x := lib.as_tensor(data)) is not None and _assigned(lib.zeros(x.shape, dtype=kind), ..., x),
}
def _assigned(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def _answer(lib: Any, form: Callable, given: Callable, kind: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = form(lib, given(lib), getattr(lib, kind))
        except Exception as error:
            return f"! {type(error).__name__}"
    wide = lib.complex128 if made.is_complex() else lib.float64 if made.is_floating_point() else made.dtype
    return f"{str(made.dtype).rpartition('.')[2]} {tuple(made.shape)} {made.to(wide).tolist()}"


def _differences(forms: dict[str, Callable], sources: dict[str, Callable], kind: str) -> list[str]:
    found = []
    for name, form in forms.items():
        for said, given in sources.items():
            mine, theirs = _answer(claygrad, form, given, kind), _answer(torch, form, given, kind)
            if mine != theirs and not _known(name, said, kind, mine, theirs):
                found.append(f"{name}, {said}, {kind}: {mine}, PyTorch {theirs}")
    return found


def _known(name: str, said: str, kind: str, mine: str, theirs: str) -> bool:
    """What claygrad does on purpose: dtypes that PyTorch lacks a kernel for, large integers as floats, NumPy's numbers."""
    if theirs == "! NotImplementedError" or (theirs == "! OverflowError" and mine[0] != "!"):
        return True
    if theirs == "! TypeError":
        return said.startswith("numpy.") and mine[0] != "!"
    if kind == "complex32" and said in ("1099511627776", "70000.0", str(2**64), str(-2**64)):
        return "! RuntimeError" in (mine, theirs)                            # infinite in some functions, refused by others
    return name == "linspace" and kind.startswith("complex") and said in ("inf", "nan")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers(kind: str) -> None:
    assert not _differences(WITH_NUMBER, NUMBERS, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_data(kind: str) -> None:
    assert not _differences(WITH_DATA, DATA, kind)
