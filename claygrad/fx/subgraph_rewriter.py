"""`torch.fx.replace_pattern`: other nodes in the place of those that look like a pattern."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from claygrad._lazy import lazy
from claygrad.fx._symbolic_trace import symbolic_trace
from claygrad.fx.graph import Graph
from claygrad.fx.graph_module import GraphModule
from claygrad.fx.node import Node, map_arg


class Match(NamedTuple):
    """Where a pattern was found: its last node, and the graph's node for each of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A match, and the nodes that took its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node] = field(default_factory=list)


def _graph_of(given: Any) -> Graph:
    if isinstance(given, Graph):
        return given
    return given.graph if isinstance(given, GraphModule) else symbolic_trace(given).graph


class _Matcher:
    """Looks for a pattern that ends at a node."""

    def __init__(self, pattern: Graph) -> None:
        self.pattern = pattern
        self.inputs = [node for node in pattern.nodes if node.op == "placeholder"]
        result = pattern.output_node().args[0]
        self.ends: list[Node] = []
        map_arg(result, self.ends.append)
        self.result = result

    def at(self, node: Node) -> dict[Node, Node] | None:
        """Each node of the pattern to one of the graph, if the pattern's result can be this node."""
        found: dict[Node, Any] = {}
        if len(self.ends) != 1 or not self._same(self.ends[0], node, found):
            return None
        inner = {graph for pattern, graph in found.items() if pattern.op != "placeholder"}
        for pattern, graph in found.items():
            if pattern.op not in ("placeholder",) and pattern is not self.ends[0] \
                    and any(user not in inner for user in graph.users):
                return None                 # a value inside the pattern is used outside of it
        return found

    def _same(self, pattern: Any, graph: Any, found: dict[Node, Any]) -> bool:
        if isinstance(pattern, Node):
            if pattern in found:
                return found[pattern] is graph
            if pattern.op == "placeholder":
                found[pattern] = graph
                return True
            if not isinstance(graph, Node) or graph.op != pattern.op or graph.op == "placeholder":
                return False
            if pattern.op == "call_module" or pattern.op == "get_attr":
                if str(pattern.target).rpartition(".")[2] != str(graph.target).rpartition(".")[2]:
                    return False
            elif pattern.target != graph.target:
                return False
            found[pattern] = graph
            return self._same(list(pattern.args), list(graph.args), found) \
                and self._same(dict(pattern.kwargs), dict(graph.kwargs), found)
        if isinstance(pattern, list | tuple):
            return isinstance(graph, list | tuple) and len(pattern) == len(graph) \
                and all(self._same(one, other, found) for one, other in zip(pattern, graph))
        if isinstance(pattern, dict):
            return isinstance(graph, dict) and set(pattern) == set(graph) \
                and all(self._same(one, graph[key], found) for key, one in pattern.items())
        return not isinstance(graph, Node) and type(pattern) is type(graph) and bool(pattern == graph)


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace every place of the graph that looks like `pattern` by `replacement`, functions or modules alike."""
    return [Match(one.anchor, one.nodes_map) for one in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm: GraphModule, pattern: Any, replacement: Any = None, match_filters: Any = None,
                                 ignore_literals: bool = False,
                                 replacement_callback: Any = None) -> list[ReplacedPatterns]:
    """As `replace_pattern`, where each filter, called with match, graph and pattern, agrees."""
    if ignore_literals or replacement_callback is not None:
        from claygrad.compat.refusing import refusal
        raise refusal("torch.fx.subgraph_rewriter.replace_pattern_with_filters(ignore_literals, replacement_callback)")
    matcher, other = _Matcher(_graph_of(pattern)), _graph_of(replacement)
    inputs = [node for node in other.nodes if node.op == "placeholder"]
    if len(inputs) != len(matcher.inputs):
        raise AssertionError(f"Wrong number of inputs of the replacement: {len(inputs)}, the pattern has "
                             f"{len(matcher.inputs)}")
    done: list[ReplacedPatterns] = []
    replaced: dict[Node, Node] = {}
    for node in list(gm.graph.nodes):
        if node._erased:
            continue
        found = matcher.at(node)
        if found is None or any(getattr(one, "_erased", False) for one in found.values()):
            continue
        match = Match(node, {key: value for key, value in found.items() if isinstance(value, Node)})
        if match_filters and not all(check(match, gm.graph, matcher.pattern) for check in match_filters):
            continue
        values: dict[Node, Any] = {}
        for mine, theirs in zip(inputs, matcher.inputs):
            value = found.get(theirs)
            values[mine] = replaced.get(value, value) if isinstance(value, Node) else value
        before = set(gm.graph.nodes)
        with gm.graph.inserting_before(node):
            result = gm.graph.graph_copy(other, values)
        for copied in other.nodes:
            if copied.op in ("call_module", "get_attr"):
                _bring(gm, other, copied.target)
        if isinstance(result, tuple | list) and len(result) == 1:
            result = result[0]
        if not isinstance(result, Node):
            raise RuntimeError("the replacement must have one result, like the pattern")
        node.replace_all_uses_with(result)
        replaced[node] = result
        inner = [one for key, one in found.items() if key.op != "placeholder" and isinstance(one, Node)]
        for one in sorted(inner, key=lambda one: -list(gm.graph.nodes).index(one)):
            if not one.users:
                gm.graph.erase_node(one)
        done.append(ReplacedPatterns(node, match.nodes_map, [one for one in gm.graph.nodes if one not in before]))
    gm.recompile()
    return done


def _bring(gm: GraphModule, other: Graph, target: str) -> None:
    """The module or attribute that a node of the replacement names."""
    owner = other.owning_module
    try:
        gm.get_submodule(target)
        return
    except AttributeError:
        if owner is None:
            return
    from claygrad.fx.graph_module import _copy_attr
    value: Any = gm
    for part in target.split("."):
        value = getattr(value, part, None)
    if value is None:
        _copy_attr(owner, gm, target)

__getattr__ = lazy(__name__)
