"""`gradcheck` and `gradgradcheck`: what passes, what fails, and how it is said."""

from __future__ import annotations

import importlib
import warnings

import pytest

from tests.support import is_torch, leaf, raises, silent, warns

MODES = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def double(lib, values=(1.0, 2.0), **options):
    return leaf(lib, list(values) if isinstance(values, tuple) else values, dtype=lib.float64, **options)


def error(lib):
    return lib.autograd.gradcheck.__globals__["GradcheckError"]


def function(lib, forward, backward):
    """A custom function with this forward, and a backward that takes (g, x)."""

    class Custom(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, *g):
            return backward(*g, ctx.saved_tensors[0])

    return Custom.apply


# --- what passes -----------------------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x**3,
        lambda x: x.sum(),
        lambda x: (x.exp(), (x * x).sum()),
        lambda x: [x.sin(), x.cos()],
        lambda x: x.reshape(2, 1) * x,
        lambda x: (x * 2, x.argmax()),
    ],
    ids=["vector", "scalar", "tuple", "list", "outer product", "with an index"],
)
def test_right_gradients_pass(lib, f, fast_mode):
    with silent():
        assert lib.autograd.gradcheck(f, double(lib), fast_mode=fast_mode) is True


@MODES
def test_right_second_derivatives_pass(lib, fast_mode):
    x, u = double(lib), double(lib, (0.5, -1.5))
    check = lib.autograd.gradgradcheck
    assert check(lambda x, u: x**3 * u.sin(), (x, u), fast_mode=fast_mode)
    assert check(lambda x: (x**2).sum(), x, fast_mode=fast_mode)
    assert check(lambda x: (x**3, x.exp()), [x], fast_mode=fast_mode, gen_non_contig_grad_outputs=True)


def test_the_gradients_of_outputs_may_be_given(lib):
    x = double(lib)
    g = double(lib, (3.0, 4.0))
    assert lib.autograd.gradgradcheck(lambda x: x**3, x, g)
    assert lib.autograd.gradgradcheck(lambda x: x**3, (x,), [g.detach()])


@MODES
@pytest.mark.parametrize(
    "f",
    [lambda z: z * z, lambda z: z.exp(), lambda z: (z * z.conj()).real, lambda z: z.abs(), lambda z: (z.sin(), z.imag)],
    ids=["square", "exp", "squared modulus", "modulus", "both"],
)
def test_complex_inputs_and_outputs_pass(lib, f, fast_mode):
    z = leaf(lib, [1.0 + 2.0j, -0.5 - 1.0j], dtype=lib.complex128)
    assert lib.autograd.gradcheck(f, z, fast_mode=fast_mode)
    assert lib.autograd.gradgradcheck(f, z, fast_mode=fast_mode)


@MODES
def test_real_inputs_may_meet_complex_constants(lib, fast_mode):
    c = lib.tensor([1.0j, 2.0 - 1.0j], dtype=lib.complex128)
    assert lib.autograd.gradcheck(lambda x: x * c, double(lib), fast_mode=fast_mode)


def test_only_inputs_that_require_grad_are_checked(lib):
    x, c, k = double(lib), lib.tensor([5.0, 6.0], dtype=lib.float64), 3
    assert lib.autograd.gradcheck(lambda x, c, k: x * c**k, (x, c, k))


@MODES
def test_a_function_without_differentiable_outputs_must_be_flat(lib, fast_mode):
    check = lib.autograd.gradcheck
    assert check(lambda x: x.detach() * 0 + 1, double(lib), fast_mode=False, check_undefined_grad=False)
    with raises(lib, error(lib), "Numerical gradient for function expected to be zero"):
        check(lambda x: x.detach() * 2, double(lib), fast_mode=fast_mode)


def test_the_inputs_are_as_before_afterwards(lib):
    x = double(lib)
    lib.autograd.gradcheck(lambda x: x**2, x)
    assert x.tolist() == [1.0, 2.0]
    assert x.grad is None


def test_a_non_contiguous_input_is_perturbed_in_place(lib):
    x = double(lib, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).detach().t().requires_grad_()
    assert lib.autograd.gradcheck(lambda x: (x * x).sum(0), x)


