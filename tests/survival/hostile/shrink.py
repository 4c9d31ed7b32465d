"""A program that ends its process, made as short as it can be while it still does."""

from __future__ import annotations

import ast
import copy
import time
import warnings
from collections.abc import Callable, Iterator

from .mutate import expression

_SIMPLE = ("0", "None", "1", "t(3)", "t(2, 3)")


def _smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """The same program with one part less, the largest parts first."""
    for at in range(len(tree.body)):
        if len(tree.body) > 1:
            made = copy.deepcopy(tree)
            del made.body[at]
            yield made
    for number, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            for at, item in enumerate(items):
                if isinstance(item, ast.expr | ast.keyword):
                    yield from _variants(tree, number, field, at if isinstance(value, list) else None, item)


def _variants(tree: ast.Module, number: int, field: str, at: int | None, item: ast.AST) -> Iterator[ast.Module]:
    def changed(change: Callable[[ast.AST], None]) -> ast.Module:
        made = copy.deepcopy(tree)
        change(list(ast.walk(made))[number])
        return made

    if at is not None and field in ("args", "keywords", "elts"):
        yield changed(lambda node: getattr(node, field).pop(at))
    if not isinstance(item, ast.expr) or isinstance(item, ast.Name):
        return
    inside = [child for child in ast.iter_child_nodes(item) if isinstance(child, ast.expr)]
    inside += [word.value for word in getattr(item, "keywords", [])]
    for other in [*inside, *map(expression, _SIMPLE)]:
        text = ast.unparse(other)
        if isinstance(other, ast.Slice) or ":" in text:
            continue                                 # only valid between brackets
        if len(text) < len(ast.unparse(item)):
            def change(node: ast.AST, text: str = text) -> None:
                if at is None:
                    setattr(node, field, expression(text))
                else:
                    getattr(node, field)[at] = expression(text)
            yield changed(change)


def shrink(text: str, still: Callable[[str], bool], tries: int = 150, seconds: float = 60) -> str:
    """`still` says whether a program fails as the first one does."""
    until, seen = time.monotonic() + seconds, {text}
    shorter = True
    while shorter:
        shorter = False
        for tree in _smaller(ast.parse(text)):
            try:
                other = ast.unparse(ast.fix_missing_locations(tree))
                with warnings.catch_warnings(action="ignore"):
                    compile(other, "<program>", "exec")
            except (ValueError, SyntaxError, AttributeError):
                continue
            if other in seen or len(other) > len(text):
                continue
            seen.add(other)
            tries -= 1
            if tries < 0 or time.monotonic() > until:
                return text
            if still(other):
                text, shorter = other, True
                break
    return text
