"""Section 1: the examples of the five seed documents, as they really run."""

from __future__ import annotations

from tests.support import backward_name, close, is_torch, leaf, raises, renamed, silent, warns
from tests.support.messages import CUDA, IMPLICIT, LEAF, NONLEAFGRAD, NOREQ, SAVED, VIEWLEAF

# --- operating on a tensor versus its .data -------------------------------------------------------------------------


def test_the_gradient_of_a_mean_of_doubles_is_one_each(lib):
    x = leaf(lib, [2.0, 3.0])
    z = (x * 2).mean()
    assert repr(z) == "tensor(5., grad_fn=<MeanBackward0>)"
    z.backward()
    assert repr(x.grad) == "tensor([1., 1.])"


def test_backward_from_a_detached_clone_is_refused(lib):
    x = leaf(lib, [2.0, 3.0])
    y = x.clone().detach()
    y.data *= 2
    z = y.mean()
    with raises(lib, RuntimeError, NOREQ):
        z.backward()
    assert close(y, [4.0, 6.0])
    assert close(x, [2.0, 3.0])
    assert x.grad is None
    assert z.requires_grad is False
    with silent():
        assert y.grad is None


def test_adding_to_the_data_of_a_leaf_keeps_it_a_leaf_with_the_right_gradient(lib):
    x = leaf(lib, [2.0, 3.0])
    x.data += 1
    y = x.mean()
    y.backward()
    assert repr(x.grad) == "tensor([0.5000, 0.5000])"
    assert repr(x) == "tensor([3., 4.], requires_grad=True)"
    assert y.item() == 3.5
    assert x._version == 0
    assert x.is_leaf


def test_operations_are_recorded_only_with_grad_mode_and_an_input_that_requires_grad(lib):
    x, c = leaf(lib, [1.0]), lib.ones(1)
    assert (c * 2).grad_fn is None
    assert (x * 2).grad_fn is not None
    with lib.no_grad():
        assert (x * 2).grad_fn is None


def test_data_is_a_full_tensor_on_the_same_storage_without_its_history(lib):
    x = leaf(lib, [[1.0, 2.0], [3.0, 4.0]])
    y = (x * 1).t()
    y.add_(1)
    d = y.data
    assert type(d) is lib.Tensor
    assert (d.shape, d.stride(), d.dtype, d.device, d.data_ptr()) == (
        y.shape,
        y.stride(),
        y.dtype,
        y.device,
        y.data_ptr(),
    )
    assert (d.requires_grad, d.grad_fn, d.grad, d._version) == (False, None, None, 0)


# --- what output.data is --------------------------------------------------------------------------------------------


