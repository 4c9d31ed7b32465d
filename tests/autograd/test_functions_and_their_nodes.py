"""Settings of custom Functions, what their nodes saved, and nodes without an operation of their own."""
from __future__ import annotations

import gc
import weakref

import pytest

import claygrad
from claygrad import _C
from claygrad.autograd import Function, SavedTensor, grad
from claygrad.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks


def test_saved_tensors_may_be_let_go_at_the_first_look() -> None:
    class Once(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            watch = weakref.ref(x)
            del x
            assert watch() is None
            return g * 2

    x = claygrad.ones(2, requires_grad=True)
    y = Once.apply(x.clone())
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once"):
        y.sum().backward()
    looked = Once.apply(x)
    assert len(looked.grad_fn.saved_tensors) == 1
    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once"):
        _ = looked.grad_fn.saved_tensors


def test_gradients_may_come_as_one_list() -> None:
    class Listed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x, y):
            return x * 2, y * 3

        @staticmethod
        def backward(ctx, grads):
            assert type(grads) is list
            watch = weakref.ref(grads[0])
            first = grads.pop(0) * 2
            assert watch() is None                  # nobody else holds it
            return first, grads.pop() * 3

    x, y = (claygrad.ones(2, requires_grad=True) for _ in range(2))
    a, b = Listed.apply(x, y)
    (a * 5 + b * 7).sum().backward()
    assert x.grad.tolist() == [10, 10]
    assert y.grad.tolist() == [21, 21]


def test_an_instance_of_a_function_is_no_node() -> None:
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Function()
    for name in ("register_hook", "next_functions", "name", "saved_tensors", "_sequence_nr"):
        with pytest.raises(RuntimeError, match=f"Attribute '{name}' is invalid for this instance"):
            getattr(made, name)
    with pytest.raises(AttributeError, match="has no attribute 'another'"):
        _ = made.another
    assert Function.generate_vmap_rule is False
    with pytest.raises(NotImplementedError, match="override the vmap staticmethod"):
        Function.vmap(None, None)


def test_a_hook_that_raises_leaves_no_cycle() -> None:
    refs = []

    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.save_for_backward(y)
            refs.append(weakref.ref(y))
            return y

    def refuse(t):
        raise RuntimeError("no")

    def run() -> None:
        with saved_tensors_hooks(refuse, lambda t: t), pytest.raises(RuntimeError, match="no"):
            Saves.apply(claygrad.ones(2, requires_grad=True))

    gc.disable()
    try:
        run()
        assert refs[0]() is None
    finally:
        gc.enable()


def test_saved_variables_are_saved_tensors() -> None:
    class Old(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_variables[0]

    x = claygrad.ones(2, requires_grad=True)
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        Old.apply(x).sum().backward()


# --- what is saved ---------------------------------------------------------------------------------------------------
def test_a_saved_tensor_shows_what_the_hook_packed() -> None:
    x = claygrad.tensor([2.0], requires_grad=True)
    unpack = lambda packed: packed[1]
    with saved_tensors_hooks(lambda t: ("packed", t), unpack):
        y = x**2
    saved = y.grad_fn._raw_saved_self
    assert saved.data[0] == "packed"
    assert saved.data[1] is x
    assert saved.unpack_hook is unpack
    assert saved.unpack() is x
    z = x**2
    plain = z.grad_fn._raw_saved_self
    assert plain.unpack_hook is None
    assert plain.unpack().tolist() == plain.data.tolist() == [2]


def test_saved_tensors_are_made_by_nodes_alone() -> None:
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        SavedTensor()
    with pytest.raises(AttributeError):
        _ = (claygrad.ones(2, requires_grad=True) ** 2).grad_fn._raw_saved_self.another
    counts = [0, 0]

    def count(i, t):
        counts[i] += 1
        return t
    x = claygrad.ones(2, requires_grad=True)
    with saved_tensors_hooks(lambda t: count(0, t), lambda t: count(1, t)):
        saved = _C._autograd._make_saved_tensor(x, is_output=False)
        assert isinstance(saved, _C._autograd.SavedTensor)
        assert counts == [1, 0]
        assert saved.unpack() is x
        assert counts == [1, 1]


def test_what_an_index_left_out_is_saved_as_nothing() -> None:
    x = claygrad.ones(2, 2, requires_grad=True)
    y = x[:, claygrad.tensor([0, 1])]
    first, second = y.grad_fn._raw_saved_indices
    assert second.data.tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="None is forbidden"):
        first.register_hooks(lambda t: t, lambda t: t)


def test_whether_hooks_on_what_is_saved_are_allowed() -> None:
    assert _C._autograd._saved_tensors_hooks_is_enabled()
    with disable_saved_tensors_hooks("not here"):
        assert not _C._autograd._saved_tensors_hooks_is_enabled()
        assert _C._autograd._saved_tensors_hooks_get_disabled_error_message() == "not here"
    assert _C._autograd._saved_tensors_hooks_is_enabled()


# --- nodes without an operation -------------------------------------------------------------------------------------
def test_a_gradient_can_be_kept_back() -> None:
    told = []

    class Tells(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            told.append(g if g is None else g.tolist())
            return g, None

    x = claygrad.ones(1, requires_grad=True)
    for materialize in (True, False):
        _C._functions.UndefinedGrad()(Tells.apply(x, materialize)).backward()
    assert told == [[0], None]


def test_an_error_can_wait_for_backward() -> None:
    x, y = (claygrad.ones(2, requires_grad=True) for _ in range(2))
    late = _C._functions.DelayedError("too late", 1)(y)
    out = (x * late).sum()
    assert grad(out, x, retain_graph=True)[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="too late"):
        grad(out, y)
    assert isinstance((x * 2).grad_fn.next_functions[0][0], _C._functions.AccumulateGrad)


# --- sparse gradients ------------------------------------------------------------------------------------------------
class Fixed(Function):
    @staticmethod
    def forward(ctx, x, gradient):
        ctx.gradient = gradient
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return ctx.gradient, None


@pytest.mark.parametrize("order", ["sd", "ds", "ssd", "dss", "sds", "ss"])
@pytest.mark.parametrize("several", [False, True])
def test_sparse_and_dense_gradients_add_up_in_any_order(order: str, several: bool) -> None:
    sparse = claygrad.sparse_coo_tensor(claygrad.tensor([[0, 2]]), claygrad.tensor([1.0, 2.0]), (3,))
    dense = claygrad.tensor([10.0, 20.0, 30.0])
    x = claygrad.ones(3, requires_grad=True)
    source = x.clone() if not several else claygrad.stack([x, x]).unbind()[1]
    sum(Fixed.apply(source, sparse if kind == "s" else dense) for kind in order).sum().backward()
    n, m = order.count("s"), order.count("d")
    found = x.grad.to_dense() if x.grad.is_sparse else x.grad
    assert found.tolist() == [n + 10 * m, 20 * m, 2 * n + 30 * m]


def test_backward_may_start_from_a_sparse_gradient() -> None:
    x = claygrad.ones(3, requires_grad=True)
    x.backward(claygrad.sparse_coo_tensor(claygrad.tensor([[1]]), claygrad.tensor([2.0]), (3,)))
    assert x.grad.is_sparse
    assert x.grad.to_dense().tolist() == [0, 2, 0]