def test_empty_tensors_pass(lib):
    assert lib.autograd.gradcheck(lambda x: x * 2, double(lib, ()))


def test_zero_dim_tensors_pass(lib):
    assert lib.autograd.gradcheck(lambda x: x.exp(), double(lib, 0.5))


# --- what fails ------------------------------------------------------------------------------------------------------


def test_a_wrong_gradient_shows_both_jacobians(lib):
    wrong = function(lib, lambda x: x**2, lambda g, x: 3 * g * x)
    text = (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[2.0000, 0.0000],\n        [0.0000, 4.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[3., 0.],\n        [0., 6.]], dtype=torch.float64)\n"
    )
    with raises(lib, error(lib), text):
        lib.autograd.gradcheck(wrong, double(lib))
    assert issubclass(error(lib), RuntimeError)
    assert lib.autograd.gradcheck(wrong, double(lib), raise_exception=False) is False


def test_in_fast_mode_a_wrong_gradient_shows_products_and_then_the_jacobians(lib):
    wrong = function(lib, lambda x: x**2, lambda g, x: 3 * g * x)
    with pytest.raises(error(lib)) as caught:
        lib.autograd.gradcheck(wrong, double(lib), fast_mode=True)
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert "fast" in text
    assert "[3., 0.]" in text
    assert "[0., 6.]" in text


@MODES
def test_a_mismatch_names_the_output_and_the_input(lib, fast_mode):
    wrong = function(lib, lambda x: x**2, lambda g, x: 3 * g * x)
    x, u = double(lib), double(lib, (3.0, 4.0))
    with pytest.raises(error(lib), match=r"^Jacobian mismatch for output 1 with respect to input 1,"):
        lib.autograd.gradcheck(lambda x, c, u: (x * u, wrong(u)), (x, 7.0, u), fast_mode=fast_mode)


@MODES
def test_a_mismatch_in_a_complex_output_names_the_part(lib, fast_mode):
    wrong = function(lib, lambda z: z * z, lambda g, z: g * z)
    z = leaf(lib, [1.0 + 2.0j], dtype=lib.complex128)
    text = r"^While considering the imaginary part of complex outputs only, Jacobian mismatch for output 0"
    with pytest.raises(error(lib), match=text):
        lib.autograd.gradcheck(wrong, z, fast_mode=fast_mode)


@MODES
def test_a_wrong_second_derivative_is_found(lib, fast_mode):
    def backward(g, x):
        return g * 2 * x.detach()

    right_once = function(lib, lambda x: x**2, backward)
    assert lib.autograd.gradcheck(right_once, double(lib), fast_mode=fast_mode)
    assert not lib.autograd.gradgradcheck(right_once, double(lib), fast_mode=fast_mode, raise_exception=False)


def test_tolerances_decide(lib):
    nearly = function(lib, lambda x: x**2, lambda g, x: g * 2.02 * x)
    check = lib.autograd.gradcheck
    assert not check(nearly, double(lib), raise_exception=False)
    assert check(nearly, double(lib), rtol=0.02)
    assert check(nearly, double(lib), atol=0.1)
    assert check(lambda x: x**3, double(lib), eps=1e-4)


def test_a_backward_that_wanders_is_refused_beyond_its_tolerance(lib):
    calls = []

    def backward(g, x):
        calls.append(1)
        return g * (2 + 1e-7 * len(calls)) * x

    wandering = function(lib, lambda x: x**2, backward)
    text = (
        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
        "different values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism "
        "was 0.0.…"
    )
    with raises(lib, error(lib), text):
        lib.autograd.gradcheck(wandering, double(lib))
    assert lib.autograd.gradcheck(wandering, double(lib), nondet_tol=1e-3)


def test_a_backward_that_ignores_its_gradient_is_refused(lib):
    ignoring = function(lib, lambda x: x.sum(), lambda g, x: lib.ones_like(x))
    with raises(lib, error(lib), "backward not multiplied by grad_output"):
        lib.autograd.gradcheck(ignoring, double(lib))


