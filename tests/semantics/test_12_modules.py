"""Rows of sections 1, 7, 8, 10, 12, 13, 15 and 17 that speak of modules and parameters.

Hooks of modules have tests of their own, in tests/nn/behaviour/test_hooks.py.
"""

from __future__ import annotations

import pytest

from tests.support import close, is_torch, leaf, raises, warns
from tests.support.messages import CUDA, LEAF

# --- section 1: a model's prediction and its update by hand ---------------------------------------------------------


def test_a_prediction_inside_no_grad_has_the_same_values_and_no_graph(lib):
    model, x = lib.nn.Linear(3, 1), lib.ones(2, 3)
    outside = model(x) * 2
    with lib.no_grad():
        inside = model(x) * 2
    assert lib.equal(inside, outside)
    assert outside.requires_grad
    assert inside.requires_grad is False
    assert inside.grad_fn is None


def test_a_weight_updated_through_data_stays_a_leaf_parameter_of_the_same_version(lib):
    model = lib.nn.Linear(2, 1)
    model(lib.ones(1, 2)).sum().backward()
    weight, before, version = model.weight, model.weight.tolist(), model.weight._version
    model.weight.data -= 0.5 * model.weight.grad.data
    with lib.no_grad():
        model.weight.data -= 0.5 * model.weight.grad.data
    assert model.weight is weight
    assert weight.is_leaf
    assert weight._version == version
    assert close(weight, [[v - 1 for v in before[0]]])
    with raises(lib, RuntimeError, LEAF):
        model.weight -= 0.5 * model.weight.grad


# --- sections 7, 8, 10: parameters ----------------------------------------------------------------------------------


def test_a_parameter_made_inside_no_grad_requires_grad(lib):
    with lib.no_grad():
        assert lib.nn.Parameter(lib.ones(1)).requires_grad


def test_what_is_made_of_a_parameter_is_a_plain_tensor(lib):
    p = lib.nn.Parameter(lib.ones(2))
    for made in (p.data, p.detach(), p * 1, p.clone()):
        assert type(made) is lib.Tensor


def test_the_weight_of_a_new_layer_was_written_once(lib):
    assert lib.nn.Linear(3, 2).weight._version == 1


@pytest.mark.parametrize("name", ["uniform_", "normal_", "ones_", "zeros_", "xavier_normal_", "kaiming_uniform_", "eye_"])
def test_first_values_are_written_into_a_leaf_without_complaint(lib, name):
    w = leaf(lib, [[1.0, 2.0], [3.0, 4.0]])
    assert getattr(lib.nn.init, name)(w) is w
    assert w.is_leaf
    assert w.grad_fn is None


# --- section 12: modules --------------------------------------------------------------------------------------------


def test_hooks_of_a_module_run_in_order_with_their_arguments(lib):
    model, seen = lib.nn.Linear(3, 2), []
    model.register_forward_pre_hook(lambda mod, args: seen.append(("pre", mod is model, len(args))))
    model.register_forward_hook(lambda mod, args, out: seen.append(("fwd", mod is model, len(args), tuple(out.shape))))
    model.register_full_backward_pre_hook(lambda mod, out: seen.append(("bpre", mod is model, len(out))))
    model.register_full_backward_hook(lambda mod, into, out: seen.append(("bwd", mod is model, len(into), len(out))))
    out = model(lib.ones(1, 3, requires_grad=True))
    assert repr(out).endswith("grad_fn=<BackwardHookFunctionBackward>)")
    out.sum().backward()
    assert seen == [("pre", True, 1), ("fwd", True, 1, (1, 2)), ("bpre", True, 1), ("bwd", True, 1, 1)]


def test_a_full_backward_hook_fires_though_no_input_requires_grad(lib):
    model, seen = lib.nn.Linear(3, 2), []
    model.register_full_backward_hook(lambda mod, into, out: seen.append(into))
    with warns(lib, "Full backward hook is firing when gradients are computed with respect to module outputs since no "
               "inputs require gradients. …"):
        model(lib.ones(1, 3)).sum().backward()
    assert seen == [(None,)]


def test_old_and_full_backward_hooks_do_not_mix(lib):
    model = lib.nn.Linear(3, 2)
    model.register_full_backward_hook(lambda *args: None)
    with raises(lib, RuntimeError, "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."):
        model.register_backward_hook(lambda *args: None)


def test_a_tensor_is_no_parameter(lib):
    model = lib.nn.Linear(3, 2)
    with raises(lib, TypeError, "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None "
                "expected)"):
        model.weight = lib.ones(2, 3)


# --- sections 13, 15, 17: devices, printing, errors -----------------------------------------------------------------


def test_a_layer_cannot_move_to_a_gpu_that_is_not_there(lib):
    with raises(lib, AssertionError, CUDA):
        lib.nn.Linear(2, 2).cuda()


def test_a_layer_on_meta_refuses_an_input_on_the_cpu(lib):
    # claygrad names the operands of the sum in their order: the bias comes first.
    here, there = ("meta", "cpu") if is_torch(lib) else ("cpu", "meta")
    with raises(lib, RuntimeError, f"Tensor on device {here} is not on the expected device {there}!"):
        lib.nn.Linear(2, 2, device="meta")(lib.ones(1, 2))


def test_the_text_of_a_parameter(lib):
    assert repr(lib.nn.Parameter(lib.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_an_input_of_the_wrong_size_names_both_shapes(lib):
    with raises(lib, RuntimeError, "mat1 and mat2 shapes cannot be multiplied (1x2 and 4x3)"):
        lib.nn.Linear(4, 3)(lib.ones(1, 2))
