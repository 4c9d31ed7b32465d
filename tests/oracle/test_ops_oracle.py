"""Every declared operation over its samples, against torch: values, dtypes, shapes, views, nodes, gradients, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.ops.cases import difference, first_line, ours
from tests.ops.factory import DTYPES, LAYOUTS, Build, Call, Factory

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402
from tests.oracle.opcompare import (  # noqa: E402
    DIFFERENTIABLE,
    KEYS,
    PAIRS,
    POINTWISE,
    REDUCTIONS,
    SAID,
    SEEDS,
    VIEWS,
    as_near,
    beyond,
    both,
    compare,
    gradient_difference,
    gradients,
    report,
    samples_of,
    tensor_pairs,
)

pytestmark = pytest.mark.usefixtures("no_onednn")

# Names of claygrad's own, which torch has in another place or not at all.
OWN = {"native_dropout_backward"}            # torch.ops.aten has it, and the operator database


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("key", KEYS)
def test_values(key, dtype, seed):
    report(compare(key, samples_of(key, seed), dtype=dtype, grad=True))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("float32", "float64")])
@pytest.mark.parametrize("key", KEYS)
def test_other_dtypes(key, dtype):
    report(compare(key, samples_of(key), dtype=dtype, texts=False, loose=2.0))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", KEYS)
def test_refusals_of_dtypes_have_the_same_text(key, dtype):
    problems = []
    for call in samples_of(key):
        mine, other = both(key, call, dtype=dtype)
        if not (isinstance(mine, Exception) and isinstance(other, Exception)):
            continue
        # The name of a kernel is torch's own affair: mvlgamma refuses as "arange_cpu".
        texts = [re.sub('^"[a-z0-9_]+" not', "not", first_line(error)) for error in (mine, other)]
        if texts[0] != texts[1]:
            problems.append(f"  {call}: {first_line(mine)}\n    torch: {first_line(other)}")
    report(problems)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("key", KEYS)
def test_layouts(key, layout):
    report(compare(key, samples_of(key), layout=layout, grad=True))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("key", VIEWS)
def test_views_are_views_of_the_same_memory(key, layout):
    problems = []
    for call in samples_of(key):
        for mine, other in tensor_pairs(*both(key, call, layout=layout)):
            of_input = "fft" not in SAID[key].namespaces       # a conjugate of new memory, whose order is the transform's own
            facts = [(t._is_view(), t._is_view() and of_input and (tuple(t.stride()), t.storage_offset()), t.is_conj(), t.is_neg())
                     for t in (mine, other)]
            if facts[0] != facts[1]:
                problems.append(f"  {call}: view, stride and offset, bits {facts[0]}, torch {facts[1]}")
    report(problems)


@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_nodes_have_the_same_names(key):
    problems = []
    for call in samples_of(key):
        for mine, other in tensor_pairs(*both(key, call, grad=True)):
            names = [None if t.grad_fn is None else t.grad_fn.name() for t in (mine, other)]
            if names[0] != names[1]:
                problems.append(f"  {call}: {names[0]}, torch {names[1]}")
    report(problems)


@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_nodes_have_edges_to_the_same_inputs(key):
    problems = []
    for call in samples_of(key):
        for mine, other in tensor_pairs(*both(key, call, grad=True)):
            if mine.grad_fn is None or other.grad_fn is None:
                continue
            edges = [[node and node.name() for node, _ in t.grad_fn.next_functions] for t in (mine, other)]
            if edges[0] != edges[1]:
                problems.append(f"  {call}: {edges[0]}, torch {edges[1]}")
    report(problems)


# --- gradients ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", [1, 2], ids=["first", "second"])
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_gradients(key, order, seed):
    said, problems = SAID[key], []
    for call in samples_of(key, seed):
        mine = gradients(claygrad, ours(claygrad, said), call, Build(claygrad, grad=True), order)
        other = gradients(torch, PAIRS[key], call, Build(torch, grad=True), order)
        found = None if beyond(mine, other) else gradient_difference(mine, other)
        if found:
            problems.append(f"  {call}: {found}")
    report(problems)


@pytest.mark.parametrize("dtype", ["float32", "complex64", pytest.param("bfloat16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_gradients_of_other_dtypes(key, dtype):
    said, problems = SAID[key], []
    for call in samples_of(key):
        mine = gradients(claygrad, ours(claygrad, said), call, Build(claygrad, dtype, grad=True), 1)
        other = gradients(torch, PAIRS[key], call, Build(torch, dtype, grad=True), 1)
        if beyond(mine, other) or (isinstance(mine, Exception) and isinstance(other, Exception)):
            continue
        found = gradient_difference(mine, other)
        if found and dtype == "bfloat16":        # seven bits; what is as near to the right number as torch's is no worse
            exact = gradients(torch, PAIRS[key], call, Build(torch, dtype, grad=True), 1, exact=True)
            found = None if as_near(mine, other, exact) else found
        if found:
            problems.append(f"  {call}: {found}")
    report(problems)


# --- shapes at the edge ---------------------------------------------------------------------------------------------


def _emptied(array: numpy.ndarray) -> numpy.ndarray:
    """The same without elements along the last axis; an axis of one broadcasts against that."""
    return array[..., :0] if array.ndim and array.shape[-1] != 1 else array


@pytest.mark.parametrize("key", POINTWISE + REDUCTIONS)
def test_empty(key):
    report(compare(key, [call.map(_emptied) for call in samples_of(key)], grad=True))


@pytest.mark.parametrize("key", POINTWISE)
def test_zero_dimensional(key):
    calls = [
        call.map(lambda a: a.ravel()[:1].reshape(()))
        for call in samples_of(key)
        if all(d._array.size for d in call.data())
    ]
    report(compare(key, calls, grad=True) + compare(key, calls, dtype="int64", texts=False))


def _mixed(call: Call) -> list[Call]:
    """The call with its first tensor made zero-dimensional, and with each tensor given leading axes."""
    count = len(list(call.data()))
    if count < 2 or not all(d._array.size for d in call.data()):
        return []

    def at(place: int, change: Callable) -> Call:
        numbers = iter(range(count))
        return call.map(lambda a: change(a) if next(numbers) == place else a)

    return [
        at(0, lambda a: a.ravel()[:1].reshape(())),
        at(1, lambda a: a.ravel()[:1].reshape(())),
        at(0, lambda a: numpy.stack([a, a])[:, None]),
        at(1, lambda a: numpy.stack([a, a, a])[:, None]),
    ]


@pytest.mark.parametrize("key", POINTWISE)
def test_broadcasting(key):
    calls = [mixed for call in samples_of(key) for mixed in _mixed(call)]
    report(compare(key, calls, grad=True))


@pytest.mark.parametrize(
    "pair",
    [("int64", "float32"), ("uint8", "int8"), ("float16", "float32"), ("bool", "int32"), ("float32", "complex64")],
    ids="-".join,
)
@pytest.mark.parametrize("key", POINTWISE)
def test_mixed_dtypes(key, pair):
    """Two tensors of different dtypes, with dimensions and without."""
    said, problems = SAID[key], []
    for call in samples_of(key)[:3]:
        if len(list(call.data())) < 2 or any(d._dtype for d in call.data()):
            continue
        for first, second in (pair, pair[::-1]):
            mixed = _given(call, first, second)
            found = difference(*both(key, mixed), loose=2.0, texts=False)
            if found:
                problems.append(f"  {mixed}: {found}")
    assert said is not None
    report(problems)


def _given(call: Call, first: str, second: str) -> Call:
    from tests.ops.factory import Data

    left = iter([first, second])

    def fix(value: Any) -> Any:
        if isinstance(value, Data):
            return Data(value._array, next(left, second), value._requires_grad, value._steps)
        return type(value)(fix(v) for v in value) if isinstance(value, list | tuple) else value

    return Call(tuple(fix(a) for a in call.args), {k: fix(v) for k, v in call.kwargs.items()})


# --- refusals and names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [key for key in KEYS if SAID[key].errors is not None])
def test_refusals(key):
    problems = []
    for call, _, _ in SAID[key].errors(Factory(key)):
        found = difference(*both(key, call, dtype="float32"))
        if found:
            problems.append(f"  {call}: {found}")
    report(problems)


def test_every_public_operation_exists_in_torch_under_its_name():
    known = [key for key, said in SAID.items() if said.public or said.method]
    assert [key for key in known if key not in PAIRS and key not in OWN] == []


@pytest.mark.parametrize("key", [key for key in KEYS if SAID[key].aliases])
def test_aliases_exist_in_torch(key):
    said = SAID[key]
    for alias in said.aliases:
        space, _, name = alias.rpartition(".")
        place = torch
        for part in (space or said.namespaces[0]).split(".") if (space or said.namespaces[0]) != "torch" else ():
            place = getattr(place, part)
        assert hasattr(place, name) or hasattr(torch.Tensor, name), alias
