"""`autograd.functional`: products with Jacobian and Hessian, and both in full."""

from __future__ import annotations

import pytest

from tests.support import close, leaf, raises

NAMES = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]
PRODUCTS = ["vjp", "jvp", "hvp", "vhp"]


def pair(lib):
    return lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])


def two(a, b):
    return a * b, (a * a).sum()


def cubic(a, b):
    return (a**3 * b).sum()


# --- values ----------------------------------------------------------------------------------------------------------


def test_vjp_gives_the_output_and_the_vector_times_the_jacobian(lib):
    out, g = lib.autograd.functional.vjp(lambda x: x**2, lib.tensor([1.0, 2.0]), lib.tensor([10.0, 100.0]))
    assert close(out, [1.0, 4.0])
    assert close(g, [20.0, 400.0])


def test_jvp_gives_the_output_and_the_jacobian_times_the_vector(lib):
    m = lib.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    out, t = lib.autograd.functional.jvp(lambda x: m @ x, lib.tensor([1.0, 1.0]), lib.tensor([1.0, 10.0]))
    assert close(out, [3.0, 7.0, 11.0])
    assert close(t, [21.0, 43.0, 65.0])


def test_products_of_several_inputs_and_outputs_are_tuples(lib):
    a, b = pair(lib)
    out, (ga, gb) = lib.autograd.functional.vjp(two, (a, b), (lib.ones(2), lib.tensor(1.0)))
    assert close(out[0], [3.0, 8.0])
    assert close(out[1], 5.0)
    assert close(ga, [5.0, 8.0])
    assert close(gb, [1.0, 2.0])
    out, (t0, t1) = lib.autograd.functional.jvp(two, (a, b), (lib.ones(2), lib.zeros(2)))
    assert close(out[1], 5.0)
    assert close(t0, [3.0, 4.0])
    assert close(t1, 6.0)


def test_a_jacobian_is_shaped_output_by_input(lib):
    jacobian = lib.autograd.functional.jacobian
    assert close(jacobian(lambda x: x**2, lib.tensor([1.0, 2.0])), [[2.0, 0.0], [0.0, 4.0]])
    assert jacobian(lambda x: x.sum(0), lib.ones(2, 3)).shape == (3, 2, 3)
    assert jacobian(lambda x: x.sum(), lib.ones(2, 3)).shape == (2, 3)
    assert jacobian(lambda x: x.exp(), lib.tensor(0.0)).shape == ()


def test_a_jacobian_of_tuples_is_a_tuple_of_rows(lib):
    a, b = pair(lib)
    (aa, ab), (sa, sb) = lib.autograd.functional.jacobian(two, (a, b))
    assert close(aa, [[3.0, 0.0], [0.0, 4.0]])
    assert close(ab, [[1.0, 0.0], [0.0, 2.0]])
    assert close(sa, [2.0, 4.0])
    assert close(sb, [0.0, 0.0])
    (only,) = lib.autograd.functional.jacobian(lambda x: x * 3, (a,))
    assert close(only, [[3.0, 0.0], [0.0, 3.0]])
    _, second = lib.autograd.functional.jacobian(lambda x: (x, x * 3), a)
    assert close(second, [[3.0, 0.0], [0.0, 3.0]])


def test_vectorize_changes_the_way_and_not_the_values(lib):
    a, b = pair(lib)
    for create_graph in (False, True):
        (_, ab), (_, sb) = lib.autograd.functional.jacobian(two, (a, b), vectorize=True, create_graph=create_graph)
        assert close(ab, [[1.0, 0.0], [0.0, 2.0]])
        assert close(sb, [0.0, 0.0])
    h = lib.autograd.functional.hessian(lambda x: (x**3).sum(), a, vectorize=True)
    assert close(h, [[6.0, 0.0], [0.0, 12.0]])


