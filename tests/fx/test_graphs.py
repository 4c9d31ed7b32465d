"""Graphs of modules: what is traced can be copied, pickled, changed, and runs like the module."""

from __future__ import annotations

import copy
import pickle

import pytest

import claygrad
from claygrad import fx, nn

fx.wrap("helper")


def helper(x, n):
    if x.sum() > 0:             # branches on values: not to be entered by a trace
        return x * n
    return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.gain = nn.Parameter(claygrad.ones(4))

    def forward(self, x):
        return helper(self.norm(self.first(x)).relu() * self.gain, 2)


def test_wrapped_functions_are_one_node() -> None:
    traced = fx.symbolic_trace(Net())
    assert [node.target for node in traced.graph.nodes if node.op == "call_function"][-1] is helper
    x = claygrad.randn(5, 3)
    assert claygrad.equal(traced.eval()(x), traced(x))


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda traced: pickle.loads(pickle.dumps(traced))])
def test_copies(again) -> None:
    traced = fx.symbolic_trace(Net()).eval()
    x = claygrad.randn(5, 3)
    made = again(traced)
    assert type(made) is not type(traced)
    assert made.code == traced.code
    assert claygrad.equal(made(x), traced(x))
    assert list(made.state_dict()) == list(traced.state_dict())


def test_state_moves_between_the_module_and_its_graph() -> None:
    one, other = Net(), Net()
    traced = fx.symbolic_trace(one)
    assert set(traced.state_dict()) == set(one.state_dict())
    traced.load_state_dict(other.state_dict())
    x = claygrad.randn(5, 3)
    assert claygrad.equal(traced.eval()(x), other.eval()(x))


def test_a_failing_trace_leaves_modules_as_they_were() -> None:
    class Branching(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    before = nn.Module.__call__, nn.Module.__getattr__
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(Branching())
    assert (nn.Module.__call__, nn.Module.__getattr__) == before
    assert nn.Linear(2, 2)(claygrad.ones(1, 2)).shape == (1, 2)


def test_lint_finds_what_is_wrong() -> None:
    traced = fx.symbolic_trace(Net())
    *_, last, output = traced.graph.nodes
    last.prepend(output)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        traced.graph.lint()


def test_features_of_a_layer() -> None:
    traced = fx.symbolic_trace(Net()).eval()
    node = next(node for node in traced.graph.nodes if node.target == "norm")
    old = traced.graph.output_node()
    with traced.graph.inserting_before(old):
        traced.graph.output({"norm": node})
    traced.graph.erase_node(old)
    traced.graph.eliminate_dead_code()
    traced.recompile()
    traced.delete_all_unused_submodules()
    x = claygrad.randn(2, 3)
    assert claygrad.equal(traced(x)["norm"], traced.norm(traced.first(x)))
