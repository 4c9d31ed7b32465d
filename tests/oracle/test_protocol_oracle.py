"""The protocol tests hold for torch too, and a table of expressions has one outcome in both libraries."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy
import pytest

from tests import test_copies, test_exchange, test_legacy, test_protocol
from tests.oracle import legacy_expressions, protocol_expressions
from tests.support import lend

import claygrad  # isort: skip

torch = pytest.importorskip("torch")


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


for module in (test_copies, test_exchange, test_legacy, test_protocol):
    globals().update({name: test for name, test in vars(module).items() if name.startswith("test_")})

DTYPES = "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()

TABLE = [
    line
    for module in (protocol_expressions, legacy_expressions)
    for lines in module.EXPRESSIONS.values()
    for line in lines.strip().splitlines()
]


def _names(library: ModuleType) -> dict[str, Any]:
    """What an expression may use, made afresh so that none sees what another did."""
    x, a = library.tensor([1.0, 2.0, 3.0], requires_grad=True), numpy.array([1.0, 2.0, 3.0])
    return {
        "torch": library, "np": numpy, "copy": copy, "pickle": pickle, "x": x, "y": x * 2,
        "m": library.ones(2, device="meta"), "b": library.tensor([1.5], dtype=library.bfloat16), "a": a,
        "af": a.astype("float32"), "P": library.nn.Parameter, "B": library.nn.Buffer,
        "Sub": type("Sub", (library.Tensor,), {}),
    }  # fmt: skip


def _outcome(library: ModuleType, expression: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = repr(eval(expression, _names(library)))
        except Exception as error:
            text = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return text.replace("claygrad.", "torch.")


@pytest.mark.parametrize("expression", TABLE)
def test_an_expression_has_one_outcome(expression):
    assert _outcome(claygrad, expression) == _outcome(torch, expression)


@pytest.mark.parametrize("name", DTYPES)
def test_numbers_of_every_dtype_are_the_same_python_numbers(name):
    values = numpy.random.default_rng(0).standard_normal(200) * 100
    mine, theirs = (lib.tensor(values).to(getattr(lib, name)).view(20, 10).t().tolist() for lib in (claygrad, torch))
    assert mine == theirs
    assert {type(v) for row in mine for v in row} == {type(v) for row in theirs for v in row}


@pytest.mark.parametrize("name", DTYPES)
def test_dlpack_carries_tensors_between_the_libraries(name):
    values = numpy.arange(6).reshape(2, 3) % 2
    mine = claygrad.tensor(values).to(getattr(claygrad, name)).t()
    there = torch.from_dlpack(mine)
    assert (str(there.dtype), there.stride(), there.tolist()) == (f"torch.{name}", mine.stride(), mine.tolist())
    back = claygrad.from_dlpack(there)
    assert (back.dtype is mine.dtype, back.stride(), back.data_ptr()) == (True, mine.stride(), mine.data_ptr())
    there[0, 0] = 1
    assert mine[0, 0].item() == back[0, 0].item() == 1


def test_a_spent_or_old_capsule_is_told_apart_as_torch_does():
    capsule = claygrad.ones(2).__dlpack__()
    assert torch.from_dlpack(capsule).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
        claygrad.from_dlpack(capsule)
    assert claygrad.from_dlpack(torch.full((2,), 3.0).__dlpack__()).tolist() == [3.0, 3.0]