def test_a_hessian_is_shaped_input_by_input(lib):
    a, b = pair(lib)
    assert close(lib.autograd.functional.hessian(lambda v: (v**3).sum(), a), [[6.0, 0.0], [0.0, 12.0]])
    (aa, ab), (ba, bb) = lib.autograd.functional.hessian(cubic, (a, b))
    assert close(aa, [[18.0, 0.0], [0.0, 48.0]])
    assert close(ab, [[3.0, 0.0], [0.0, 12.0]])
    assert close(ba, [[3.0, 0.0], [0.0, 12.0]])
    assert close(bb, [[0.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("name", ["hvp", "vhp"])
def test_the_hessian_times_a_vector_from_either_side(lib, name):
    a, b = pair(lib)
    out, (pa, pb) = getattr(lib.autograd.functional, name)(cubic, (a, b), (lib.ones(2), lib.zeros(2)))
    assert close(out, 35.0)
    assert close(pa, [18.0, 48.0])
    assert close(pb, [3.0, 12.0])


def test_the_vector_may_be_left_out_for_a_single_element(lib):
    functional = lib.autograd.functional
    x = lib.tensor([3.0])
    assert close(functional.vjp(lambda x: x**2, x)[1], [6.0])
    assert close(functional.jvp(lambda x: x**2, x)[1], [6.0])
    assert close(functional.hvp(lambda x: (x**3).sum(), x)[1], [18.0])
    assert close(functional.vhp(lambda x: (x**3).sum(), x)[1], [18.0])


def test_an_output_without_history_counts_as_constant(lib):
    functional = lib.autograd.functional
    x = lib.tensor([1.0, 2.0])
    constant = lambda x: lib.ones(2)
    assert close(functional.vjp(constant, x, x)[1], [0.0, 0.0])
    assert close(functional.jvp(constant, x, x)[1], [0.0, 0.0])
    assert close(functional.jacobian(constant, x), [[0.0, 0.0], [0.0, 0.0]])
    assert close(functional.hessian(lambda x: x.sum(), x), [[0.0, 0.0], [0.0, 0.0]])


# --- graphs ----------------------------------------------------------------------------------------------------------


def call(lib, name, x, **options):
    functional = getattr(lib.autograd.functional, name)
    function = (lambda x: (x**3).sum()) if name in ("hessian", "hvp", "vhp") else (lambda x: x**3)
    vector = (lib.ones(2),) if name in PRODUCTS else ()
    result = functional(function, x, *vector, **options)
    return result[1] if name in PRODUCTS else result


@pytest.mark.parametrize("name", NAMES)
def test_results_are_detached_and_the_inputs_untouched(lib, name):
    x = leaf(lib, [1.0, 2.0])
    assert not call(lib, name, x).requires_grad
    assert x.grad is None
    with lib.no_grad():
        assert not call(lib, name, x).requires_grad


@pytest.mark.parametrize("name", NAMES)
def test_with_create_graph_results_differentiate_further(lib, name):
    x = leaf(lib, [1.0, 2.0])
    result = call(lib, name, x, create_graph=True)
    assert result.requires_grad
    (g,) = lib.autograd.grad(result.sum(), x)
    third = [6.0, 6.0] if name in ("hessian", "hvp", "vhp") else [6.0, 12.0]
    assert close(g, third)


@pytest.mark.parametrize("name", NAMES)
def test_the_function_runs_with_recording_on(lib, name):
    seen = []
    x = lib.tensor([1.0, 2.0])
    with lib.no_grad():

        def function(x):
            seen.append(lib.is_grad_enabled())
            return (x**2).sum()

        vector = {"vjp": (lib.tensor(1.0),)}.get(name, (lib.ones(2),)) if name in PRODUCTS else ()
        getattr(lib.autograd.functional, name)(function, x, *vector)
    assert set(seen) == {True}


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_inputs_and_outputs_must_be_tensors_or_tuples_of_them(lib, name):
    function = getattr(lib.autograd.functional, name)
    begin = f"given to {name} must be either a Tensor or a tuple of Tensors but the"
    with raises(lib, TypeError, f"The inputs {begin} given inputs has type <class 'list'>."):
        function(lambda x: x, [lib.ones(2)])
    with raises(lib, TypeError, f"The inputs {begin} value at index 1 has type <class 'int'>."):
        function(lambda x: x, (lib.ones(2), 1))
    what = "outputs of the user-provided function"
    with raises(lib, TypeError, f"The {what} {begin} given {what} has type <class 'list'>."):
        function(lambda x: [x], lib.ones(1))


def test_the_vector_must_have_the_shape_of_what_it_multiplies(lib):
    functional = lib.autograd.functional
    a, b = pair(lib)
    with raises(lib, RuntimeError, "v has invalid size: should be torch.Size([2]) but got torch.Size([3])."):
        functional.vjp(lambda x: x, a, lib.ones(3))
    with raises(lib, RuntimeError, "Entry 1 in v has invalid size: should be torch.Size([2]) but got torch.Size([3])."):
        functional.jvp(two, (a, b), (a, lib.ones(3)))
    with raises(lib, RuntimeError, "v is a tuple of invalid length: should be 2 but got 1."):
        functional.jvp(two, (a, b), (a,))
    with raises(lib, RuntimeError, "The given v should contain a single Tensor."):
        functional.jvp(lambda x: x, a, (a, b))


def test_the_vector_may_not_be_left_out_for_several_elements(lib):
    functional = lib.autograd.functional
    a, _ = pair(lib)
    text = "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
    with raises(lib, RuntimeError, text):
        functional.vjp(lambda x: x, a)
    text = (
        "The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
        "element."
    )
    for name in ("jvp", "hvp", "vhp"):
        with raises(lib, RuntimeError, text):
            getattr(functional, name)(lambda x: x.sum(), a)


@pytest.mark.parametrize("name", ["hessian", "hvp", "vhp"])
def test_a_second_derivative_wants_one_output_with_one_element(lib, name):
    function = getattr(lib.autograd.functional, name)
    vector = () if name == "hessian" else (lib.ones(2),)
    with raises(lib, RuntimeError, f"The function given to {name} should return a single Tensor"):
        function(lambda x: (x.sum(), x.sum()), lib.ones(2), *vector)
    text = f"The Tensor returned by the function given to {name} should contain a single element"
    with raises(lib, RuntimeError, text):
        function(lambda x: x * 2, lib.ones(2), *vector)


# --- strict mode -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_strict_refuses_an_output_without_history(lib, name):
    vector = {"vjp": (lib.tensor(1.0),)}.get(name, (lib.ones(2),)) if name in PRODUCTS else ()
    text = (
        "Output 0 of the user-provided function does not require gradients. The outputs must be computed in a "
        "differentiable manner from the input when running in strict mode."
    )
    with raises(lib, RuntimeError, text):
        getattr(lib.autograd.functional, name)(lambda x: lib.tensor(1.0), lib.ones(2), *vector, strict=True)


def test_strict_refuses_an_input_that_the_output_ignores(lib):
    functional = lib.autograd.functional
    a, b = pair(lib)
    text = "The output of the user-provided function is independent of input 1. This is not allowed in strict mode."
    with raises(lib, RuntimeError, text):
        functional.vjp(lambda a, b: a * 2, (a, b), a, strict=True)
    text = "Output 0 of the user-provided function is independent of input 1. This is not allowed in strict mode."
    with raises(lib, RuntimeError, text):
        functional.jacobian(lambda a, b: a * 2, (a, b), strict=True)
    for name in ("hvp", "vhp"):
        text = "The output of the user-provided function is independent of input 1. This is not allowed in strict mode."
        with raises(lib, RuntimeError, text):
            getattr(functional, name)(lambda a, b: (a**2).sum(), (a, b), (a, b), strict=True)


@pytest.mark.parametrize("name", ["hvp", "vhp", "hessian"])
def test_strict_refuses_a_gradient_that_is_constant(lib, name):
    vector = () if name == "hessian" else (lib.ones(2),)
    text = (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input 0 is "
        "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
        "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
        "example)."
    )
    with raises(lib, RuntimeError, text):
        getattr(lib.autograd.functional, name)(lambda x: x.sum(), lib.ones(2), *vector, strict=True)


def test_strict_with_create_graph_refuses_a_constant_derivative(lib):
    functional = lib.autograd.functional
    x = lib.tensor([1.0, 2.0])
    text = (
        "The jacobian of the user-provided function is independent of input 0. This is not allowed in strict mode when "
        "create_graph=True."
    )
    with raises(lib, RuntimeError, text):
        functional.jacobian(lambda x: x.clone(), x, strict=True, create_graph=True)
    with raises(lib, RuntimeError, text):
        functional.vjp(lambda x: x.clone(), x, x, strict=True, create_graph=True)


def test_strict_and_vectorize_do_not_go_together(lib):
    text = (
        "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
        "either set `strict=False` or `vectorize=False`."
    )
    with raises(lib, RuntimeError, text):
        lib.autograd.functional.jacobian(lambda x: x * 2, lib.ones(2), strict=True, vectorize=True)


# --- strategies ------------------------------------------------------------------------------------------------------


def test_only_two_strategies_have_names(lib):
    text = 'Expected strategy to be either "forward-mode" or "reverse-mode".…'
    with raises(lib, AssertionError, text):
        lib.autograd.functional.jacobian(lambda x: x, lib.ones(1), strategy="sideways")
    with raises(lib, AssertionError, text):
        lib.autograd.functional.hessian(lambda x: x.sum(), lib.ones(1), outer_jacobian_strategy="sideways")


def test_forward_mode_is_vectorized_only(lib):
    text = "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
    with raises(lib, NotImplementedError, text):
        lib.autograd.functional.jacobian(lambda x: x, lib.ones(1), strategy="forward-mode")
    with raises(lib, NotImplementedError, text):
        lib.autograd.functional.hessian(lambda x: x.sum(), lib.ones(1), outer_jacobian_strategy="forward-mode")
    text = 'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet).…'
    with raises(lib, RuntimeError, text):
        lib.autograd.functional.jacobian(lambda x: x, lib.ones(1), strategy="forward-mode", strict=True, vectorize=True)
