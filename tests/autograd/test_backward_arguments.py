"""What `autograd.backward` and `autograd.grad` take, and what they say to the rest."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from tests.support import close, is_torch, leaf, raises, warns
from tests.support.messages import IMPLICIT, NOREQ, shape_mismatch, unused


def test_roots_and_inputs_may_be_any_iterable_of_tensors(lib):
    x = leaf(lib, [1.0, 2.0])
    lib.autograd.backward(t for t in [x.sum(), (2 * x).sum()])
    assert close(x.grad, [3.0, 3.0])
    (g,) = lib.autograd.grad([(x * x).sum()], iter([x]))
    assert close(g, [2.0, 4.0])


@pytest.mark.parametrize("wrong", [1, None])
def test_what_is_no_tensor_and_no_iterable_is_no_root(lib, wrong):
    with raises(lib, TypeError, f"'{type(wrong).__name__}' object is not iterable"):
        lib.autograd.backward(wrong)
    with raises(lib, TypeError, f"'{type(wrong).__name__}' object is not iterable"):
        lib.autograd.grad(wrong, leaf(lib, [1.0]))


def test_an_iterable_of_something_else_is_no_root(lib):
    with raises(lib, AssertionError, "Expected output to be a torch.Tensor"):
        lib.autograd.backward([1])


@pytest.mark.parametrize("wrong", [1, None])
def test_inputs_must_be_tensors(lib, wrong):
    x = leaf(lib, [1.0])
    text = f"all inputs have to be Tensors or GradientEdges, but got {type(wrong).__name__}"
    with raises(lib, RuntimeError, text):
        lib.autograd.grad(x.sum(), [wrong])
    with raises(lib, RuntimeError, text):
        lib.autograd.backward(x.sum(), inputs=[wrong])


def test_a_dict_of_inputs_gives_a_dict_of_gradients(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [2.0])
    grads = lib.autograd.grad((x * u).sum(), {"x": x, "u": u})
    assert list(grads) == ["x", "u"]
    assert close(grads["x"], [2.0])
    assert close(grads["u"], [1.0])
    lib.autograd.backward((x * u).sum(), inputs={"u": u})
    assert x.grad is None
    assert close(u.grad, [1.0])


def test_another_mapping_of_inputs_is_refused(lib):
    x = leaf(lib, [1.0])
    for name, call in [
        ("grad", lambda: lib.autograd.grad(x.sum(), OrderedDict(x=x))),
        ("backward", lambda: lib.autograd.backward(x.sum(), inputs=OrderedDict(x=x))),
    ]:
        text = (
            f"`inputs` argument to `{name}()` must be a dict, not OrderedDict. Other Mapping types are not supported."
        )
        with raises(lib, TypeError, text):
            call()


def test_grad_variables_is_the_deprecated_name_of_grad_tensors(lib):
    x = leaf(lib, [1.0, 2.0])
    with warns(lib, "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning):
        lib.autograd.backward(x * 2, grad_variables=lib.ones(2))
    assert close(x.grad, [2.0, 2.0])
    text = (
        "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
        "`grad_tensors`."
    )
    with raises(lib, RuntimeError, text):
        lib.autograd.backward(x * 2, lib.ones(2), grad_variables=lib.ones(2))


def test_a_gradient_for_some_roots_may_be_none(lib):
    x = leaf(lib, [1.0, 2.0])
    lib.autograd.backward([x * 2, x.sum()], [lib.ones(2), None])
    assert close(x.grad, [3.0, 3.0])


def test_gradients_beyond_the_last_root_are_ignored(lib):
    x = leaf(lib, [1.0])
    lib.autograd.backward([x * 2], [lib.ones(1), lib.ones(7)])
    assert close(x.grad, [2.0])


def test_too_few_gradients_are_refused(lib):
    x = leaf(lib, [1.0])
    with raises(lib, RuntimeError, "got 2 tensors and 1 gradients"):
        lib.autograd.backward([x * 2, x * 3], [lib.ones(1)])
    with raises(lib, RuntimeError, "got 2 tensors and 1 gradients"):
        lib.autograd.grad([x * 2, x * 3], x, [lib.ones(1)])


def test_gradients_must_be_tensors_or_none(lib):
    x = leaf(lib, [1.0])
    with raises(lib, TypeError, "gradients can be either Tensors or None, but got str"):
        lib.autograd.grad(x * 2, x, ["a"])
    with raises(lib, TypeError, "'float' object is not iterable"):
        lib.autograd.grad(x * 2, x, 1.0)


def test_a_gradient_of_the_wrong_shape_names_its_place(lib):
    x = leaf(lib, [1.0, 2.0])
    with raises(lib, RuntimeError, shape_mismatch([3], [2])):
        lib.autograd.backward(x * 2, lib.ones(3))
    if is_torch(lib):  # which compares tensors to find the place, and stumbles over that
        text = "Boolean value of Tensor with more than one value is ambiguous"
    else:
        text = shape_mismatch([3], [2]).replace("output[0]", "output[1]")
    with raises(lib, RuntimeError, text):
        lib.autograd.grad([x.sum(), x * 2], x, [None, lib.ones(3)])


def test_a_complex_gradient_for_a_real_output_is_refused(lib):
    x = leaf(lib, [1.0, 2.0])
    text = (
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[0] has a dtype of torch.complex64 and output[0] has a dtype of torch.float32."
    )
    with raises(lib, RuntimeError, text):
        lib.autograd.grad(x * 2, x, lib.ones(2, dtype=lib.complex64))


def test_an_integer_gradient_is_cast(lib):
    x = leaf(lib, [1.0, 2.0])
    (g,) = lib.autograd.grad(x * 2, x, lib.ones(2, dtype=lib.int64))
    assert g.dtype is lib.float32
    assert close(g, [2.0, 2.0])


def test_the_message_for_a_vector_output_adds_where_it_was_made(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 2
    with pytest.raises(RuntimeError) as caught:
        lib.autograd.grad(y, x)
    lines = str(caught.value).split("\n")
    assert lines[0] == IMPLICIT
    if not is_torch(lib):
        assert any("y = x * 2" in line and "test_backward_arguments.py" in line for line in lines[1:])


def test_a_root_without_history_is_named_by_its_place(lib):
    x, c = leaf(lib, [1.0]), lib.ones(1)
    with raises(lib, RuntimeError, NOREQ.replace("element 0", "element 1")):
        lib.autograd.grad([x.sum(), c.sum()], x)
    with raises(lib, RuntimeError, NOREQ):
        lib.autograd.backward([c, x.sum()], [lib.ones(1), None])


def test_no_outputs_use_no_input(lib):
    with raises(lib, RuntimeError, unused()):
        lib.autograd.grad([], leaf(lib, [1.0]))
    assert lib.autograd.grad([], leaf(lib, [1.0]), allow_unused=True) == (None,)


def test_materialized_gradients_require_grad_if_a_graph_is_made(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [[2.0, 3.0]])
    (g,) = lib.autograd.grad(x.sum(), u, materialize_grads=True)
    assert close(g, [[0.0, 0.0]])
    assert not g.requires_grad
    (g,) = lib.autograd.grad(x.sum(), u, materialize_grads=True, create_graph=True)
    assert g.requires_grad


# --- many gradients at once ----------------------------------------------------------------------------------------


def test_batched_gradients_add_a_dimension_to_every_result(lib):
    x, u = leaf(lib, [1.0, 2.0]), leaf(lib, 3.0)
    y = x * x * u
    gx, gu, none = lib.autograd.grad(
        y, [x, u, leaf(lib, [1.0])], lib.eye(2), is_grads_batched=True, allow_unused=True, retain_graph=True
    )
    assert close(gx, [[6.0, 0.0], [0.0, 12.0]])
    assert close(gu, [1.0, 4.0])
    assert none is None
    (again,) = lib.autograd.grad(y, x, lib.ones(3, 2), is_grads_batched=True)
    assert again.shape == (3, 2)
    with pytest.raises(RuntimeError, match="a second time"):
        lib.autograd.grad(y, x, lib.ones(3, 2), is_grads_batched=True)


def test_batched_gradients_of_several_outputs_go_row_by_row(lib):
    x = leaf(lib, [1.0, 2.0])
    (g,) = lib.autograd.grad(
        [x * 2, x.sum()], x, [lib.eye(2), lib.tensor([10.0, 20.0])], is_grads_batched=True, create_graph=True
    )
    assert close(g, [[12.0, 10.0], [20.0, 22.0]])


def test_batched_gradients_of_the_wrong_shape_are_refused(lib):
    x = leaf(lib, [1.0, 2.0])
    text = "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension.…"
    with raises(lib, RuntimeError, text):
        lib.autograd.grad(x * 2, x, lib.ones(2, 3), is_grads_batched=True)
    text = (
        "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [2, 3] for the mapped "
        "dimension"
    )
    with raises(lib, ValueError, text):
        lib.autograd.grad([x * 2, x * 3], x, [lib.eye(2), lib.ones(3, 2)], is_grads_batched=True)
    with pytest.raises(ValueError):
        lib.autograd.grad(x.sum(), x, is_grads_batched=True)


# --- edges in place of tensors ---------------------------------------------------------------------------------------


def test_a_gradient_edge_stands_for_its_tensor(lib):
    edge = lib.autograd.graph.get_gradient_edge
    x = leaf(lib, [1.0, 2.0])
    y = x * 2
    out = (y * y).sum()
    gx, gy = lib.autograd.grad(out, [edge(x), edge(y)], retain_graph=True)
    assert close(gx, [8.0, 16.0])
    assert close(gy, [4.0, 8.0])
    root = edge(out)
    del out
    lib.autograd.backward(root)
    assert close(x.grad, [8.0, 16.0])
    (g,) = lib.autograd.grad(edge(x * 3), x, lib.ones(2))
    assert close(g, [3.0, 3.0])


def test_a_gradient_edge_knows_its_shape(lib):
    edge = lib.autograd.graph.get_gradient_edge
    x = leaf(lib, [1.0, 2.0])
    y = x * 2
    with raises(lib, RuntimeError, IMPLICIT):
        lib.autograd.grad(edge(y), x)
    with raises(lib, RuntimeError, shape_mismatch([3], [2])):
        lib.autograd.grad(edge(y), x, lib.ones(3))


def test_zeros_cannot_be_made_for_an_edge(lib):
    edge = lib.autograd.graph.get_gradient_edge(leaf(lib, [1.0]))
    with raises(lib, RuntimeError, "materialize_grads cannot be used when the given input is a GradientEdge"):
        lib.autograd.grad(leaf(lib, [1.0]).sum(), edge, materialize_grads=True)


def test_a_gradient_that_somebody_holds_is_not_handed_to_the_leaf(lib):
    weight, index = lib.ones(4, 3, requires_grad=True), lib.tensor([0, 2, 2])
    held = []
    weight.register_hook(held.append)
    lib.nn.functional.embedding(index, weight).sum().backward()
    weight.grad.add_(1)
    assert held[0].tolist() == [[1.0] * 3, [0.0] * 3, [2.0] * 3, [0.0] * 3]
    assert weight.grad.tolist() == [[2.0] * 3, [1.0] * 3, [3.0] * 3, [1.0] * 3]


def test_leaves_of_one_gradient_have_memory_of_their_own(lib):
    a, b = (lib.ones(2, 3, 4, 4, requires_grad=True) for _ in range(2))
    lib.nn.functional.max_pool2d(a + b, 2).sum().backward()
    a.grad.add_(1)
    assert (b.grad <= 1).all()
    assert (a.grad == b.grad + 1).all()