def test_masked_forgives_a_rounding_error_at_a_zero_gradient(lib):
    rounding = function(lib, lambda x: x.sum(), lambda g, x: (g + 1e-12) * lib.ones_like(x))
    assert not lib.autograd.gradcheck(rounding, double(lib), raise_exception=False)
    assert lib.autograd.gradcheck(rounding, double(lib), masked=True, check_undefined_grad=False)


def test_a_backward_that_cannot_bear_an_absent_gradient_is_refused(lib):
    class Fussy(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            if g is None or h is None:
                raise RuntimeError("no gradient")
            return 2 * g + 3 * h

    assert lib.autograd.gradcheck(lambda x: sum(Fussy.apply(x)), double(lib), check_undefined_grad=False)
    text = "Expected backward function to handle undefined output grads.…"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with raises(lib, error(lib), text):
            lib.autograd.gradcheck(lambda x: sum(Fussy.apply(x)), double(lib))


def test_other_exceptions_pass_through_even_when_asked_for_a_verdict(lib):
    def broken(x):
        raise KeyError

    with pytest.raises(KeyError):
        lib.autograd.gradcheck(broken, double(lib), raise_exception=False)


# --- what is not checked at all ---------------------------------------------------------------------------------------


def test_an_input_in_single_precision_draws_a_warning(lib):
    text = (
        "Input #1 requires gradient and is not a double precision floating point or complex. This check will likely "
        "fail if all the inputs are not of double precision floating point or complex. "
    )
    with warns(lib, text):
        lib.autograd.gradcheck(lambda x, u: x + u, (double(lib), leaf(lib, [1.0, 2.0])), eps=1e-2, atol=1e-1)


def test_some_input_must_require_grad(lib):
    text = "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
    with raises(lib, ValueError, text):
        lib.autograd.gradcheck(lambda x: x, lib.ones(2))
    with raises(lib, ValueError, text):
        lib.autograd.gradcheck(lambda x: lib.ones(1), 3)


def test_an_expanded_input_cannot_be_perturbed(lib):
    x = lib.ones(1, dtype=lib.float64).expand(3).requires_grad_()
    text = (
        "The 0th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
        "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
        "to gradcheck."
    )
    with raises(lib, RuntimeError, text):
        lib.autograd.gradcheck(lambda x: x * 2, x)


def test_outputs_must_keep_their_shape_when_the_input_moves(lib):
    def jumpy(x):
        return x * x if float(x.detach()[0]) <= 1.0 else (x * x).sum()

    text = "Expected `func` to return outputs with the same shape when inputs are perturbed on index (0,) by 1e-06…"
    with raises(lib, AssertionError, text):
        lib.autograd.gradcheck(jumpy, double(lib))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"check_backward_ad": False},
            "Expected at least one of check_forward_ad or check_backward_ad to be True",
        ),
        (
            {"check_batched_forward_grad": True},
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(lib, options, text):
    with raises(lib, AssertionError, text):
        lib.autograd.gradcheck(lambda x: x, double(lib), **options)


def test_what_claygrad_cannot_check_it_says(lib):
    if is_torch(lib):
        return
    with pytest.raises(NotImplementedError, match=r"^check_batched_forward_grad=True is not supported: "):
        lib.autograd.gradcheck(lambda x: x, double(lib), check_forward_ad=True, check_batched_forward_grad=True)


def test_forward_over_reverse(lib):
    assert lib.autograd.gradgradcheck(lambda x: x.exp() * x, double(lib), check_fwd_over_rev=True)


def test_batched_gradients_are_those_of_the_seeds_one_by_one(lib):
    def unused(x, y):
        return x.sin(), x * 2

    x, y = double(lib), double(lib)
    assert lib.autograd.gradcheck(unused, (x, y), check_batched_grad=True)
    assert lib.autograd.gradgradcheck(lambda x, y: (x * y).tanh(), (x, y), check_batched_grad=True)


def test_batched_gradients_that_differ_are_told(lib):
    if is_torch(lib):       # its batched backward runs once, on both seeds together
        return
    x, calls = double(lib), []

    def turns(g, x):
        calls.append(g)
        return g * (2 if len(calls) <= 2 * x.numel() + 2 else 3)

    with pytest.raises(RuntimeError, match="For output 0 and input 0, batched gradients are not those"):
        lib.autograd.gradcheck(function(lib, lambda x: x * 2, turns), x, check_batched_grad=True)


def test_the_check_of_gradient_dtypes_passes_where_the_engine_casts(lib):
    wide = function(lib, lambda x: x * 2, lambda g, x: (g * 2).to(lib.float32))
    assert lib.autograd.gradcheck(wide, double(lib), check_grad_dtypes=True)


# ---- sparse tensors --------------------------------------------------------------------------------------------------
def sparse(lib, layout, dtype="float64"):
    dense = lib.tensor([[1.5, 0.0], [0.0, -2.0]], dtype=getattr(lib, dtype))
    return dense.to_sparse(layout=getattr(lib, layout)).requires_grad_()


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_sparse_inputs(lib, layout, masked, fast):
    check = lib.autograd.gradcheck
    assert check(lambda x: x.to_dense(masked_grad=masked) * 3, sparse(lib, layout), masked=masked, fast_mode=fast)
    full = lambda: check(lambda x: x.to_dense(masked_grad=False) * 3, sparse(lib, layout), masked=masked, fast_mode=fast)
    if masked and not fast:                     # this gradient says something of elements that are no entries
        with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
            full()
    else:
        assert full()


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_sparse_and_dense_inputs(lib, dtype, fast):
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=lib.float64, requires_grad=True)
    y = sparse(lib, "sparse_coo", dtype)
    assert lib.autograd.gradcheck(lambda x, y: x * y.to_dense(), (x, y), masked=True, fast_mode=fast)


