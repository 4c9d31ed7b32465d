"""The derivative rules of the operations, as the declarations in claygrad/ops write them."""

from __future__ import annotations

import ast
import functools
import inspect
import sys

import claygrad
from claygrad.ops._registry import Declaration

MAX_RULE = 80         # characters of a rule that is shown
HELPERS = {"conj", "adjoint"}


@functools.cache
def rules_in(module: str) -> dict[str, dict[str, str]]:
    """For each operation of a module of claygrad/ops: the rules that are short and made of public names, by input."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rule" \
                and isinstance(node.func.value, ast.Name):
            for given in node.keywords:
                if given.arg and isinstance(given.value, ast.Lambda) and public(given.value.body):
                    text = ast.unparse(given.value.body)
                    if len(text) <= MAX_RULE:
                        found.setdefault(node.func.value.id, {})[given.arg.rstrip("_")] = text
    return found


def public(rule: ast.expr) -> bool:
    """Whether a reader of the reference knows every function that a rule calls."""
    called = [node.func.id for node in ast.walk(rule) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return all(name in HELPERS or (hasattr(claygrad, name) and not name.endswith("_backward")) for name in called)


def rules_of(said: Declaration | None) -> dict[str, str]:
    """The rules of an operation, by input."""
    return {} if said is None else rules_in(said.fn.__module__).get(said.fn.__name__, {})
