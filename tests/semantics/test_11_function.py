"""Sections 11.1 to 11.3: autograd.Function, running, returning gradients, declaring."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.support import close, leaf, raises, warns
from tests.support.messages import TWICE, bad_gradient


def make(lib, forward, backward=None, name="F", **methods):
    """A custom Function of the given static methods."""
    methods["forward"] = forward
    if backward is not None:
        methods["backward"] = backward
    return type(name, (lib.autograd.Function,), {key: staticmethod(method) for key, method in methods.items()})


def _save(ctx, *tensors):
    ctx.save_for_backward(*tensors)
    return tensors[0] * 1


# --- running --------------------------------------------------------------------------------------------------------


def test_forward_runs_with_grad_mode_off_and_sees_the_flags_of_its_inputs(lib):
    seen = {}

    def forward(ctx, a, b, n):
        seen.update(mode=lib.is_grad_enabled(), flags=(a.requires_grad, b.requires_grad), needs=ctx.needs_input_grad)
        seen["saved"] = ctx.saved_tensors
        return a * b

    make(lib, forward, lambda ctx, g: (g, None, None)).apply(leaf(lib, [1.0]), lib.ones(1), 5)
    assert seen == {"mode": False, "flags": (True, False), "needs": (True, False, False), "saved": ()}


def test_backward_runs_with_grad_mode_off_or_on_under_create_graph(lib):
    seen = []

    def backward(ctx, g):
        seen.append(lib.is_grad_enabled())
        return g * 2

    f = make(lib, lambda ctx, a: a * 2, backward)
    x = leaf(lib, [1.0])
    f.apply(x).backward()
    lib.autograd.grad(f.apply(x), x, create_graph=True)
    assert seen == [False, True]


def test_ctx_is_the_node(lib):
    seen = []

    def backward(ctx, g):
        seen.append(ctx)
        return g

    y = make(lib, lambda ctx, a: a * 1, backward).apply(leaf(lib, [1.0]))
    node = y.grad_fn
    y.backward()
    assert seen[0] is node


def test_a_saved_input_comes_back_as_the_same_object(lib):
    seen = []

    def backward(ctx, g):
        seen.append(ctx.saved_tensors[0])
        return g

    x = leaf(lib, [1.0])
    make(lib, _save, backward).apply(x).backward()
    assert seen[0] is x


def test_a_saved_output_comes_back_attached_to_the_node(lib):
    seen = []

    def forward(ctx, a):
        out = a * 2
        ctx.save_for_backward(out)
        return out

    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        seen.append((out.grad_fn is ctx, out.requires_grad, out.tolist()))
        return g

    make(lib, forward, backward).apply(leaf(lib, [1.0])).backward()
    assert seen == [(True, True, [2.0])]


def test_needs_input_grad_has_one_flag_per_argument(lib):
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None

    make(lib, lambda ctx, a, n, c: a * n, backward).apply(leaf(lib, [1.0]), 3, lib.ones(1)).backward()
    assert seen == [(True, False, False)]


def test_save_for_backward_takes_none_but_no_other_thing(lib):
    seen = []

    def forward(ctx, a):
        ctx.save_for_backward(a, None)
        return a * 1

    def backward(ctx, g):
        seen.append(ctx.saved_tensors[1])
        return g

    make(lib, forward, backward).apply(leaf(lib, [1.0])).backward()
    assert seen == [None]

    def wrong(ctx, a):
        ctx.save_for_backward(a, 5)
        return a * 1

    with raises(lib, TypeError, "save_for_backward can only save variables, but argument 1 is of type int"):
        make(lib, wrong).apply(leaf(lib, [1.0]))


def test_a_second_save_for_backward_replaces_the_first(lib):
    seen = []

    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        ctx.save_for_backward(b)
        return a * b

    def backward(ctx, g):
        seen.extend(t.tolist() for t in ctx.saved_tensors)
        return g, g

    make(lib, forward, backward).apply(leaf(lib, [1.0]), leaf(lib, [2.0])).backward()
    assert seen == [[2.0]]


def test_saved_tensors_cannot_be_read_after_backward_even_if_nothing_was_saved(lib):
    for forward in (_save, lambda ctx, a: a * 1):
        y = make(lib, forward, lambda ctx, g: g).apply(leaf(lib, [1.0]))
        y.backward()
        with raises(lib, RuntimeError, TWICE):
            y.grad_fn.saved_tensors


def test_a_second_backward_is_allowed_if_saved_tensors_are_not_read(lib):
    x = leaf(lib, [1.0])
    y = make(lib, _save, lambda ctx, g: g).apply(x)
    y.backward()
    y.backward()
    assert close(x.grad, [2.0])
    z = make(lib, _save, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    z.backward()
    with raises(lib, RuntimeError, TWICE):
        z.backward()


def test_tensors_inside_a_list_are_not_tracked(lib):
    x = leaf(lib, [1.0])
    y = make(lib, lambda ctx, items: items[0] * 1, lambda ctx, g: None).apply([x])
    assert not y.requires_grad


def test_apply_accepts_keyword_arguments(lib):
    x = leaf(lib, [3.0])
    y = make(lib, lambda ctx, a, scale=1: a * scale, lambda ctx, g: (g * 7, None)).apply(x, scale=2)
    assert close(y, [6.0])
    y.backward()
    assert close(x.grad, [7.0])


def test_without_a_gradient_to_record_the_output_is_plain(lib):
    f = make(lib, lambda ctx, a: a * 2, lambda ctx, g: g)
    assert f.apply(lib.ones(1)).grad_fn is None
    with lib.no_grad():
        assert f.apply(leaf(lib, [1.0])).grad_fn is None


def test_a_tuple_and_non_tensors_pass_through(lib):
    x = leaf(lib, [3.0])
    a, n, b, s = make(lib, lambda ctx, t: (t * 2, 5, t * 3, "s"), lambda ctx, g, n, h, s: g * 2 + h * 3).apply(x)
    assert (n, s) == (5, "s")
    assert (a.requires_grad, b.requires_grad) == (True, True)
    (a + b).backward()
    assert close(x.grad, [5.0])


def test_a_list_is_returned_untracked(lib):
    result = make(lib, lambda ctx, t: [t * 2], lambda ctx, g: g).apply(leaf(lib, [3.0]))
    assert type(result) is list
    assert not result[0].requires_grad


def test_an_input_returned_becomes_an_alias_with_the_custom_node(lib):
    x = leaf(lib, [3.0])
    y = make(lib, lambda ctx, t: t, lambda ctx, g: g * 5, name="Same").apply(x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    assert y.grad_fn.name() == "SameBackward"
    y.backward()
    assert close(x.grad, [5.0])


def test_integer_outputs_never_require_grad(lib):
    a, i = make(lib, lambda ctx, t: (t * 1, t.long()), lambda ctx, g, h: g).apply(leaf(lib, [3.0]))
    assert (a.requires_grad, i.requires_grad) == (True, False)


def test_default_arguments_that_were_not_passed_need_no_gradient_slot(lib):
    x = leaf(lib, [3.0])
    make(lib, lambda ctx, t, scale=2: t * scale, lambda ctx, g: g * 2).apply(x).backward()
    assert close(x.grad, [2.0])


def test_ctx_lives_as_long_as_the_node(lib):
    dead = []

    class Token:
        pass

    def forward(ctx, t):
        ctx.token = Token()
        weakref.finalize(ctx.token, dead.append, 1)
        return t * 1

    y = make(lib, forward, lambda ctx, g: g).apply(leaf(lib, [1.0]))
    node = y.grad_fn
    del y
    gc.collect()
    assert not dead
    assert isinstance(node.token, Token)
    del node
    gc.collect()
    assert dead


# --- returning gradients --------------------------------------------------------------------------------------------


def test_the_number_of_gradients_is_checked(lib):
    def apply(result):
        f = make(lib, lambda ctx, a, b: a * b, lambda ctx, g: result(g), name="Fwrong")
        x = leaf(lib, [1.0])
        f.apply(x, leaf(lib, [2.0])).backward()
        return x.grad

    text = "function FwrongBackward returned an incorrect number of gradients (expected 2, got {})"
    with raises(lib, RuntimeError, text.format(1)):
        apply(lambda g: g)
    with raises(lib, RuntimeError, text.format(3)):
        apply(lambda g: (g, g, g))
    assert close(apply(lambda g: (g, g, None, None)), [1.0])


def test_none_means_no_gradient(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [2.0])
    make(lib, lambda ctx, a, b: a * b, lambda ctx, g: (None, g)).apply(x, u).backward()
    assert x.grad is None
    assert close(u.grad, [1.0])


def test_a_larger_gradient_is_summed_if_it_can_be(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    make(lib, lambda ctx, a: a * 1, lambda ctx, g: g.expand(4, 3)).apply(x).sum().backward()
    assert close(x.grad, [4.0, 4.0, 4.0])


def test_a_gradient_of_another_shape_is_refused(lib):
    f = make(lib, lambda ctx, a: a * 1, lambda ctx, g: g.new_ones(5), name="Fshape")
    with raises(lib, RuntimeError, bad_gradient("FshapeBackward", [5], [3])):
        f.apply(leaf(lib, [1.0, 2.0, 3.0])).sum().backward()


def test_a_gradient_of_another_dtype_is_cast(lib):
    x = leaf(lib, [1.0])
    make(lib, lambda ctx, a: a * 1, lambda ctx, g: g.double() * 3).apply(x).backward()
    assert x.grad.dtype is lib.float32
    assert close(x.grad, [3.0])


def test_a_python_number_is_not_a_gradient(lib):
    f = make(lib, lambda ctx, a: a * 1, lambda ctx, g: 1.0)
    with raises(lib, RuntimeError, "expected Variable or None (got float)"):
        f.apply(leaf(lib, [1.0])).backward()


def test_a_gradient_for_an_input_that_needs_none_is_ignored_unchecked(lib):
    x, c = leaf(lib, [1.0]), lib.ones(1)
    make(lib, lambda ctx, a, b: a * b, lambda ctx, g: (g, g.new_ones(17))).apply(x, c).backward()
    assert close(x.grad, [1.0])
    assert c.grad is None


def test_an_exception_in_backward_propagates_unchanged(lib):
    error = KeyError("mine")

    def backward(ctx, g):
        raise error

    with pytest.raises(KeyError) as caught:
        make(lib, lambda ctx, a: a * 1, backward).apply(leaf(lib, [1.0])).backward()
    assert caught.value is error


# --- declaring ------------------------------------------------------------------------------------------------------


def test_a_function_without_backward_is_refused_at_backward(lib):
    text = "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
    y = make(lib, lambda ctx, a: a * 1).apply(leaf(lib, [1.0]))
    with raises(lib, NotImplementedError, text):
        y.backward()


def test_a_function_without_forward_is_refused(lib):
    text = "You must implement the forward function for custom autograd.Function."
    with raises(lib, NotImplementedError, text):
        type("F", (lib.autograd.Function,), {}).apply(leaf(lib, [1.0]))


def test_vjp_stands_for_backward_but_not_beside_it(lib):
    x = leaf(lib, [3.0])
    make(lib, lambda ctx, a: a * 2, vjp=lambda ctx, g: g * 2).apply(x).backward()
    assert close(x.grad, [2.0])
    text = (
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
        "You should only implement one of them."
    )
    with raises(lib, RuntimeError, text):
        make(lib, lambda ctx, a: a * 2, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(x).backward()


def test_a_function_is_not_instantiated(lib):
    f = make(lib, lambda ctx, a: a * 1, lambda ctx, g: g)
    text = (
        f"{f} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
        f"the class "
        "itself. Instantiating an autograd function will raise an error in a future version of PyTorch."
    )
    with warns(lib, text, DeprecationWarning):
        instance = f()
    text = (
        "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
        "function with "
        "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
    )
    with raises(lib, RuntimeError, text):
        instance(leaf(lib, [1.0]))


def test_setup_context_takes_the_inputs_as_a_tuple_and_the_output(lib):
    seen = []

    def setup_context(ctx, inputs, output):
        seen.append((type(inputs), len(inputs), output.tolist()))
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a

    x, u = leaf(lib, [2.0]), leaf(lib, [3.0])
    make(lib, lambda a, b: a * b, backward, setup_context=setup_context).apply(x, u).backward()
    assert seen == [(tuple, 2, [6.0])]
    assert close(x.grad, [3.0])
    assert close(u.grad, [2.0])


def test_setup_context_beside_a_ctx_in_forward_lacks_an_argument(lib):
    f = make(lib, lambda ctx, a: a * 1, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None)
    with raises(lib, TypeError, "missing a required argument: 'a'"):
        f.apply(leaf(lib, [1.0]))


def test_a_wrong_number_of_arguments_names_forward(lib):
    class E(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(TypeError) as caught:
        E.apply(leaf(lib, [1.0]))
    assert "E.forward() missing 1 required positional argument: 'b'" in str(caught.value).splitlines()[0]
