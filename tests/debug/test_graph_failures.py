"""The graph of a program that failed."""
from __future__ import annotations

import pytest

import claygrad
from claygrad import debug, nn

from .graph_models import Net, net_loss


@pytest.fixture(autouse=True, params=["", "full"])
def frames(request, monkeypatch):
    """With and without claygrad's own frames in the traceback: the picture is the same."""
    monkeypatch.setenv("CLAYGRAD_TRACEBACK", request.param)


def failed(graph):
    return [step for step in graph.steps if step.kind == "failed"]


def error_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def labels(graph):
    out, waiting = [], [graph.tree]
    while waiting:
        group = waiting.pop()
        out.append(group.label)
        waiting += [child for child in group.children if not isinstance(child, int)]
    return out


def test_a_layer_of_the_wrong_size():
    model = Net()
    model.layers[5].fc2 = nn.Linear(10, 8)
    graph = claygrad.graph(error_of(lambda: net_loss(model)))
    bad, = failed(graph)
    assert bad.name == "linear"
    assert "shapes cannot be multiplied" in bad.note
    assert bad.line[3] == "return x + self.fc2(self.fc1(self.norm(x)).relu())"
    assert {"layers.0…4", "layers.5", "fc2"} <= set(labels(graph))
    assert "layers.6" not in labels(graph)
    assert [group.label for group in graph.tree.children[0].children] == ["embed", "layers.0…4", "layers.5"]
    assert "got (5, 16), (8, 10), (8,)" in str(graph)
    assert "✗ linear" in str(graph)
    taken = {graph.steps[i].name for i in bad.inputs}
    assert taken == {"relu", "layers.5.fc2.weight", "layers.5.fc2.bias"}


def test_inside_a_sequential():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.Linear(5, 1)))
    graph = claygrad.graph(error_of(lambda: model(claygrad.ones(1, 4))))
    bad, = failed(graph)
    outer = next(child for child in graph.tree.children if not isinstance(child, int))
    inner = next(child for child in outer.children if not isinstance(child, int) and child.label == "1")
    assert graph.steps.index(bad) in list(inner.steps())
    assert {graph.steps[i].name for i in bad.inputs} == {"tanh", "1.1.weight", "1.1.bias"}


def test_the_first_layer_of_a_sequential():
    model = nn.Sequential(nn.Sequential(nn.Linear(5, 1)))
    graph = claygrad.graph(error_of(lambda: model(claygrad.ones(1, 4))))
    assert labels(graph) == ["", "model", "0", "0"]


def test_a_layer_by_itself():
    layer = nn.ModuleList([nn.MultiheadAttention(8, 2)])
    x = claygrad.ones(3, 4)
    graph = claygrad.graph(error_of(lambda: layer[0](x, x, x)))
    bad, = failed(graph)
    assert bad.name == "multi_head_attention_forward"
    assert labels(graph)[:2] == ["", "MultiheadAttention"]
    assert {"in_proj_weight", "out_proj.weight"} <= {graph.steps[i].name for i in bad.inputs}


def test_a_layer_that_is_gone():
    graph = claygrad.graph(error_of(lambda: nn.Linear(3, 4)(claygrad.ones(2, 2))))
    assert "got (2, 2), (4, 3), (4,)" in str(graph)
    assert failed(graph)[0].name == "linear"


def test_forward_called_directly():
    model = Net(depth=1)
    model.head[2] = nn.Linear(9, 3)
    graph = claygrad.graph(error_of(lambda: model.forward(claygrad.ones(5, 4))))
    head = next(child for child in graph.tree.children if not isinstance(child, int) and child.type == "Sequential")
    assert [child.label for child in head.children] == ["0", "1", "2"]
    assert graph.steps.index(failed(graph)[0]) in list(head.steps())


def test_an_exception_of_another_kind():
    claygrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.LogSigmoid(), nn.Softmax(1)))

    def work():
        with debug.trace_nans():
            model(claygrad.full((1, 2), float("inf")))

    graph = claygrad.graph(error_of(work))
    assert len(failed(graph)) == 1
    assert "NonFiniteError" in str(graph)
    assert labels(graph)[:2] == ["", "model"]


