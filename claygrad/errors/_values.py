"""The values of the expression that failed, by the names that the user's line has for them."""
from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from claygrad.core import Tensor, device, dtype
from claygrad.errors._calls import described
from claygrad.errors._source import MISSING, parsed, short, value_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from claygrad.errors._calls import Call
    from claygrad.errors._source import Line

_MAX_PLAIN = 6
_MAX_TEXT = 50
# These classes and no subclass, which may have a __repr__ that raises.
_PLAIN = (int, float, complex, str, bool, type(None), device, dtype)


class Operand(NamedTuple):
    """A tensor of a call: what the user's line calls it, what the parameter is called, and the tensor."""

    name: str
    word: str
    tensor: Any


def named_parts(node: ast.AST | None) -> list[ast.expr]:
    """The names and attributes that an expression reads, in their order: not what it calls."""
    if node is None:
        return []
    called = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    found: list[ast.expr] = []

    def walk(at: ast.AST) -> None:
        if isinstance(at, (ast.Lambda, ast.comprehension)):
            return
        if isinstance(at, ast.Attribute) and id(at) in called:          # x.view(3) reads x
            walk(at.value)
        elif isinstance(at, (ast.Name, ast.Attribute)) and _is_path(at):
            if id(at) not in called:
                found.append(at)
        else:
            for inner in ast.iter_child_nodes(at):
                walk(inner)

    walk(node)
    return found


def _is_path(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def tensors_in(node: ast.AST | None, frame: FrameType) -> list[Operand]:
    """The tensors that an expression reads by a name."""
    found = []
    for part in named_parts(node):
        value = value_of(part, frame)
        name = short(part)
        if name is not None and isinstance(value, Tensor):
            found.append(Operand(name, "", value))
    return found


def keywords_of(node: ast.AST | None, frame: FrameType) -> list[Operand]:
    """The tensors that a call names by a keyword: `attn_mask=mask`."""
    found = []
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        value = value_of(keyword.value, frame)
        if keyword.arg is not None and isinstance(value, Tensor):
            found.append(Operand(short(keyword.value) or keyword.arg, keyword.arg, value))
    return found


def plain_values(node: ast.AST | None, frame: FrameType) -> str:
    """`n_train = 82, n_val = 20, len(data) = 103`: the numbers and words that an expression reads by a name."""
    found: dict[str, str] = {}
    for part in named_parts(node):
        name, value = short(part), value_of(part, frame)
        if name is None or value is MISSING or isinstance(value, Tensor):
            continue
        if type(value) in _PLAIN or (type(value) in (list, tuple, dict) and _is_flat(value)):
            text = str(value) if isinstance(value, (device, dtype)) else repr(value)
            if len(text) <= _MAX_TEXT:
                found[name] = f"{name} = {text}"
            elif isinstance(value, (str, list, tuple, dict)):
                found[name] = f"len({name}) = {len(value)}"
        elif type(value) in (list, tuple) and value and isinstance(value[0], Tensor):
            found[name] = f"{name}: {type(value).__name__} of {len(value)} tensors, the first {described(value[0])}"
        elif isinstance(value, numpy.ndarray):
            found[name] = f"{name}: ndarray {value.shape} {value.dtype}"
        elif hasattr(type(value), "__getitem__") and hasattr(type(value), "__len__") and type(value) is not dict \
                and not hasattr(value, "_modules") and not isinstance(value, type):
            try:
                found[name] = f"len({name}) = {len(value)}"
            except (Exception, SystemExit):              # a dataset of the user's may raise anything
                continue
    return ", ".join(list(found.values())[:_MAX_PLAIN])


def _is_flat(value: Any) -> bool:
    held = value.values() if isinstance(value, dict) else value
    return all(type(x) in _PLAIN for x in held)


def operands_on(line: Line, frame: FrameType, call: Call, names: list[Any] | None,
                receiver: Callable[[], list[tuple[str, Any]]]) -> list[Operand]:
    """The tensors of the call on the user's line: its arguments, keywords, and what else it names. Without names the
    line calls something that made the call: an nn.Sequential."""
    node = line.expression
    found: list[Operand] = []
    inside = {id(x): word for word, x in call.operands()} if names is None else {}
    if names is None:                    # a call inside the one on the line: only what was passed on has a name there
        pass
    elif call.name.startswith("__array_"):           # NumPy calls it for its own operator
        found = []
    elif call.kind == "method":
        found = [Operand(name, "", x) for name, x in receiver()]
    else:
        found = [Operand(name, word if word.isidentifier() else "", x)
                 for (name, x), (word, _) in zip(call.operands(names), call.operands(), strict=True)]
    found = [one._replace(name=_where_in(one, frame)) for one in found]
    more = keywords_of(node, frame)
    for part in node.args if isinstance(node, ast.Call) else ():         # *args of a function tell no names
        value, name = value_of(part, frame), short(part)
        if isinstance(value, Tensor) and name is not None:
            more.append(Operand(name, "", value))
    if not found and not more:
        more = tensors_in(node, frame)
    for one in more:
        if not any(one.tensor is other.tensor for other in found):
            found.append(one._replace(word=one.word or inside.get(id(one.tensor), "")))
    return found


def _where_in(one: Operand, frame: FrameType) -> str:
    """`cache['hidden']` for a tensor in what the line names `cache`."""
    node = parsed(one.name)
    held = value_of(node, frame) if node is not None else MISSING
    if isinstance(held, dict):
        key = next((key for key, x in held.items() if x is one.tensor), None)
        return one.name if key is None else f"{one.name}[{key!r:.40}]"
    if hasattr(held, "named_modules") and not isinstance(held, type):           # a tensor that a module keeps
        for path, module in held.named_modules():
            found = next((name for table in (vars(module), module._parameters, module._buffers)
                          for name, x in table.items() if x is one.tensor), None)
            if found is not None:
                return ".".join(part for part in (one.name, path, found) if part)
    return one.name


def in_the_users_words(text: str, operands: list[Operand]) -> str:
    """A way out with the line's name of a tensor where it has code with the parameter's: `input.float()`."""
    for one in operands:
        if one.word and one.word != one.name and all(part.isidentifier() for part in one.name.split(".")):
            word = re.escape(one.word)
            text = re.sub(rf"(?<![\w.]){word}(?=\.[a-z])|(?<=\w\(){word}(?=\))(?<!forward\({word})", one.name, text)
    return text
