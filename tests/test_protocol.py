"""Tensors among Python's objects: lists, membership, functions on elements, memory.

tests/oracle/test_protocol_oracle.py runs the same tests with torch.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from types import ModuleType

import numpy
import pytest

from tests.support import close, exact, is_torch, leaf, lend, raises


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


# --- lists and members ------------------------------------------------------------------------------------------------


def test_tolist_nests_as_the_axes_do(lib):
    assert lib.arange(6).view(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert lib.arange(6).view(2, 3).t().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert lib.tensor(7).tolist() == 7
    assert (lib.ones(0).tolist(), lib.ones(2, 0).tolist(), lib.ones(0, 2).tolist()) == ([], [[], []], [])
    assert lib.ones(1).expand(3).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("dtype", "kind", "value"),
    [("float16", float, 0.0999755859375), ("bfloat16", float, 0.10009765625), ("float32", float, 0.10000000149011612),
     ("float64", float, 0.1), ("complex64", complex, 0.10000000149011612 + 0j), ("complex128", complex, 0.1 + 0j),
     ("int8", int, 0), ("uint8", int, 0), ("int64", int, 0), ("bool", bool, True)],
)  # fmt: skip
def test_tolist_gives_exact_python_numbers(lib, dtype, kind, value):
    found = lib.tensor([0.1], dtype=lib.float64).to(getattr(lib, dtype)).tolist()
    assert (type(found[0]), found) == (kind, [value])


def test_tolist_reads_what_requires_grad_and_refuses_meta(lib):
    assert leaf(lib, [1.0]).tolist() == [1.0]
    with raises(lib, NotImplementedError, "Cannot copy out of meta tensor; no data!"):
        lib.ones(2, device="meta").tolist()


def test_in_compares_with_numbers_and_tensors(lib):
    x = lib.tensor([1.0, 2.0])
    assert 2 in x
    assert 3 not in x
    assert numpy.float32(1) in x
    assert lib.tensor(2.0) in x
    assert lib.tensor([9.0, 2.0]) in x
    assert 1 not in lib.tensor([])


@pytest.mark.parametrize(("value", "kind"), [("a", "str"), (None, "NoneType"), ([1.0], "list")])
def test_in_refuses_what_is_no_number(lib, value, kind):
    text = f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class '{kind}'>."
    with raises(lib, RuntimeError, text):
        operator.contains(lib.ones(2), value)


def test_reversed_turns_the_first_axis(lib):
    x = leaf(lib, [[1.0, 2.0], [3.0, 4.0]])
    turned = reversed(x)
    assert exact(turned, [[3.0, 4.0], [1.0, 2.0]])
    assert turned.grad_fn.name() == "FlipBackward0"
    scalar = lib.tensor(1.0)
    assert reversed(scalar) is scalar


def test_dir_lists_methods_and_attributes(lib):
    x = lib.ones(2)
    x.nickname = "x"
    assert {"add", "nickname", "shape", "__add__"} <= set(dir(x))
    assert "__cuda_array_interface__" not in dir(x)
    with pytest.raises(AttributeError, match="Can't get __cuda_array_interface__ on non-CUDA tensor type"):
        x.__cuda_array_interface__


# --- functions on elements --------------------------------------------------------------------------------------------


def test_apply_and_map_write_in_place_without_counting(lib):
    x = lib.tensor([[1, 2], [3, 4]])
    assert x.t().apply_(lambda v: v * 10).tolist() == [[10, 30], [20, 40]]
    assert x.map_(lib.tensor([1, 2]), lambda a, b: a + b + 0.7) is x
    assert x.tolist() == [[11, 22], [31, 42]]
    assert x.map2_(x, lib.tensor(1), lambda a, b, c: a - b + c).tolist() == [[1, 1], [1, 1]]
    assert x._version == 0


def test_apply_refuses_grad_and_other_types(lib):
    x, text = leaf(lib, [1.0]), "Can't call {0}() on Variable that requires grad. Use var.detach().{0}() instead."
    with raises(lib, RuntimeError, text.format("apply_")):
        x.apply_(lambda v: v)
    with raises(lib, RuntimeError, text.format("map_")):
        lib.ones(1).map_(x, lambda a, b: a)
    with raises(lib, TypeError, "map_: expected torch.FloatTensor for 'other' (got torch.LongTensor)"):
        lib.ones(1).map_(lib.tensor([1]), lambda a, b: a)
    with raises(lib, RuntimeError, "value cannot be converted to type uint8 without overflow"):
        lib.ones(1, dtype=lib.uint8).apply_(lambda v: 300)


def test_apply_keeps_what_a_graph_saved(lib):
    x, w = leaf(lib, [1.0, 2.0]), lib.tensor([5.0, 6.0])
    z = x * w
    w.apply_(lambda v: 0.0)
    z.sum().backward()
    assert w.tolist() == [0.0, 0.0]
    if not is_torch(lib):
        assert close(x.grad, [5.0, 6.0])


# --- memory -----------------------------------------------------------------------------------------------------------


def test_is_set_to_asks_for_the_same_memory_in_the_same_shape(lib):
    x = lib.ones(2, 2)
    assert x.is_set_to(x.detach())
    assert not x.is_set_to(x.t())
    assert not x.is_set_to(x.clone())


def test_resize_as_takes_the_shape_of_another(lib):
    x = lib.arange(6.0)
    assert x.resize_as_(lib.ones(2, 3, dtype=lib.int64)) is x
    assert (x.shape, x.dtype, x[1].tolist()) == ((2, 3), lib.float32, [3.0, 4.0, 5.0])
    with raises(lib, RuntimeError, "cannot resize variables that require grad"):
        leaf(lib, [1.0]).resize_as_(x)


def test_memory_is_not_pinned_and_shared_when_asked(lib):
    x = lib.ones(2)
    assert (x.is_pinned(), x.is_shared()) == (False, False)
    with raises(lib, RuntimeError, "Cannot access accelerator device when none is available."):
        x.pin_memory()
    assert x.share_memory_() is x
    assert x.is_shared()


def test_functions_do_what_their_methods_do(lib):
    x = leaf(lib, [1.0, 2.0])
    assert not lib.detach(x).requires_grad
    y = x * 2
    assert lib.detach_(y) is y
    assert y.is_leaf
    assert lib.zero_(y) is y
    assert y.tolist() == [0.0, 0.0]
    assert (lib.get_device(x), lib.is_inference(x)) == (-1, False)
    with raises(lib, TypeError, "detach(): argument 'input' (position 1) must be Tensor, not int"):
        lib.detach(3)


# --- membership, coordinates, powers ----------------------------------------------------------------------------------


def test_isin_takes_tensors_and_numbers(lib):
    x = lib.tensor([[1, 2], [3, 4]])
    assert lib.isin(x, lib.tensor([2, 3])).tolist() == [[False, True], [True, False]]
    assert lib.isin(x, 4, invert=True).tolist() == [[True, True], [True, False]]
    assert lib.isin(element=2, test_elements=x).tolist() is True
    assert lib.isin(lib.tensor([float("nan")]), lib.tensor([float("nan")])).tolist() == [False]
    with raises(lib, RuntimeError, "Unsupported input type encountered for isin(): Bool"):
        lib.isin(lib.tensor([True]), 1)
    with raises(lib, TypeError, "isin() received an invalid combination of arguments - got (int, int), but expected…"):
        lib.isin(2, 2)


def test_unravel_index_gives_one_tensor_per_axis(lib):
    found = lib.unravel_index(lib.tensor([41, 37]), (7, 6))
    assert [t.tolist() for t in found] == [[6, 6], [5, 1]]
    assert lib.unravel_index(lib.tensor([1]), ()) == ()
    with raises(lib, TypeError, "expected 'indices' to be integer dtype, but got torch.float32"):
        lib.unravel_index(lib.ones(1), (2, 2))
    with raises(lib, ValueError, "'shape' cannot have negative values, but got (7, -6)"):
        lib.unravel_index(lib.tensor([1]), (7, -6))


def test_vander_has_powers_as_columns(lib):
    x = lib.tensor([2, 3], dtype=lib.int32)
    assert lib.vander(x, 3).tolist() == [[4, 2, 1], [9, 3, 1]]
    assert lib.vander(x, 3, increasing=True).tolist() == [[1, 2, 4], [1, 3, 9]]
    assert (lib.vander(x).dtype, lib.vander(x, 0).shape) == (lib.int64, (2, 0))
    with raises(lib, RuntimeError, "x must be a one-dimensional tensor."):
        lib.vander(lib.ones(2, 2))


def test_vander_can_be_differentiated(lib):
    if is_torch(lib):
        return                  # its backward fails: vander changes in place what it saved
    x = leaf(lib, [2.0, 3.0])
    lib.vander(x, 4).sum().backward()
    assert close(x.grad, [1.0 + 4.0 + 12.0, 1.0 + 6.0 + 27.0])
