"""`torch.fx` against PyTorch's: the same program gives the same graphs and the same code."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.passes.shape_prop

import claygrad

SIDES = (torch, claygrad)


def both(program: Callable[[Any], Any]) -> None:
    first, second = (str(program(side)).replace("claygrad", "torch") for side in SIDES)
    assert first == second


def told(call: Callable[[], Any]) -> str:
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n  at ")[0]          # below it claygrad says where


def model(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.scale = nn.Parameter(torch.ones(3))
            self.register_buffer("shift", torch.zeros(3))

        def forward(self, x):
            return torch.relu(self.lin(x)) * self.scale + self.shift

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.Sequential(Block(), nn.ReLU(), Block())
            self.constant = torch.arange(3.0)

        def forward(self, x, other=None, *, factor=2):
            a, b = self.blocks(x).chunk(2, dim=-1)
            y = torch.cat([a, b], dim=-1) - self.constant
            return {"y": (-y).sum(dim=1, keepdim=True)[..., None], "n": [x.shape[0], x.size(1) * factor], "t": y.T @ y}

    return Model()


def functions(torch: Any) -> list[Callable[..., Any]]:
    return [
        lambda x: x + 1, lambda x, y: x @ y.T, lambda x: torch.add(x, x, alpha=2), lambda x: x.reshape(-1)[1:3],
        lambda x: (x > 0) & (x < 2), lambda x: 2 ** x - x // 2, lambda x: x.to(torch.float64), lambda x: x.dtype,
        lambda x: torch.stack((x, x)), lambda x: ~(x == 0), lambda x: torch.zeros(2) + x, lambda x: x.view(2, -1).t(),
        lambda x: operator.iadd(x, 1), lambda x: x.new_zeros(x.shape), lambda x: torch.where(x > 0, x, 0.0), lambda x: None,
        lambda x, *, k=3: x.sum(k), lambda x: torch.sqrt(x), lambda x: torch.tanh(x).exp_(), lambda x: 1 - x / 3 % 2,
        lambda x: x if x > 0 else -x, lambda x: len(x), lambda x: list(x), lambda x: int(x), lambda x: range(x), lambda x: {x: 1},
        lambda x: torch.sin(input=x), lambda x: x[x > 0], lambda x: (x, [x, {"a": x}], slice(x, 2)), lambda x: x.a.b(x.c),
    ]


def graph_text(torch: Any, graph: Any) -> str:
    return str(graph) + "".join(f"\n{node.op} {node.name} {node.args} {node.kwargs} {list(node.users)}" for node in graph.nodes)


def test_a_model() -> None:
    def program(torch: Any) -> Any:
        traced = torch.fx.symbolic_trace(model(torch))
        return (traced.code, graph_text(torch, traced.graph), str(traced), sorted(traced.state_dict()),
                [name for name, _ in traced.named_modules()], traced.graph.lint())
    both(program)


@pytest.mark.parametrize("case", range(30))
def test_functions(case: int) -> None:
    def program(torch: Any) -> Any:
        function = functions(torch)[case]
        return told(lambda: torch.fx.symbolic_trace(function).code + graph_text(torch, torch.fx.symbolic_trace(function).graph))
    both(program)


@pytest.mark.parametrize("call", [
    lambda torch, x, y: torch.einsum("ij,jk->ik", (x, y)), lambda torch, x, y: torch.einsum("ij,jk->ik", [x, y]),
    lambda torch, x, y: torch.einsum("ij,jk->ik", x, y), lambda torch, x, y: torch.einsum(x, [0, 1], y, [1, 2], [0, 2]),
    lambda torch, x, y: torch._assert(x.shape[0] == 3, "three"),
])
def test_arguments_that_come_as_one_list_and_assertions(call: Callable[..., Any]) -> None:
    def program(torch: Any) -> Any:
        traced = torch.fx.symbolic_trace(lambda x, y: (call(torch, x, y), x)[1])
        with pytest.raises((AssertionError, RuntimeError)) as error:
            traced(torch.ones(2, 3), torch.ones(2))
        assert traced(torch.ones(3, 3), torch.ones(3, 3)).shape == (3, 3)
        return [(node.op, node.name, node.args, node.kwargs) for node in traced.graph.nodes], error.type
    both(program)


@pytest.mark.parametrize("deep", [False, True])
def test_numbers_and_gradients(deep: bool) -> None:
    for side in SIDES:
        side.manual_seed(0)
        one = model(side)
        traced = side.fx.symbolic_trace(one)
        traced = copy.deepcopy(traced) if deep else traced
        x = side.randn(2, 3)
        a, b = one(x), traced(x)
        assert a["y"].tolist() == b["y"].tolist()
        assert a["n"] == b["n"]
        b["y"].sum().backward()
        assert all(parameter.grad is not None for parameter in traced.parameters())


def test_changing_a_graph() -> None:
    def program(torch: Any) -> Any:
        traced = torch.fx.symbolic_trace(model(torch))
        lines = []
        for node in traced.graph.nodes:
            if node.target is torch.relu:
                with traced.graph.inserting_after(node):
                    new = traced.graph.call_function(torch.sigmoid, args=node.args)
                    node.replace_all_uses_with(new)
                traced.graph.erase_node(node)
            if node.op == "call_method" and node.target == "chunk":
                with traced.graph.inserting_before(node):
                    traced.graph.call_method("clone", (node.args[0],))
        lines.append(str(traced.graph.eliminate_dead_code()))
        traced.recompile()
        traced.graph.lint()
        first = next(iter(traced.graph.nodes))
        lines += [traced.code, told(lambda: traced.graph.erase_node(first)), told(lambda: first.args.append(1)),
                  told(lambda: first.prepend(torch.fx.Graph().placeholder("z"))), str(len(traced.graph.nodes)),
                  str([node.name for node in reversed(traced.graph.nodes)][:4]),
                  str([n.name for n in traced.graph.find_nodes(op="get_attr")])]
        return lines
    both(program)


def test_a_graph_by_hand() -> None:
    def program(torch: Any) -> Any:
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        w = graph.get_attr("w")
        y = graph.call_function(torch.add, (x, w), {"alpha": 3})
        z = graph.call_module("lin", (y,))
        graph.output((z, [y, None, 2.5, "s", True, float("inf"), torch.float32]))
        module = torch.fx.GraphModule({"w": torch.ones(2), "lin": torch.nn.Identity()}, graph, "Hand")
        return [module.code, str(module(torch.zeros(2))[0].tolist()), type(module).__name__, str(graph.nodes.__len__()),
                told(lambda: torch.fx.GraphModule({}, graph)),
                told(lambda: torch.fx.GraphModule(3, graph))]
    both(program)


def test_interpreters_and_transformers() -> None:
    def program(torch: Any) -> Any:
        def f(x, y=2.0):
            return torch.sigmoid(x).neg() + y

        traced = torch.fx.symbolic_trace(f)

        class Swap(torch.fx.Transformer):
            def call_function(self, target, args, kwargs):
                return super().call_function(torch.tanh if target is torch.sigmoid else target, args, kwargs)

        class Count(torch.fx.Interpreter):
            seen = 0

            def run_node(self, n):
                self.seen += 1
                return super().run_node(n)

        count = Count(traced)
        result = count.run(torch.zeros(2))
        props = torch.fx.passes.shape_prop
        props.ShapeProp(traced).propagate(torch.zeros(2, 3))
        shapes = [(node.name, tuple(node.meta["tensor_meta"].shape)) for node in traced.graph.nodes if "tensor_meta" in node.meta]
        return [str(result.tolist()), count.seen, Swap(traced).transform().code, shapes]
    both(program)


def test_patterns() -> None:
    def program(torch: Any) -> Any:
        def f(x, w):
            a = torch.cat([x, w]).sum()
            b = torch.cat([w, x]).sum()
            return a + b + torch.relu(x).sum()

        traced = torch.fx.symbolic_trace(f)
        found = torch.fx.replace_pattern(traced, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: a.sum() + b.sum())
        again = torch.fx.replace_pattern(traced, lambda a: torch.relu(a), lambda a: a.clamp(min=0))
        return [len(found), len(again), str(traced(torch.ones(2), torch.ones(2)).item()),
                sorted(node.name.split("_")[0] for node in traced.graph.nodes)]
    both(program)


def test_leaves_are_the_tracers_to_choose() -> None:
    def program(torch: Any) -> Any:
        class Whole(torch.fx.Tracer):
            def is_leaf_module(self, m, name):
                return name == "blocks.0" or super().is_leaf_module(m, name)

        one = model(torch)
        graph = Whole().trace(one)
        concrete = torch.fx.Tracer().trace(one, concrete_args={"other": None})
        return str(graph), [node.name for node in concrete.nodes]
    both(program)
