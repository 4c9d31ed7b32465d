"""`claygrad.graph`: what it reads of a graph, and its forms as text, DOT and data."""
from __future__ import annotations

import gc
import re
import weakref

import pytest

import claygrad
from claygrad import nn
from claygrad.debug.graphs import Graph
from claygrad.debug.graphs._tree import CROWD, Group

from .graph_models import Block, Net, net_loss


def rows(graph, depth=99):
    """The labels of a text with their indents, without the columns."""
    return [re.split(r"\s{2,}(?=\S)", "x" + line)[0][1:] if not line.startswith(" ")
            else re.match(r"(\s*\S.*?)(\s{2,}|$)", line)[1] for line in graph.text(depth).splitlines()[2:]]


def step(graph, name, kind="operation"):
    return next(step for step in graph.steps if step.name == name and step.kind == kind)


def test_modules_and_repeats():
    model = Net()
    loss = net_loss(model)
    graph = claygrad.graph(loss)
    assert isinstance(graph, Graph)
    assert rows(graph, 2) == ["model: Net", "  embed: Linear", "  layers.0…11: Block × 12", "  head: Sequential", "loss = nll_loss"]
    inner = rows(graph)
    assert inner.count("    norm: LayerNorm") == 1                      # one stands for twelve
    assert "      • weight" in inner
    assert "    relu" in inner
    operations = sum(step.kind == "operation" for step in graph.steps)
    assert graph.summary.startswith(f"graph of loss: {operations} operations, 78 parameters with ")
    assert str(graph).startswith(graph.summary)
    assert repr(graph) == f"<{graph.summary}>"


def test_names_of_parameters_and_inputs():
    model = Net()
    offset = claygrad.zeros(5, 4, requires_grad=True)
    total = (model(claygrad.ones(5, 4) + offset) * claygrad.ones(3, requires_grad=True)).sum()
    graph = claygrad.graph(total)
    parameters = {step.name for step in graph.steps if step.kind == "parameter"}
    assert parameters == {name for name, _ in model.named_parameters()}
    assert {step.name for step in graph.steps if step.kind == "input"} == {"offset", "input 2"}
    assert {step.name for step in claygrad.graph(total, model).steps if step.kind == "parameter"} == parameters


def test_two_models_and_parts_called_by_themselves():
    first, second = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4))
    graph = claygrad.graph(second(first(claygrad.ones(1, 4))).sum())
    assert {step.name for step in graph.steps if step.kind == "parameter"} == {
        "first.weight", "first.bias", "second.0.weight", "second.0.bias"}
    model = Net()
    graph = claygrad.graph(model.layers[3](model.embed(claygrad.ones(1, 4))), model)
    assert {step.name.split(".")[0] for step in graph.steps if step.kind == "parameter"} == {"embed", "layers"}
    assert [group.label for group in graph.tree.children if isinstance(group, Group)] == ["embed", "layers.3"]
    assert graph.tree.children[1].children[0].path == "layers.3.norm"


def test_shapes_memory_lines_and_source():
    x = claygrad.ones(3, 5, requires_grad=True)
    y = (x * 2).exp()
    graph = claygrad.graph(y.sum())
    exp = step(graph, "exp")
    assert (exp.shape, exp.dtype, exp.title, sum(exp.memory.values())) == ((3, 5), "float32", "ExpBackward0", 60)
    assert exp.line[0] == __file__
    assert exp.line[3] == "y = (x * 2).exp()"
    assert sum(step(graph, "mul").memory.values()) == 0
    square = claygrad.graph((x * x).sum())
    assert sum(step(square, "mul").memory.values()) == 0                # the leaf is there with or without the graph
    assert "test_graph.py:" in str(graph)


def test_memory_is_counted_once_and_copies_are_told():
    x = claygrad.ones(100, requires_grad=True)
    y = x * 2
    graph = claygrad.graph((y.sin() + y.cos()).sum())                   # both keep y
    assert graph.kept_in(graph.tree) == 400
    z = x * 2
    loss = z.sin().sum()
    z.zero_()
    assert step(claygrad.graph(loss), "sin").copied == 400
    loss.backward()
    after = claygrad.graph(loss)
    assert after.kept_in(after.tree) == 0


def test_gradients_on_request_and_after_backward():
    w = claygrad.tensor([3.0, 4.0], requires_grad=True)
    loss = (w * w).sum()
    assert not claygrad.graph(loss).has_norms
    graph = claygrad.graph(loss, gradients=True)
    assert step(graph, "mul").norm == pytest.approx(2 ** 0.5)
    assert step(graph, "sum").norm == 1
    assert step(graph, "w", "input").norm == 10
    assert w.grad is None
    assert "|gradient|" in str(graph)
    loss.backward()                                                     # still there: nothing was freed
    assert step(claygrad.graph(loss), "w", "input").norm == 10
    with pytest.raises(RuntimeError, match="second time"):
        claygrad.graph(loss, gradients=True)
    several = claygrad.graph([w * 2, w * 3], gradients=True)
    assert step(several, "w", "input").norm == pytest.approx(50 ** 0.5)


def test_it_keeps_nothing_alive():
    model = Net(depth=2)
    loss = net_loss(model)
    known, node = weakref.ref(model), weakref.ref(loss.grad_fn)
    graph = claygrad.graph(loss, gradients=True)
    del model, loss
    gc.collect()
    assert known() is None
    assert node() is None
    assert "layers.0…1: Block × 2" in str(graph)


def test_the_variables_of_a_function_are_not_kept():
    class Big:
        pass

    def work():
        big = Big()
        known = weakref.ref(big)
        x = claygrad.ones(2, requires_grad=True)
        claygrad.graph(x * 2)
        del big
        return known()

    assert work() is None


