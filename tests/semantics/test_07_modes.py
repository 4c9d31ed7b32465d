"""Section 7: grad modes and inference mode."""

from __future__ import annotations

import threading

import pytest

from tests.support import close, leaf, raises, renamed, warns
from tests.support.messages import NOGRADVIEW

UNSAVEABLE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, "
    "or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)
UNWRITABLE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor "
    "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)


def test_no_grad_yields_none_and_records_nothing(lib):
    x = leaf(lib, [1.0])
    with lib.no_grad() as value:
        y = x * 2
        assert not lib.is_grad_enabled()
    assert value is None
    assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)
    assert lib.is_grad_enabled()


def test_the_mode_is_restored_after_an_exception(lib):
    with pytest.raises(ZeroDivisionError), lib.no_grad():
        1 / 0
    assert lib.is_grad_enabled()


def test_a_leaf_made_inside_no_grad_requires_grad_but_its_operations_do_not(lib):
    with lib.no_grad():
        x = lib.ones(1, requires_grad=True)
        assert x.requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_enable_grad_inside_no_grad_records_until_it_ends(lib):
    x = leaf(lib, [1.0])
    with lib.no_grad():
        with lib.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad


@pytest.mark.parametrize(
    ("decorate", "enabled"),
    [
        (lambda lib: lib.no_grad(), False),
        (lambda lib: lib.no_grad, False),
        (lambda lib: lib.enable_grad(), True),
        (lambda lib: lib.enable_grad, True),
        (lambda lib: lib.inference_mode(), False),
        (lambda lib: lib.inference_mode, False),
    ],
    ids="no_grad() no_grad enable_grad() enable_grad inference_mode() inference_mode".split(),
)
def test_a_mode_decorates_a_function_and_keeps_its_name(lib, decorate, enabled):
    def square(x):
        assert lib.is_grad_enabled() is enabled
        return x * x

    wrapped = decorate(lib)(square)
    assert wrapped.__name__ == "square"
    assert wrapped(leaf(lib, [1.0])).requires_grad is enabled
    assert lib.is_grad_enabled()


def test_set_grad_enabled_decorates_without_leaking(lib):
    @lib.set_grad_enabled(False)
    def square(x):
        return x * x

    assert lib.is_grad_enabled()
    assert square(leaf(lib, [1.0])).requires_grad is False
    assert square.__name__ == "square"
    assert lib.is_grad_enabled()


def test_a_decorated_generator_has_the_mode_only_while_its_body_runs(lib):
    @lib.no_grad()
    def generate():
        seen.append(lib.is_grad_enabled())
        yield 1
        seen.append(lib.is_grad_enabled())
        yield 2

    seen = []
    for _ in generate():
        assert lib.is_grad_enabled()
    assert seen == [False, False]


def test_decorating_a_class_is_deprecated_and_affects_only_its_init(lib):
    text = "Decorating classes is deprecated and will be disabled in future versions. …"
    with warns(lib, text, FutureWarning):

        @lib.no_grad()
        class Thing:
            def __init__(self):
                self.inside = lib.is_grad_enabled()

            def method(self):
                return lib.is_grad_enabled()

    thing = Thing()
    assert (thing.inside, thing.method()) == (False, True)


def test_set_grad_enabled_takes_effect_as_a_plain_call(lib):
    setting = lib.set_grad_enabled(False)
    try:
        assert not lib.is_grad_enabled()
        assert repr(setting) == renamed(lib, "torch.autograd.grad_mode.set_grad_enabled(mode=False)").replace(
            "torch.autograd", f"{lib.__name__}.autograd"
        )
    finally:
        lib.set_grad_enabled(True)
    assert lib.is_grad_enabled()


def test_set_grad_enabled_is_a_context_manager(lib):
    with lib.set_grad_enabled(False):
        assert not lib.is_grad_enabled()
    assert lib.is_grad_enabled()