def test_an_exception_of_the_users_own():
    class Odd(nn.Module):
        def forward(self, x):
            raise ValueError("not today")

    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Odd()))
    graph = claygrad.graph(error_of(lambda: model(claygrad.ones(1, 2))))
    outer, = graph.tree.children
    assert [child.type for child in outer.children] == ["Linear", "Sequential"]
    assert graph.steps.index(failed(graph)[0]) in list(outer.children[1].steps())


def test_results_that_nobody_holds():
    w = claygrad.ones(3, requires_grad=True)
    graph = claygrad.graph(error_of(lambda: (w * 2).exp() @ claygrad.ones(4, 2)))
    bad, = failed(graph)
    assert {graph.steps[i].name for i in bad.inputs} == {"exp", "b"}
    assert "got (3,), (4, 2)" in str(graph)
    graph = claygrad.graph(error_of(lambda: claygrad.cat([w * 2, claygrad.ones(3, 3)])))
    bad, = failed(graph)
    assert {graph.steps[i].name for i in bad.inputs} == {"mul", "tensors[1]"}


def test_the_text_ends_with_all_that_the_error_says():
    model = Net(depth=1)
    model.layers[0].fc2 = nn.Linear(10, 8)
    error = error_of(lambda: net_loss(model))
    text = str(claygrad.graph(error))
    assert text.endswith(f"\n\n✗ RuntimeError: {error}")
    assert text.endswith("make the layer with in_features=16")
    long = error_of(lambda: exec("raise ValueError('\\n'.join(map(str, range(100))))"))
    assert str(claygrad.graph(long)).endswith("\n23\n24\n  ...")


def test_without_modules():
    def work():
        w = claygrad.ones(3, requires_grad=True)
        h = (w * 2).exp()
        other = claygrad.ones(4, 2)
        return h @ other

    graph = claygrad.graph(error_of(work))
    bad, = failed(graph)
    assert bad.name == "h @ other"
    assert {graph.steps[i].name for i in bad.inputs} == {"exp", "other"}
    assert "mul" in {step.name for step in graph.steps}


def test_in_backward():
    class Bad(claygrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("no gradient today")

    def work():
        x = claygrad.ones(3, requires_grad=True)
        loss = Bad.apply(x * 3).sum()
        loss.backward()

    graph = claygrad.graph(error_of(work))
    bad, = failed(graph)
    assert bad.name == "Bad"
    assert bad.shape == (3,)
    assert {step.name for step in graph.steps} >= {"mul", "Bad", "sum"}


def test_a_second_backward():
    def work():
        x = claygrad.ones(3, requires_grad=True)
        loss = (x * x).sum()
        loss.backward()
        loss.backward()

    graph = claygrad.graph(error_of(work))
    bad, = failed(graph)
    assert bad.name == "mul"


def test_an_error_that_has_nothing_to_do_with_tensors():
    graph = claygrad.graph(error_of(lambda: 1 / 0))
    bad, = failed(graph)
    assert bad.name == "1 / 0"
    assert "ZeroDivisionError" in str(graph)


def test_attributes_of_the_user_are_not_run():
    class Watches:
        ran = False

        @property
        def weight(self):
            Watches.ran = True
            return claygrad.ones(3)

    watches, w = Watches(), claygrad.ones(3, requires_grad=True)

    def work():
        h = w * 2
        if h is not None:
            raise RuntimeError(str(watches.weight.shape))

    error = error_of(work)
    Watches.ran = False
    claygrad.graph(error)
    assert not Watches.ran


def test_graph_on_error(tmp_path):
    model = Net(depth=2)
    page = tmp_path / "failed.html"
    with debug.graph_on_error(page):
        net_loss(model)
    assert not page.exists()
    model.head[2] = nn.Linear(9, 3)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught, debug.graph_on_error(page, model):
        net_loss(model)
    assert any(str(page) in note for note in caught.value.__notes__)
    assert "shapes cannot be multiplied" in page.read_text(encoding="utf-8")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught, debug.graph_on_error(tmp_path / "no" / "where.html"):
        net_loss(model)
    assert any("could not be drawn" in note for note in caught.value.__notes__)


def test_refusals():
    with pytest.raises(ValueError, match="no traceback"):
        claygrad.graph(ValueError("never raised"))
    with pytest.raises(ValueError, match="no gradients"):
        claygrad.graph(error_of(lambda: 1 / 0), gradients=True)
