"""The Python code of a graph."""
from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claygrad.fx.node import Node, _get_qualified_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.fx.graph import Graph

_MAGIC = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}",
    "floordiv": "{} // {}", "truediv": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}",
    "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]",
    "matmul": "{} @ {}"}
_INPLACE = {
    "iadd": "+=", "iand": "&=", "ifloordiv": "//=", "ilshift": "<<=", "imod": "%=", "imul": "*=", "imatmul": "@=",
    "ior": "|=", "ipow": "**=", "irshift": ">>=", "isub": "-=", "itruediv": "/=", "ixor": "^="}


@dataclass
class PythonCode:
    """The text of a graph's function, and the globals that it needs."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None


class CodeGen:
    """Writes a graph as a function; a subclass may write inputs and results in another way."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line `def forward(…):`."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line `return …`."""
        return f"return {_text(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of a call as the graph's inputs."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The graph's results as those of a call."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """More globals for the code."""
        return []

    def write(self, graph: Graph, root: str) -> PythonCode:
        """The code of a graph."""
        import claygrad
        scope: dict[str, Any] = {"torch": claygrad, "inf": math.inf, "nan": math.nan, "device": claygrad.device,
                                 **dict(self.additional_globals())}
        last_use = _last_uses(graph)
        names, lines, output = [], [], ""

        def global_name(target: Any) -> str:
            name = _get_qualified_name(target)
            first = name.partition(".")[0]
            if first == "torch" and _reachable(name) is target:
                return name
            if first in ("operator", "math") and name.count(".") == 1:
                scope[first] = operator if first == "operator" else math
                return name
            if getattr(builtins, name, None) is target:
                return name
            made = re.sub(r"\W", "_", name)
            while made in scope and scope[made] is not target:
                made += "_"
            scope[made] = target
            return made

        for node in graph.nodes:
            annotation = ""
            if node.type is not None:
                annotation = f" : {_type_text(node.type, scope)}"
            drop = last_use.get(node, ())
            tail = f";  {' = '.join(one.name for one in drop)} = None" if drop else ""
            if node.op == "placeholder":
                default = f" = {_text(node.args[0], scope)}" if node.args else ""
                names.append(f"{node.target}{annotation}{default}")
                bare = node.target.replace("*", "")
                if bare != node.name:
                    lines.append(f"{node.name} = {bare}")
                continue
            if node.op == "output":
                output = self.generate_output(node.args[0])
                continue
            given = _call_text(node.args, node.kwargs, scope)
            if node.op == "call_method":
                line = f"{_text(node.args[0], scope)}.{node.target}({_call_text(node.args[1:], node.kwargs, scope)})"
            elif node.op == "call_module":
                line = f"{_path(root, node.target)}({given})"
            elif node.op == "get_attr":
                line = _path(root, node.target)
            else:
                line = _function_text(node, global_name, given, scope)
            if node.op == "call_function" and line.startswith("#inplace "):
                line = line.removeprefix("#inplace ")
                lines.append(f"{line};  {node.name} = {_text(node.args[0], scope)}{tail}")
            else:
                lines.append(f"{node.name}{annotation} = {line}{tail}")
        body = [f"{line}\n" for line in lines] or (["pass\n"] if not output else [])
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        head = self.gen_fn_def(names, "")
        text = "".join(f"    {line}" for line in [*body, f"{output}\n" if output else ""])
        return PythonCode(f"\n\n\n{head}\n{text}    ", scope)


def _reachable(name: str) -> Any:
    """What a name below torch is."""
    import claygrad
    value: Any = claygrad
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
        if value is None:
            return None
    return value


def _path(root: str, target: str) -> str:
    """Attributes of attributes, also those that are numbers."""
    text = root
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f'getattr({text}, "{part}")'
    return text


def _function_text(node: Node, global_name: Any, given: str, scope: dict[str, Any]) -> str:
    name = getattr(node.target, "__name__", "")
    if getattr(operator, name, None) is node.target:
        if name in _MAGIC and not node.kwargs and len(node.args) == _MAGIC[name].count("{}"):
            return _MAGIC[name].format(*(_text(one, scope) for one in node.args))
        if name in _INPLACE and len(node.args) == 2:
            return f"#inplace {_text(node.args[0], scope)} {_INPLACE[name]} {_text(node.args[1], scope)}"
    if node.target is getattr and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
        return f"{_text(node.args[0], scope)}.{node.args[1]}"
    return f"{global_name(node.target)}({given})"


def _call_text(args: Any, kwargs: Any, scope: dict[str, Any]) -> str:
    return ", ".join([*(_text(one, scope) for one in args), *(f"{key} = {_text(one, scope)}" for key,
                                                              one in kwargs.items())])


def _text(arg: Any, scope: dict[str, Any] | None = None) -> str:
    """An argument as Python code."""
    import claygrad
    if isinstance(arg, tuple):
        inner = ", ".join(_text(one, scope) for one in arg)
        if hasattr(arg, "_fields"):
            return f"{_type_text(type(arg), scope)}({inner})"
        return f"({inner},)" if len(arg) == 1 else f"({inner})"
    if isinstance(arg, list):
        return "[" + ", ".join(_text(one, scope) for one in arg) + "]"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key!r}: {_text(one, scope)}" for key, one in arg.items()) + "}"
    if isinstance(arg, slice):
        return f"slice({_text(arg.start, scope)}, {_text(arg.stop, scope)}, {_text(arg.step, scope)})"
    if isinstance(arg, Node):
        return arg.name
    if isinstance(arg, claygrad.dtype | claygrad.memory_format | claygrad.layout):
        return f"torch.{str(arg).rpartition('.')[2]}"
    if isinstance(arg, claygrad.device):
        return repr(arg)
    if isinstance(arg, claygrad.Size):
        return f"torch.Size({list(arg)})"
    if callable(arg) and scope is not None:
        return _type_text(arg, scope)
    if scope is not None and not isinstance(arg, int | float | str | bytes | complex | type(None) | type(...)):
        return _type_text(arg, scope)
    return repr(arg)


def _type_text(kind: Any, scope: dict[str, Any] | None) -> str:
    """A class or object by a global of the code."""
    if isinstance(kind, type) and getattr(builtins, kind.__name__, None) is kind:
        return kind.__name__      # type: ignore[union-attr]
    name = re.sub(r"\W", "_", f"{getattr(kind, '__module__', '')}_{getattr(kind, '__qualname__', type(kind).__name__)}")
    if scope is not None:
        while name in scope and scope[name] is not kind:
            name += "_"
        scope[name] = kind
    return name


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """After which node each value is no longer needed."""
    seen: set[Node] = set()
    after: dict[Node, list[Node]] = {}
    for node in reversed(list(graph.nodes)):
        if node.op != "output":
            for used in node._input_nodes:
                if used not in seen and used.op != "output":
                    after.setdefault(node, []).append(used)
        seen.update(node._input_nodes)
    return after
