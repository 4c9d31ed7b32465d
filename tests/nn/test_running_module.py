"""A recorded node knows the module in whose forward it was made."""
from __future__ import annotations

import gc
import threading
import weakref

import pytest

import claygrad
from claygrad import nn
from claygrad.core.graph.module_call import Running, running
from claygrad.core.graph.module_paths import name_in


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc1(x).tanh() * 2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 1)))

    def forward(self, x):
        return self.head(self.encoder(x)).sum()


def nodes_of(loss):
    found, stack = [], [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in found:
            found.append(node)
            stack += [after for after, _ in node.next_functions]
    return found


def paths_of(loss):
    return {(node.name(), str(node.module)) for node in nodes_of(loss) if not node.name().endswith("AccumulateGrad")}


EXPECTED = {("AddmmBackward0", "encoder.layers.0.fc1: Linear"), ("AddmmBackward0", "encoder.layers.1.fc1: Linear"),
            ("TanhBackward0", "encoder.layers.0: Block"), ("MulBackward0", "encoder.layers.0: Block"),
            ("TanhBackward0", "encoder.layers.1: Block"), ("MulBackward0", "encoder.layers.1: Block"),
            ("AddmmBackward0", "head.0: Linear"), ("ReluBackward0", "head.1: ReLU"),
            ("AddmmBackward0", "head.2.0: Linear"), ("SumBackward0", "Net")}


def without_transposes(found):
    return {(name, where) for name, where in found if name != "TBackward0"}


def quick(net):
    return net


def hooked(net):
    for module in net.modules():
        module.register_forward_hook(lambda module, args, out: None)
    return net


def replaced(net):
    for module in net.modules():
        module.forward = module.forward
    return net


def called_by_python(net):
    for module in net.modules():
        kind = type(module)
        module.__class__ = type(kind.__name__, (kind,), {"__call__": lambda self, *args: nn.Module.__call__(self, *args)})
    return net


@pytest.mark.parametrize("way", [quick, hooked, replaced, called_by_python])
def test_paths(way):
    net = way(Net())
    assert without_transposes(paths_of(net(claygrad.randn(2, 4)))) == EXPECTED
    assert running() is None


def test_outside_of_modules():
    x = claygrad.ones(3, requires_grad=True)
    assert (x * 2).grad_fn.module is None
    out = nn.Linear(3, 2)(x)
    assert (out * 2).grad_fn.module is None


def test_what_a_call_says():
    net = Net()
    loss = net(claygrad.randn(2, 4))
    call = loss.grad_fn.module
    assert call.module is net
    assert call.kind is Net
    assert call.path == ""
    assert call.outer is None
    inner = next(node.module for node in nodes_of(loss) if str(node.module) == "encoder.layers.1.fc1: Linear")
    assert inner.module is net.encoder.layers[1].fc1
    assert [step.kind.__name__ for step in (inner, inner.outer, inner.outer.outer, inner.outer.outer.outer)] == [
        "Linear", "Block", "Encoder", "Net"]
    assert inner.outer.outer.outer == call
    assert hash(inner.outer.outer.outer) == hash(call)
    assert inner != call


def test_two_calls_of_one_module_are_told_apart():
    layer = nn.Linear(3, 3)
    out = layer(layer(claygrad.ones(2, 3)))
    calls = {node.module for node in nodes_of(out) if node.name() == "AddmmBackward0"}
    assert len(calls) == 2
    assert {str(call) for call in calls} == {"Linear"}


def test_exceptions_leave_no_module_behind():
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt if x is None else ValueError(x)

    for module in (Fails(), nn.Sequential(nn.Sequential(Fails())), hooked(nn.Sequential(Fails()))):
        for given, kind in ((None, KeyboardInterrupt), (3, ValueError)):
            with pytest.raises(kind):
                module(given)
            assert running() is None


def test_generators_and_calls_inside_calls():
    inner = nn.Linear(2, 2)

    class Lazily(nn.Module):
        def forward(self, x):
            for _ in range(2):
                yield inner(x), running()

    class Again(nn.Module):
        def forward(self, x, depth):
            assert running().module is self
            out = self(x, depth - 1) if depth else x * 1
            assert running().module is self
            return out

    parts = Lazily()(claygrad.ones(1, 2))
    assert running() is None
    for out, inside in parts:
        assert str(out.grad_fn.module) == "Linear"
        assert inside is None
    assert running() is None
    again = Again()
    out = again(claygrad.ones(2, requires_grad=True), 50)
    assert str(out.grad_fn.module) == "Again"
    depth, call = 0, out.grad_fn.module
    while call is not None:
        depth, call = depth + 1, call.outer
    assert depth == 51


def test_threads_have_their_own():
    barrier, seen = threading.Barrier(4), []

    class Meets(nn.Module):
        def forward(self, x):
            barrier.wait()
            seen.append(running().module is self)
            barrier.wait()
            return x * 2

    def work():
        out = Meets()(claygrad.ones(2, requires_grad=True))
        seen.append(out.grad_fn.module.kind is Meets and running() is None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 8
    assert running() is None


def test_a_destructor_that_calls_modules():
    calls = []

    class Dies:
        def __del__(self):
            out = nn.Sequential(nn.Linear(2, 2))(claygrad.ones(1, 2))
            calls.append((str(out.grad_fn.module), running().kind.__name__))

    class Drops(nn.Module):
        def forward(self, x):
            Dies()
            gc.collect()
            return x * 2

    out = Drops()(claygrad.ones(2, requires_grad=True))
    assert calls == [("Sequential.Linear: Linear", "Drops")]
    assert str(out.grad_fn.module) == "Drops"
    assert running() is None


def test_a_node_keeps_no_module_alive():
    net = Net()
    loss, known = net(claygrad.randn(2, 4)), weakref.ref(net)
    call = loss.grad_fn.module
    del net
    gc.collect()
    assert known() is None
    assert call.module is None
    assert call.kind is Net
    assert str(call) == "Net"
    assert ("AddmmBackward0", "Encoder.Block.Linear: Linear") in paths_of(loss)
    loss.backward()


def test_a_module_that_no_other_holds():
    criterion = nn.MSELoss()

    class Asks(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = [nn.Linear(2, 1)]

        def forward(self, x):
            return criterion(self.kept[0](x), claygrad.zeros(1, 1))

    assert without_transposes(paths_of(Asks()(claygrad.ones(1, 2)))) == {
        ("MseLossBackward0", "MSELoss: MSELoss"), ("AddmmBackward0", "Linear: Linear")}


def test_custom_functions_and_writes_into_views():
    class Double(claygrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.module, ctx.origin = "mine", "too"          # names that users may take
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert (ctx.module, ctx.origin) == ("mine", "too")
            return g * 2

    class Plain(Double):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Writes(nn.Module):
        def forward(self, x):
            y = x * 1
            y[0] = x[1]
            return Double.apply(y), Plain.apply(y)

    x = claygrad.ones(3, requires_grad=True)
    mine, plain = Writes()(x)
    assert mine.grad_fn.module == "mine"
    assert str(plain.grad_fn.module) == "Writes"
    assert plain.grad_fn.origin[1] > 0
    assert {where for _, where in paths_of(plain)} == {"Writes"}
    assert "torch::autograd::CopySlices" in {name for name, _ in paths_of(plain)}
    mine.sum().backward()


def test_the_context_is_used_once_at_a_time():
    outer = Running(Net())
    with outer:
        with pytest.raises(RuntimeError, match="in use"):
            outer.__enter__()
        assert running().kind is Net
    assert running() is None
    outer.__exit__(None, None, None)
    assert running() is None


def test_calls_that_end_in_another_order():
    """As greenlets may let them: a wrong module may stay on top, but no memory that is gone."""
    seen = []

    def work():
        x = claygrad.ones(2, requires_grad=True)
        first, second = Running(nn.ReLU()), Running(nn.Tanh())
        first.__enter__()
        second.__enter__()
        node = (x * 2).grad_fn
        first.__exit__(None, None, None)
        gc.collect()
        second.__exit__(None, None, None)
        del first, second
        gc.collect()
        for _ in range(100):
            seen.append(str(nn.Linear(2, 2)(x).grad_fn.module).split(": ")[-1])
        seen.append(str(node.module).split(": ")[-1])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["Linear"] * 100 + ["Tanh"]
    assert running() is None


def test_names_take_the_nearest_level():
    net = Net()
    assert name_in(net, net.encoder.layers[1].fc1) == "encoder.layers.1.fc1"
    assert name_in(net, nn.Linear(1, 1)) is None
    net.loop = net
    assert name_in(net, nn.Linear(1, 1)) is None
