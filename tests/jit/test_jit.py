"""`torch.jit`: what is scripted or traced stays Python and runs, keeps its parameters and state; files and graphs are refused."""

from __future__ import annotations

import copy
import enum
import inspect
import io
import pickle

import pytest

import claygrad as torch
from claygrad import nn


class Net(nn.Module):
    __constants__ = ("scale",)
    scale: torch.jit.Final[int]

    def __init__(self):
        super().__init__()
        self.scale = 3
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x, twice: bool = False):
        if x.sum() > 0:                            # a branch that a trace would freeze
            x = x * 2
        self.seen += 1
        return self.body(x) * self.scale * (2 if twice else 1)

    @torch.jit.export
    def other(self, x):
        return x + self.scale

    @torch.jit.ignore
    def left_out(self, x):
        return [one.item() for one in x]

    @torch.jit.unused
    def not_for_scripts(self, x):
        return x - 1


def add(x, y: int = 1):
    return x + y


@pytest.fixture(params=["script", "trace", "trace_module"])
def made(request):
    net = Net()
    x = torch.ones(1, 4)
    if request.param == "script":
        return net, torch.jit.script(net)
    return net, torch.jit.trace(net, (x,)) if request.param == "trace" else torch.jit.trace_module(net, {"forward": (x,), "other": x})


def test_a_scripted_module_runs_and_trains_the_same_parameters(made):
    net, scripted = made
    x = torch.randn(5, 4)
    assert isinstance(scripted, torch.jit.ScriptModule)
    assert isinstance(scripted, nn.Module)
    assert torch.equal(scripted(x), net(x))
    assert torch.equal(scripted(-x.abs()), net(-x.abs()))
    assert torch.equal(scripted(x, twice=True), 2 * net(x))
    assert [a is b for a, b in zip(scripted.parameters(), net.parameters(), strict=True)] == [True] * 4
    scripted(x).sum().backward()
    assert net.body[0].weight.grad is not None
    torch.optim.SGD(scripted.parameters(), lr=0.1).step()
    assert torch.equal(scripted(x), net(x))
    assert scripted.seen is net.seen


def test_what_is_marked_still_runs(made):
    net, scripted = made
    x = torch.arange(3.0)
    assert torch.equal(scripted.other(x), x + 3)
    assert scripted.left_out(x) == net.left_out(x) == [0, 1, 2]
    assert torch.equal(scripted.not_for_scripts(x), x - 1)


def test_modes_state_and_structure(made):
    net, scripted = made
    assert scripted.eval() is scripted
    assert not scripted.training
    assert not scripted.body[1].training
    assert scripted.state_dict().keys() == net.state_dict().keys()
    scripted.load_state_dict({name: torch.zeros_like(value) for name, value in net.state_dict().items()})
    assert not net.body[0].weight.any()
    assert all(isinstance(child, torch.jit.ScriptModule) for child in scripted.children())
    assert [name for name, _ in scripted.named_modules()] == [name for name, _ in net.named_modules()]
    assert scripted.original_name == "Net"
    assert "original_name=Net" in repr(scripted)
    assert scripted.scale == 3


def test_copies_have_parameters_of_their_own(made):
    _, scripted = made
    other = copy.deepcopy(scripted)
    with torch.no_grad():
        other.body[0].weight.zero_()
    assert scripted.body[0].weight.any()
    assert type(other) is type(scripted)
    assert copy.copy(scripted).body[0].weight is scripted.body[0].weight


def test_hooks_of_the_module_are_called(made):
    _, scripted = made
    calls = []
    scripted.register_forward_hook(lambda module, args, out: calls.append(module))
    scripted(torch.ones(1, 4))
    assert calls == [scripted]


def test_functions():
    scripted = torch.jit.script(add)
    assert isinstance(scripted, torch.jit.ScriptFunction)
    assert torch.equal(scripted(torch.ones(2), y=2), torch.full((2,), 3.0))
    assert torch.jit.script(scripted) is scripted
    assert scripted.__name__ == scripted.name == "add"
    assert inspect.signature(scripted).parameters["y"].default == 1
    traced = torch.jit.trace(lambda x: x * 2 if x.sum() > 0 else -x, torch.ones(2))
    assert torch.equal(traced(-torch.ones(2)), torch.ones(2))            # the branch is chosen anew
    x = torch.ones(2, requires_grad=True)
    scripted(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(2))

    @torch.jit.script
    def decorated(x):
        return x + 1

    assert decorated(1) == 2


