"""Section 5: the `.grad` attribute."""

from __future__ import annotations

import pytest

from tests.support import close, fresh, leaf, raises, silent, warns
from tests.support.messages import CGRAPH, NONLEAFGRAD

NO_GRAD_TO_RETAIN = "can't retain_grad on Tensor that has requires_grad=False"


def test_grad_is_none_before_any_backward(lib):
    assert leaf(lib, [1.0]).grad is None
    assert lib.ones(1).grad is None


def test_a_second_backward_accumulates_in_place_into_the_same_object(lib):
    x = leaf(lib, [1.0, 2.0])
    (x * 3).sum().backward()
    first = x.grad
    address = first.data_ptr()
    (x * 4).sum().backward()
    assert x.grad is first
    assert first.data_ptr() == address
    assert close(first, [7.0, 7.0])


@pytest.mark.parametrize(
    "clear", [lambda x: setattr(x, "grad", None), lambda x: delattr(x, "grad")], ids=["none", "del"]
)
def test_after_clearing_the_next_backward_makes_a_new_tensor(lib, clear):
    x = leaf(lib, [1.0])
    (x * 3).backward()
    old = x.grad
    clear(x)
    assert x.grad is None
    (x * 5).backward()
    assert x.grad is not old
    assert close(x.grad, [5.0])
    assert close(old, [3.0])


def test_grad_itself_does_not_require_grad(lib):
    x = leaf(lib, [1.0])
    (x * x).backward()
    assert (x.grad.requires_grad, x.grad.grad_fn, x.grad.is_leaf) == (False, None, True)


def test_gradients_of_two_leaves_do_not_share_memory(lib):
    x, u = leaf(lib, [1.0, 2.0]), leaf(lib, [3.0, 4.0])
    (x + u).sum().backward()
    assert x.grad.data_ptr() != u.grad.data_ptr()
    x.grad.add_(10)
    assert close(u.grad, [1.0, 1.0])


def test_the_gradient_given_by_the_caller_is_not_shared(lib):
    x = leaf(lib, [1.0, 2.0])
    g = lib.tensor([3.0, 4.0])
    (x + 0).backward(g)
    x.backward(g)
    assert x.grad.data_ptr() != g.data_ptr()
    x.grad.zero_()
    assert close(g, [3.0, 4.0])


def test_the_gradient_of_a_transposed_leaf_has_its_strides(lib):
    x = lib.zeros(2, 3).t().requires_grad_()
    (x * 2).sum().backward()
    assert x.stride() == (1, 3)
    assert x.grad.stride() == (1, 3)


def test_backward_on_a_leaf_sets_its_gradient(lib):
    x = leaf(lib, [1.0, 2.0])
    x.backward(lib.tensor([3.0, 4.0]))
    assert close(x.grad, [3.0, 4.0])


def test_backward_on_a_scalar_leaf_gives_one_and_accumulates(lib):
    x = leaf(lib, 5.0)
    x.backward()
    assert close(x.grad, 1.0)
    x.backward()
    assert close(x.grad, 2.0)


def test_a_gradient_of_another_size_cannot_be_assigned(lib):
    x = leaf(lib, [1.0, 2.0])
    text = (
        "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. "
        "Please ensure that the gradient and the tensor are the same size"
    )
    with raises(lib, RuntimeError, text):
        x.grad = lib.ones(3)


def test_a_gradient_of_another_dtype_cannot_be_assigned(lib):
    text = (
        "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'. The gradient must "
        "match the "
        "tensor's grad_dtype (defaults to the tensor's dtype). …"
    )
    x = leaf(lib, [1.0, 2.0])
    with raises(lib, RuntimeError, text):
        x.grad = lib.ones(2, dtype=lib.float64)


def test_a_gradient_on_another_device_cannot_be_assigned(lib):
    text = (
        "attempting to assign a gradient with device type 'meta' to a tensor with device type 'cpu'. "
        "Please ensure that the gradient and the tensor are on the same device"
    )
    x = leaf(lib, [1.0, 2.0])
    with raises(lib, RuntimeError, text):
        x.grad = lib.ones(2, device="meta")


