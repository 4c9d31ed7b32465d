"""Section 0: where claygrad is specified to differ from torch, and what it keeps while doing so."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.support import close, is_torch, leaf, raises, renamed
from tests.support.messages import LEAF, SAVED, VIEWLEAF

# A write to `y` between the forward pass `z = y * y` and its backward.
SEEN_WRITES: dict[str, Callable[[ModuleType, Any], Any]] = {
    "in-place method": lambda lib, y: y.add_(1),
    "assignment": lambda lib, y: y.__setitem__(0, 7.0),
    "view": lambda lib, y: y[:1].add_(1),
    "view of a view": lambda lib, y: y.view(3, 1)[:2].add_(1),
    "detached alias": lambda lib, y: y.detach().add_(1),
    "out=": lambda lib, y: lib.add(lib.ones(3), lib.ones(3), out=y.detach()),
    "copy_": lambda lib, y: y.copy_(lib.zeros(3)),
    "masked": lambda lib, y: y.masked_fill_(y > 1, 0.0),
    "index_put_": lambda lib, y: y.index_put_((lib.tensor([0]),), lib.tensor([5.0])),
}
DATA_WRITES: dict[str, Callable[[ModuleType, Any], Any]] = {
    "y.data.add_": lambda lib, y: y.data.add_(1),
    "y.data[0] =": lambda lib, y: y.data.__setitem__(0, 9.0),
    "y.data += 1": lambda lib, y: setattr(y, "data", y.data.__iadd__(1)),
    "y.data = t": lambda lib, y: setattr(y, "data", lib.tensor([7.0, 7.0, 7.0])),
    "view of y.data": lambda lib, y: y.data[1:].mul_(3),
    "out=y.data": lambda lib, y: lib.add(lib.ones(3), lib.ones(3), out=y.data),
}


@pytest.mark.parametrize("write", SEEN_WRITES.values(), ids=SEEN_WRITES.keys())
def test_a_write_after_saving_leaves_the_gradient_of_the_forward_pass_as_it_ran(lib, write):
    x = leaf(lib, [1.0, 2.0, 3.0])
    y = x * 1
    z = y * y
    write(lib, y)
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            z.sum().backward()
    else:
        z.sum().backward()
        assert close(x.grad, [2.0, 4.0, 6.0])


@pytest.mark.parametrize("write", DATA_WRITES.values(), ids=DATA_WRITES.keys())
def test_a_write_through_data_leaves_the_gradient_of_the_forward_pass_as_it_ran(lib, write):
    x = leaf(lib, [1.0, 2.0, 3.0])
    y = x * 1
    z = y * y
    write(lib, y)
    z.sum().backward()
    assert close(x.grad, [2.0, 4.0, 6.0]) is not is_torch(lib)


@pytest.mark.parametrize("write", DATA_WRITES.values(), ids=DATA_WRITES.keys())
def test_a_write_through_data_of_a_leaf_leaves_the_gradient_of_the_forward_pass_as_it_ran(lib, write):
    x = leaf(lib, [1.0, 2.0, 3.0])
    z = (x * x).sum()
    write(lib, x)
    z.backward()
    assert close(x.grad, [2.0, 4.0, 6.0]) is not is_torch(lib)


def test_writing_the_base_protects_a_value_saved_through_a_view(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    y = x * 1
    z = y[1:] ** 2
    y.mul_(10)
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            z.sum().backward()
    else:
        z.sum().backward()
        assert close(x.grad, [0.0, 4.0, 6.0])


SELF_WRITES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "y = x.exp(); y.mul_(2)": (lambda a: a.exp().mul_(2), [5.43656, 14.77811]),
    "a.mul_(a)": (lambda a: a.mul_(a), [2.0, 4.0]),
    "a.div_(a)": (lambda a: a.div_(a), [0.0, 0.0]),
    "a.exp_().log_()": (lambda a: a.exp_().log_(), [1.0, 1.0]),
    "a.exp_().mul_(2)": (lambda a: a.exp_().mul_(2), [5.43656, 14.77811]),
    "a[0] = a[0] ** 2": (lambda a: (a.__setitem__(0, a[0] ** 2), a)[1], [2.0, 1.0]),
    "a.sqrt_().pow_(2)": (lambda a: a.sqrt_().pow_(2), [1.0, 1.0]),
    "a.sigmoid_().tanh_()": (lambda a: a.sigmoid_().tanh_(), [0.12, 0.0526]),
}


@pytest.mark.parametrize(("program", "gradient"), SELF_WRITES.values(), ids=SELF_WRITES.keys())
def test_a_write_to_what_the_operation_itself_saved_gives_the_right_gradient(lib, program, gradient):
    x = leaf(lib, [1.0, 2.0])
    if is_torch(lib):
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            program(x * 1).sum().backward()
    else:
        program(x * 1).sum().backward()
    assert close(x.grad, gradient, rtol=1e-2)


@pytest.mark.parametrize("name", ["y = x.exp(); y.mul_(2)", "a.mul_(a)", "a.exp_().log_()", "a[0] = a[0] ** 2"])
def test_only_torch_refuses_a_write_to_what_the_operation_itself_saved(lib, name):
    loss = SELF_WRITES[name][0](leaf(lib, [1.0, 2.0]) * 1).sum()
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            loss.backward()
    else:
        loss.backward()


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_a_parameter_update_between_two_backwards_uses_the_values_of_the_forward(lib, mode):
    w = leaf(lib, [1.0, 2.0])
    loss = (w**3).sum()
    loss.backward(retain_graph=True)
    with getattr(lib, mode)():
        w.sub_(0.1 * w.grad)
    w.grad = None
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            loss.backward()
    else:
        loss.backward()
        assert close(w.grad, [3.0, 12.0])
        assert close(w, [0.7, 0.8])


def test_an_update_between_forward_and_backward_uses_the_values_of_the_forward(lib):
    w = leaf(lib, [[1.0, 2.0], [3.0, 4.0]])
    i = lib.ones(1, 2)
    out = i @ w @ w
    with lib.no_grad():
        w.mul_(2)
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            out.sum().backward()
    else:
        out.sum().backward()
        assert close(w.grad, [[7.0, 11.0], [9.0, 13.0]])


def test_a_leaf_that_requires_grad_refuses_an_in_place_operation_and_keeps_its_value(lib):
    x = leaf(lib, [1.0, 2.0])
    with raises(lib, RuntimeError, LEAF):
        x.add_(1)
    with raises(lib, RuntimeError, VIEWLEAF):
        x[0].add_(1)
    assert close(x, [1.0, 2.0])
    assert x._version == 0


def test_the_write_itself_takes_effect_for_the_tensor_and_its_aliases(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 1
    detached, data, view = y.detach(), y.data, y.view(2, 1)
    z = y * y
    y.add_(10)
    assert close(y, [11.0, 12.0])
    assert close(detached, [11.0, 12.0])
    assert close(data, [11.0, 12.0])
    assert close(view, [[11.0], [12.0]])
    assert (y._version, detached._version, data._version, view._version) == (1, 1, 0, 1)
    assert close(z, [1.0, 4.0])


def test_later_uses_differentiate_through_the_new_value(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 1
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        before = y * y
        y.mul_(10)
        after = y * y
        (before + after).sum().backward()
    assert close(x.grad, [2.0 + 200.0, 4.0 + 400.0])


def test_several_saved_values_of_one_storage_each_keep_their_own_moment(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 1
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        total = y**2
        for _ in range(3):
            y.add_(1)
            total = total + y**2
        total.sum().backward()
    assert close(x.grad, [2.0 + 4.0 + 6.0 + 8.0, 4.0 + 6.0 + 8.0 + 10.0])


def test_a_second_derivative_is_right_after_a_write(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 1
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        z = (y**3).sum()
        y.zero_()
        (g,) = lib.autograd.grad(z, x, create_graph=True)
        (h,) = lib.autograd.grad(g.sum(), x)
    assert close(g, [3.0, 12.0])
    assert close(h, [6.0, 12.0])


def test_allow_mutation_on_saved_tensors_is_accepted(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 1
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        z = y * y
        y.data.add_(1)
        z.sum().backward()
    assert close(x.grad, [2.0, 4.0])


def test_reprs_carry_the_name_of_the_library(lib):
    assert repr(lib.ones(3).shape) == renamed(lib, "torch.Size([3])")
    assert repr(lib.float64) == renamed(lib, "torch.float64")
    assert lib.ones(1).type() == renamed(lib, "torch.FloatTensor")


def test_errors_keep_the_text_of_torch_as_their_first_line(lib):
    with raises(
        lib, RuntimeError, "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    ):
        lib.ones(2) + lib.ones(3)


def test_a_saved_input_that_was_cut_since_has_its_history_still(lib):
    """PyTorch forgets a part of it: its second derivative of x^4 is 4 x^2 here."""
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(lib, [0.5, 2.0])
    y = x * x
    z = Square.apply(y)
    y.detach_()
    (first,) = lib.autograd.grad(z.sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), x)
    assert close(first, [0.5, 32.0])          # of x^4
    assert close(second, [1.0, 16.0] if is_torch(lib) else [3.0, 48.0])
