"""The way out of an error: hints by the text of PyTorch's line, asked in order, the first answer taken."""
from __future__ import annotations

import ast
import importlib
import re
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.core.dispatch.promotion import facts
from claygrad.errors._calls import Call, signature_of
from claygrad.errors._frames import is_library, is_ours
from claygrad.errors._kinds import mistyped, misused, returns_nothing, unlike_default
from claygrad.errors._source import (
    MISSING,
    Line,
    assignment_before,
    gave_it_surely,
    last_line,
    line_of_frame,
    parsed,
    short,
    statements,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType, TracebackType

    from claygrad.errors._values import Operand

    Hint = Callable[[re.Match[str], "Context"], "str | None"]

_HINTS: list[tuple[re.Pattern[str], Hint]] = []
_complete: list[bool] = []                       # whether every subject is there
_SUBJECTS = ("layers", "elements", "algebra", "training", "graph", "shapes", "losses", "values", "models", "calls",
             "general")
_OF_KINDS = (TypeError, AttributeError)          # that a wrong kind of argument raises
_MAX_CALLS = 4                                   # of the user's, up which an argument is followed


class Context:
    """What is known when an error comes to the user's line."""

    def __init__(self, head: str, kind: type, call: Call, layer: Call | None, line: Line, frame: FrameType,
                 names: list[Any], own: list[str]) -> None:
        self.head, self.kind, self.call, self.layer = head, kind, call, layer
        self.line, self.frame, self.names, self.own = line, frame, names, own
        self.lines: list[str] = []               # what a hint wants said besides
        self.library = ""                        # that called claygrad for the user's line: numpy
        self.seen: list[Operand] = []            # the tensors that the line gives to the call
        self.trace: TracebackType | None = None

    def inside(self, function: str, name: str) -> list[Any]:
        """The values of a name in the calls of a function of claygrad's that the error came through."""
        trace, found = self.trace, []
        while trace is not None:
            code = trace.tb_frame.f_code
            if is_ours(code) and code.co_name == function and name in trace.tb_frame.f_locals:
                found.append(trace.tb_frame.f_locals[name])
            trace = trace.tb_next
        return found

    def operands(self) -> list[tuple[str, Any]]:
        """The tensors of the call by the names of the line, or of the call inside where the line shows none."""
        seen = [(one.name, one.tensor) for one in self.seen]
        return seen or self.call.operands(self.names if self.layer is None else None)

    @property
    def module(self) -> Any:
        """The innermost module, or None."""
        return None if self.layer is None else self.layer.called

    def name(self, number: int, otherwise: str) -> str:
        """What the user's line calls an argument."""
        found = self.names[number] if number < len(self.names) else None
        return found if isinstance(found, str) else otherwise

    def receiver(self) -> list[tuple[str, Any]]:
        """Name and tensor that a method was called on, where the line shows them."""
        node: Any = self.line.expression
        if isinstance(node, ast.Call):
            node = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0] if node.args else node
        elif isinstance(node, ast.Attribute):
            node = node.value
        value = value_of(node, self.frame)
        return [(short(node) or "input", value)] if isinstance(value, Tensor) else []

    def owner(self) -> Any:
        """What a method was called on, `optimizer` of `optimizer.step()`; None where the line does not show it."""
        node: Any = self.line.expression
        func = node.func if isinstance(node, ast.Call) else None
        found = value_of(func.value, self.frame) if isinstance(func, ast.Attribute) else None
        return None if found is MISSING else found

    def made(self, x: Any) -> str:
        """`, made at FILE:LINE ...`, of a tensor that another line than this one made."""
        origin, cut = facts(x)[3:5]
        if origin is None or cut or is_library(origin[0]):            # copy.deepcopy, for one
            return ""
        line = Line(*origin)
        same = line.file == self.line.file and line.number == self.line.number
        return "" if same else f", made at {line.text}"

    def given_at(self, name: str) -> str:
        """`, given at FILE:LINE ...`: the line of this function that gave a name its value, for what has no origin."""
        return _given(name, self.frame, self.line, 0) if name.isidentifier() else ""

    def assigned_at(self, node: ast.AST) -> str:
        """`, given at FILE:LINE ...` of a name, or of an attribute that __init__ of its class assigns."""
        if isinstance(node, ast.Name):
            return self.given_at(node.id)
        owner = value_of(node.value, self.frame) if isinstance(node, ast.Attribute) else MISSING
        code: Any = getattr(getattr(type(owner), "__init__", None), "__code__", None)
        for made in statements(code.co_filename) if code is not None and not is_ours(code) else ():
            if isinstance(made, ast.Assign) and code.co_firstlineno <= made.lineno <= last_line(code) and any(
                    getattr(target, "attr", "") == node.attr for target in made.targets):       # type: ignore[attr-defined]
                return f", given at {Line.at(code, made.lineno)}"
        return ""

    def taken_from(self, written: str) -> str:
        """`, of pairs, made at FILE:LINE ...`, for a tensor that the line takes from another: `pairs[:, 0]`."""
        node: Any = parsed(written)
        while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
            value = value_of(node, self.frame)
            if isinstance(value, Tensor):
                name = short(node) or ""
                where = self.made(value) or self.given_at(name)
                return f", of {name}{where}" if where else ""
        return ""

    def tensor(self) -> Any:
        """The first tensor of the call, or None."""
        found = self.call.tensors or [x for _, x in self.receiver()]
        return found[0] if found else None

    def owner_class(self) -> Any:
        """The class that the line makes an instance of."""
        node = self.line.expression
        if not isinstance(node, ast.Call) or not _is_path(node.func):
            return None
        code = compile(ast.Expression(node.func), "<class>", "eval")
        try:
            found = eval(code, self.frame.f_globals, self.frame.f_locals)
        except Exception:
            return None
        return found if isinstance(found, type) else None

    def argument(self, name: str) -> Any:
        value = self.call.value(name)
        return None if value is MISSING else value


