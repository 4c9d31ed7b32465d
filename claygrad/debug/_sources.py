"""What a line of a program does, from its source: sums that grow, values carried on, lists that are added to."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claygrad.debug._places import Line

_ADDING = {"append", "add", "appendleft", "insert", "extend", "put"}


@lru_cache(maxsize=64)
def _tree(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def tree_of(file: str) -> ast.Module | None:
    """The syntax of a file (or of a cell of a notebook); None if there is none."""
    return _tree(file, "".join(linecache.getlines(file)))


def statements_at(line: Line) -> Iterator[ast.stmt]:
    """The simple statements that a line is part of, the innermost last."""
    tree = tree_of(line.file)
    for node in ast.walk(tree) if tree is not None else ():
        if (
            isinstance(node, ast.stmt)
            and not hasattr(node, "body")
            and node.lineno <= line.line <= (node.end_lineno or 0)
        ):
            yield node


def _targets(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        for one in node.elts:
            yield from _targets(one)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        yield node


def accumulation_at(line: Line) -> tuple[str, str, str] | None:
    """(sum, what is added to it, the line with a number instead) of `total += loss` or `total = total + loss`."""
    for statement in statements_at(line):
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add | ast.Sub):
            sign = "+=" if isinstance(statement.op, ast.Add) else "-="
            total, value = ast.unparse(statement.target), statement.value
            return total, ast.unparse(value), f"{total} {sign} {detached(value)}"
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.value, ast.BinOp)
            and isinstance(statement.value.op, ast.Add | ast.Sub)
        ):
            total = ast.unparse(statement.targets[0])
            sum_ = statement.value
            sign = "+" if isinstance(sum_.op, ast.Add) else "-"
            if ast.unparse(sum_.left) == total:
                return total, ast.unparse(sum_.right), f"{total} = {total} {sign} {detached(sum_.right)}"
            if ast.unparse(sum_.right) == total:
                return total, ast.unparse(sum_.left), f"{total} = {detached(sum_.left)} {sign} {total}"
    return None


def detached(value: ast.expr, how: str = "item") -> str:
    """`loss` as `loss.item()`, `a + b` as `(a + b).item()`; of `loss * n` the loss alone."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div) and isinstance(value.left, ast.Name):
        sign = "*" if isinstance(value.op, ast.Mult) else "/"
        return f"{value.left.id}.{how}() {sign} {ast.unparse(value.right)}"
    text = ast.unparse(value)
    return (
        f"{text}.{how}()"
        if isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        else f"({text}).{how}()"
    )


def carried_at(line: Line) -> list[str]:
    """Names that a line both reads and sets: `h` of `out, h = rnn(x, h)`."""
    for statement in statements_at(line):
        if isinstance(statement, ast.Assign):
            read = {
                ast.unparse(node) for node in ast.walk(statement.value) if isinstance(node, ast.Name | ast.Attribute)
            }
            return [
                text for target in statement.targets for one in _targets(target) if (text := ast.unparse(one)) in read
            ]
    return []


def _function_at(tree: ast.AST | None, line: int) -> ast.AST | None:
    """The innermost function around a line."""
    inside = (
        [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            and node.lineno <= line <= (node.end_lineno or 0)
        ]
        if tree is not None
        else []
    )
    return max(inside, key=lambda node: node.lineno, default=tree)


def additions(file: str, holder: str, line: int | None = None) -> Iterator[tuple[int, str, str]]:
    """Where a file puts something into a container: (line, source, the same with `.{}()` behind what is put there).

    `line`: one of the function whose variable it is.
    """
    last = holder.rpartition(".")[2]
    tree: ast.AST | None = tree_of(file)
    if line is not None and "." not in holder:
        tree = _function_at(tree, line)
    for node in ast.walk(tree) if tree is not None else ():
        value: ast.expr | None = None
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _ADDING
            and node.args
            and ast.unparse(node.func.value).rpartition(".")[2] == last
        ):
            value = node.args[-1]
            text, start = ast.unparse(node), node.lineno
        elif (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Subscript)
            and ast.unparse(node.targets[0].value).rpartition(".")[2] == last
        ):
            value = node.value
            text, start = ast.unparse(node), node.lineno
        elif (
            isinstance(node, ast.AugAssign)
            and isinstance(node.value, ast.List)
            and ast.unparse(node.target).rpartition(".")[2] == last
            and node.value.elts
        ):
            value = node.value.elts[-1]
            text, start = ast.unparse(node), node.lineno
        if value is not None and not ast.unparse(value).endswith((".item()", ".detach()", ".tolist()")):
            old = ast.unparse(value)
            at = text.rfind(old)
            yield start, text, text[:at] + detached(value, "{}") + text[at + len(old) :]
