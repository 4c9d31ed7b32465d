"""The names of types in errors: classes that are compiled in PyTorch stand there with their module, others without."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import fractions
import itertools
import pathlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import claygrad
import claygrad.nn

VALUES = {
    "array of NumPy": lambda t: np.ones(2), "number of NumPy": lambda t: np.datetime64("2020"),
    "ordered dict": lambda t: collections.OrderedDict(), "dict with a default": lambda t: collections.defaultdict(int),
    "deque": lambda t: collections.deque(), "date": lambda t: datetime.datetime(2020, 1, 1),
    "decimal": lambda t: decimal.Decimal(1), "fraction": lambda t: fractions.Fraction(1), "path": lambda t: pathlib.Path("."),
    "array": lambda t: array.array("i"), "counter": lambda t: itertools.count(), "range": lambda t: range(2),
    "bytes": lambda t: b"", "slice": lambda t: slice(1), "function": lambda t: len, "none": lambda t: None,
    "text": lambda t: "a", "error": lambda t: ValueError(), "object": lambda t: object(), "class": lambda t: int,
    "dtype": lambda t: t.float32, "device": lambda t: t.device("cpu"), "shape": lambda t: t.Size([1]),
    "layout": lambda t: t.strided, "format": lambda t: t.contiguous_format, "finfo": lambda t: t.finfo(t.float32),
    "iinfo": lambda t: t.iinfo(t.int8), "generator": lambda t: t.Generator(), "layer": lambda t: t.nn.Linear(1, 1),
    "storage": lambda t: t.ones(1).untyped_storage(), "values and indices": lambda t: t.ones(2, 2).max(1),
    "sorted": lambda t: t.ones(2).sort(), "decomposition": lambda t: t.linalg.qr(t.eye(2)),
}
CALLS = {
    "relu": lambda t, v: t.relu(v), "mm": lambda t, v: t.mm(v, t.ones(2, 2)), "cat": lambda t, v: t.cat([v, t.ones(2)]),
    "linear": lambda t, v: t.nn.functional.linear(v, t.ones(2, 2)), "softmax": lambda t, v: t.softmax(v, 0),
    "operator": lambda t, v: t.ones(2) + v, "out": lambda t, v: t.add(t.ones(2), t.ones(2), out=v),
}


def said(t: ModuleType, call: Any, value: Any) -> str | None:
    try:
        call(t, value(t))
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0].replace("claygrad.", "torch.")
    return None


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", VALUES)
def test_the_name_of_a_type(value: str, call: str):
    theirs = said(torch, CALLS[call], VALUES[value])
    if theirs is not None and "invalid combination" not in theirs:       # which lists the forms of the function
        assert said(claygrad, CALLS[call], VALUES[value]) == theirs