class Wrong:
    """Functions whose gradient is not that of what they compute."""

    @staticmethod
    def scaled(lib):
        class Scaled(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.to_dense()

            @staticmethod
            def backward(ctx, g):
                return (g * 2).to_sparse()
        return Scaled.apply

    @staticmethod
    def of_another_layout(lib):
        class Another(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                return g.to_sparse()
        return Another.apply


@pytest.mark.parametrize("fast", [True, False])
def test_wrong_gradients_of_and_by_sparse_tensors(lib, fast):
    check = lib.autograd.gradcheck
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        check(Wrong.scaled(lib), sparse(lib, "sparse_coo"), masked=True, fast_mode=fast)
    assert not check(Wrong.scaled(lib), sparse(lib, "sparse_coo"), masked=True, fast_mode=fast, raise_exception=False)
    x = lib.ones(2, dtype=lib.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad is incorrect layout"):
        check(Wrong.of_another_layout(lib), x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="gradcheck or gradgradcheck failed while testing batched gradient"):
        check(lambda x: x.to_dense(), sparse(lib, "sparse_coo"), masked=True, check_batched_grad=True, fast_mode=fast)


def test_jacobians_by_their_older_names(lib):
    module = lib.autograd.gradcheck.__module__
    numerical, analytical = (getattr(importlib.import_module(module), f"get_{kind}_jacobian")
                             for kind in ("numerical", "analytical"))
    a, b = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        by_a, by_b = numerical(lambda inputs: (2 * inputs[0] + inputs[1], inputs[0]), (a, b), eps=1e-6)
    assert lib.allclose(by_a, 2 * lib.eye(2, dtype=lib.float64))
    assert lib.allclose(by_b, lib.eye(2, dtype=lib.float64))
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        jacobians, same, sizes, types = analytical((a, b), a * b)
    assert [j.tolist() for j in jacobians] == [[[3, 0], [0, 4]], [[1, 0], [0, 2]]]
    assert same
    assert sizes
    assert types
    with pytest.raises(ValueError, match=r"Expected grad_out to be 1\.0"), pytest.warns(FutureWarning):
        analytical((a,), a * 2, grad_out=2.0)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize(("masked_grad", "found"), [(None, [[1, 0], [0, 1]]), (True, [[1, 0], [0, 1]]),
                                                    (False, [[1, 1], [1, 1]])])
def test_which_elements_of_a_sparse_tensor_get_a_gradient(lib, layout, masked_grad, found):
    x = sparse(lib, layout)
    g, = lib.autograd.grad(x.to_dense(masked_grad=masked_grad).sum(), x)
    assert g.layout is x.layout
    assert g.to_dense().tolist() == found
