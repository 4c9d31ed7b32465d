"""The user's line: its place, its text, and the expression on it that runs."""
from __future__ import annotations

import ast
import functools
import inspect
import linecache
from types import FrameType
from typing import TYPE_CHECKING, Any

from claygrad.core.graph.provenance import place_text, variables_of
from claygrad.errors._frames import is_ours

if TYPE_CHECKING:
    from types import CodeType

MISSING = object()


class Line:
    """Where a frame is."""

    def __init__(self, code: CodeType, lasti: int) -> None:
        self.code, self.lasti = code, lasti
        self.file = code.co_filename
        self.span = _span(code, lasti)
        self.number = self.span[0] if self.span[0] is not None else code.co_firstlineno

    @staticmethod
    def at(code: CodeType, number: int) -> str:
        """The text of another line of the same function."""
        source = linecache.getline(code.co_filename, number).strip()
        return f"{place_text(code.co_filename, number)}, in {code.co_name}: {source}"

    @property
    def source(self) -> str:
        """The line, or the lines that an expression goes over."""
        first, last = self.number, self.span[1] or self.number
        opens = linecache.getline(self.file, first).lstrip().startswith(("for ", "while ", "with ", "async "))
        if last > first and opens:
            last = first
        lines = [linecache.getline(self.file, number).strip() for number in range(first, last + 1)]
        joined = " ".join(lines)
        return joined if len(lines) <= 6 and len(joined) <= 200 else lines[0]

    @property
    def text(self) -> str:
        """`model.py:7, in step: y = x * 2`"""
        where = f"{place_text(self.file, self.number)}, in {self.code.co_name}"
        return f"{where}: {self.source}" if self.source else where

    @property
    def expression(self) -> ast.AST | None:
        """The expression, or the statement of an assignment, that runs there."""
        if None in self.span:
            return None
        first, last, start, end = self.span
        lines = [text.encode() for text in linecache.getlines(self.file)[first - 1:last]]
        if not lines or len(lines) != last - first + 1:
            return None
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        found = parsed(b"".join(lines).decode(errors="replace"))
        return found.iter if isinstance(found, ast.For) else found   # its body waits


def line_of_frame(frame: FrameType) -> Line:
    return Line(frame.f_code, frame.f_lasti)


def _span(code: CodeType, lasti: int) -> tuple[Any, Any, Any, Any]:
    for at, span in enumerate(code.co_positions()):
        if at == lasti // 2:
            return span
    return (None, None, None, None)


@functools.lru_cache(256)
def parsed(text: str) -> ast.AST | None:
    forms = [f"({text}\n)", text.strip()]
    if text.startswith("{"):                     # a field of an f-string: what Python from 3.12 on says of formatting
        forms.append(f'f"""{text}"""')
    for form in forms:
        try:
            body = ast.parse(form).body
        except (SyntaxError, ValueError):
            continue
        if len(body) == 1:
            return body[0].value if isinstance(body[0], ast.Expr) else body[0]
    return None


def short(node: ast.AST, most: int = 40) -> str | None:
    """The text of an expression, if it is short enough to name a value."""
    try:
        text = ast.unparse(node)
    except Exception:
        return None
    return text if len(text) <= most and "\n" not in text else None


def value_of(node: ast.AST | None, frame: FrameType) -> Any:
    """The value of a name, an attribute of a module, or an element of a list; MISSING for what would run code."""
    if isinstance(node, ast.Name):
        # f_locals of a frame would be a copy that stays with it, and keeps tensors alive
        for names in (variables_of(frame) if isinstance(frame, FrameType) else frame.f_locals, frame.f_globals):
            if node.id in names:
                return names[node.id]
    elif isinstance(node, ast.Attribute):
        owner = value_of(node.value, frame)
        own = getattr(owner, "__dict__", None) if owner is not MISSING else None
        if isinstance(own, dict):
            for table in (own, own.get("_parameters"), own.get("_buffers"), own.get("_modules")):
                if isinstance(table, dict) and node.attr in table:
                    return table[node.attr]
        for kind in type(owner).__mro__ if owner is not MISSING and not inspect.ismodule(owner) else ():
            if node.attr in vars(kind):
                held = vars(kind)[node.attr]
                return MISSING if hasattr(type(held), "__get__") else held       # a property would run code
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = value_of(node.value, frame)
        if type(owner) in (list, tuple, dict):
            try:
                return owner[node.slice.value]
            except (LookupError, TypeError):
                return MISSING
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.UnaryOp)):
        owner, key = value_of(node.value, frame), value_of(node.slice, frame)
        if type(owner) in (list, tuple, dict) and type(key) in (int, str):
            try:
                return owner[key]
            except (LookupError, TypeError):
                return MISSING
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = value_of(node.operand, frame)
        return -number if type(number) in (int, float) else MISSING
    elif isinstance(node, ast.Constant):
        return node.value
    return MISSING


def last_line(code: CodeType) -> int:
    """The last line of a function."""
    return max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)


def statements(file: str) -> tuple[ast.stmt, ...]:
    return _statements_in("".join(linecache.getlines(file)))


@functools.lru_cache(32)
def _statements_in(source: str) -> tuple[ast.stmt, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def assignment_before(name: str, code: CodeType, line: int) -> ast.stmt | None:
    """The last statement above a line, in the same function, that gives a name its value."""
    best = None
    for node in statements(code.co_filename):
        if node.lineno >= line or node.lineno < code.co_firstlineno or (best is not None and node.lineno < best.lineno):
            continue
        targets = (node.targets if isinstance(node, ast.Assign) else [node.target]
                   if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For)) else [])
        if any(isinstance(part, ast.Name) and part.id == name for target in targets for part in ast.walk(target)):
            best = node
    return best


def gave_it_surely(code: CodeType, made: ast.stmt, line: int) -> bool:
    """Whether a statement ran before a line: no branch lies around the one that does not lie around the other."""
    branches = block_around(code, made.lineno, (ast.If, ast.Try, ast.Match))
    return all(node.lineno <= line <= (node.end_lineno or node.lineno) for node in branches)


def block_around(code: CodeType, line: int, kinds: tuple[type, ...]) -> list[ast.stmt]:
    """The statements of some kinds around a line of a function, the innermost last."""
    found = [node for node in statements(code.co_filename)
             if isinstance(node, kinds) and node.lineno >= code.co_firstlineno
             and node.lineno <= line <= (node.end_lineno or node.lineno)]
    return sorted(found, key=lambda node: node.lineno)


def returns_of(code: CodeType) -> list[ast.Return]:
    """The return statements of a function that give a value."""
    return [node for node in statements(code.co_filename) if isinstance(node, ast.Return) and node.value is not None
            and code.co_firstlineno <= node.lineno <= last_line(code)]


def line_of_return(kind: type, method: str) -> str:
    """`FILE:7, in __getitem__: return x, y`, of a method that the user wrote with one return; nothing for others."""
    code = getattr(getattr(kind, method, None), "__code__", None)
    ends = [] if code is None or is_ours(code) else returns_of(code)
    return Line.at(code, ends[0].lineno) if code is not None and len(ends) == 1 else ""


def statement_at(code: CodeType, line: int) -> ast.stmt | None:
    """The innermost statement that begins or goes over a line of a function."""
    found = [node for node in statements(code.co_filename)
             if node.lineno >= code.co_firstlineno and node.lineno <= line <= (node.end_lineno or node.lineno)]
    return max(found, key=lambda node: node.lineno, default=None)
