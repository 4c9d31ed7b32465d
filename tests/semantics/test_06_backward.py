"""Section 6: backward and autograd.grad."""

from __future__ import annotations

import pytest

from tests.support import close, leaf, raises, warns
from tests.support.messages import IMPLICIT, NOREQ, TWICE, shape_mismatch, unused


def test_backward_of_several_or_no_elements_needs_a_gradient(lib):
    for values in ([1.0, 2.0], []):
        with raises(lib, RuntimeError, IMPLICIT):
            (leaf(lib, values) * 2).backward()


def test_backward_of_a_complex_scalar_needs_a_gradient(lib):
    text = "grad can be implicitly created only for real scalar outputs but got torch.complex64"
    with raises(lib, RuntimeError, text):
        (leaf(lib, 1j) * 2).backward()


def test_backward_of_one_element_of_any_rank_is_allowed(lib):
    x = leaf(lib, [[3.0]])
    (x * x).backward()
    assert close(x.grad, [[6.0]])


@pytest.mark.parametrize(
    ("output", "gradient"),
    [([2], [3]), ([2], [1]), ([2], []), ([], [1]), ([2], [2, 1]), ([2, 1], [2])],
)
def test_the_gradient_is_never_broadcast(lib, output, gradient):
    y = lib.ones(output, requires_grad=True) * 2
    with raises(lib, RuntimeError, shape_mismatch(gradient, output)):
        y.backward(lib.ones(gradient))


def test_the_gradient_must_be_a_tensor(lib):
    y = leaf(lib, [1.0, 2.0]) * 2
    with raises(lib, TypeError, "'float' object is not iterable"):
        y.backward(1.0)
    with raises(lib, TypeError, "gradients can be either Tensors or None, but got float"):
        y.backward([1.0, 1.0])


def test_a_gradient_of_another_float_dtype_is_cast(lib):
    x = leaf(lib, [1.0, 2.0])
    (x * 2).backward(lib.ones(2, dtype=lib.float64))
    assert x.grad.dtype is lib.float32
    assert close(x.grad, [2.0, 2.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda lib, x: lib.ones(1),
        lambda lib, x: lib.tensor([1]),
        lambda lib, x: (x * 2).detach(),
        lambda lib, x: x > 0,
        lambda lib, x: (x * 2).data,
        lambda lib, x: x.argmax(),
    ],
    ids="constant int detached comparison data argmax".split(),
)
def test_backward_from_what_does_not_require_grad_is_refused(lib, make):
    with raises(lib, RuntimeError, NOREQ):
        make(lib, leaf(lib, [1.0])).backward()


@pytest.mark.parametrize(
    "forward",
    [lambda x: x * x, lambda x: x * 2, lambda x: x.exp(), lambda x: (x * 2) + 1],
    ids="square double exp path".split(),
)
def test_a_second_backward_is_refused_when_the_path_saved_something(lib, forward):
    y = forward(leaf(lib, [1.0]))
    y.backward()
    with raises(lib, RuntimeError, TWICE):
        y.backward()


def test_a_second_backward_is_free_when_nothing_was_saved(lib):
    x = leaf(lib, [1.0, 2.0])
    y = (x + 1).sum()
    for _ in range(3):
        y.backward()
    assert close(x.grad, [3.0, 3.0])


def test_retain_graph_allows_the_next_backward_and_the_last_one_frees(lib):
    x = leaf(lib, [2.0])
    y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert close(x.grad, [12.0])
    with raises(lib, RuntimeError, TWICE):
        y.backward()


def test_create_graph_retains_the_graph_by_itself(lib):
    x = leaf(lib, [2.0])
    y = x * x
    lib.autograd.grad(y, x, create_graph=True)
    (g,) = lib.autograd.grad(y, x)
    assert close(g, [4.0])


def test_two_losses_over_a_shared_saved_value_need_retain_graph(lib):
    x = leaf(lib, [1.0])
    h = x.exp()
    first, second = (h * 2).sum(), (h * 3).sum()
    first.backward()
    with raises(lib, RuntimeError, TWICE):
        second.backward()


