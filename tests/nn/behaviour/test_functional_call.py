"""Calling modules with other parameters; fusing layers; modules without first values."""

from __future__ import annotations

import pytest

from tests.nn.behaviour.layers import affine
from tests.support import close, raises, warns


def test_other_parameters_for_one_call(lib):
    m = lib.nn.Sequential(affine(lib), affine(lib, 4, 2))
    w = lib.ones(4, 3, requires_grad=True)
    x = lib.ones(1, 3)
    own = m[0].weight
    out = lib.func.functional_call(m, {"0.weight": w}, (x,), {})
    out.sum().backward()
    assert w.grad is not None
    assert own.grad is None
    assert m[0].weight is own
    assert lib.equal(lib.func.functional_call(m, [{"0.weight": w}, {"1.bias": lib.ones(2)}], x), out + 1)
    assert lib.equal(lib.func.functional_call(m[0], {}, x, {"scale": 2}), m[0](x) * 2)


def test_buffers_that_forward_assigns_go_to_the_caller(lib):
    class Counts(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", lib.zeros(1))

        def forward(self):
            self.n = self.n + 1
            return self.n

    m, given = Counts(), {"n": lib.ones(1)}
    assert lib.func.functional_call(m, given).item() == 2
    assert m.n.item() == 0
    assert given["n"].item() == 2


def test_names_are_checked_if_strict(lib):
    m = affine(lib)
    text = ("Error(s) in reparametrizing for Affine:\n\tUnexpected key(s): 'zz'.\n\tMissing key(s): 'bias', 'count', "
            "'passing'.")
    with raises(lib, RuntimeError, text):
        lib.func.functional_call(m, {"weight": m.weight, "zz": lib.ones(1)}, lib.ones(1, 3), strict=True)


def test_a_failing_call_leaves_the_module_as_it_was(lib):
    m = affine(lib)
    own = m.weight
    with pytest.raises(RuntimeError):
        lib.func.functional_call(m, {"weight": lib.ones(4, 3)}, lib.ones(1, 7))
    assert m.weight is own
    with raises(lib, TypeError, "3 is not an instance of …"):
        lib.func.functional_call(m, {"weight": lib.ones(4, 3), "bias": 3}, lib.ones(1, 3))
    assert m.weight is own
    with raises(lib, AttributeError, "Affine has no attribute `nope`"):
        lib.func.functional_call(m, {"weight": lib.ones(4, 3), "nope.w": lib.ones(1)}, lib.ones(1, 3))
    assert m.weight is own


def test_tied_weights(lib):
    m = lib.nn.Module()
    m.a = lib.nn.Parameter(lib.ones(1))
    m.b = m.a
    m.forward = lambda: m.a + m.b
    three = lib.ones(1) * 3
    assert lib.func.functional_call(m, {"a": three}).item() == 6
    assert lib.func.functional_call(m, {"a": three}, tie_weights=False).item() == 4
    with raises(lib, ValueError, "functional_call got multiple values for keys ['a', 'b'], which are tied. Consider "
                "using tie_weights=False"):
        lib.func.functional_call(m, {"a": three, "b": lib.ones(1)})


def test_what_is_no_state_is_refused(lib):
    m = affine(lib)
    with raises(lib, ValueError, "['weight'] appeared in multiple dictionaries; behavior of functional call is ambiguous"):
        lib.func.functional_call(m, [{"weight": m.weight}, {"weight": m.weight}], lib.ones(1, 3))
    with raises(lib, ValueError, "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                "<class 'int'>"):
        lib.func.functional_call(m, 3, lib.ones(1, 3))
    with raises(lib, ValueError, "Expected all elements of parameter_and_buffer_dicts to be dictionaries"):
        lib.func.functional_call(m, [3], lib.ones(1, 3))


def test_the_old_name(lib):
    with warns(lib, "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in "
               "a future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
               FutureWarning):
        lib.nn.utils.stateless.functional_call(affine(lib), {}, lib.ones(1, 3))


def test_states_of_several_models_are_stacked(lib):
    parameters, buffers = lib.func.stack_module_state([lib.nn.Linear(3, 2), lib.nn.Linear(3, 2)])
    assert parameters["weight"].shape == (2, 2, 3)
    assert parameters["weight"].is_leaf
    assert parameters["weight"].requires_grad
    assert buffers == {}
    with raises(lib, RuntimeError, "stack_module_state: Expected at least one model, got 0."):
        lib.func.stack_module_state([])
    with raises(lib, RuntimeError, "stack_module_state: Expected all models to be of the same class."):
        lib.func.stack_module_state([lib.nn.Linear(3, 2), affine(lib)])


def trained(lib, bn):
    with lib.no_grad():
        for i, tensor in enumerate((bn.running_mean, bn.running_var, bn.weight, bn.bias)):
            tensor.copy_(lib.arange(1.0, tensor.numel() + 1) / (i + 1))
    return bn.eval()


def test_a_linear_layer_takes_the_normalisation_in(lib):
    linear, bn = lib.nn.Linear(3, 4).eval(), trained(lib, lib.nn.BatchNorm1d(4))
    x = lib.arange(6.0).view(2, 3)
    fused = lib.nn.utils.fuse_linear_bn_eval(linear, bn)
    assert close(fused(x), bn(linear(x)).tolist(), atol=1e-4)
    assert type(fused.weight) is lib.nn.Parameter
    with raises(lib, AssertionError, "Fusion only for eval!"):
        lib.nn.utils.fuse_linear_bn_eval(linear.train(), bn)


@pytest.mark.parametrize("bias", [True, False])
def test_a_convolution_takes_the_normalisation_in(lib, bias):
    conv, bn = lib.nn.Conv2d(2, 4, 3, bias=bias).eval(), trained(lib, lib.nn.BatchNorm2d(4))
    x = lib.arange(50.0).view(1, 2, 5, 5) / 50
    assert close(lib.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)).tolist(), atol=1e-4)
    back = lib.nn.ConvTranspose2d(2, 4, 3, bias=bias).eval()
    assert close(lib.nn.utils.fuse_conv_bn_eval(back, bn, transpose=True)(x), bn(back(x)).tolist(), atol=1e-4)


def test_modules_without_first_values(lib):
    m = lib.nn.utils.skip_init(lib.nn.Linear, 3, 2, dtype=lib.float64)
    assert m.weight.shape == (2, 3)
    assert m.weight.dtype is lib.float64
    assert m.weight.device.type == "cpu"
    with raises(lib, RuntimeError, "Module must support a 'device' arg to skip initialization"):
        lib.nn.utils.skip_init(lib.nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module; got <class 'int'>"):
        lib.nn.utils.skip_init(int)


def test_weights_of_convolutions_in_another_format(lib):
    m = lib.nn.Sequential(lib.nn.Conv2d(2, 4, 3), lib.nn.Linear(2, 2))
    lib.nn.utils.convert_conv2d_weight_memory_format(m, lib.channels_last)
    assert m[0].weight.is_contiguous(memory_format=lib.channels_last)
    assert m[1].weight.is_contiguous()
    three = lib.nn.utils.convert_conv3d_weight_memory_format(lib.nn.Conv3d(2, 4, 3), lib.channels_last_3d)
    assert three.weight.is_contiguous(memory_format=lib.channels_last_3d)
