"""Section 12: hooks, saved-tensor hooks, gradcheck, anomaly mode."""

from __future__ import annotations

import math

import pytest

from tests.support import close, is_torch, leaf, raises, silent, warns
from tests.support.messages import NOREQ

NO_GRADIENT = "cannot register a hook on a tensor that doesn't require gradient"
ANOMALY = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
)


# --- tensor hooks ---------------------------------------------------------------------------------------------------


def test_a_hook_sees_the_total_gradient_once_per_backward(lib):
    x = leaf(lib, [1.0])
    y = x * 1
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    loss = (y * 2 + y * 3).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert seen == [5.0, 5.0]


def test_a_returned_tensor_replaces_the_gradient_and_none_keeps_it(lib):
    x = leaf(lib, [1.0])
    y = x * 1
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: None)
    y.backward()
    assert close(x.grad, [10.0])


def test_a_leaf_hook_runs_before_accumulation_and_for_grad(lib):
    x = leaf(lib, [1.0])
    x.register_hook(lambda g: g * 10)
    (x * 2).backward()
    (x * 2).backward()
    assert close(x.grad, [40.0])
    assert close(lib.autograd.grad(x * 2, x)[0], [20.0])


def test_several_hooks_chain_in_the_order_of_registration(lib):
    x = leaf(lib, [1.0])
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * 2).backward()
    assert close(x.grad, [30.0])


def test_a_hook_can_be_removed(lib):
    x = leaf(lib, [1.0])
    handle = x.register_hook(lambda g: g * 100)
    kept = x.register_hook(lambda g: g * 2)
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert close(x.grad, [2.0])
    with kept:
        pass
    (x * 1).backward()
    assert close(x.grad, [3.0])


def test_a_hook_that_writes_its_argument_takes_effect(lib):
    x = leaf(lib, [1.0])
    y = x * 2

    def double(g):
        g.mul_(2)

    y.register_hook(double)
    y.backward(lib.ones(1))
    assert close(x.grad, [4.0])


def test_grad_mode_is_off_inside_a_hook(lib):
    x = leaf(lib, [1.0])
    seen = []

    def hook(g):
        seen.append(lib.is_grad_enabled())
        with raises(lib, RuntimeError, NOREQ):
            (x * x).backward()

    x.register_hook(hook)
    (x * 2).backward()
    assert seen == [False]


def test_a_hook_must_not_change_size_or_type(lib):
    x = leaf(lib, [1.0])
    handle = x.register_hook(lambda g: g.new_ones(5))
    with raises(lib, RuntimeError, "hook '<lambda>' has changed the size of value"):
        (x * 2).backward()
    handle.remove()
    x.register_hook(lambda g: 5)
    with raises(lib, TypeError, "expected Variable, but hook returned 'int'"):
        (x * 2).backward()


def test_an_exception_in_a_hook_propagates_unchanged(lib):
    error = ValueError("mine")

    def hook(g):
        raise error

    x = leaf(lib, [1.0])
    x.register_hook(hook)
    with pytest.raises(ValueError, match="mine") as caught:
        (x * 2).backward()
    assert caught.value is error
    assert x.grad is None


def test_a_constant_takes_no_hook(lib):
    with raises(lib, RuntimeError, NO_GRADIENT):
        lib.ones(1).register_hook(lambda g: g)


def test_hooks_before_and_after_an_in_place_operation_see_their_own_value(lib):
    x = leaf(lib, [1.0])
    y = x * 1
    seen = []
    y.register_hook(lambda g: seen.append(("before", g.item())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.item())))
    (y * 3).backward()
    assert seen == [("after", 3.0), ("before", 15.0)]


def test_hooks_run_from_the_root_to_the_leaves(lib):
    x = leaf(lib, [1.0])
    y = x * 2
    z = y * 3
    seen = []
    for name, tensor in (("x", x), ("y", y), ("z", z)):
        tensor.register_hook(lambda g, name=name: seen.append(name))
    z.backward()
    assert seen == ["z", "y", "x"]


# --- post-accumulate, node and multi-grad hooks ---------------------------------------------------------------------


def test_a_post_accumulate_hook_runs_after_grad_is_updated(lib):
    x = leaf(lib, [1.0])
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * 2).backward()
    (x * 3).backward()
    assert seen == [(True, 2.0), (True, 5.0)]


def test_a_post_accumulate_hook_may_clear_the_gradient_and_must_return_none(lib):
    x = leaf(lib, [1.0])
    handle = x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", None))
    (x * 2).backward()
    assert x.grad is None
    handle.remove()
    x.register_post_accumulate_grad_hook(lambda t: 5)
    with raises(lib, TypeError, "expected Variable, but hook returned 'int'"):
        (x * 2).backward()