def test_two_losses_over_a_shared_sum_are_fine(lib):
    x = leaf(lib, [1.0])
    h = x + 1
    first, second = (h * 2).sum(), (h * 3).sum()
    first.backward()
    second.backward()
    assert close(x.grad, [5.0])


def test_backward_of_several_losses_accumulates_all(lib):
    x = leaf(lib, [1.0])
    lib.autograd.backward([(x * 2).sum(), (x * 3).sum()])
    assert close(x.grad, [5.0])
    lib.autograd.backward([])


def test_backward_takes_one_gradient_per_tensor(lib):
    x = leaf(lib, [1.0])
    a, b = x * 2, x * 3
    with raises(lib, RuntimeError, "got 2 tensors and 1 gradients"):
        lib.autograd.backward([a, b], [lib.ones(1)])
    lib.autograd.backward([a, b], [lib.ones(1), None])
    assert close(x.grad, [5.0])


def test_backward_with_inputs_reaches_only_these(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [3.0])
    (x * u).backward(inputs=[x])
    assert close(x.grad, [3.0])
    assert u.grad is None
    (x * u).backward(inputs=u)
    assert close(u.grad, [2.0])


def test_backward_with_a_non_leaf_input_fills_its_gradient(lib):
    x = leaf(lib, [2.0])
    y = x * 3
    (y * y).backward(inputs=[y])
    assert close(y.grad, [12.0])
    assert x.grad is None


def test_backward_with_an_unrelated_input_leaves_it_alone(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [3.0])
    (x * 2).backward(inputs=[u])
    assert u.grad is None
    assert x.grad is None