def test_path_to_a_parameter():
    model = Net()
    graph = claygrad.graph(net_loss(model)).path_to("layers.10.fc2.weight")
    assert [step.name for step in graph.steps if step.kind == "parameter"] == ["layers.10.fc2.weight"]
    assert "  layers.10…11: Block × 2" in rows(graph) or "  layers.10: Block" in rows(graph)
    assert "  embed: Linear" not in rows(graph)
    with pytest.raises(ValueError, match=r"near to it: layers\.10\.fc2\.weight"):
        graph.path_to("layers.10.fc2.weights")


def test_loops_without_modules_fold():
    x = y = claygrad.ones(3, requires_grad=True)
    for _ in range(1000):
        y = y.sin() * 0.5
    assert rows(claygrad.graph(y)) == ["• x", "sin → mul × 1000", "  sin", "  mul"]
    z = x
    for _ in range(5):
        z = z.cos()
    assert rows(claygrad.graph(z)) == ["• x", "z = cos × 5"] or rows(claygrad.graph(z)) == ["• x", "cos × 5"]


def test_recurrent_calls_fold():
    cell = nn.GRUCell(4, 4)
    h = claygrad.zeros(1, 4)
    for _ in range(20):
        h = cell(claygrad.ones(1, 4), h)
    assert any("cell: GRUCell × " in row for row in rows(claygrad.graph(h)))


def test_no_group_is_a_crowd():
    program = "y = x\n" + "\n".join(f"y = y.sin() * {i}.5 + x" if i % 3 else "y = y.cos()" for i in range(400))
    found = {"x": claygrad.ones(3, requires_grad=True)}
    exec(compile(program, "many_lines.py", "exec"), found)
    graph = claygrad.graph(found["y"])
    waiting, seen = [graph.tree], 0
    while waiting:
        group = waiting.pop()
        assert len(group.children) <= CROWD + CROWD // 4
        seen += sum(isinstance(child, int) for child in group.children)
        waiting += [child for child in group.children if isinstance(child, Group)]
    assert seen == len(graph.steps)
    assert any(group.label.startswith("many_lines.py:") for group in graph.tree.children if isinstance(group, Group))


def test_many_repeats_are_no_crowd_either():
    x = claygrad.ones(3, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y * 1.5
    graph = claygrad.graph(y)
    assert rows(graph) == ["• x", "mul × 20000"]
    waiting = [graph.tree]
    while waiting:
        group = waiting.pop()
        assert len(group.children) <= CROWD + CROWD // 4
        waiting += [child for child in group.children if isinstance(child, Group)]
    assert sorted(graph.tree.steps()) == list(range(20_001))
    assert step(graph, "x", "input").shape == tuple(x.shape)
    assert rows(graph.path_to("x")) == ["• x", "mul × 20000"]


def test_every_step_is_in_the_tree_once():
    graph = claygrad.graph(net_loss(Net()))
    assert sorted(graph.tree.steps()) == list(range(len(graph.steps)))


def test_tied_weights_stand_where_all_who_use_them_are():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    tied = Tied()
    graph = claygrad.graph(tied(claygrad.ones(1, 4)))
    top = graph.tree.children[0]
    assert [graph.steps[child].name for child in top.children if isinstance(child, int)] == ["a.weight"]


def test_custom_functions_and_several_outputs():
    class Split(claygrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x * 3)
            ctx.module = ctx.origin = ctx.variable = "mine"
            return x[:1].clone(), x[1:].clone()

        @staticmethod
        def backward(ctx, a, b):
            return claygrad.cat([a, b])

    x = claygrad.ones(4, requires_grad=True)
    a, b = Split.apply(x)
    graph = claygrad.graph((a, b))
    split = step(graph, "Split")
    assert split.outputs == 2
    assert split.line[0] == __file__
    assert sum(split.memory.values()) == 16


def test_second_derivatives_and_leaves():
    x = claygrad.tensor(2.0, requires_grad=True)
    slope, = claygrad.autograd.grad(x ** 3, x, create_graph=True)
    assert "pow" in str(claygrad.graph(slope))
    assert rows(claygrad.graph(x)) == ["• x"]


def test_dot():
    model = Net(depth=2)
    text = claygrad.graph(net_loss(model)).dot()
    assert text.startswith("digraph graph {")
    assert text.count("{") == text.count("}")
    assert 'label="layers.0…1: Block × 2"' in text
    named = set(re.findall(r"^\s*(n\d+) \[", text, re.MULTILINE))
    assert {end for edge in re.findall(r"(n\d+) -> (n\d+);", text) for end in edge} <= named


def test_save(tmp_path):
    graph = claygrad.graph(net_loss(Net(depth=2)))
    for name, start in (("g.html", "<!DOCTYPE html>"), ("g.dot", "digraph"), ("g.gv", "digraph"), ("g.txt", "graph of")):
        graph.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(ValueError, match=r"not 'g\.png'"):
        graph.save("g.png")


@pytest.mark.parametrize("given", [None, 3, [], {}, [1], "loss", {"a": 3}])
def test_wrong_arguments(given):
    with pytest.raises(TypeError, match="takes a tensor"):
        claygrad.graph(given)


def test_nothing_that_has_a_graph():
    with pytest.raises(ValueError, match=r"does not require grad, from .*test_graph.py.*claygrad\.ones"):
        claygrad.graph(claygrad.ones(3))
    with pytest.raises(TypeError, match="module as its model"):
        claygrad.graph(claygrad.ones(3, requires_grad=True), 7)


def test_a_block_by_itself():
    block = Block(4)
    assert rows(claygrad.graph(block(claygrad.ones(1, 4))), 1) == ["block: Block"]