def test_post_accumulate_hooks_are_for_leaves(lib):
    with raises(lib, RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (leaf(lib, [1.0]) * 1).register_post_accumulate_grad_hook(lambda t: None)
    with raises(lib, RuntimeError, NO_GRADIENT):
        lib.ones(1).register_post_accumulate_grad_hook(lambda t: None)


def test_node_hooks_see_gradients_before_and_after(lib):
    x, c = leaf(lib, [2.0]), lib.tensor([5.0])
    y = x * c
    seen = []
    y.grad_fn.register_prehook(lambda outputs: seen.append(("pre", [g.tolist() for g in outputs])))
    y.grad_fn.register_hook(
        lambda inputs, outputs: seen.append(
            ("post", [g if g is None else g.tolist() for g in inputs], [g.tolist() for g in outputs])
        )
    )
    y.backward()
    assert seen == [("pre", [[1.0]]), ("post", [[5.0], None], [[1.0]])]


def test_node_hooks_may_replace_gradients(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [5.0])
    y = x * u
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, inputs[1]))
    y.backward()
    assert close(x.grad, [51.0])
    assert close(u.grad, [20.0])


def test_a_multi_grad_hook_waits_for_all(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [5.0])
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, u), lambda grads: seen.append([g.item() for g in grads]))
    (x * u).backward()
    assert seen == [[5.0, 2.0]]


def test_a_multi_grad_hook_of_mode_any_sees_the_first(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [5.0])
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, u), lambda g: seen.append(g.item()), mode="any")
    (x * u).backward()
    assert len(seen) == 1
    assert seen[0] in (5.0, 2.0)


# --- saved-tensor hooks ---------------------------------------------------------------------------------------------


def test_pack_runs_once_per_saved_slot_and_unpack_at_backward(lib):
    events = []

    def pack(t):
        events.append("pack")
        return t.tolist()

    def unpack(values):
        events.append("unpack")
        return lib.tensor(values)

    x = leaf(lib, [3.0])
    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    assert events == ["pack", "pack"]
    y.backward()
    assert events == ["pack", "pack", "unpack", "unpack"]
    assert close(x.grad, [6.0])


def test_unpack_must_return_a_tensor(lib):
    x = leaf(lib, [3.0])
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 5):
        y = x.exp()
    with raises(
        lib, TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type int"
    ):
        y.backward()


def test_pack_must_not_write_its_input(lib):
    x = leaf(lib, [3.0]) * 1
    with (
        raises(lib, RuntimeError, "A saved tensor pack hook is modifying its input in place. …"),
        lib.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
    ):
        x.sin()


def test_saved_tensor_hooks_can_be_disabled_with_a_reason(lib):
    graph = lib.autograd.graph
    with graph.disable_saved_tensors_hooks("msg"), raises(lib, RuntimeError, "msg"):
        graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()


def test_save_on_cpu_works_on_the_cpu(lib):
    x = leaf(lib, [3.0])
    with lib.autograd.graph.save_on_cpu():
        y = x * x
    y.backward()
    assert close(x.grad, [6.0])


# --- gradcheck ------------------------------------------------------------------------------------------------------


