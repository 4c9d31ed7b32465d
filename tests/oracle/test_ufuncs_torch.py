"""NumPy's functions and arrays on tensors that need no gradient: PyTorch's results, dtypes and refusals."""
from __future__ import annotations

import operator
import warnings

import numpy
import pytest
import torch

import claygrad

UFUNCS = [name for name in dir(numpy) if isinstance(getattr(numpy, name), numpy.ufunc)]
KINDS = ("float32", "int64", "bool", "float64", "float16")
COMPARED = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def outcome(lib, f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = f(lib)
        except Exception as error:
            return type(error).__name__
    return [(type(x).__name__, str(x.dtype).split(".")[-1], x.tolist()) for x in (made if isinstance(made, tuple) else (made,))]


def same(f):
    assert repr(outcome(claygrad, f)) == repr(outcome(torch, f))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UFUNCS)
def test_a_function_of_tensors(name, kind):
    function = getattr(numpy, name)
    a = numpy.array([4.0, 5.0, 0.0])
    if function.nin == 1:
        same(lambda lib: function(lib.tensor(a, dtype=getattr(lib, kind))))
        return
    for other in (a, a.astype("f4"), a.astype(int), 2, 2.5):
        same(lambda lib, other=other: function(lib.tensor(a, dtype=getattr(lib, kind)), other))
        if name not in COMPARED:         # those give truth values here, as the operators do
            same(lambda lib, other=other: function(other, lib.tensor(a, dtype=getattr(lib, kind))))
    same(lambda lib: function(*2 * (lib.tensor(a, dtype=getattr(lib, kind)),)))


@pytest.mark.parametrize("method", ["reduce", "accumulate", "outer", "at", "reduceat", "out", "outa", "where", "dtype"])
def test_forms_of_a_function(method):
    same({
        "reduce": lambda lib: numpy.add.reduce(lib.arange(6.0).reshape(2, 3), axis=0),
        "accumulate": lambda lib: numpy.add.accumulate(lib.arange(3.0)),
        "outer": lambda lib: numpy.multiply.outer(lib.arange(3.0), lib.arange(2.0)),
        "at": lambda lib: numpy.add.at(lib.arange(3.0), [0], 1),
        "reduceat": lambda lib: numpy.add.reduceat(lib.arange(3.0), [0, 1]),
        "out": lambda lib: numpy.add(lib.ones(3), 1, out=lib.ones(3)),
        "outa": lambda lib: numpy.add(lib.ones(3), 1, out=numpy.ones(3, "f4")),
        "where": lambda lib: numpy.add(lib.ones(3), 1, where=lib.tensor([True, False, True]), out=numpy.zeros(3, "f4")),
        "dtype": lambda lib: numpy.add(lib.ones(3), 1, dtype="f8"),
    }[method])


@pytest.mark.parametrize("array", ["f8", "f4", "i8", "u1", "f2", "?", "c16"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq iadd isub imul".split())
def test_a_tensor_and_an_array(name, kind, array):
    function, a = getattr(operator, name), numpy.array([1, 2, 3]).astype(array)
    same(lambda lib: function(lib.tensor([4.0, 5.0, 6.0], dtype=getattr(lib, kind)), a))
