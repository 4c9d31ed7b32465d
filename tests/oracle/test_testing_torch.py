"""claygrad.testing against torch.testing: the same verdicts, the same words, the same random tensors."""

from __future__ import annotations

from collections import deque
from types import ModuleType
from typing import Any

import numpy
import pytest
import torch

import claygrad

nan, inf = float("nan"), float("inf")
CASES = {
    "floats": lambda t, lib: (t([1.0, 2, 3]), t([1.0, 2, 4])),
    "floats equal": lambda t, lib: (t([1.0, 2]), t([1.0, 2])),
    "integers": lambda t, lib: (t([1, 2, 3]), t([1, 2, 4])),
    "small integers": lambda t, lib: (t([200], dtype=lib.uint8), t([100], dtype=lib.uint8)),
    "booleans in tensors": lambda t, lib: (t([True, False]), t([True, True])),
    "complex": lambda t, lib: (t([0.1 + 0.2j, 1]), t([0.1 + 0.3j, 1.1])),
    "half": lambda t, lib: (t([1.0], dtype=lib.float16), t([1.1], dtype=lib.float16)),
    "bfloat16": lambda t, lib: (t([1.0], dtype=lib.bfloat16), t([1.1], dtype=lib.bfloat16)),
    "two axes": lambda t, lib: (t([[1.0, 2], [3, 4]]), t([[1.0, 2], [3, 5.5]])),
    "0-dim": lambda t, lib: (t(1.0), t(2.0)),
    "empty": lambda t, lib: (t([]), t([])),
    "nan": lambda t, lib: (t([nan]), t([nan])),
    "inf": lambda t, lib: (t([inf, 1]), t([inf, 2])),
    "zeros": lambda t, lib: (t([0.0, 0]), t([0.0, 0.1])),
    "shapes": lambda t, lib: (t([1.0]), t([[1.0]])),
    "dtypes": lambda t, lib: (t([1.0]), t([1])),
    "devices": lambda t, lib: (lib.empty(2, device="meta"), lib.ones(2)),
    "meta": lambda t, lib: (lib.empty(2, device="meta"), lib.empty(2, device="meta")),
    "strides": lambda t, lib: (lib.ones(2, 3), lib.ones(3, 2).t()),
    "arrays": lambda t, lib: (numpy.array([1.0, 2]), numpy.array([1.0, 3])),
    "array and tensor": lambda t, lib: (numpy.array([1.0]), t([1.0])),
    "numbers": lambda t, lib: (1.0, 2.0), "whole numbers": lambda t, lib: (1, 2), "int and float": lambda t, lib: (1, 1.0),
    "zero": lambda t, lib: (1.0, 0.0), "numbers nan": lambda t, lib: (nan, nan), "numbers inf": lambda t, lib: (inf, 1.0),
    "NumPy's numbers": lambda t, lib: (numpy.int64(3), 4), "large": lambda t, lib: (2**70, 2**70 + 1),
    "booleans": lambda t, lib: (True, False), "None": lambda t, lib: (None, 1), "both None": lambda t, lib: (None, None),
    "strings": lambda t, lib: ("a", "a"), "objects": lambda t, lib: (print, 1),
    "number and tensor": lambda t, lib: (1.0, t(1.0)), "list and tensor": lambda t, lib: ([t([1.0])], t([1.0])),
    "lengths": lambda t, lib: ([1, 2], [1]), "list and tuple": lambda t, lib: ([1], (1,)),
    "deque": lambda t, lib: (deque([1]), [1]), "keys": lambda t, lib: ({"a": 1}, {"b": 1}),
    "nested": lambda t, lib: ([{"x": [1, t([1.0])]}], [{"x": [1, t([2.0])]}]),
    "mixed keys": lambda t, lib: ({1: 2, "a": 3}, {1: 2}),
}
OPTIONS: list[dict[str, Any]] = [
    {}, {"rtol": 0.0, "atol": 0.0}, {"rtol": 0.1, "atol": 0.2}, {"rtol": 0.1}, {"atol": 0.1}, {"equal_nan": True},
    {"check_dtype": False}, {"check_device": False}, {"check_stride": True}, {"msg": "mine"},
    {"msg": lambda text: "before " + text}, {"allow_subclasses": False},
]


def verdict(lib: ModuleType, name: str, options: dict[str, Any]) -> Any:
    actual, expected = CASES[name](lib.tensor, lib)
    try:
        lib.testing.assert_close(actual, expected, **options)
    except Exception as error:
        return type(error), str(error).replace("claygrad", "torch")
    return "close"


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "usual")
@pytest.mark.parametrize("name", CASES)
def test_assert_close(name: str, options: dict[str, Any]) -> None:
    assert verdict(claygrad, name, options) == verdict(torch, name, options)


@pytest.mark.parametrize("options", [
    {}, {"low": 0, "high": 1}, {"low": 2, "high": 5}, {"noncontiguous": True}, {"exclude_zero": True}, {"low": 5, "high": 2},
    {"requires_grad": True}, {"memory_format": "channels_last"}, {"low": nan}, {"low": 3, "high": 3}, {"high": -20},
    {"low": -1e308, "high": 1e308}], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
                                   "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "float8_e4m3fn",
                                   "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"])
@pytest.mark.filterwarnings("ignore:Passing `low==high`", "ignore:ComplexHalf support")
def test_make_tensor(dtype: str, options: dict[str, Any]) -> None:
    def made(lib: ModuleType) -> Any:
        lib.manual_seed(5)
        named = dict(options)
        if "memory_format" in named:
            named["memory_format"] = getattr(lib, named["memory_format"])
        try:
            t = lib.testing.make_tensor(2, 3, 4, 5, dtype=getattr(lib, dtype), device="cpu", **named)
        except Exception as error:
            return type(error), str(error).split("\n")[0].replace("claygrad", "torch")
        return t.stride(), t.requires_grad, t.tolist()

    expected = made(torch)
    if expected[0] is NotImplementedError:      # PyTorch cannot compare elements of these dtypes with 0
        assert "exclude_zero" in options
        assert "not implemented for" in expected[1]
    else:
        assert made(claygrad) == expected
