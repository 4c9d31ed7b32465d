"""What a failed program had built, read from its exception: the tensors in its frames, and the place that failed."""
from __future__ import annotations

import ast
import linecache
import re
import traceback
from typing import TYPE_CHECKING, Any

from claygrad.autograd.graph import get_gradient_edge
from claygrad.core import Node, Tensor
from claygrad.core.graph.module_paths import name_in, path_of
from claygrad.core.own_files import is_own_file
from claygrad.debug.graphs._names import Names
from claygrad.debug.graphs._steps import FAILED, INPUT, OPERATION, Line, Step, Steps, chain_of
from claygrad.debug.graphs._tree import build
from claygrad.errors._failed import Operand, failed_of
from claygrad.nn import Module, Sequential

if TYPE_CHECKING:
    from types import FrameType

    from claygrad.debug.graphs._graph import Graph

RECORDED = re.compile(r"(\w+) was recorded at (.+?):(\d+)(?:,|$)", re.MULTILINE)


class Frame:
    """A frame of a traceback: its variables, and the expression in it that failed."""

    def __init__(self, frame: FrameType, lasti: int, line: int) -> None:
        self.name, self.file, self.number = frame.f_code.co_name, frame.f_code.co_filename, line
        self.ours = is_own_file(self.file)
        self.local = dict(frame.f_locals)
        self.seen = {**frame.f_globals, **self.local}
        self.expression = _expression(frame, lasti, line)

    @property
    def line(self) -> Line:
        return self.file, self.number, self.name, linecache.getline(self.file, self.number).strip()

    def what(self) -> str:
        """What failed, in a few words: the expression if it is short, or the name of what it called."""
        text = self.expression or self.line[3]
        if len(text) > 30:
            try:
                tree = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError):
                return text[:30] + "…"
            called = tree.func if isinstance(tree, ast.Call) else tree
            text = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
        return text if len(text) <= 30 else text[:30] + "…"

    def operands(self) -> list[Operand]:
        """The tensors that the failed expression names, as it names them."""
        try:
            tree = ast.parse(self.expression.strip(), mode="eval")
        except (SyntaxError, ValueError):
            return []
        found: dict[int, Operand] = {}
        for part in ast.walk(tree):
            if isinstance(part, (ast.Name, ast.Attribute)):
                value = self._value(part)
                if isinstance(value, Tensor):
                    found.setdefault(id(value), Operand(ast.unparse(part), value))
        return list(found.values())

    def _value(self, part: ast.expr) -> Any:
        """What a name stands for; an attribute only where reading it runs no code of the user's."""
        if isinstance(part, ast.Name):
            return self.seen.get(part.id)
        if isinstance(part, ast.Attribute):
            owner = self._value(part.value)
            own = getattr(owner, "__dict__", {}) if not isinstance(owner, (type, Tensor)) else {}
            for table in (own, own.get("_parameters"), own.get("_buffers"), own.get("_modules")):
                if isinstance(table, dict) and part.attr in table:
                    return table[part.attr]
        return None


