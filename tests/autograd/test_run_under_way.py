"""What a program may ask during a backward pass: which node runs, which will, and in which order."""
from __future__ import annotations

import threading
import warnings

import pytest

import claygrad
from claygrad import _C
from claygrad.autograd import Function, grad, set_multithreading_enabled
from claygrad.autograd.graph import saved_tensors_hooks


def test_the_node_that_runs() -> None:
    x = claygrad.ones(2, requires_grad=True)
    y = x.sin()
    seen = []
    y.register_hook(lambda g: seen.append(_C._current_autograd_node()))
    x.register_hook(lambda g: seen.append(_C._current_autograd_node().name()))
    z = y.exp()
    z.sum().backward()
    assert seen == [y.grad_fn, "torch::autograd::AccumulateGrad"]
    assert _C._current_autograd_node() is None


def test_the_node_that_unpacks() -> None:
    x = claygrad.ones(2, requires_grad=True)
    seen = []
    with saved_tensors_hooks(lambda t: t, lambda t: seen.append(_C._current_autograd_node().name()) or t):
        y = x.exp() * x
    y.sum().backward()
    assert seen == ["MulBackward0", "MulBackward0", "ExpBackward0"]


def test_a_nested_pass_has_its_own_node_and_number() -> None:
    x = claygrad.ones(2, requires_grad=True)
    seen = []

    class Nested(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            before = _C._current_graph_task_id(), _C._current_autograd_node().name()
            with claygrad.enable_grad():
                y = claygrad.ones(2, requires_grad=True)
                y.register_hook(lambda g: seen.append((_C._current_graph_task_id(), _C._current_autograd_node().name())))
                y.sin().sum().backward()
            assert (_C._current_graph_task_id(), _C._current_autograd_node().name()) == before
            seen.append(before)
            return g

    Nested.apply(x).sum().backward()
    (inner, node), (outer, own) = seen
    assert inner == outer + 1
    assert node == "torch::autograd::AccumulateGrad"
    assert own == "NestedBackward"
    assert _C._current_graph_task_id() == -1


def test_the_order_is_that_of_the_run() -> None:
    a, b = (claygrad.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    c, d = b.sin(), a.cos()
    out = c * d
    told, ran = [], []
    for t in (out, c, d):
        t.register_hook(lambda g, node=t.grad_fn: ran.append(node))
    out.register_hook(lambda g: told.append(_C._current_graph_task_execution_order()))
    with set_multithreading_enabled(False):
        out.backward()
    names = [node.name().split("::")[-1] for node in told[0]]
    assert names == ["MulBackward0", "CosBackward0", "AccumulateGrad", "SinBackward0", "AccumulateGrad"]
    assert [node for node in told[0] if node in ran] == ran


def test_the_order_leaves_out_what_is_not_asked_for() -> None:
    a, b = (claygrad.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    out = a.cos() * b.sin()
    told = []
    out.register_hook(lambda g: told.append(_C._current_graph_task_execution_order()))
    with set_multithreading_enabled(False):
        grad(out, a)
    assert [node.name().split("::")[-1] for node in told[0]] == ["MulBackward0", "CosBackward0", "AccumulateGrad"]


def test_the_order_is_refused_outside_and_where_threads_may_run() -> None:
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        _C._current_graph_task_execution_order()
    x = claygrad.ones(2, requires_grad=True)
    x.register_hook(lambda g: _C._current_graph_task_execution_order())
    with pytest.raises(RuntimeError, match="multithreading disabled"):
        x.sum().backward()


def test_which_nodes_will_run() -> None:
    a, b = (claygrad.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    c, d = a.sin(), b.sin()
    out = c * d
    told = []

    def ask(g):
        told.append([_C._will_engine_execute_node(node) for node in (c.grad_fn, d.grad_fn)])
    out.register_hook(ask)
    out.backward(retain_graph=True)
    out.backward(inputs=[a], retain_graph=True)
    assert told == [[True, True], [True, False]]
    leaf = c.grad_fn.next_functions[0][0]
    out.register_hook(lambda g: _C._will_engine_execute_node(leaf))
    with pytest.raises(RuntimeError, match=r"currently running autograd\.grad\(\)"):
        grad(out, a)
    with pytest.raises(RuntimeError, match="expects an grad_fn, but got int"):
        _C._will_engine_execute_node(3)
    with pytest.raises(RuntimeError, match="only be called during the backward pass"):
        _C._will_engine_execute_node(leaf)


@pytest.mark.parametrize("retain", [True, False])
def test_whether_the_graph_stays(retain: bool) -> None:
    x = claygrad.ones(2, requires_grad=True)
    told = []
    x.register_hook(lambda g: told.append(_C._autograd._get_current_graph_task_keep_graph()))
    (x * x).sum().backward(retain_graph=retain)
    assert told == [retain]


def test_multithreading_is_a_setting_of_the_thread() -> None:
    told = []
    with set_multithreading_enabled(False):
        assert not claygrad.autograd.is_multithreading_enabled()
        other = threading.Thread(target=lambda: told.append(claygrad.autograd.is_multithreading_enabled()))
        other.start()
        other.join()
    assert told == [True]
    assert claygrad.autograd.is_multithreading_enabled()

    @set_multithreading_enabled(False)
    def inside() -> bool:
        return claygrad.autograd.is_multithreading_enabled()
    assert claygrad.autograd.is_multithreading_enabled()
    assert not inside()
    assert claygrad.autograd.is_multithreading_enabled()


def test_anomaly_mode_tells_of_the_backward_that_led_to_it() -> None:
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return Inner.apply(g * ctx.saved_tensors[0])

    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    x = claygrad.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as told, claygrad.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        first, = grad(Outer.apply(x).sum(), x, create_graph=True)
        assert first.grad_fn.metadata["parent_"].name() == "OuterBackward"
        with pytest.raises(RuntimeError, match="Function 'InnerBackward' returned nan values in its 0th output"):
            first.sum().backward()
    one, two = [str(warning.message) for warning in told]
    assert one.startswith("Error detected in InnerBackward. Traceback of forward call that caused the error:")
    assert "Inner.apply" in one
    assert two.startswith("\n\nPrevious calculation was induced by OuterBackward. Traceback of forward call that induced")
    assert "Outer.apply" in two
