"""What hooks return: a gradient of the same kind, None, or an error that names the hook."""

from __future__ import annotations

import pytest

from tests.support import close, raises

LAMBDA = "hook '<lambda>' has "


def _leaf(lib):
    return lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)


def _five(lib, **kind):
    return lib.full((2,), 5.0, **{"dtype": lib.float64, **kind})


def _run(lib, where, result):
    """Backward through y = 2x with a hook that returns `result`."""
    x = _leaf(lib)
    y = x * 2
    leaf = y.grad_fn.next_functions[0][0]
    {
        "node, before": lambda: y.grad_fn.register_prehook(lambda g: result),
        "leaf's node, before": lambda: leaf.register_prehook(lambda g: result),
        "node, after": lambda: y.grad_fn.register_hook(lambda i, o: result),
        "tensor": lambda: y.register_hook(lambda g: result),
        "leaf": lambda: x.register_hook(lambda g: result),
        "leaf, after": lambda: x.register_post_accumulate_grad_hook(lambda p: result),
    }[where]()
    y.sum().backward()
    return x.grad


NODE = ["node, before", "leaf's node, before", "node, after"]
TENSOR = ["tensor", "leaf", "leaf, after"]
NO_TENSORS = ["a", 3, {}, True, 1.5, [], print]


@pytest.mark.parametrize("result", [*NO_TENSORS, "tensor", "list"], ids=repr)
@pytest.mark.parametrize("where", NODE)
def test_a_node_takes_tuples_only(lib, where, result):
    result = {"tensor": _five(lib), "list": [_five(lib)]}.get(result, result) if isinstance(result, str) else result
    with raises(lib, TypeError, f"expected tuple, but hook returned '{type(result).__name__}'"):
        _run(lib, where, result)


@pytest.mark.parametrize("result", [*NO_TENSORS, (), (None,), ("a",)], ids=repr)
@pytest.mark.parametrize("where", TENSOR)
def test_a_tensor_takes_tensors_only(lib, where, result):
    with raises(lib, TypeError, f"expected Variable, but hook returned '{type(result).__name__}'"):
        _run(lib, where, result)


@pytest.mark.parametrize("where", NODE[:2])
def test_a_node_wants_as_many_as_it_gave(lib, where):
    for wrong, n in (((), 0), ((_five(lib), _five(lib)), 2)):
        with raises(lib, RuntimeError, f"{LAMBDA}returned an incorrect number of values (got {n}, but expected 1)"):
            _run(lib, where, wrong)
    with raises(lib, TypeError, "expected Variable, but hook returned 'str'"):
        _run(lib, where, ("a",))
    assert _run(lib, where, (None,)) is None
    assert close(_run(lib, where, (_five(lib),)), [5.0, 5.0] if where != "node, before" else [10.0, 10.0])


def test_a_hook_after_a_node_gets_one_value_for_each_edge(lib):
    x, w = _leaf(lib), _leaf(lib)
    y = x * w
    handle = y.grad_fn.register_hook(lambda i, o: ("a",))
    with raises(lib, RuntimeError, f"{LAMBDA}returned an incorrect number of values (got 1, but expected 2)"):
        y.sum().backward(retain_graph=True)
    handle.remove()
    y.grad_fn.register_hook(lambda i, o: (_five(lib), None))
    y.sum().backward()
    assert close(x.grad, [5.0, 5.0])
    assert w.grad is None


def test_a_gradient_that_did_not_come_cannot_be_replaced(lib):
    x = _leaf(lib)
    y, _ = lib.stack([x, x]).unbind(0)
    y.grad_fn.register_prehook(lambda g: (_five(lib), _five(lib)))
    with raises(lib, RuntimeError, "can't replace a None gradient with a non-None value"):
        y.sum().backward()


@pytest.mark.parametrize("where", [*NODE[:2], *TENSOR])
def test_shape_and_dtype_must_stay(lib, where):
    def wrapped(t):
        return t if where in TENSOR else (t,)

    with raises(lib, RuntimeError, f"{LAMBDA}changed the size of value"):
        _run(lib, where, wrapped(lib.ones(3, dtype=lib.float64)))
    for kind, name in ((lib.int64, "torch.LongTensor"), (lib.float32, "torch.FloatTensor"),
                       (lib.complex128, "CPUComplexDoubleType")):
        text = f"{LAMBDA}changed the type of value (was torch.DoubleTensor got {name})"
        with raises(lib, RuntimeError, text):
            _run(lib, where, wrapped(_five(lib, dtype=kind)))
    with raises(lib, RuntimeError, f"{LAMBDA}changed the type of value (was torch.DoubleTensor got MetaDoubleType)"):
        _run(lib, where, wrapped(_five(lib, device="meta")))


def test_a_hook_after_accumulation_returns_nothing(lib):
    with raises(lib, RuntimeError, "Tensor post accumulate grad hooks should return None."):
        _run(lib, "leaf, after", _five(lib))


@pytest.mark.parametrize("wrong", [3, None, "a"], ids=repr)
def test_a_hook_that_cannot_be_called(lib, wrong):
    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        x = _leaf(lib)
        getattr(x, register)(wrong)
        with raises(lib, TypeError, f"'{type(wrong).__name__}' object is not callable"):
            (x * 2).sum().backward()
    for register in ("register_hook", "register_prehook"):
        y = _leaf(lib) * 2
        getattr(y.grad_fn, register)(wrong)
        with raises(lib, TypeError, f"'{type(wrong).__name__}' object is not callable"):
            y.sum().backward()


@pytest.mark.parametrize("result", NO_TENSORS, ids=repr)
def test_what_unpacking_and_custom_backwards_return(lib, result):
    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return result

    name = type(result).__name__
    with raises(lib, RuntimeError, f"expected Variable or None (got {name})"):
        Twice.apply(_leaf(lib)).sum().backward()
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: result):
        y = _leaf(lib).exp()
    text = f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {name}"
    with raises(lib, TypeError, text):
        y.sum().backward()


@pytest.mark.parametrize("result", ["a", 3, ("a",), (), (None,), [], {}], ids=repr)
def test_a_forward_may_return_anything(lib, result):
    class Odd(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return result

        @staticmethod
        def backward(ctx, *g):
            return g[0]

    assert Odd.apply(_leaf(lib)) == result


def test_full_backward_hooks_of_modules(lib):
    def run(register, result):
        x, module = _leaf(lib), lib.nn.Tanh()
        getattr(module, register)(lambda *a: result)
        module(x).sum().backward()
        return x.grad

    for register, what in (("register_full_backward_hook", "Backward hook returned an invalid number of grad_input"),
                           ("register_full_backward_pre_hook",
                            "Backward pre hook returned an invalid number of grad_output")):
        with raises(lib, TypeError, "expected Variable, but hook returned 'str'"):
            run(register, ("a",))
        with raises(lib, TypeError, "object of type 'int' has no len()"):
            run(register, 3)
        for wrong, n in (((), 0), ((_five(lib), _five(lib)), 2)):
            with raises(lib, RuntimeError, f"{what}, got {n}, but expected 1"):
                run(register, wrong)
        with raises(lib, RuntimeError, "hook 'hook' has changed the size of value"):
            run(register, (lib.ones(3, dtype=lib.float64),))