def test_reading_writing_and_assigning_data_does_not_warn(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    with silent():
        x.data
        x.data[0] = 4.0
        x.data = lib.zeros(3)


def test_assigning_to_an_element_of_a_leaf_is_refused(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    with raises(lib, RuntimeError, VIEWLEAF):
        x[0] = 10.0
    assert repr(x) == "tensor([1., 2., 3.], requires_grad=True)"


def test_assigning_to_an_element_of_data_leaves_the_gradient_of_a_sum_right(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    x.data[1] = 20.0
    x.sum().backward()
    assert repr(x) == "tensor([ 1., 20.,  3.], requires_grad=True)"
    assert repr(x.grad) == "tensor([1., 1., 1.])"


def test_writing_to_data_changes_the_tensor_but_not_its_version_or_its_clone(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    y, z = x.clone(), x.data
    for _ in range(3):
        z += 1
    assert z.data_ptr() == x.data_ptr()
    assert close(x, [4.0, 5.0, 6.0])
    assert (x._version, z._version) == (0, 3)
    assert close(y, [1.0, 2.0, 3.0])
    assert backward_name(y) == "CloneBackward0"


def test_copying_into_a_leaf_needs_no_grad(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    with raises(lib, RuntimeError, LEAF):
        x.copy_(lib.zeros(3))
    assert close(x, [1.0, 2.0, 3.0])
    with lib.no_grad():
        x.copy_(lib.zeros(3))
    assert close(x, [0.0, 0.0, 0.0])


def test_rebinding_the_name_to_a_sum_leaves_the_gradient_with_the_original_leaf(lib):
    x = original = leaf(lib, [1.0, 2.0, 3.0])
    x = lib.add(x, lib.ones(3))
    x.sum().backward()
    with warns(lib, NONLEAFGRAD):
        assert x.grad is None
    assert close(original.grad, [1.0, 1.0, 1.0])


# --- functions versus tensors in the graph --------------------------------------------------------------------------


def test_backward_of_one_element_needs_no_gradient(lib):
    x, y = leaf(lib, [1.0]), leaf(lib, [2.0])
    (x + y).backward()
    assert repr(x.grad) == repr(y.grad) == "tensor([1.])"


def test_add_in_place_on_a_leaf_is_refused_at_the_call(lib):
    x = leaf(lib, [1.0])
    with raises(lib, RuntimeError, LEAF):
        x.add_(1)
    assert (x.item(), x._version) == (1.0, 0)
    (x + 1).backward()
    assert close(x.grad, [1.0])


def test_add_in_place_on_a_non_leaf_is_recorded(lib):
    x = leaf(lib, [1.0])
    xc = x.clone()
    xc.add_(1)
    assert backward_name(xc) == "AddBackward0"
    assert xc.grad_fn.next_functions[0][0].name() == "CloneBackward0"
    xc.backward()
    assert repr(x.grad) == "tensor([1.])"


def test_chained_in_place_operations_on_a_clone_give_the_right_gradient(lib):
    x = leaf(lib, [2.0])
    w = x.clone()
    w.mul_(3)
    w.pow_(2)
    w.backward()
    assert close(x.grad, [36.0])


def test_an_in_place_operation_on_a_saved_non_leaf_is_right_in_claygrad(lib):
    x = leaf(lib, [2.0])
    y = x.exp()
    y.add_(1)
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            y.backward()
    else:
        y.backward()
        assert close(x.grad, [7.389056])


def test_equal_computations_are_not_merged(lib):
    x = leaf(lib, [1.0])
    (first, _), (second, _) = (x.exp() + x.exp()).grad_fn.next_functions
    assert first.name() == second.name() == "ExpBackward0"
    assert first is not second


def test_a_custom_relu_prints_its_node_and_differentiates(lib):
    class MyReLU(lib.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value.clamp(min=0)

        @staticmethod
        def backward(ctx, gradient):
            (value,) = ctx.saved_tensors
            gradient = gradient.clone()
            gradient[value < 0] = 0
            return gradient

    x = leaf(lib, [-1.0, 2.0, -3.0])
    y = MyReLU.apply(x)
    assert repr(y) == "tensor([0., 2., 0.], grad_fn=<MyReLUBackward>)"
    y.sum().backward()
    assert repr(x.grad) == "tensor([0., 1., 0.])"


# --- modify values, keep autograd -----------------------------------------------------------------------------------


def test_assigning_all_of_a_leaf_is_refused(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    with raises(lib, RuntimeError, LEAF):
        x[:] = lib.zeros(3)


def test_assigning_all_of_a_non_leaf_is_recorded(lib):
    x, v = leaf(lib, [1.0, 2.0, 3.0]), leaf(lib, [7.0, 8.0, 9.0])
    y = x.clone()
    y[:] = v
    assert "grad_fn=<CopyBackwards>" in repr(y)
    (y * lib.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert close(x.grad, [0.0, 0.0, 0.0])
    assert close(v.grad, [1.0, 2.0, 3.0])


def test_backward_of_three_elements_needs_a_gradient(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    z = (x + 5) * 2
    with raises(lib, RuntimeError, IMPLICIT):
        z.backward()
    assert x.grad is None
    z.backward(lib.ones(3))
    assert repr(x.grad) == "tensor([2., 2., 2.])"


def test_where_differentiates_the_taken_branch_and_never_the_mask(lib):
    x = leaf(lib, [-1.0, 0.0, 2.0])
    mask = x > 0
    assert (mask.dtype, mask.requires_grad) == (lib.bool, False)
    lib.where(mask, x * 2, x).sum().backward()
    assert close(x.grad, [1.0, 1.0, 2.0])


def test_index_assignment_on_a_clone_is_recorded_for_both_sides(lib):
    x, values = leaf(lib, [1.0, 2.0, 3.0, 4.0, 5.0]), leaf(lib, [20.0, 40.0])
    y = x.clone()
    y[lib.tensor([1, 3])] = values
    assert backward_name(y) == "IndexPutBackward0"
    y.mean().backward()
    assert repr(x.grad) == "tensor([0.2000, 0.0000, 0.2000, 0.0000, 0.2000])"
    assert repr(values.grad) == "tensor([0.2000, 0.2000])"


# --- tensors and autograd -------------------------------------------------------------------------------------------


def test_values_shape_and_device_print_as_expected(lib):
    x = lib.tensor([1.0, 2.0, 3.0])
    assert f"Values: {x}" == "Values: tensor([1., 2., 3.])"
    assert f"Shape: {x.shape}" == renamed(lib, "Shape: torch.Size([3])")
    assert f"Device: {x.device}" == "Device: cpu"


def test_cuda_on_a_cpu_build_is_refused(lib):
    assert lib.cuda.is_available() is False
    device = lib.device("cuda")
    for use in (lambda: lib.tensor([1.0], device=device), lambda: lib.ones(1).to(device), lambda: lib.ones(1).cuda()):
        with raises(lib, AssertionError, CUDA):
            use()


def test_the_gradient_of_a_product_is_the_other_factor(lib):
    a, b = leaf(lib, [2.0]), leaf(lib, [3.0])
    (a * b).backward()
    assert repr(a.grad) == "tensor([3.])"
    assert repr(b.grad) == "tensor([2.])"


def test_only_leaves_keep_their_gradient(lib):
    a = leaf(lib, [2.0])
    kept, dropped = a * 3, a * 5
    kept.retain_grad()
    (kept * dropped).backward()
    assert close(kept.grad, [10.0])
    assert dropped.grad is None
    assert close(a.grad, [60.0])


def test_no_grad_computes_the_same_values_without_a_graph(lib):
    x = leaf(lib, [1.0, 2.0])
    outside = x * 2
    with lib.no_grad():
        inside = x * 2
    assert close(inside, outside.tolist())
    assert (inside.requires_grad, inside.grad_fn) == (False, None)


def test_a_descent_step_through_data_works_in_any_mode_and_moves_no_version(lib):
    w = leaf(lib, [1.0, 2.0])
    (w * w).sum().backward()
    w.data -= 0.25 * w.grad.data
    with lib.no_grad():
        w.data -= 0.25 * w.grad.data
    assert close(w, [0.0, 0.0])
    assert (w.is_leaf, w.requires_grad, w._version) == (True, True, 0)
    with raises(lib, RuntimeError, LEAF):
        w -= 0.5 * w.grad


def test_a_refused_add_in_place_leaves_the_leaf_usable(lib):
    a = leaf(lib, [1.0])
    with raises(lib, RuntimeError, LEAF):
        a.add_(1)
    b = a + 1
    b.backward()
    assert close(a.grad, [1.0])
