"""Sections 10.3 and 10.4: indexed assignment, where, and subgradients."""

from __future__ import annotations

import math

import pytest

from tests.support import backward_name, close, leaf, raises, warns

W = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]  # the weights of the sum that is differentiated
ALL = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def _keys(lib):
    """name -> (key, value shape, where target gradients become zero, gradient of the value, node)"""
    t = lib.tensor
    return {
        "int": (1, [3], [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [4.0, 5.0, 6.0], "S"),
        "int tuple": ((0, 1), [], [[1.0, 0.0, 3.0], [4.0, 5.0, 6.0]], 2.0, "S"),
        "slice": (slice(0, 1), [3], [[0.0, 0.0, 0.0], [4.0, 5.0, 6.0]], [1.0, 2.0, 3.0], "S"),
        "strided": (
            (slice(None), slice(0, 3, 2)),
            [2, 2],
            [[0.0, 2.0, 0.0], [0.0, 5.0, 0.0]],
            [[1.0, 3.0], [4.0, 6.0]],
            "S",
        ),
        "column": ((slice(None), 1), [2], [[1.0, 0.0, 3.0], [4.0, 0.0, 6.0]], [2.0, 5.0], "S"),
        "broadcast": ((slice(None), 1), [], [[1.0, 0.0, 3.0], [4.0, 0.0, 6.0]], 7.0, "S"),
        "row mask": (t([False, True]), [3], [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [4.0, 5.0, 6.0], "I"),
        "mask, scalar": (
            t([[True, False, True], [False, True, False]]),
            [],
            [[0.0, 2.0, 0.0], [4.0, 0.0, 6.0]],
            9.0,
            "I",
        ),
        "mask, packed": (
            t([[True, False, True], [False, True, False]]),
            [3],
            [[0.0, 2.0, 0.0], [4.0, 0.0, 6.0]],
            [1.0, 3.0, 5.0],
            "I",
        ),
        "index": (t([1, 0]), [2, 3], [[0.0] * 3, [0.0] * 3], [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]], "I"),
        "two indices": ((t([0, 1]), t([2, 0])), [2], [[1.0, 2.0, 0.0], [0.0, 5.0, 6.0]], [3.0, 4.0], "I"),
        "index and slice": ((t([1]), slice(0, 2)), [1, 2], [[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]], [[4.0, 5.0]], "S"),
        "slice and index": (
            (slice(None), t([2, 0])),
            [2, 2],
            [[0.0, 2.0, 0.0], [0.0, 5.0, 0.0]],
            [[3.0, 1.0], [6.0, 4.0]],
            "I",
        ),
        "int and index": ((1, t([2, 0])), [2], [[1.0, 2.0, 3.0], [0.0, 5.0, 0.0]], [6.0, 4.0], "S"),
        "ellipsis": ((..., 0), [2], [[0.0, 2.0, 3.0], [0.0, 5.0, 6.0]], [1.0, 4.0], "S"),
        "none": ((None, 0), [1, 3], [[0.0, 0.0, 0.0], [4.0, 5.0, 6.0]], [[1.0, 2.0, 3.0]], "S"),
        "list": ([1], [1, 3], [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [[4.0, 5.0, 6.0]], "I"),
        "empty slice": (slice(0, 0), [], ALL, 0.0, "S"),
        "negative": ((-1, -2), [], [[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]], 5.0, "S"),
    }


KEYS = (
    "int|int tuple|slice|strided|column|broadcast|row mask|mask, scalar|mask, packed|index|two indices|index and "
    "slice|slice and index|"
    "int and index|ellipsis|none|list|empty slice|negative"
).split("|")


def test_every_kind_of_key_is_tested(lib):
    assert list(_keys(lib)) == KEYS


@pytest.mark.parametrize("name", KEYS)
def test_assignment_sends_the_gradient_to_both_sides(lib, name):
    key, shape, target, value, node = _keys(lib)[name]
    x = lib.zeros(2, 3, requires_grad=True)
    v = lib.ones(shape, requires_grad=True)
    y = x * 1
    y[key] = v
    assert backward_name(y) == {"S": "torch::autograd::CopySlices", "I": "IndexPutBackward0"}[node]
    (y * lib.tensor(W)).sum().backward()
    assert close(x.grad, target)
    assert close(v.grad, value)


@pytest.mark.parametrize("name", KEYS)
def test_reading_by_a_key_scatters_its_gradient_back(lib, name):
    key, _, target, _, _ = _keys(lib)[name]
    x = leaf(lib, W)
    (x[key] * 1).sum().backward()
    read = [[0.0 if t else 1.0 for t in row] for row in target]
    assert close(x.grad, read)


def test_with_duplicate_indices_the_last_value_wins_and_both_rows_get_the_gradient(lib):
    x, v = leaf(lib, [0.0, 0.0]), leaf(lib, [5.0, 6.0])
    y = x * 1
    y[lib.tensor([0, 0])] = v
    assert close(y, [6.0, 0.0])
    y.sum().backward()
    assert close(v.grad, [1.0, 1.0])


def test_augmented_assignment_to_duplicate_indices_does_not_accumulate(lib):
    y = lib.zeros(2)
    y[lib.tensor([0, 0])] += lib.tensor([1.0, 2.0])
    assert close(y, [2.0, 0.0])
    y = lib.zeros(2)
    y.index_put_((lib.tensor([0, 0]),), lib.tensor([1.0, 2.0]), accumulate=True)
    assert close(y, [3.0, 0.0])


def test_leading_ones_of_the_value_are_dropped(lib):
    y = lib.zeros(2, 3)
    y[0] = lib.ones(1, 1, 3)
    assert close(y, [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])


def test_slice_assignment_casts_and_index_assignment_does_not(lib):
    y = lib.zeros(3)
    y[:2] = lib.tensor([1, 2])
    text = "Index put requires the source and destination dtypes match, got Float for the destination and Long for the source."
    for key in (lib.tensor([0, 1]), lib.tensor([True, True, False]), [0, 1]):
        with raises(lib, RuntimeError, text):
            y[key] = lib.tensor([1, 2])
    y[lib.tensor([2])] = 7
    assert close(y, [1.0, 2.0, 7.0])


def test_a_value_of_the_wrong_size_is_refused(lib):
    y = lib.zeros(4)
    text = (
        "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 0.  "
        "Target sizes: [2].  Tensor sizes: [3]"
    )
    with raises(lib, RuntimeError, text):
        y[:2] = lib.ones(3)
    text = "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2]"
    for key in (lib.tensor([0, 1]), lib.tensor([True, True, False, False])):
        with raises(lib, RuntimeError, text):
            y[key] = lib.ones(3)


def test_several_values_do_not_fit_one_element(lib):
    text = (
        "expand(torch.FloatTensor{[2]}, size=[]): the number of sizes provided (0) must be greater or equal to the "
        "number of "
        "dimensions in the tensor (1)"
    )
    with raises(lib, RuntimeError, text):
        lib.zeros(3)[0] = lib.ones(2)


def test_only_tensors_and_numbers_can_be_assigned(lib):
    import numpy

    z = lib.zeros(3)
    for value, name in (([1, 2, 3], "list"), ((1, 2, 3), "tuple"), (numpy.ones(3), "numpy.ndarray"), ("a", "str")):
        with raises(lib, TypeError, f"can't assign a {name} to a torch.FloatTensor"):
            z[0] = value


# --- where and subgradients -----------------------------------------------------------------------------------------


def test_where_masks_the_gradient_to_each_side_and_broadcasts(lib):
    c = lib.tensor([True, False, True])
    a, b = leaf(lib, [1.0, 2.0, 3.0]), leaf(lib, 5.0)
    y = lib.where(c, a, b)
    assert close(y, [1.0, 5.0, 3.0])
    (y * lib.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert close(a.grad, [1.0, 0.0, 100.0])
    assert close(b.grad, 10.0)
    assert close(lib.where(c, a, 0.0), [1.0, 0.0, 3.0])


def test_where_of_one_argument_gives_index_tensors(lib):
    rows, columns = lib.where(lib.tensor([[True, False], [False, True]]))
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [0, 1])


def test_where_wants_a_boolean_condition(lib):
    text = "where expected condition to be a boolean tensor, but got a tensor with dtype Long"
    with raises(lib, RuntimeError, text):
        lib.where(lib.tensor([1, 0]), lib.ones(2), lib.ones(2))
    with warns(
        lib,
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
        "version of …",
    ):
        lib.where(lib.tensor([1, 0], dtype=lib.uint8), lib.ones(2), lib.ones(2))


def test_a_nan_in_the_untaken_branch_poisons_the_gradient(lib):
    x = leaf(lib, [0.0])
    lib.where(x > 0, x.log(), x).backward()
    assert math.isnan(x.grad.item())


INF, NAN = math.inf, math.nan


def _points(lib):
    f = lib.nn.functional
    return {
        "clamp": (lambda x: x.clamp(0, 1), [-1.0, 0.0, 0.5, 1.0, 2.0, NAN], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
        "clamp min>max": (lambda x: x.clamp(1, 0), [-1.0, 0.5, 2.0], [0.0, 0.0, 0.0]),
        "relu": (lambda x: x.relu(), [0.0], [0.0]),
        "leaky_relu": (lambda x: f.leaky_relu(x, 0.1), [0.0], [0.1]),
        "elu": (lambda x: f.elu(x), [0.0], [1.0]),
        "hardtanh": (lambda x: f.hardtanh(x), [-1.0, 1.0, 0.5], [0.0, 0.0, 1.0]),
        "relu6": (lambda x: f.relu6(x), [0.0, 6.0, 3.0], [0.0, 0.0, 1.0]),
        "abs": (lambda x: x.abs(), [0.0], [0.0]),
        "sign": (lambda x: x.sign(), [0.0, 2.0], [0.0, 0.0]),
        "l1_loss": (lambda x: f.l1_loss(x, lib.zeros(1)), [0.0], [0.0]),
        "atan2": (lambda x: lib.atan2(x, x), [0.0], [0.0]),
        "norm": (lambda x: x.norm(), [0.0, 0.0], [0.0, 0.0]),
        "std": (lambda x: x.std(), [2.0, 2.0], [0.0, 0.0]),
        "sqrt": (lambda x: x.sqrt(), [0.0], [INF]),
        "x**0.5": (lambda x: x**0.5, [0.0], [INF]),
        "log": (lambda x: x.log(), [0.0, -1.0], [INF, -1.0]),
        "rsqrt": (lambda x: x.rsqrt(), [0.0], [-INF]),
        "sqrt*0": (lambda x: x.sqrt() * 0, [0.0], [NAN]),
        "x**0": (lambda x: x**0, [0.0], [0.0]),
        "x**x": (lambda x: x**x, [0.0], [0.0]),
        "0**x": (lambda x: 0**x, [0.0], [0.0]),
        "max()": (lambda x: x.max(), [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]),
        "min()": (lambda x: x.min(), [1.0, 1.0, 2.0], [0.5, 0.5, 0.0]),
        "amax": (lambda x: x.amax(), [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]),
        "median()": (lambda x: x.median(), [1.0, 1.0, 2.0], [0.5, 0.5, 0.0]),
        "max(dim)": (lambda x: x.max(0)[0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]),
        "min(dim)": (lambda x: x.min(0)[0], [1.0, 1.0, 2.0], [1.0, 0.0, 0.0]),
        "maximum": (lambda x: lib.maximum(x, lib.ones(1)), [1.0], [0.5]),
        "minimum": (lambda x: lib.minimum(x, lib.ones(1)), [1.0], [0.5]),
        "prod one zero": (lambda x: x.prod(), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
        "prod two zeros": (lambda x: x.prod(), [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        "floor": (lambda x: x.floor(), [1.5], [0.0]),
        "round": (lambda x: x.round(), [1.5], [0.0]),
        "ceil": (lambda x: x.ceil(), [1.5], [0.0]),
        "trunc": (lambda x: x.trunc(), [1.5], [0.0]),
        "%": (lambda x: x % 2, [3.0], [1.0]),
        "fmod": (lambda x: x.fmod(2), [3.0], [1.0]),
        "frac": (lambda x: x.frac(), [3.5], [1.0]),
        "repeated index": (lambda x: x[lib.tensor([0, 0, 1])], [1.0, 2.0], [2.0, 1.0]),
        "gather": (lambda x: x.gather(0, lib.tensor([1, 1, 1])), [1.0, 2.0], [0.0, 3.0]),
        "expand": (lambda x: x.expand(4, 2), [1.0, 2.0], [4.0, 4.0]),
    }


POINTS = (
    "clamp|clamp min>max|relu|leaky_relu|elu|hardtanh|relu6|abs|sign|l1_loss|atan2|norm|std|sqrt|x**0.5|log|rsqrt|sqrt*0|x**0|x**x|0**x|"
    "max()|min()|amax|median()|max(dim)|min(dim)|maximum|minimum|prod one zero|prod two "
    "zeros|floor|round|ceil|trunc|%|fmod|frac|"
    "repeated index|gather|expand"
).split("|")


def test_every_subgradient_is_tested(lib):
    assert list(_points(lib)) == POINTS


@pytest.mark.parametrize("name", POINTS)
def test_the_subgradient_of(lib, name):
    function, values, gradient = _points(lib)[name]
    x = leaf(lib, values)
    function(x).sum().backward()
    assert close(x.grad, gradient)


def test_log_of_a_negative_number_is_nan(lib):
    assert math.isnan(lib.tensor([-1.0]).log().item())


@pytest.mark.parametrize(
    ("name", "call"),
    [("floor_divide", lambda lib, x: x // 2), ("heaviside", lambda lib, x: lib.heaviside(x, lib.ones(1)))],
)
def test_a_derivative_that_does_not_exist_is_refused_at_backward(lib, name, call):
    y = call(lib, leaf(lib, [3.0]))
    assert y.requires_grad
    with raises(lib, RuntimeError, f"derivative for aten::{name} is not implemented"):
        y.backward()


@pytest.mark.parametrize(
    ("key", "place", "size"),
    [((..., 5), 1, 4), ((0, ..., 7), 2, 4), ((None, 0, 3), 2, 3), ((slice(None), None, 9), 2, 3), ((9,), 0, 2)],
)
def test_an_index_out_of_bounds_is_named_by_its_place(lib, key, place, size):
    index = next(n for n in reversed(key) if isinstance(n, int))
    with raises(lib, IndexError, f"index {index} is out of bounds for dimension {place} with size {size}"):
        lib.zeros(2, 3, 4)[key]