def test_only_a_tensor_other_than_itself_can_be_assigned_as_gradient(lib):
    x = leaf(lib, [1.0, 2.0])
    with raises(lib, TypeError, "assigned grad expected to be a Tensor or None but got grad of type int"):
        x.grad = 5
    with raises(lib, RuntimeError, "can't assign Variable as its own grad"):
        x.grad = x
    x.grad = g = lib.ones(2)
    assert x.grad is g


def test_an_assigned_gradient_is_accumulated_into(lib):
    x = leaf(lib, [1.0, 2.0])
    x.grad = g = lib.ones(2)
    (x * 3).sum().backward()
    assert x.grad is g
    assert close(g, [4.0, 4.0])


def test_the_gradient_of_a_non_leaf_is_none_and_every_access_warns(lib):
    y = leaf(lib, [1.0]) * 1
    y.backward()
    for _ in range(2):
        with warns(lib, NONLEAFGRAD):
            assert y.grad is None


def test_a_non_leaf_that_retains_or_was_given_a_gradient_does_not_warn(lib):
    y = leaf(lib, [1.0]) * 1
    y.retain_grad()
    z = leaf(lib, [1.0]) * 1
    z.grad = lib.ones(1)
    with silent():
        assert y.grad is None
        assert close(z.grad, [1.0])


def test_retain_grad_fills_the_gradient_of_a_non_leaf(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * 3).sum().backward()
    assert close(y.grad, [3.0, 3.0])
    assert close(x.grad, [6.0, 6.0])
    (x * 2).sum().backward()
    assert close(y.grad, [3.0, 3.0])


def test_a_retained_gradient_sees_the_result_of_the_hooks(lib):
    y = leaf(lib, [1.0]) * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    (y * 3).backward()
    assert close(y.grad, [30.0])


def test_a_retained_gradient_follows_the_tensor_through_in_place_operations(lib):
    x = leaf(lib, [2.0])
    y = x * 1
    y.retain_grad()
    y.mul_(5)
    (y * 3).backward()
    assert close(y.grad, [3.0])
    assert close(x.grad, [15.0])


def test_retain_grad_on_a_leaf_is_a_no_op(lib):
    x = leaf(lib, [1.0])
    x.retain_grad()
    assert x.retains_grad is False
    (x * 2).backward()
    assert close(x.grad, [2.0])


def test_retain_grad_on_a_constant_is_refused(lib):
    with raises(lib, RuntimeError, NO_GRAD_TO_RETAIN):
        lib.ones(1).retain_grad()


def test_backward_with_create_graph_gives_a_gradient_with_a_graph(lib):
    x = leaf(lib, [2.0])
    (x**3).backward(create_graph=True)
    assert x.grad.requires_grad
    (h,) = lib.autograd.grad(x.grad, x)
    assert close(h, [12.0])
    x.grad = None


def test_create_graph_on_an_existing_gradient_makes_a_new_tensor(lib):
    x = leaf(lib, [2.0])
    (x * 3).backward()
    old = x.grad
    (x**3).backward(create_graph=True)
    assert x.grad is not old
    assert close(old, [3.0])
    assert close(x.grad, [15.0])
    x.grad = None


def test_backward_with_create_graph_warns_once_per_process(lib):
    out = fresh(
        lib,
        """
        x = torch.tensor([2.], requires_grad=True)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2):
                (x ** 3).backward(create_graph=True)
                x.grad = None
        print(len(seen), seen[0].category.__name__, str(seen[0].message))
        """,
    )
    assert out.startswith("1 UserWarning " + CGRAPH)


def test_each_leaf_of_a_mixed_product_gets_a_gradient_of_its_own_dtype(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [3.0], dtype=lib.float64)
    (x * u).backward()
    assert (x.grad.dtype, u.grad.dtype) == (lib.float32, lib.float64)
    assert close(x.grad, [3.0])
    assert close(u.grad, [2.0])


def test_the_gradient_of_a_broadcast_operand_is_summed_to_its_shape(lib):
    x, u, s = leaf(lib, [[1.0], [2.0]]), leaf(lib, [1.0, 2.0, 3.0]), leaf(lib, 2.0)
    (x * u * s).sum().backward()
    assert close(x.grad, [[12.0], [12.0]])
    assert close(u.grad, [6.0, 6.0, 6.0])
    assert close(s.grad, 18.0)
