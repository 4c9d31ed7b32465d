"""Schemas of operators: `name(Tensor x, int n=2, *, float? y=None) -> Tensor`, read from text or from a signature."""
from __future__ import annotations

import collections.abc
import inspect
import re
import types
import typing
from ast import literal_eval
from dataclasses import dataclass
from typing import Any

from claygrad.core import Tensor, device, dtype


@dataclass(frozen=True)
class Argument:
    """A parameter of an operator."""

    name: str
    type: str
    default_value: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    is_write: bool = False
    text: str = ""

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.has_default

    @property
    def alias_info(self) -> Argument | None:
        """Whether the operator writes into it; None if it does not."""
        return self if self.is_write else None


@dataclass(frozen=True)
class FunctionSchema:
    """The name, the parameters and the results of an operator."""

    name: str                       # namespace::name
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes into an argument."""
        return any(one.is_write for one in self.arguments)


_SHAPE = re.compile(r"\s*(?P<name>[\w:]*)(?:\.(?P<overload>\w+))?\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*)", re.S)


def _split(text: str) -> list[str]:
    """The parts between commas that are in no bracket and in no quotes."""
    parts, depth, quoted, part = [], 0, "", ""
    for sign in text:
        if quoted:
            quoted = "" if sign == quoted else quoted
        elif sign in "\"'":
            quoted = sign
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        if sign == "," and not depth and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += sign
    return [*parts, part.strip()] if part.strip() else parts


def _value(text: str) -> Any:
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text                 # contiguous_format, Mean, long


def parse_schema(text: str, namespace: str = "") -> FunctionSchema:
    """A schema from its text."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise RuntimeError(f"expected a schema such as 'name(Tensor x, int n) -> Tensor', but got {text!r}")
    arguments, only = [], False
    for part in _split(found["arguments"]):
        if part == "*":
            only = True
            continue
        words, equals, default = part.partition("=")
        kind, _, name = words.strip().rpartition(" ")
        if not kind:
            raise RuntimeError(f"expected a type and a name, but got {part!r} in the schema {text!r}")
        arguments.append(Argument(name, re.sub(r"\([^)]*\)", "", kind), _value(default) if equals else None,
                                  bool(equals),
                                  only, "!" in kind, part))
    results = found["returns"].strip()
    parts = _split(results[1:-1]) if results.startswith("(") else [results]
    returns = tuple(Argument("", re.sub(r"\([^)]*\)", "", part).split(" ")[0]) for part in parts)
    name = found["name"] if "::" in found["name"] else f"{namespace}::{found['name']}"
    overload = found["overload"] or ""
    head = f"{name}.{overload}" if overload else name
    return FunctionSchema(name, overload, tuple(arguments), returns,
                          f"{head}({found['arguments'].strip()}) -> {results}")


_PLAIN = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType",
          device: "Device"}
_NUMBER = frozenset((int, float, bool))
_LISTED = (Tensor, int, float, bool)


def _type_text(kind: Any) -> str | None:
    """The word for an annotation, or None."""
    if isinstance(kind, type) and kind in _PLAIN:
        return _PLAIN[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or isinstance(kind, types.UnionType):
        if frozenset(inner) == _NUMBER:
            return "Scalar"
        rest = [one for one in inner if one is not type(None)]
        if len(rest) == len(inner):
            return None
        text = "Scalar" if frozenset(rest) == _NUMBER else _type_text(rest[0]) if len(rest) == 1 else None
        return text and f"{text}?"
    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        text = _type_text(inner[0])
        if text is not None and (inner[0] in _LISTED or text in ("Tensor?", "Scalar")):
            return f"{text}[]"
    return None


def _default_text(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dtype):
        return str(value).rpartition(".")[2]
    if isinstance(value, device):
        return f'"{value}"'
    return str(value)


def infer_schema(prototype_function: Any, /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema of a Python function with annotations; `mutates_args` names what it writes into, or is "unknown"."""
    try:
        signature = inspect.signature(prototype_function, eval_str=True)
    except NameError:
        signature = inspect.signature(prototype_function)

    def wrong(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    words, only = [], False
    for order, parameter in enumerate(signature.parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            wrong("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not only:
            only = True
            words.append("*")
        if parameter.annotation is parameter.empty:
            wrong(f"Parameter {parameter.name} must have a type annotation.")
        text = _type_text(parameter.annotation)
        if text is None:
            wrong(f"Parameter {parameter.name} has unsupported type {parameter.annotation}. The valid types are: "
                  f"Tensor, "
                  "int, float, bool, str, Number, dtype, device, their Optional and lists of the first four.")
        writes = parameter.name in mutates_args if mutates_args != "unknown" else text.startswith("Tensor")
        if writes:
            if not text.startswith("Tensor"):
                wrong(f"Parameter {parameter.name} is in mutable_args but only Tensors or collections of Tensors can "
                      f"be "
                      "mutated")
            text = text.replace("Tensor", f"Tensor(a{order}!)", 1)
        default = "" if parameter.default is parameter.empty else f"={_default_text(parameter.default)}"
        words.append(f"{text} {parameter.name}{default}")
    if mutates_args != "unknown":
        unknown = set(mutates_args) - set(signature.parameters)
        if unknown:
            wrong(f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain "
                  "the names of all args that the custom op mutates, or just the string 'unknown' if you don't know.")
    if signature.return_annotation is signature.empty:
        wrong("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(words)}) -> {_return_text(signature.return_annotation, wrong)}"


def _return_text(kind: Any, wrong: collections.abc.Callable[[str], typing.NoReturn]) -> str:
    if kind is None or kind is type(None):
        return "()"
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        return f"({', '.join(_return_text(one, wrong) for one in inner)})"
    text = _type_text(kind)
    if text is None or "?" in text:
        wrong(f"Return has unsupported type {kind}. The valid types are: Tensor, list of Tensor, int, float, bool, "
              "Number, and tuples of them.")
    return text
