"""Observers see every operation, forward and backward, and cannot harm the program: Note [Observers]."""

from __future__ import annotations

import gc
import threading

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.core.graph.observe import Observer


class Log(Observer):
    def __init__(self, **options):
        super().__init__(**options)
        self.begun, self.ended = [], []

    def before(self, call):
        self.begun.append((call.kind, call.name))

    def after(self, call):
        self.ended.append((call.kind, call.name, call.failed))

    def names(self, kind):
        return [name for what, name, _ in self.ended if what == kind]


def seen(program, **options):
    with Log(**options) as log:
        program()
    assert sorted(log.begun) == sorted((kind, name) for kind, name, _ in log.ended)
    return log


X = torch.ones(3, 4)


@pytest.mark.parametrize(("program", "kind", "name"), [
    (lambda: X + X, "forward", "add"),
    (lambda: 2 - X, "forward", "rsub"),
    (lambda: X.exp(), "forward", "exp"),
    (lambda: torch.exp(X), "forward", "exp"),
    (lambda: -X, "forward", "neg"),
    (lambda: X @ X.T, "forward", "mm"),
    (lambda: X.sum(0), "forward", "sum"),
    (lambda: X.clone().add_(1), "in-place", "add_"),
    (lambda: X.clone().__iadd__(1), "in-place", "add_"),
    (lambda: nn.functional.relu(X.clone(), inplace=True), "in-place", "relu_"),
    (lambda: torch.exp(X, out=torch.empty(3, 4)), "forward", "exp"),
    (lambda: X.view(12), "view", "view"),
    (lambda: X.unbind(), "view", "unbind"),
    (lambda: X[1:], "index", "__getitem__"),
    (lambda: X[X > 0], "index", "__getitem__"),
    (lambda: X.clone().__setitem__(0, 1.0), "index", "__setitem__"),
    (lambda: torch.zeros(3), "make", "zeros"),
    (lambda: torch.randn(3), "make", "randn"),
    (lambda: nn.functional.linear(X, X, X[:, 0]), "forward", "addmm"),
    (lambda: nn.Linear(4, 2)(X), "forward", "addmm"),
    (lambda: nn.functional.cross_entropy(X, torch.tensor([0, 1, 2])), "forward", "cross_entropy"),
    (lambda: nn.functional.scaled_dot_product_attention(X[None], X[None], X[None]), "forward", "scaled_dot_product_attention"),
    (lambda: nn.LSTM(4, 2)(X), "forward", "_lstm_layer"),
    (lambda: torch.cat([X, X]), "forward", "cat"),
    (lambda: X.conj_physical(), "forward", "conj_physical"),
    (lambda: (X * 1j).conj() + 1, "forward", "add"),
])
def test_what_is_seen(program, kind, name):
    log = seen(program)
    assert name in log.names(kind), log.ended


def test_a_composite_holds_its_parts():
    log = seen(lambda: nn.Linear(4, 2)(X))
    order = [name for _, name in log.begun if name in ("linear", "addmm")]
    assert order == ["linear", "addmm"]
    assert [name for _, name, _ in log.ended if name in ("linear", "addmm")] == ["addmm", "linear"]


def test_backward_and_leaves():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).exp().sum()
    log = seen(loss.backward)
    assert log.names("backward") == ["SumBackward0", "ExpBackward0", "MulBackward0"]
    assert log.names("leaf") == ["torch::autograd::AccumulateGrad"]
    assert torch.equal(w.grad, 2 * w.detach() * (w * w).exp().detach())


def test_rules_as_operations():
    w = torch.ones(3, requires_grad=True)
    closed, opened = seen(w.exp().sum().backward), seen(w.exp().sum().backward, rules=True)
    assert "mul" not in closed.names("forward")
    assert "mul" in opened.names("forward")


def test_the_same_gradients_and_the_same_values():
    def losses():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.BatchNorm1d(8), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(model.parameters())
        out = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(5, 4)), torch.tensor([0, 1, 0, 1, 0]))
            loss.backward()
            optimizer.step()
            out.append(loss.item())
        return out
    plain = losses()
    for options in ({}, {"rules": True}, {"threads": "all"}):
        with Log(**options):
            assert losses() == plain
    assert losses() == plain


def test_custom_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    w = torch.ones(3, requires_grad=True)
    log = seen(lambda: Double.apply(w).sum().backward())
    assert "DoubleBackward" in log.names("backward")
    assert log.names("forward").count("mul") == 2


def test_optimizer_steps():
    w = torch.ones(3, requires_grad=True)
    w.grad = torch.ones(3)
    assert seen(torch.optim.SGD([w], lr=0.1).step).names("step") == ["sgd"]
    assert torch.allclose(w.detach(), torch.full((3,), 0.9))


def test_arguments_results_and_lines():
    calls = []

    class Keep(Observer):
        def after(self, call):
            calls.append(call)

    w = torch.ones(3, requires_grad=True)
    with Keep():
        y = torch.cat([w, X[0]])                      # the line of cat
        y.sum().backward()                            # the line of backward
    cat = next(c for c in calls if c.name == "cat")
    assert [len(t) for t in cat.inputs] == [3, 4]
    assert cat.outputs[0] is y
    assert cat.result is y
    assert "the line of cat" in cat.origin[3]
    node = next(c for c in calls if c.name == "CatBackward0")
    assert node.inputs[0].shape == (7,)
    assert node.outputs[0].shape == (3,)
    assert "the line of backward" in node.origin[3]
    assert "the line of cat" in node.forward_origin[3]
    assert cat.forward_origin is None
    assert repr(cat) == "<forward cat>"