def _given(name: str, frame: FrameType, line: Line, depth: int) -> str:
    """`, given at FILE:LINE ...`: by an assignment above, or by one of the function that called this one."""
    made = assignment_before(name, line.code, line.number)
    if made is not None:
        return f", given at {Line.at(line.code, made.lineno)}" if gave_it_surely(line.code, made, line.number) else ""
    code, outer = line.code, frame.f_back
    while outer is not None and (is_ours(outer.f_code) or is_library(outer.f_code)):
        outer = outer.f_back
    params = code.co_varnames[:code.co_argcount]
    if outer is None or name not in params or depth > _MAX_CALLS:
        return ""
    above = line_of_frame(outer)
    node: Any = above.expression
    if not isinstance(node, ast.Call) or any(isinstance(part, ast.Starred) for part in node.args):
        return ""
    at = params.index(name) - (params[0] in ("self", "cls"))
    word = next((word.value for word in node.keywords if word.arg == name), None)
    part: Any = node.args[at] if word is None and 0 <= at < len(node.args) else word
    if not _calls(node, outer, code):
        return ""
    while isinstance(part, (ast.Subscript, ast.Attribute)):
        part = part.value
    return _given(part.id, outer, above, depth + 1) if isinstance(part, ast.Name) else ""


def _calls(node: ast.Call, frame: FrameType, code: CodeType) -> bool:
    """Whether an expression calls a function, or a module whose forward it is."""
    called = value_of(node.func, frame)
    if hasattr(called, "_modules") and not isinstance(called, type):
        called = type(called).forward
    if called is MISSING and isinstance(node.func, ast.Call):                  # Net()(x)
        called = getattr(value_of(node.func.func, frame), "forward", None)
    if called is MISSING and isinstance(node.func, ast.Attribute):
        return node.func.attr == code.co_name
    return getattr(called, "__code__", None) is code


def _is_path(node: ast.AST) -> bool:
    """Whether an expression is a name, or a name of a module in another: `torch.nn.Linear`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def hint(pattern: str) -> Callable[[Hint], Hint]:
    """Register a function that knows the way out of errors whose first line matches."""
    def register(fn: Hint) -> Hint:
        _HINTS.append((re.compile(pattern), fn))
        return fn
    return register


def say(pattern: str, text: str) -> None:
    """The same where the way out is always the same; `{1}` is the first group of the pattern, `torch` the package."""
    _HINTS.append((re.compile(pattern), lambda match, _: text.format(match[0], *match.groups())))


def way_out(context: Context) -> list[str]:
    """What to do instead, as lines; for an error that nobody knows, how the function is called."""
    for subject in _SUBJECTS if not _complete else ():
        importlib.import_module(f"claygrad.errors.{subject}")
    _complete.append(True)                       # not before: another thread may fail meanwhile
    if context.library == "numpy" and "numpy()" not in context.head and context.kind is TypeError:
        return [_called_by_numpy(context)]
    asked = False
    for pattern, fn in _HINTS:
        if fn.__module__.endswith(".general") and not asked:
            if context.own:
                break                            # whoever raised it has told more than a text tells
            asked = True
            told = _of_kinds(context) if issubclass(context.kind, _OF_KINDS) else ""
            if told:
                return [told]
        match = pattern.search(context.head)
        if match is None:
            continue
        text = fn(match, context)
        if text:
            return text.split("\n")
    return [] if context.own else _how_it_is_called(context)


def _of_kinds(context: Context) -> str:
    return returns_nothing(context) or unlike_default(context) or mistyped(context) or misused(context)


def _called_by_numpy(context: Context) -> str:
    """`np.mean(x)` calls `x.mean(axis=None, out=None)`: NumPy takes a tensor for an array."""
    node: Any = context.line.expression
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    name = (short(given) if given is not None else None) or "x"
    called = context.call.name.rpartition(".")[2]
    ours = f"use torch.{called}({name})" if called and hasattr(Tensor, called) else "use claygrad's own function"
    return f"NumPy called it, with arguments of its own: {ours}, or give NumPy an array, {name}.detach().numpy()"


def _how_it_is_called(context: Context) -> list[str]:
    call = context.call
    called: Any = call.called if call.kind in ("operation", "function") else None
    if call.name.rpartition(".")[2].startswith("__"):
        return []                                # nobody writes it so
    if called is None or not call.name:
        called = None if context.module is None else type(context.module)
    if called is None:
        return []
    shown = signature_of(called)
    about = (getattr(called, "__doc__", None) or "").strip().split("\n")[0]
    return [f"see {shown}" + (f": {about}" if about and about[:1].isalpha() else "")] if shown else []
