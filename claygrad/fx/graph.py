"""Graphs: nodes in a row, changed in place, and written as the Python code that runs them."""
from __future__ import annotations

import builtins
import contextlib
import copy
import keyword
import re
from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.fx._code import CodeGen, PythonCode
from claygrad.fx.node import Node, map_arg

if TYPE_CHECKING:
    from collections.abc import Iterator

class _Namespace:
    """Names that are each given once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A name like the candidate that is no keyword, no builtin and not taken."""
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        base, number = name, 0
        found = re.fullmatch(r"(.*)_(\d+)", name)
        if found:
            base, number = found[1], int(found[2])
        while name in self._used or keyword.iskeyword(name) or (hasattr(builtins, name) and getattr(builtins,
                                                                                                    name) is not obj) \
                or name in ("torch", "self", "operator", "math", "inf", "nan", "NoneType"):
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name


class _node_list:
    """The nodes of a graph in order; what is erased or moved while one goes through them is respected."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """The steps of a function or of a module's forward."""

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    @property
    def owning_module(self) -> Any:
        """The module whose graph it is."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _node_list:
        """The nodes in order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node of the result."""
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise AssertionError("the graph has no output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of one kind."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def create_node(self, op: str, target: Any, args: Any = None, kwargs: Any = None, name: str | None = None,
                    type_expr: Any = None) -> Node:
        """A new node at the place of insertion."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        made = Node(self, self._graph_namespace.create_name(name or self._target_to_str(target)), op, target, args,
                    kwargs,
                    type_expr)
        self._insert(made)
        self._len += 1
        return made

    @staticmethod
    def _target_to_str(target: Any) -> str:
        if callable(target):
            text = getattr(target, "__name__", type(target).__name__)
        else:
            text = target
            if text.startswith("__") and text.endswith("__"):
                text = text[2:-2]
        return re.sub(r"(?<!^)(?=[A-Z])", "_", text.replace(".", "_")).lower() if isinstance(text, str) else "node"

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nobody uses."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the "
                               f"graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._set((), {})
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1

    @contextlib.contextmanager
    def _inserting(self, insert: Any) -> Iterator[None]:
        former, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = former

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which new nodes go before one; without one, to the begin of the graph."""
        return self.inserting_after(self._root) if n is None else self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which new nodes go behind one; without one, to the end of the graph."""
        if n is None:
            return self.inserting_before(self._root)
        last = [n]

        def insert(node: Node) -> None:
            last[0].append(node)
            last[0] = node

        return self._inserting(insert)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr, name=name.replace("*", ""))

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module: a parameter, a buffer, a constant."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Any, args: Any = None, kwargs: Any = None, type_expr: Any = None,
                      name: str | None = None) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """The result."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Any = lambda node: node) -> Node:
        """A copy of a node of another graph."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy all nodes of another graph; returns what its output becomes."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda one: val_map[one])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda one: val_map[one])
        return None

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of a call as inputs."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Results as those of a call."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write code in another way."""
        self._codegen = codegen

    def python_code(self, root_module: str, **kwargs: Any) -> PythonCode:
        """The function that the graph is, as text."""
        return self._codegen.write(self, root_module)

    def on_generate_code(self, make_transformer: Any) -> Any:
        """Change the lines of the code; a context that ends it."""
        former = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(former)

        @contextlib.contextmanager
        def until() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = former

        return until()

    def __str__(self) -> str:
        lines = "".join(f"\n    {node.format_node()}" for node in self.nodes)
        return f"graph():{lines}"

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [[str(one) for one in (node.op, node.name, node.target, node.args, node.kwargs)] for node in self.nodes]
        rows.insert(0, ["opcode", "name", "target", "args", "kwargs"])
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, ["-" * width for width in widths])
        print("\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows))

    def lint(self) -> None:
        """Check that every node stands behind those it uses, that names differ and that targets are there."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node._input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was "
                                       f"used as an "
                                       "argument! If you are copying nodes from another graph, make sure to use "
                                       "``arg_transform`` on node_copy() to remap values")
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                                       f"Please check "
                                       f"that Nodes in the graph are topologically ordered\n{self}")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                value: Any = self.owning_module
                for part in node.target.split("."):
                    if not hasattr(value, part):
                        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute "
                                           f"{part} of "
                                           f"{value}")
                    value = getattr(value, part)

    def eliminate_dead_code(self, is_impure_node: Any = None, impure_random: bool = True) -> bool:
        """Erase what nobody uses and what has no effect; whether there was any."""
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            impure = is_impure_node(node) if is_impure_node is not None else node.is_impure()
            if not impure and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        made._codegen = copy.deepcopy(self._codegen)
        mapped: dict[Node, Any] = {}
        output = made.graph_copy(self, mapped, return_output_node=True)
        if isinstance(output, tuple):
            former = output[1]
            last = made.output(output[0], type_expr=getattr(former, "type", None))
            last.meta = copy.copy(former.meta)
        return made

__getattr__ = lazy(__name__)