def _expression(frame: FrameType, lasti: int, line: int) -> str:
    """The source of the very expression that was evaluated."""
    places = list(frame.f_code.co_positions())[lasti // 2:lasti // 2 + 1]
    if not places or None in places[0]:
        return linecache.getline(frame.f_code.co_filename, line).strip()
    first, last, start, end = places[0]
    if first is None or last is None:
        return ""
    lines = [linecache.getline(frame.f_code.co_filename, n).encode() for n in range(first, last + 1)]
    if not lines or not lines[0]:
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return " ".join(text.decode(errors="replace").strip() for text in lines)


class _Entered:
    """The call of a module that failed before it recorded anything."""

    def __init__(self, module: Module, outer: Any) -> None:
        self.module, self.outer, self.kind, self.number = module, outer, type(module), id(self)

    @property
    def path(self) -> str:
        return path_of(self)  # type: ignore[arg-type]


class Failure:
    """An exception, and the graph around it."""

    def __init__(self, error: BaseException, model: Module | None = None) -> None:
        if error.__traceback__ is None:
            raise ValueError("graph() can read an exception that was raised: this one has no traceback")
        self.error, self.model, self.failed = error, model, failed_of(error)
        self.frames = [Frame(frame, _lasti(tb), line) for tb, (frame, line) in
                       zip(_each(error.__traceback__), traceback.walk_tb(error.__traceback__), strict=True)]
        self.users = [frame for frame in self.frames if not frame.ours] or self.frames

    def graph(self) -> Graph:
        from claygrad.debug.graphs._graph import Graph, _forget_calls
        users = self.users
        at, operands = users[-1], self.failed.operands if self.failed is not None else []
        if not operands:
            at, operands = next(((f, found) for f in reversed(users) if (found := f.operands())), (at, []))
        label = self.failed.name if self.failed is not None and self.failed.in_layer else ""
        blamed = self._nodes()
        built = self._built(outside=not blamed and all(operand.node is None for operand in operands))
        nodes = [node for operand in operands if (node := _node_of(operand)) is not None]
        steps = Steps([*nodes, *(get_gradient_edge(t).node for t in built if t.requires_grad), *blamed])
        variables = {name: value for frame in users for name, value in frame.seen.items()}
        modules = self._modules()
        names = Names(variables, self.model)
        if modules:
            names.add_root(modules[0])
        text = "".join(traceback.format_exception_only(self.error)).strip()
        marked = self._marked(steps, blamed, text)
        names.name_steps(steps)
        if not marked:
            self._add_failed(steps, names, label or at.what(), self._call(steps, modules), operands, text)
        steps.drop_nodes()
        tree = build(steps.found, names.label_of)
        _forget_calls(tree, steps.found)
        return Graph(steps.found, tree, f"what was built until {type(self.error).__name__}", text)

    def _nodes(self) -> list[Node]:
        """Nodes that run in the frames: a custom Function has its own as `ctx`."""
        return [value for frame in self.users for value in frame.local.values()
                if isinstance(value, Node) and value.name() != "Node"]

    def _built(self, outside: bool) -> list[Tensor]:
        """Results in the frames of functions; those of the program itself, which may be of older graphs, if need be."""
        inside: list[Tensor] = []
        others: list[Tensor] = []
        for frame in self.users:
            found = inside if frame.name != "<module>" else others
            for value in frame.local.values():
                for t in value if type(value) in (list, tuple) else value.values() if type(value) is dict else (value,):
                    if isinstance(t, Tensor) and t.grad_fn is not None:
                        found.append(t)
        return inside or (others if outside else [])

    def _marked(self, steps: Steps, blamed: list[Node], text: str) -> bool:
        """Mark the recorded operations that failed: those whose backward ran, and those that the message names."""
        numbers = [number for node in blamed if (number := steps.number_of_node(node)) is not None]
        for title, file, line in RECORDED.findall(text):
            numbers += [i for i, step in enumerate(steps.found)
                        if step.title.endswith(title) and step.line is not None and step.line[:2] == (file, int(line))]
        for number in numbers:
            step = steps.found[number]
            step.kind, step.note = FAILED, text
        return bool(numbers)

    def _add_failed(self, steps: Steps, names: Names, label: str, call: Any, operands: list[Operand],
                    text: str) -> None:
        """A step for the operation that failed before it was recorded."""
        at = self.users[-1]
        order = max((step.order for step in steps.found), default=0) + 1
        written = {id(operand.tensor): operand.name for operand in at.operands()}
        inputs = []
        for operand in operands:
            node, t = _node_of(operand), operand.tensor
            number = None if node is None else steps.number_of_node(node)
            if number is None:
                number = len(steps.found)
                name = "" if t is None else names.of(t) or written.get(id(t), "")
                steps.found.append(Step(INPUT, name or operand.name, "", operand.shape, operand.dtype,
                                        line=operand.line, call=call, order=order))
            elif steps.found[number].order == 0:     # a leaf that nothing else uses
                steps.found[number].order = order
            inputs.append(number)
            order += 1
        steps.found.append(Step(FAILED, label, type(self.error).__name__, line=at.line, call=call, order=order,
                                inputs=inputs, note=text))

    def _call(self, steps: Steps, modules: list[Module]) -> Any:
        """The calls of modules that failed: those that recorded something where there were such."""
        call: Any = None
        known: dict[tuple[int, ...], Any] = {}
        for step in steps.found:                     # the last of equal calls is the one that was under way
            chain = chain_of(step.call) if step.kind == OPERATION else []
            for n in range(1, len(chain) + 1):
                known[tuple(id(inner.module) for inner in chain[:n])] = chain[n - 1]
        for n in range(1, len(modules) + 1):
            call = known.get(tuple(id(module) for module in modules[:n])) or _Entered(modules[n - 1], call)
        return call

    def _modules(self) -> list[Module]:
        """The modules that were running, the outermost first, as the exception or its frames tell."""
        if self.failed is not None:
            return self.failed.modules
        modules: list[Module] = []
        for frame in self.frames:
            module = frame.local.get("self")
            if isinstance(module, Module) and frame.name == "forward" and (not modules or modules[-1] is not module):
                modules += [*_sequences(modules[-1], module), module] if modules else [module]
        return [*self._around(modules[0]), *modules] if modules else []

    def _around(self, module: Module) -> list[Module]:
        """A Sequential that called the module, with those between."""
        for frame in reversed(self.frames):
            for value in [self.model, *frame.seen.values()]:
                if isinstance(value, Sequential) and name_in(value, module) is not None:
                    return [value, *_sequences(value, module)]
        return []


def _node_of(operand: Operand) -> Node | None:
    """The node of a graph that made an operand, or that stands for it."""
    if operand.node is not None:
        return operand.node
    t = operand.tensor
    return get_gradient_edge(t).node if t is not None and t.requires_grad else None


def _sequences(outer: Module, inner: Module) -> list[Module]:
    """The Sequentials between two modules: they call without a frame of Python."""
    path = name_in(outer, inner)
    names = path.split(".") if path else []
    between = [outer.get_submodule(".".join(names[:n])) for n in range(1, len(names))]
    return [module for module in between if isinstance(module, Sequential)]


def _each(tb: Any) -> list[Any]:
    out = []
    while tb is not None:
        out.append(tb)
        tb = tb.tb_next
    return out


def _lasti(tb: Any) -> int:
    return tb.tb_lasti
