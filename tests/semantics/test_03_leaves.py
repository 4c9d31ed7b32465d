"""Section 3: leaves and flags."""

from __future__ import annotations

import pytest

from tests.support import backward_name, close, is_torch, leaf, raises
from tests.support.messages import VIEWLEAF

FLAG_OF_COMPUTED = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
    "that "
    "doesn't require differentiation use var_no_grad = var.detach()."
)


def test_a_tensor_is_a_leaf_exactly_when_it_has_no_grad_fn(lib):
    x, c = leaf(lib, [1.0, 2.0]), lib.ones(2)
    y = x * 1
    leaves = [x, c, c * 2, c.exp(), y.detach(), y.data, y > 0, y.argmax(), lib.zeros(3), y.long()]
    others = [y, x * c, x.clone(), y[0], x.view(2, 1)]
    assert all(t.is_leaf and t.grad_fn is None for t in leaves)
    assert all(not t.is_leaf and t.grad_fn is not None for t in others)


def test_an_operation_requires_grad_when_an_input_does(lib):
    x, c = leaf(lib, [1.0]), lib.ones(1)
    assert ((x * c).requires_grad, (x * c).is_leaf) == (True, False)
    assert ((c * 2).requires_grad, (c * 2).is_leaf) == (False, True)


def test_clone_and_a_change_of_dtype_make_a_non_leaf(lib):
    x = leaf(lib, [1.0])
    assert backward_name(x.clone()) == "CloneBackward0"
    assert backward_name(x.to(lib.float64)) == "ToCopyBackward0"
    assert not x.clone().is_leaf
    assert not x.double().is_leaf


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: x.to("cpu"),
        lambda lib, x: x.cpu(),
        lambda lib, x: x.float(),
        lambda lib, x: x.to(lib.float32),
        lambda lib, x: x.contiguous(),
        lambda lib, x: x.type_as(x),
        lambda lib, x: x.to(x),
        lambda lib, x: x.flatten(),
        lambda lib, x: x.type(lib.float32),
        lambda lib, x: x.to(lib.device("cpu"), lib.float32),
    ],
    ids="to_cpu cpu float to_float32 contiguous type_as to_itself flatten type to_both".split(),
)
def test_a_conversion_that_changes_nothing_returns_the_tensor_itself(lib, call):
    x = leaf(lib, [1.0, 2.0])
    assert call(lib, x) is x


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.detach(),
        lambda x: x.view_as(x),
        lambda x: x.expand_as(x),
        lambda x: x[:],
        lambda x: x[...],
        lambda x: x.reshape(2),
        lambda x: x.squeeze(),
        lambda x: x.to("cpu", copy=True),
    ],
    ids="detach view_as expand_as slice ellipsis reshape squeeze to_copy".split(),
)
def test_a_view_that_changes_nothing_is_still_a_new_object(lib, call):
    x = leaf(lib, [1.0, 2.0])
    y = call(x)
    assert y is not x
    assert close(y, [1.0, 2.0])


def test_integer_boolean_and_index_results_never_require_grad(lib):
    x = leaf(lib, [1.0, 2.0])
    assert not any(t.requires_grad for t in (x.long(), x > 0, x == x, x.argmax(), x.int(), x.bool(), x.sort()[1]))


def test_requires_grad_true_on_a_non_leaf_is_a_no_op_that_returns_it(lib):
    y = leaf(lib, [1.0]) * 1
    assert y.requires_grad_(True) is y
    assert y.requires_grad_() is y
    assert not y.is_leaf


def test_a_non_leaf_cannot_be_made_not_to_require_grad(lib):
    y = leaf(lib, [1.0]) * 1
    with raises(lib, RuntimeError, FLAG_OF_COMPUTED):
        y.requires_grad_(False)
    with raises(lib, RuntimeError, FLAG_OF_COMPUTED):
        y.requires_grad = False