def _wrong(lib):
    class Wrong(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return Wrong.apply


def test_gradcheck_accepts_right_derivatives(lib):
    x = leaf(lib, [1.0, 2.0], dtype=lib.float64)
    assert lib.autograd.gradcheck(lambda t: t**3, (x,)) is True
    assert lib.autograd.gradgradcheck(lambda t: t**3, (x,)) is True


def test_gradcheck_refuses_wrong_derivatives(lib):
    x = leaf(lib, [1.0, 2.0], dtype=lib.float64)
    with pytest.raises(RuntimeError) as caught:
        lib.autograd.gradcheck(_wrong(lib), (x,))
    assert type(caught.value).__name__ == "GradcheckError"
    assert str(caught.value).startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor(")
    assert "\nanalytical:tensor(" in str(caught.value)
    assert lib.autograd.gradcheck(_wrong(lib), (x,), raise_exception=False) is False


def test_gradcheck_warns_about_single_precision(lib):
    x = leaf(lib, [1.0])
    text = "Input #0 requires gradient and is not a double precision floating point or complex. …"
    with warns(lib, text):
        lib.autograd.gradcheck(lambda t: t * 2, (x,), eps=1e-2, atol=1e-2)


def test_gradcheck_needs_an_input_that_requires_grad(lib):
    text = "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
    with raises(lib, ValueError, text):
        lib.autograd.gradcheck(lambda t: t * 2, (lib.ones(1, dtype=lib.float64),))


# --- anomaly mode ---------------------------------------------------------------------------------------------------


def test_detect_anomaly_warns_and_set_detect_anomaly_does_not(lib):
    with warns(lib, ANOMALY), lib.autograd.detect_anomaly():
        pass
    with silent():
        with lib.autograd.set_detect_anomaly(True):
            assert lib.is_anomaly_enabled()
        assert not lib.is_anomaly_enabled()


def test_a_nan_in_backward_is_an_error_in_anomaly_mode(lib):
    x = leaf(lib, [0.0])
    with lib.autograd.set_detect_anomaly(True):
        y = (x.sqrt() * 0).sum()
        with raises(lib, RuntimeError, "Function 'SqrtBackward0' returned nan values in its 0th output."):
            y.backward()


def test_anomaly_mode_shows_the_forward_call(lib):
    x = leaf(lib, [0.0])
    text = "Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n…"

    def backward():
        with lib.autograd.set_detect_anomaly(True):
            y = (x.sqrt() * 0).sum()
            with pytest.raises(RuntimeError):
                y.backward()

    with warns(lib, text):
        backward()


def test_the_nan_check_can_be_left_out_and_is_off_by_default(lib):
    for mode in (lambda: lib.autograd.set_detect_anomaly(True, check_nan=False), lib.enable_grad):
        x = leaf(lib, [0.0])
        with mode():
            (x.sqrt() * 0).sum().backward()
        assert x.grad.isnan().item()


def test_in_anomaly_mode_a_write_to_a_saved_tensor_is_as_outside(lib):
    x = leaf(lib, [1.0])
    with lib.autograd.set_detect_anomaly(True):
        y = x.exp()
        y.add_(1)
        if is_torch(lib):
            with pytest.raises(RuntimeError, match="Good luck!"):
                y.backward()
        else:
            y.backward()
            assert close(x.grad, [2.7182818])


# --- retain_grad follows the tensor -----------------------------------------------------------------------------------
def weighed(lib, t):
    return (t * lib.tensor([0.25, 0.5, 1.0, 2.0])[: t.numel()]).sum()


def test_a_base_keeps_the_gradient_it_has_after_a_write_through_a_view(lib):
    x = leaf(lib, [1.0, 2.0, 3.0, 4.0])
    y = x * 1
    view, sibling = y[:2], y[1:3]
    y.retain_grad()
    sibling.retain_grad()
    view.mul_(2)
    view.mul_(3)
    assert y.retains_grad
    assert sibling.retains_grad
    weighed(lib, y).backward()
    assert close(y.grad, [0.25, 0.5, 1.0, 2.0])
    assert close(x.grad, [1.5, 3.0, 1.0, 2.0])
    assert sibling.grad is None


def test_a_view_keeps_the_gradient_it_has_after_a_write_to_its_base(lib):
    x = leaf(lib, [1.0, 2.0, 3.0, 4.0])
    y = x * 1
    view = y[:2]
    view.retain_grad()
    before = weighed(lib, view)
    y.mul_(2)
    assert view.retains_grad
    (before + 10 * weighed(lib, view)).backward()
    assert close(view.grad, [2.5, 5.0])
    assert close(x.grad, [5.25, 10.5, 0.0, 0.0])


def test_a_tensor_cut_from_its_graph_still_keeps_the_gradient_it_had_there(lib):
    x = leaf(lib, [1.0, 2.0, 3.0, 4.0])
    y = x * 1
    view = y[:2]
    y.retain_grad()
    view.neg_()
    y.detach_()
    weighed(lib, view).backward()
    assert y.retains_grad
    assert close(y.grad, [0.25, 0.5, 0.0, 0.0])


def test_a_shape_changed_in_place_keeps_the_gradient_from_before(lib):
    y = leaf(lib, [1.0, 2.0, 3.0, 4.0]) * 1
    y.retain_grad()
    y.unsqueeze_(0)
    (y * lib.tensor([0.25, 0.5, 1.0, 2.0])).sum().backward()
    assert y.grad.shape == (4,)
    assert close(y.grad, [0.25, 0.5, 1.0, 2.0])


def test_a_leaf_has_nothing_to_retain(lib):
    x = leaf(lib, [1.0, 2.0])
    x.retain_grad()
    assert not x.retains_grad


def test_a_hook_on_a_view_hears_of_second_derivatives_through_what_was_written_into_it(lib):
    x = lib.tensor([0.5, -1.0, 2.0], dtype=lib.float64, requires_grad=True)
    view = (x * x).view(3)
    view.tanh_()
    y = view**3
    view.register_hook(lambda g: g * 2)
    (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    t = [math.tanh(v) for v in (0.25, 1.0, 4.0)]
    assert close(first, [2 * 3 * a * a * (1 - a * a) * 2 * v for a, v in zip(t, (0.5, -1.0, 2.0), strict=True)])
    (second,) = lib.autograd.grad(first.sum(), x)
    # d/dx of 12 x a^2 (1 - a^2), where every path through `a` is doubled by the hook.
    wanted = [12 * a * a * (1 - a * a) + 2 * 12 * v * (2 * a - 4 * a**3) * (1 - a * a) * 2 * v
              for a, v in zip(t, (0.5, -1.0, 2.0), strict=True)]
    assert close(second, wanted)