def test_backward_refuses_a_constant_or_an_empty_list_of_inputs(lib):
    x = leaf(lib, [2.0])
    with raises(lib, RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
        (x * 2).backward(inputs=[lib.ones(1)])
    with raises(lib, RuntimeError, "`inputs` argument to `backward()` cannot be empty."):
        (x * 2).backward(inputs=[])


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_backward_works_inside_a_mode_that_does_not_record(lib, mode):
    x = leaf(lib, [2.0])
    y = x * x
    with getattr(lib, mode)():
        y.backward()
    assert close(x.grad, [4.0])


def test_grad_returns_a_tuple_and_leaves_the_attribute_alone(lib):
    x = leaf(lib, [2.0])
    result = lib.autograd.grad(x * x, x)
    assert type(result) is tuple
    assert close(result[0], [4.0])
    assert x.grad is None


def test_grad_runs_the_hooks_of_the_input_which_may_replace_it(lib):
    x = leaf(lib, [2.0])
    x.register_hook(lambda g: g * 100)
    assert close(lib.autograd.grad(x * x, x)[0], [400.0])


def test_an_unused_input_is_refused_or_none_or_zeros(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [3.0, 4.0])
    y = x * 1
    with raises(lib, RuntimeError, unused(1)):
        lib.autograd.grad(y, [x, u], retain_graph=True)
    assert lib.autograd.grad(y, [x, u], retain_graph=True, allow_unused=True)[1] is None
    assert close(lib.autograd.grad(y, [x, u], retain_graph=True, materialize_grads=True)[1], [0.0, 0.0])


def test_materialize_grads_contradicts_allow_unused_false(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [3.0])
    text = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
    with raises(lib, ValueError, text):
        lib.autograd.grad(x * 1, u, materialize_grads=True, allow_unused=False)


def test_grad_of_a_vector_needs_grad_outputs_of_its_shape(lib):
    x = leaf(lib, [2.0, 3.0])
    y = x * x
    with raises(lib, RuntimeError, IMPLICIT):
        lib.autograd.grad(y, x)
    with raises(lib, RuntimeError, shape_mismatch([3], [2])):
        lib.autograd.grad(y, x, lib.ones(3))
    assert close(lib.autograd.grad(y, x, lib.tensor([1.0, 10.0]))[0], [4.0, 60.0])


def test_grad_refuses_constants_at_either_end(lib):
    x = leaf(lib, [2.0])
    with raises(lib, RuntimeError, "One of the differentiated Tensors does not require grad"):
        lib.autograd.grad(x * 1, lib.ones(1))
    with raises(lib, RuntimeError, NOREQ):
        lib.autograd.grad(lib.ones(1), x)


def test_grad_with_respect_to_what_is_not_on_the_path_is_unused(lib):
    x = leaf(lib, [2.0])
    with raises(lib, RuntimeError, unused(0)):
        lib.autograd.grad(x.sum(), x * 1)


def test_grad_refuses_an_empty_list_of_inputs(lib):
    x = leaf(lib, [2.0])
    with raises(lib, RuntimeError, "`inputs` argument to `grad()` cannot be empty."):
        lib.autograd.grad(x * 1, ())


def test_grad_answers_repeated_inputs_and_sums_several_outputs(lib):
    x = leaf(lib, [2.0])
    first, second = lib.autograd.grad(x * x, [x, x])
    assert close(first, [4.0])
    assert close(second, [4.0])
    assert close(lib.autograd.grad([x * 2, x * 3], x)[0], [5.0])


def test_grad_reaches_a_leaf_and_an_intermediate_at_once(lib):
    x = leaf(lib, [2.0])
    z = x * 3
    gx, gz = lib.autograd.grad(z * z, [x, z])
    assert close(gx, [36.0])
    assert close(gz, [12.0])


def test_batched_gradients_give_the_rows_of_the_jacobian(lib):
    x = leaf(lib, [2.0, 3.0])
    (rows,) = lib.autograd.grad(x * x, x, lib.eye(2), is_grads_batched=True)
    assert close(rows, [[4.0, 0.0], [0.0, 6.0]])


def test_only_inputs_false_is_deprecated(lib):
    x = leaf(lib, [2.0])
    text = (
        "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
        "parts of "
        "the graph, please use torch.autograd.backward."
    )
    with warns(lib, text, FutureWarning):
        lib.autograd.grad(x * 1, x, only_inputs=False)


def test_derivatives_of_a_cube_to_third_order(lib):
    x = leaf(lib, 2.0)
    (g,) = lib.autograd.grad(x**3, x, create_graph=True)
    (h,) = lib.autograd.grad(g, x, create_graph=True)
    (k,) = lib.autograd.grad(h, x)
    assert (g.item(), h.item(), k.item()) == (12.0, 12.0, 6.0)


def test_without_create_graph_the_gradient_is_detached(lib):
    x = leaf(lib, 2.0)
    (g,) = lib.autograd.grad(x**3, x)
    with raises(lib, RuntimeError, NOREQ):
        g.backward()


def test_functional_hessian_and_jacobian(lib):
    f = lib.autograd.functional
    v = lib.tensor([1.0, 2.0])
    assert close(f.hessian(lambda t: (t**3).sum(), v), [[6.0, 0.0], [0.0, 12.0]])
    assert close(f.jacobian(lambda t: t * t, v), [[2.0, 0.0], [0.0, 4.0]])


def test_functional_products(lib):
    f = lib.autograd.functional
    v, d = lib.tensor([1.0, 2.0]), lib.tensor([1.0, 10.0])
    value, product = f.vjp(lambda t: t * t, v, d)
    assert close(value, [1.0, 4.0])
    assert close(product, [2.0, 40.0])
    assert close(f.jvp(lambda t: t * t, v, d)[1], [2.0, 40.0])
    assert close(f.hvp(lambda t: (t**3).sum(), v, d)[1], [6.0, 120.0])
    assert close(f.vhp(lambda t: (t**3).sum(), v, d)[1], [6.0, 120.0])


def test_functional_jacobian_of_several_inputs_is_nested(lib):
    a, b = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])
    ja, jb = lib.autograd.functional.jacobian(lambda p, q: p * q, (a, b))
    assert close(ja, [[3.0, 0.0], [0.0, 4.0]])
    assert close(jb, [[1.0, 0.0], [0.0, 2.0]])


def test_a_gradient_that_meets_from_two_paths_is_summed_before_it_goes_on(lib):
    x = leaf(lib, [1.0, 2.0])
    seen = []
    h = x * 1
    h.register_hook(lambda g: seen.append(g.tolist()))
    (h * 2 + h * 3).sum().backward()
    assert seen == [[5.0, 5.0]]


def test_backward_runs_each_node_once_in_a_diamond_of_diamonds(lib):
    x = leaf(lib, 1.0)
    y = x
    for _ in range(40):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**40