def test_a_trace_runs_the_example_without_gradients():
    seen = []
    torch.jit.trace(lambda x: seen.append((x.shape, torch.is_grad_enabled())), torch.ones(3))
    assert seen == [((3,), False)]
    with pytest.raises(ZeroDivisionError):
        torch.jit.trace(lambda x: 1 / 0, torch.ones(3))
    with pytest.raises(RuntimeError, match="example_inputs and example_kwarg_inputs are both None"):
        torch.jit.trace(add)


def test_classes_enums_and_containers_stay():
    class Pair:
        def __init__(self, a: int):
            self.a = a

    class Color(enum.Enum):
        RED = 1

    assert torch.jit.script(Pair) is Pair
    assert torch.jit.script(Color) is Color
    assert torch.jit.script({"a": 1}) == {"a": 1}
    with pytest.raises(RuntimeError, match=r"cannot be compiled since it inherits from nn\.Module"):
        torch.jit.script(Net)
    assert torch.jit.interface(Pair) is Pair


def test_nothing_is_scripted_while_it_runs():
    seen = []

    def look(x):
        seen.append((torch.jit.is_scripting(), torch.jit.is_tracing()))
        return x

    torch.jit.script(look)(1)
    torch.jit.trace(look, torch.ones(1))
    assert seen == [(False, False)] * 2
    assert torch.jit.annotate(list[int], []) == []
    assert torch.jit.isinstance([1, 2], list[int])
    assert not torch.jit.isinstance([1, "a"], list[int])
    assert torch.jit.wait(torch.jit.fork(add, 1, 2)) == 3
    assert torch.jit.script_if_tracing(add) is add


def test_freezing_needs_evaluation():
    scripted = torch.jit.script(Net())
    with pytest.raises(RuntimeError, match=r"Please call .eval\(\)"):
        torch.jit.freeze(scripted)
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule"):
        torch.jit.freeze(Net().eval())
    x = torch.ones(1, 4)
    frozen = torch.jit.optimize_for_inference(torch.jit.freeze(scripted.eval()))
    assert torch.equal(frozen(x), scripted(x))


@pytest.mark.parametrize("ask", [
    lambda m, f: torch.jit.save(m, io.BytesIO()), lambda m, f: torch.jit.load("model.pt"), lambda m, f: m.save("model.pt"),
    lambda m, f: f.save("model.pt"), lambda m, f: pickle.dumps(m), lambda m, f: m.save_to_buffer()])
def test_files_are_refused_with_the_way_out(ask):
    with pytest.raises(NotImplementedError, match=r"torch\.save\(model\.state_dict\(\), file\)"):
        ask(torch.jit.script(Net()), torch.jit.script(add))


@pytest.mark.parametrize("ask", [
    lambda m, f: m.graph, lambda m, f: m.code, lambda m, f: m.inlined_graph, lambda m, f: f.graph, lambda m, f: f.code,
    lambda m, f: f.schema, lambda m, f: m.graph_for(1), lambda m, f: torch.jit.last_executed_optimized_graph(),
    lambda m, f: torch.jit.export_opnames(m)])
def test_graphs_are_refused_with_the_way_out(ask):
    with pytest.raises(NotImplementedError, match="read the source"):
        ask(torch.jit.trace(Net(), torch.ones(1, 4)), torch.jit.script(add))


def test_a_refused_attribute_is_not_taken_for_a_missing_one():
    """A property that raised AttributeError would end in Module.__getattr__, which says that there is none."""
    with pytest.raises(NotImplementedError):
        hasattr(torch.jit.script(Net()), "graph")


def test_the_state_of_a_scripted_module_goes_to_a_file_and_back():
    net, file = torch.jit.script(Net()), io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    other = Net()
    other.load_state_dict(torch.load(file))
    x = torch.ones(2, 4)
    assert torch.equal(other(x), net(x))


def test_old_style_script_modules():
    class Old(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
            self.k = torch.jit.Attribute(3, int)

        @torch.jit.script_method
        def forward(self, x):
            return self.fc(x) * self.k

    old = Old()
    assert old.k == 3
    assert old(torch.ones(1, 2)).shape == (1, 2)
    assert torch.jit.script(old) is old