def test_what_fails_ends_too():
    with Log() as log, pytest.raises(RuntimeError, match="size of tensor a"):
        X + torch.ones(5)
    assert ("forward", "add", True) in log.ended


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("program", [
    lambda w: w + 1, lambda w: w.clone().add_(1), lambda w: w[0], lambda w: torch.zeros(3), lambda w: (w * w).sum().backward(),
    lambda w: nn.functional.linear(w[None], w[None]), lambda w: w.view(3, 1),
], ids=["forward", "in place", "index", "make", "backward", "composite", "view"])
def test_an_observer_that_raises_stops_the_operation_and_nothing_else(program, moment):
    class Raises(Observer):
        pass

    def refuse(self, call):
        raise KeyError(call.name)
    setattr(Raises, moment, refuse)
    w = torch.ones(3, requires_grad=True)
    for others in ("outside", "inside"):
        log = Log()
        first, second = (log, Raises()) if others == "outside" else (Raises(), log)
        with first, second, pytest.raises(KeyError):
            program(w)
        assert len(log.begun) >= len(log.ended)       # what the other one stopped before this one was told has no end
        assert others == "inside" or sorted(log.begun) == sorted(entry[:2] for entry in log.ended)
    program(w)
    assert (w + 1).tolist() == [2, 2, 2]


def test_what_an_observer_runs_is_not_observed():
    class Runs(Log):
        def before(self, call):
            super().before(call)
            (X + 1).sum()

        def after(self, call):
            super().after(call)
            (X * 2)[0]
    with Runs() as log:
        X.exp()
    assert log.begun == [("forward", "exp")]


def test_removed_while_running():
    class Once(Log):
        def before(self, call):
            super().before(call)
            self.remove()
    once, log = Once(), Log()
    once.add()
    with log:
        X + 1
        X + 2
    assert (once.begun, once.ended) == ([("forward", "add")], [])
    assert log.names("forward") == ["add", "add"]
    again = Once()
    again.add()
    X + 1                                             # the last one goes in the middle of an operation
    with Log() as after:
        X + 1
    assert after.names("forward") == ["add"]
    assert not again.is_active


def test_added_while_running():
    late = Log()

    class Adds(Observer):
        def before(self, call):
            if not late.is_active:
                late.add()
    with Adds():
        X + 1
        X * 2
    late.remove()
    assert late.begun == [("forward", "mul")]


def test_own_thread_or_all():
    own, every = Log(), Log(threads="all")
    with own, every:
        thread = threading.Thread(target=lambda: X.exp())
        thread.start()
        thread.join()
        X.log()
    assert own.names("forward") == ["log"]
    assert sorted(every.names("forward")) == ["exp", "log"]


def test_many_threads_at_once():
    log = Log(threads="all")
    errors = []

    def work():
        try:
            for _ in range(50):
                w = torch.ones(3, requires_grad=True)
                (w * w).sum().backward()
                assert w.grad.tolist() == [2, 2, 2]
        except Exception as error:                    # shown by the assertion below
            errors.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    with log:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert errors == []
    assert log.names("backward").count("MulBackward0") == 200


def test_limits():
    logs = [Log() for _ in range(9)]
    for log in logs[:8]:
        log.add()
    with pytest.raises(RuntimeError, match="active already"):
        logs[0].add()
    with pytest.raises(RuntimeError, match="more than 8"):
        logs[8].add()
    for log in logs:
        log.remove()
    with pytest.raises(ValueError, match="threads"):
        Log(threads="some")


def test_nothing_is_kept():
    class Nothing(Observer):
        pass
    with Nothing():
        w = torch.ones(1000, requires_grad=True)
        (w * w).sum().backward()
    gc.collect()
    before = torch.memory.allocated()
    with Nothing():
        for _ in range(100):
            (w * w).sum().backward()
    gc.collect()
    assert torch.memory.allocated() <= before + 8192


def test_detach_is_seen():
    x = torch.ones(3, requires_grad=True)
    kept = []

    class Keep(Observer):
        def after(self, call):
            kept.append(call)

    with Keep():
        y = x.detach()
    assert [(call.kind, call.name) for call in kept] == [("make", "detach")]
    assert kept[0].inputs[0] is x
    assert kept[0].outputs[0] is y
    assert y.data_ptr() == x.data_ptr()
    assert not y.requires_grad


def test_clipping_is_seen():
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
    log = seen(lambda: (nn.utils.clip_grad_norm_([w], 1.0), nn.utils.clip_grad_value_([w], 0.1)))
    assert log.names("step") == ["total_norm", "scale_to_norm", "limit"]
    assert torch.allclose(w.grad, torch.full((3,), 0.1))


def test_foreach_is_seen():
    tensors = [torch.ones(2), torch.ones(3)]
    log = seen(lambda: (torch._foreach_mul_(tensors, 2.0), torch._foreach_sqrt(tensors)))
    assert log.names("in-place") == ["mul_", "mul_"]
    assert log.names("forward") == ["sqrt", "sqrt"]