def test_the_mode_is_per_thread_and_a_new_thread_starts_enabled(lib):
    seen = []
    with lib.no_grad():
        thread = threading.Thread(target=lambda: seen.append(lib.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not lib.is_grad_enabled()
    assert seen == [True]


def test_a_leaf_may_be_written_under_no_grad(lib):
    x = leaf(lib, [1.0])
    with lib.no_grad():
        x.add_(1)
    assert (x.item(), x._version, x.is_leaf, x.requires_grad) == (2.0, 1, True, True)


def test_a_non_leaf_written_under_no_grad_keeps_its_history(lib):
    x = leaf(lib, [3.0])
    y = x * 1
    node = y.grad_fn
    with lib.no_grad():
        y.mul_(5)
    assert y.grad_fn is node
    assert y.item() == 15.0
    y.backward()
    assert close(x.grad, [1.0])


def test_out_is_refused_with_an_argument_that_requires_grad(lib):
    x, o = leaf(lib, [1.0]), lib.zeros(1)
    text = (
        "add(): functions with out=... arguments don't support automatic differentiation, "
        "but one of the arguments requires grad."
    )
    with raises(lib, RuntimeError, text):
        lib.add(x, x, out=o)
    with lib.no_grad():
        assert lib.add(x, x, out=o) is o
    assert close(o, [2.0])


def test_a_view_made_in_no_grad_and_written_outside_is_refused(lib):
    y = leaf(lib, [1.0, 2.0]) * 1
    with lib.no_grad():
        v = y[:1]
    with raises(lib, RuntimeError, NOGRADVIEW):
        v.add_(1)
    assert close(y, [1.0, 2.0])


def test_a_view_of_a_constant_made_in_no_grad_refuses_a_value_that_requires_grad(lib):
    c = lib.zeros(2)
    with lib.no_grad():
        v = c[:1]
    with raises(lib, RuntimeError, NOGRADVIEW):
        v.add_(leaf(lib, [1.0]))
    v.add_(1)
    assert close(c, [1.0, 0.0])


def test_a_view_made_and_written_inside_no_grad_is_allowed(lib):
    y = leaf(lib, [1.0, 2.0]) * 1
    with lib.no_grad():
        y[:1].add_(1)
    assert close(y, [2.0, 2.0])


def test_a_view_made_in_no_grad_claims_to_be_a_leaf_that_no_gradient_reaches(lib):
    x = leaf(lib, [1.0, 2.0])
    with lib.no_grad():
        v = x[:1]
    assert (v.requires_grad, v.is_leaf, v.grad_fn) == (True, True, None)
    (v * 2).sum().backward()
    assert x.grad is None


# --- inference mode -------------------------------------------------------------------------------------------------


def _inferred(lib):
    with lib.inference_mode():
        return lib.ones(2) * 2


def test_a_result_of_inference_mode_is_an_inference_tensor(lib):
    x = leaf(lib, [1.0])
    with lib.inference_mode():
        y = x * 2
        assert lib.is_inference_mode_enabled()
        assert not lib.is_grad_enabled()
        with lib.enable_grad():
            assert not (x * 2).requires_grad
        with lib.inference_mode(False):
            z = x * 2
    assert (y.is_inference(), y.requires_grad) == (True, False)
    assert (z.is_inference(), z.requires_grad) == (False, True)
    assert not lib.is_inference_mode_enabled()


def test_an_inference_tensor_has_no_version(lib):
    with raises(lib, RuntimeError, "Inference tensors do not track version counter."):
        _inferred(lib)._version


def test_an_inference_tensor_is_not_writable_outside(lib):
    y = _inferred(lib)
    with raises(lib, RuntimeError, UNWRITABLE):
        y.add_(1)
    with lib.inference_mode():
        y.fill_(5)
    assert close(y, [5.0, 5.0])


def test_an_inference_tensor_cannot_be_saved_outside(lib):
    x, y = leaf(lib, [1.0, 2.0]), _inferred(lib)
    with raises(lib, RuntimeError, UNSAVEABLE):
        y * x
    assert (y + x).requires_grad
    assert not (y + 1).requires_grad
    copy = y.clone()
    assert not copy.is_inference()
    (copy * x).sum().backward()
    assert close(x.grad, [2.0, 2.0])


def test_an_inference_tensor_cannot_be_made_to_require_grad_outside(lib):
    text = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
    with raises(lib, RuntimeError, text):
        _inferred(lib).requires_grad_()


def test_a_normal_leaf_may_be_written_inside_inference_mode(lib):
    x = leaf(lib, [1.0])
    with lib.inference_mode():
        x.add_(1)
    assert (x.item(), x._version, x.is_leaf) == (2.0, 1, True)


def test_a_view_made_in_inference_mode_of_a_normal_tensor_is_not_writable_outside(lib):
    x = lib.ones(2)
    with lib.inference_mode():
        v = x.view(2)
    assert not v.is_inference()
    y = leaf(lib, [1.0, 2.0]) * 1
    with lib.inference_mode():
        w = y.view(2)
    text = NOGRADVIEW.replace("created in no_grad mode", "created in inference mode").replace(
        "with grad mode enabled", "in normal mode"
    )
    text = text.replace("inside the no_grad block", "inside the inference_mode block")
    with raises(lib, RuntimeError, text):
        w.add_(1)