def test_the_property_refuses_on_a_non_leaf_what_the_method_accepts(lib):
    y = leaf(lib, [1.0]) * 1
    with raises(lib, RuntimeError, "you can only change requires_grad flags of leaf variables."):
        y.requires_grad = True


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.tensor([1, 2], requires_grad=True),
        lambda lib: lib.tensor([True], requires_grad=True),
        lambda lib: lib.zeros(2, dtype=lib.int32, requires_grad=True),
        lambda lib: lib.arange(3, requires_grad=True),
    ],
    ids="tensor bool zeros arange".split(),
)
def test_a_factory_refuses_integers_that_require_grad(lib, make):
    with raises(lib, RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"):
        make(lib)


def test_an_integer_tensor_cannot_be_made_to_require_grad(lib):
    t = lib.tensor([1, 2])
    with raises(lib, RuntimeError, "only Tensors of floating point dtype can require gradients"):
        t.requires_grad_()
    with raises(lib, RuntimeError, "only Tensors of floating point and complex dtype can require gradients"):
        t.requires_grad = True
    assert t.requires_grad_(False) is t
    assert t.requires_grad is False


def test_a_complex_tensor_may_require_grad(lib):
    assert lib.tensor([1j], requires_grad=True).requires_grad


def test_requires_grad_must_be_a_bool(lib):
    x = lib.tensor([1.0])
    with raises(lib, RuntimeError, "requires_grad must be a bool"):
        x.requires_grad = 5
    with raises(lib, TypeError, "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not str"):
        x.requires_grad_("a")
    with raises(lib, TypeError, "tensor(): argument 'requires_grad' must be bool, not int"):
        lib.tensor([1.0], requires_grad=1)


@pytest.mark.parametrize("name", ["is_leaf", "grad_fn", "_version"])
def test_what_describes_the_graph_is_not_writable(lib, name):
    y = leaf(lib, [1.0]) * 1
    with pytest.raises(AttributeError) as caught:
        setattr(y, name, None)
    start, end = str(caught.value).split(" of ")
    assert start == f"attribute '{name}'"
    assert end.splitlines()[0].endswith("objects is not writable")
    if is_torch(lib):
        assert end == "'torch._C.TensorBase' objects is not writable"


def test_a_view_of_a_constant_may_become_a_leaf_of_its_own(lib):
    b = lib.zeros(3)
    v = b[:2]
    v.requires_grad_()
    assert (v.is_leaf, v.requires_grad, b.requires_grad) == (True, True, False)
    (v * lib.tensor([2.0, 3.0])).sum().backward()
    assert close(v.grad, [2.0, 3.0])
    with raises(lib, RuntimeError, VIEWLEAF):
        v.add_(1)
    b.add_(1)
    assert close(v, [1.0, 1.0])


def test_tensors_made_like_another_do_not_require_grad_unless_asked(lib):
    x = leaf(lib, [1.0, 2.0])
    made = [
        x.new_zeros(2),
        x.new_ones(2),
        x.new_full((2,), 3.0),
        x.new_empty(2),
        x.new_tensor([1.0]),
        lib.zeros_like(x),
        lib.ones_like(x),
        lib.full_like(x, 2.0),
        lib.empty_like(x),
        lib.rand_like(x),
        lib.randn_like(x),
    ]
    assert not any(t.requires_grad for t in made)
    assert x.new_zeros(2, requires_grad=True).requires_grad
    assert lib.ones_like(x, requires_grad=True).requires_grad
    assert x.new_tensor([1.0], requires_grad=True).requires_grad


def test_a_flag_set_after_the_forward_does_not_reach_back(lib):
    x = lib.tensor([2.0])
    y = x * 3
    x.requires_grad_()
    assert not y.requires_grad
    assert (x * 3).requires_grad


def test_a_leaf_frozen_after_the_forward_gets_no_gradient(lib):
    x = leaf(lib, [2.0])
    y = x * 3
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None
