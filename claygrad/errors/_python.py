"""Errors that Python itself raises, without asking claygrad: `None.zero_()`, `loss.item().backward()`.

A hook in the look-up of attributes would make every call of a method slower. So these errors are explained when they
leave an entry point (such as a model call), and when somebody shows them: claygrad/errors/_uncaught.py. What is said is
read from the line that failed and from the values that its names have; nothing of the program is run.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import os
import re
import sys
import types
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.errors import _everyday
from claygrad.errors._attributes import NO_MODELS, attribute_hint
from claygrad.errors._frames import is_library, is_ours
from claygrad.errors._kinds import converted
from claygrad.errors._source import MISSING, Line, assignment_before, line_of_return, short, statement_at, value_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

_IMPORTS = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "from torch.nn import functional as F",
    "optim": "from torch import optim",
    "np": "import numpy as np",
    **dict.fromkeys(("DataLoader", "Dataset", "TensorDataset", "random_split"), "from torch.utils.data import {}"),
    **dict.fromkeys(
        ("Linear", "Conv2d", "Module", "Sequential", "ReLU", "CrossEntropyLoss", "MSELoss", "Parameter"),
        "from torch.nn import {}",
    ),
    **dict.fromkeys(("Adam", "SGD", "AdamW"), "from torch.optim import {}"),
}


class Site:
    """Where an error of Python's was raised: the frame, its line, and the expression that ran."""

    def __init__(self, frame: FrameType, lasti: int) -> None:
        self.frame, self.line = frame, Line(frame.f_code, lasti)
        self.node: Any = self.line.expression

    def look(self, node: ast.AST | None) -> Any:
        """The value of an expression that can be read without running code of the program; MISSING for others."""
        found = value_of(node, self.frame)
        if found is MISSING and isinstance(node, ast.Attribute):
            owner = self.look(node.value)
            if isinstance(owner, Tensor) and node.attr in ("grad", "shape", "data", "dtype", "T"):
                return getattr(Tensor, node.attr).__get__(owner)
            if owner is not MISSING and not isinstance(owner, types.ModuleType):
                method = next((vars(kind)[node.attr] for kind in type(owner).__mro__ if node.attr in vars(kind)), None)
                if isinstance(method, types.FunctionType):
                    return method.__get__(owner)
        if found is MISSING and isinstance(node, ast.Name):
            return __builtins__.get(node.id, MISSING) if isinstance(__builtins__, dict) else MISSING
        return found

    def given_at(self, node: ast.AST | None) -> str:
        """` since file:3, in f: x = g()`: the line that gave a name its value; nothing if it cannot be told."""
        made = self.made(node)
        if made is None:
            return ""
        code = self.line.code
        return f", since {Line.at(code, made.lineno)}"

    def made(self, node: ast.AST | None) -> ast.stmt | None:
        if not isinstance(node, ast.Name):
            return None
        return assignment_before(node.id, self.line.code, self.line.number)


def site_of(error: BaseException) -> Site | None:
    """Where it was raised; None if that is in claygrad or in Python's own library."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None and _is_contextlib(trace):       # makes a context manager
        user = error.__traceback__
        while user is not None and user.tb_next is not None and not _is_contextlib(user.tb_next):
            user = user.tb_next
        return None if user is None or _is_contextlib(user) else Site(user.tb_frame, user.tb_lasti)
    if trace is None or is_ours(trace.tb_frame.f_code) or is_library(trace.tb_frame.f_code):
        return None
    return Site(trace.tb_frame, trace.tb_lasti)


def _is_contextlib(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename == contextlib.__file__


def python_hint(error: BaseException) -> tuple[str, Line] | None:
    """The way out, and the line; None where the error has nothing to do with claygrad or nothing is known."""
    told = ""
    site = site_of(error)
    if site is None:
        return _everyday.in_a_library(error)
    if isinstance(error, AttributeError):
        told = attribute_hint(error, site)
    elif isinstance(error, KeyError):
        told = _key(error, site)
    elif isinstance(error, NameError):
        told = _name(error, site)
    elif isinstance(error, ZeroDivisionError):
        told = _everyday.zero_division(site)
    elif isinstance(error, StopIteration):
        told = _everyday.exhausted(site)
    elif isinstance(error, ImportError):
        told = _everyday.not_found(error, site)
    elif (
        isinstance(error, (TypeError, ValueError, IndexError))
        and len(error.args) == 1
        and isinstance(error.args[0], str)
    ):
        for pattern, hint in _HINTS:
            match = re.match(pattern, error.args[0])
            if match is not None:
                told = hint(match, site)
                if told:
                    break
    return (told, site.line) if told else None


_HINTS: list[tuple[str, Callable[[re.Match[str], Site], str]]] = []


def _hint(pattern: str) -> Any:
    def register(fn: Any) -> Any:
        _HINTS.append((pattern, fn))
        return fn

    return register


def describe_value(value: Any, node: ast.AST | None, site: Site, use: str) -> str:
    """What a value is that a line uses as something else, and how to get what is meant."""
    name = (short(node) if node is not None else None) or "it"
    if value is None:
        return none_hint(node, site)
    if isinstance(value, types.GeneratorType):
        return f"{name} can be walked through once, by a for: list({name}) has a length and elements"
    if isinstance(value, (types.MethodType, types.BuiltinFunctionType, types.FunctionType)):
        return f"{name} is a method: call it, {name}()"
    if type(value) in (int, float):
        return (
            f"{name} is a number{site.given_at(node)}: compute it from tensors, without item() and tolist(), to "
            f"use it so"
        )
    return _ours(value, name, use)


def _ours(value: Any, name: str, use: str) -> str:
    kind = type(value)
    names = {one.__name__ for one in kind.__mro__}
    if "DataLoader" in names:
        return f"a DataLoader is walked through: for batch in {name}, or next(iter({name})) for the first batch"
    if "Optimizer" in names:
        return f"{name} is an optimizer: {name}.step() takes a step, {name}.zero_grad() clears the gradients"
    if "LRScheduler" in names:
        return f"{name} is a scheduler: {name}.step() goes on, {name}.get_last_lr() tells the rate"
    if hasattr(value, "_modules") and hasattr(value, "_parameters"):
        held = ", ".join([*value._modules, *value._parameters][:6])
        if use == "call":
            return ""
        own = f"; it has {held}" if held else ""
        return (
            f"{name} is a module: reach its parts by their names{own}, and use nn.Sequential or nn.ModuleList "
            f"for parts with "
            "numbers"
        )
    if isinstance(value, Tensor):
        if use == "call":
            return (
                f"{name} is a tensor, made at {_origin(value)}: it has no brackets; is its name used for a "
                f"function too?"
            )
        return ""
    if kind.__name__ in NO_MODELS:
        return NO_MODELS[kind.__name__]
    if kind.__name__ == "Size":
        return f"a shape is indexed, not called: {name}[0], or {name.removesuffix('.shape')}.size(0)"
    return ""


def _origin(value: Any) -> str:
    from claygrad.core.dispatch.promotion import facts

    found = facts(value)[3]
    return "a line that is not known" if found is None else Line(*found).text


# Methods that change what they are called on.
_RETURN_NOTHING = ("backward", "append", "extend", "insert", "sort", "reverse", "update", "clear", "zero_grad",
                   "shuffle", "add_module", "register_buffer", "register_parameter")


def none_hint(node: ast.AST | None, site: Site) -> str:
    """Why something is None, and what to do about it."""
    name = (short(node) if node is not None else None) or "it"
    if isinstance(node, ast.Constant):
        return ""
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        return _no_gradient(node, name, site)
    loader = site.look(node.func if isinstance(node, ast.Call) else node)
    if "DataLoader" in {getattr(loader, "__name__", ""), type(loader).__name__}:
        return "a batch is None: collate_fn, or __getitem__ of the dataset, has no return"
    made = site.made(node)
    where = site.given_at(node)
    value = getattr(made, "value", None)
    if isinstance(made, ast.For):
        loop = site.look(made.iter.func) if isinstance(made.iter, ast.Call) else type(site.look(made.iter))
        if getattr(loop, "__name__", "") == "DataLoader":
            return f"{name} is None{where.removesuffix(':')}: collate_fn, or __getitem__ of the dataset, has no return"
    if isinstance(node, ast.Call):
        value, name = node, f"what {short(node.func) or 'the function'}() returns"
    if isinstance(value, ast.Call):
        called = site.look(value.func)
        function = short(value.func) or "the function"
        if hasattr(called, "_modules"):
            return f"{name} is None{where}: forward() of {type(called).__name__} has no return"
        if isinstance(value.func, ast.Attribute) and value.func.attr in _RETURN_NOTHING:
            method = value.func.attr
            kept = short(value.func.value) or "x"
            own = isinstance(value.func.value, ast.Name)
            way = f"use {kept} itself" if own else f"keep what comes before it, {name} = {kept}"
            return f"{name} is None{where}: {method}() returns nothing; {way}, and call {method}() on a line of its own"
        if isinstance(value.func, ast.Call) or called is MISSING:
            return f"{name} is None{where}: what is called there has no return (forward() of the model, for one)"
        return f"{name} is None{where}: {function}() returns nothing; give it a return, or call it on a line of its own"
    if where:
        return f"{name} is None{where}: give it a value before this line"
    return f"{name} is None: give it a value before this line, or ask `is not None` first"


def _is_update_of(name: str, statement: ast.stmt) -> bool:
    """Whether it is `w = w - 0.1 * w.grad`, and the like."""
    return isinstance(statement, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == name for target in statement.targets
    ) and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(statement.value))


def _no_gradient(node: ast.Attribute, name: str, site: Site) -> str:
    owner = site.look(node.value)
    of = short(node.value) or "the tensor"
    if isinstance(owner, Tensor):
        if not owner.requires_grad:
            candidates = (statement_at(site.line.code, site.line.number), site.made(node.value))
            made = next((one for one in candidates if one is not None and _is_update_of(of, one)), None)
            if made is not None:
                return (
                    f"{name} is None: {of} is another tensor since {Line.at(site.line.code, made.lineno)}, which does "
                    f"not require grad; change it in place instead, with torch.no_grad(): {of} -= lr * {name}, or let "
                    "an optimizer do it"
                )
            return f"{name} is None: {of} does not require grad; call {of}.requires_grad_() before the loss is computed"
        if not owner.is_leaf:
            candidates = (statement_at(site.line.code, site.line.number), site.made(node.value))
            made = next((one for one in candidates if one is not None and _is_update_of(of, one)), None)
            if made is not None and not any(getattr(part, "attr", "") == "grad" for part in ast.walk(made)):
                return (
                    f"{name} is None: {of} is no leaf since {Line.at(site.line.code, made.lineno)}, which makes a new "
                    f"tensor, and only leaves keep their gradient; call {of}.retain_grad() before backward(), or read "
                    "the gradient of the tensor that it was made of, under its own name"
                )
            if made is not None:
                return (
                    f"{name} is None: {of} is no leaf since {Line.at(site.line.code, made.lineno)}, which makes a new "
                    f"tensor; change it in place, without recording: with torch.no_grad(): {of} -= lr * {name}, or let "
                    "an optimizer do it"
                )
            return (
                f"{name} is None: {of} is computed, and only leaves keep their gradient; call {of}.retain_grad() "
                f"before "
                "backward()"
            )
    return (
        f"{name} is None, for no backward() has reached {of}: call backward() before this line, on a loss that "
        f"was computed "
        f"from it; where a parameter is not used, ask `if {name} is not None`"
    )


def operands_hint(head: str, site: Site) -> str:
    """What `None * x` and `x.mean + 1` mean, of an error that left a tensor's operator."""
    match = re.match(_OPERANDS, head)
    return _operands(match, site) if match else ""


_OPERANDS = (
    r"unsupported operand type\(s\) for (.+): '(\S+)' and '(\S+)'$|'.+' not supported between instances of "
    r"'(\S+)' and '(\S+)'$"
)


@_hint(_OPERANDS)
def _operands(match: re.Match[str], site: Site) -> str:
    if isinstance(site.node, ast.Call) and getattr(site.node.func, "id", "") == "sum" and site.node.args:
        held = site.look(site.node.args[0])
        if isinstance(held, dict) and any(isinstance(x, Tensor) for x in held.values()):
            return f"a dict gives its keys: sum({short(site.node.args[0])}.values())"
    parts = _sides(site.node)
    kinds = [group for group in match.groups()[-4:] if group is not None][-2:]
    for part, kind in zip(parts, kinds, strict=False):
        if kind == "NoneType":
            return none_hint(part, site)
        if kind in ("method", "builtin_function_or_method", "function"):
            return f"{short(part) or 'it'} is a method: call it, {short(part) or 'it'}()"
    for part in parts:
        told = module_for_result(part, site) or _everyday.values_and_indices(part, site)
        if told:
            return told
    for part, kind in zip(parts, kinds, strict=False):
        if kind in ("str", "generator", "dict", "type", "object", "set") and {"Tensor", "Parameter"} & set(kinds):
            value = site.look(part)
            if value is not MISSING or kind == "generator":
                return converted(short(part) or "it", (_nothing() if value is MISSING else value), "Tensor")
        if kind in ("int", "float", "bool") and match[1] in ("@", "@="):
            return f"@ multiplies matrices, and {short(part) or 'it'} is a number: * multiplies by numbers"
    for part, kind in zip(parts, kinds, strict=False):
        if kind in ("list", "tuple") and any(isinstance(x, Tensor) for x in _elements(site.look(part))):
            return f"{short(part)} is a {kind} of tensors: torch.stack({short(part)}) makes one tensor of it"
    return ""


def module_for_result(node: ast.AST | None, site: Site) -> str:
    """`nn.ReLU(x) * 2`, `model + 1`: a layer where its result is meant; nothing for other things."""
    value = site.look(node)
    name = (short(node) if node is not None else None) or "it"
    if hasattr(value, "_modules") and hasattr(value, "_parameters"):
        call = getattr(site.made(node), "value", None)
        data = [short(part) or "x" for part in call.args if isinstance(site.look(part), Tensor)] if isinstance(
            call, ast.Call) else []
        if data:
            func = short(call.func) or type(value).__name__                     # type: ignore[union-attr]
            return (f"{name} is a module, not its result{site.given_at(node)}: {func}(...) makes the layer, and the "
                    f"data comes in a second call, {func}()({', '.join(data)})")
        return f"{name} is a module, not its result: call it with the data, {name}(x)"
    made = site.look(node.func) if isinstance(node, ast.Call) else MISSING
    if isinstance(made, type) and hasattr(made, "register_forward_hook") and isinstance(node, ast.Call):
        given = ", ".join(short(part) or "x" for part in node.args) or "x"
        return (
            f"{made.__name__}(...) makes the layer, and the data comes in a second call: "
            f"{short(node.func) or made.__name__}()({given})"
        )
    return ""


def _sides(node: Any) -> list[ast.AST]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, node.comparators[0]]
    return []


def _elements(value: Any) -> list[Any]:
    return list(value[:8]) if type(value) in (list, tuple) else []


@_hint(r"'(\S+)' object is not callable$")
def _called(match: re.Match[str], site: Site) -> str:
    node = getattr(site.node, "func", None)
    name = (short(node) if node is not None else None) or "it"
    value = site.look(node)
    if match[1] == "NoneType":
        return none_hint(node, site)
    if match[1].rpartition(".")[2] == "Size":
        return f"a shape is indexed, not called: {name}[0], or {name.removesuffix('.shape')}.size(0)"
    if match[1] in ("Tensor", "Parameter"):
        if isinstance(node, ast.Attribute):
            return f"{name} is an attribute: write it without brackets"
        if isinstance(value, Tensor):
            return describe_value(value, node, site, "call")
        return f"{name} is a tensor: it has no brackets; index it with [...]"
    if match[1] == "module":
        last = name.rpartition(".")[2].lower()
        inside = [one for one in dir(value) if one.lower() == last and not one.startswith("_")]
        real = next((one for one in inside if callable(getattr(value, one))), None)
        owner = name.rpartition(".")[0] or name
        return f"{name} is a module of Python's: the class is {owner}.{real}" if real else ""
    if match[1] in ("list", "tuple", "dict"):
        held = [x for x in (value.values() if isinstance(value, dict) else _elements(value)) if hasattr(x, "_modules")]
        return (
            f"{name} is a {match[1]} of modules: call each, for layer in {name}: x = layer(x), or make it "
            f"nn.Sequential(*{name})"
            if held
            else ""
        )
    return "" if value is MISSING else describe_value(value, node, site, "call")


@_hint(
    r"'(\S+)' object is not (subscriptable|iterable|an iterator)$|cannot unpack non-iterable (\S+) object$"
    r"|'(\S+)' object does not support (item assignment|item deletion)$|'(\S+)' object is not reversible$"
)
def _taken_apart(match: re.Match[str], site: Site) -> str:
    node: Any = site.node
    name = ""
    if isinstance(node, ast.Subscript):
        node = node.value
    elif isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
        node = node.generators[0].iter
    elif isinstance(node, ast.Call) and node.args:
        node = node.args[0]
        if isinstance(node, ast.GeneratorExp):
            node = node.generators[0].iter
    else:
        statement = statement_at(site.line.code, site.line.number)
        if isinstance(statement, (ast.For, ast.comprehension)):
            node = statement.iter
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and match[3]:
            node = statement.value
    kind = match[1] or match[3] or match[4] or match[6]
    if isinstance(node, ast.Attribute) and node.attr == "size":
        return f"size is a method: {short(node)}(0), or {short(node.value) or 'x'}.shape[0]"
    if kind in ("method", "builtin_function_or_method", "function"):
        name = (short(node) or "") if isinstance(node, (ast.Attribute, ast.Name)) else ""
        return f"{name or 'it'} is a method: call it, {name or 'it'}()"
    if kind == "NoneType":
        return none_hint(node, site)
    value = site.look(node)
    if value is MISSING and isinstance(node, ast.Call) and kind == "generator":
        return describe_value(_nothing(), node, site, "index")
    if value is MISSING and kind in ("int", "float"):
        value = 0.0
    made = site.look(node.func) if isinstance(node, ast.Call) else MISSING
    if isinstance(made, type) and made.__name__ == kind and hasattr(made, "register_forward_hook"):
        return (
            f"{kind} is a module: reach its parts by their names, model.fc1, and use nn.Sequential or "
            f"nn.ModuleList for parts with "
            "numbers"
        )
    if type(value).__name__ != kind:
        return ""
    return describe_value(value, node, site, "index")


def _nothing() -> Any:
    """A generator, for what is said of them all."""
    yield from ()


@_hint(r"(?:\S+\.)?(\w+)\(\) takes (no arguments|no keyword arguments|exactly (?:one argument|\d+ positional "
       r"arguments?)) \((\d+) given\)$")
def _counted(match: re.Match[str], site: Site) -> str:
    """Of functions that are compiled: Python counts the object itself among the arguments of a method."""
    node = site.node if isinstance(site.node, ast.Call) else None
    if node is None or not _is_ours_to_call(node, site):
        return ""
    given = len(node.args) + len(node.keywords)
    most = re.search(r"\d+", match[2])
    count = 0 if most is None else max(int(most[0]) - (int(match[3]) - given), 0)
    return (f"{short(node.func)}() takes {count or 'no'} argument{'s' * (count != 1)}, and {given} came: leave out the "
            "rest")


def _is_ours_to_call(node: ast.Call, site: Site) -> bool:
    owner = site.look(node.func.value) if isinstance(node.func, ast.Attribute) else MISSING
    return isinstance(owner, Tensor) or getattr(owner, "__name__", "").partition(".")[0] in ("claygrad", "torch")


@_hint(r"object of type '(\S+)' has no len\(\)$")
def _length(match: re.Match[str], site: Site) -> str:
    node = site.node.args[0] if isinstance(site.node, ast.Call) and site.node.args else None
    name = (short(node) if node is not None else None) or "it"
    if match[1] == "generator":
        return f"it can be walked through once, by a for: len(list({name})), or sum(p.numel() for p in {name})"
    value = site.look(node)
    return "" if value is MISSING or type(value).__name__ != match[1] else describe_value(value, node, site, "len")


@_hint(r"(list|tuple) indices must be integers or slices, not (\S+)$")
def _indices(match: re.Match[str], site: Site) -> str:
    node: Any = site.node
    name = short(getattr(node, "value", None) or ast.Name("it")) or "it"
    if match[2] == "Tensor":
        return f"a {match[1]} takes one integer: {name}[int(i)], or [{name}[i] for i in index.tolist()]"
    held = site.look(getattr(node, "value", None))
    if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "param_groups":
        return f"it is a list of dicts, one for each group: for group in {name}: group['lr'] = 0.1"
    if any(isinstance(x, Tensor) for x in _elements(held)):
        return (
            f"{name} is a {match[1]}, whose elements have numbers: {name}[0]; torch.stack({name}) makes one "
            f"tensor of a list"
        )
    return ""


@_hint(r"(?:not enough|too many) values to unpack \(expected (\d+)(?:, got (\d+))?\)$")
def _unpacked(match: re.Match[str], site: Site) -> str:
    statement = statement_at(site.line.code, site.line.number)
    if isinstance(statement, ast.For):
        loop: Any = statement.iter
        if isinstance(loop, ast.Call) and getattr(loop.func, "id", "") == "enumerate" and loop.args:
            names = [short(x) or "x" for x in getattr(statement.target, "elts", [])]
            inner = site.look(loop.args[0])
            if len(names) > 2 and match[2] == "2":
                return (
                    f"enumerate gives a number and a batch: for {names[0]}, ({', '.join(names[1:])}) in "
                    f"{short(loop) or 'enumerate(...)'}"
                )
            loop = loop.args[0]
        inner = site.look(loop)
        if isinstance(loop, ast.Call) and getattr(site.look(loop.func), "__name__", "") == "DataLoader" and loop.args:
            inner = site.look(loop.args[0])                     # made there
        if any(one.__name__ in ("DataLoader", "Dataset") for one in type(inner).__mro__):
            dataset = getattr(inner, "dataset", inner)
            held, place = getattr(dataset, "tensors", None), line_of_return(type(dataset), "__getitem__")
            what = (
                f"{len(held)} tensor{'s' * (len(held) != 1)}"
                if isinstance(held, tuple)
                else "what its __getitem__ returns" + f" at {place}" * bool(place)
            )
            return (
                f"{short(loop) or 'the loader'} gives batches of {type(dataset).__name__}, which holds {what}: "
                f"count the names "
                "before `in` (for (x,) in loader takes one apart), or return as many from the dataset"
            )
        return ""
    value: Any = getattr(statement, "value", None)
    if isinstance(value, ast.Call):
        kind = _module_class(value.func, site)
        if kind:
            pair = next((part for part in getattr(getattr(statement, "targets", [None])[0], "elts", ())
                         if isinstance(part, ast.Tuple)), None)
            if kind in ("GRU", "RNN") and pair is not None:
                return f"{kind} returns output, h, and h is one tensor: only LSTM has a pair, {ast.unparse(pair)}"
            if getattr(site.look(value.func), "return_indices", None) is False:
                return f"{kind} returns its result alone: make it with return_indices=True for the indices too"
            count = f"{match[2]} came" if match[2] else "more came"
            return (
                f"{kind} does not return {match[1]} values: {count}. LSTM returns output, (h, c), other recurrent "
                f"layers "
                "output, h, most layers one tensor, which would be taken apart row by row"
            )
        if isinstance(value.func, ast.Attribute):
            told = _everyday.parts_of(value, match)
            if told:
                return told
            owner = site.look(value.func.value)
            if isinstance(owner, Tensor) or getattr(owner, "__name__", "").partition(".")[0] in ("claygrad", "torch"):
                return (f"{value.func.attr}() returns one tensor, or as many as its arguments say: count the names "
                        f"before =")
    if isinstance(value, ast.Attribute) and value.attr == "saved_tensors":
        return "it holds what forward gave to ctx.save_for_backward(...), in one call: count the tensors there"
    if isinstance(value, (ast.Name, ast.Attribute)):
        held = site.look(value)
        if isinstance(held, Tensor):
            if held.dim() > 1 and str(held.shape[-1]) == match[1]:
                targets = getattr(getattr(statement, "targets", [None])[0], "elts", ())
                columns = ", ".join(short(one) or "_" for one in targets)
                return (f"{short(value)} is one tensor of shape {tuple(held.shape)}, which is taken apart row by row: "
                        f"{columns} = {short(value)}.unbind(-1) takes its columns")
            return (
                f"{short(value)} is one tensor of shape {tuple(held.shape)}: it is taken apart row by row; count "
                f"the names before ="
            )
        if type(held).__name__ == "Size":
            return f"the shape is {tuple(held)}: name {len(held)} sizes before =, or *rest for several"
    return ""


@_hint(r"can only concatenate (tuple|list) \(not \"(\S+)\"\) to (?:tuple|list)$")
def _joined(match: re.Match[str], site: Site) -> str:
    for part in _sides(site.node):
        told = _everyday.values_and_indices(part, site)
        if told:
            return told
    if match[1] == "list" and match[2] in ("Tensor", "Parameter", "int", "float"):
        return "a list grows by lists: values + [x], or values.append(x); torch.tensor(values) + x adds numbers"
    return ""


@_hint(r"can only concatenate str \(not \"(\S+)\"\) to str$")
def _text(match: re.Match[str], _: Site) -> str:
    if match[1].rpartition(".")[2] not in ("Size", "Tensor", "Parameter", "dtype", "device", "Linear"):
        return ""
    return 'make text of it: str(value), or f"shape {value}"'


def _module_class(node: ast.AST, site: Site) -> str:
    """The name of the class of a module that a line calls: `model(x)`, or `nn.GRU(3, 4)(x)`."""
    called = site.look(node)
    if hasattr(called, "_modules"):
        return type(called).__name__
    made = site.look(node.func) if isinstance(node, ast.Call) else MISSING
    return made.__name__ if isinstance(made, type) and hasattr(made, "register_forward_hook") else ""


@_hint(r"can't multiply sequence by non-int of type '(\S+)'$")
def _repeated(match: re.Match[str], site: Site) -> str:
    for part in _sides(site.node):
        value = site.look(part)
        if type(value) in (list, tuple) or match[1] == "Tensor":
            return (
                f"a list is repeated by *, not scaled: torch.tensor({short(part) or 'list'}) makes numbers of it "
                f"that can be scaled"
            )
    return ""


@_hint(
    r"must be real number, not (Tensor|Parameter)$|only (?:length-1|0-dimensional|integer scalar) arrays can be "
    r"converted"
)
def _numbers(_: re.Match[str], site: Site) -> str:
    node = site.node
    name = getattr(getattr(node, "func", None), "attr", "")
    return f"torch.{name}(x) takes tensors" if name and hasattr(Tensor, name) else ""


@_hint(r"([\w.<>]+)\(\) (?:missing \d+ required|takes .*positional|got an unexpected keyword|got multiple values)")
def _own_function(match: re.Match[str], site: Site) -> str:
    return _everyday.called_wrongly(match, site)


@_hint(r"(?:list|tuple|string) (?:assignment )?index out of range$|pop from empty list$")
def _list_index(_: re.Match[str], site: Site) -> str:
    return _everyday.list_index(site)


def _key(error: KeyError, site: Site) -> str:
    if len(error.args) != 1:
        return ""
    key = error.args[0]
    node: Any = site.node
    name = short(node.value) or "it" if isinstance(node, ast.Subscript) else "it"
    if isinstance(key, Tensor):
        asked = (short(node.slice) if isinstance(node, ast.Subscript) else None) or "key"
        return (
            f"a tensor is found by its identity, not by its value: {name}[{asked}.item()], or tuple({asked}.tolist()) "
            f"for several"
        )
    held = site.look(node.value) if isinstance(node, ast.Subscript) else MISSING
    if not isinstance(held, dict):
        return ""
    if type(key) is int and site.line.code.co_name == "__getitem__" and len(held) and 0 <= key < len(held):
        return (f"{name} has no key {key}: it has {', '.join(f'{one!r:.40}' for one in list(held)[:8])}"
                f"{', ...' * (len(held) > 8)}; a dataset is asked for 0 to len(dataset) - 1, so keep the keys in a "
                f"list, self.keys = list({name}), and take {name}[self.keys[{short(node.slice) or 'i'}]]")
    if not isinstance(key, str):
        shown = ", ".join(f"{one!r:.40}" for one in list(held)[:8])
        return f"{name} has no key {key!r:.40}: it has {shown or 'none'}{', ...' * (len(held) > 8)}"
    near = difflib.get_close_matches(key, [one for one in held if isinstance(one, str)], 3, 0.5)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    if not held:
        return f"{name} is empty: nothing was put into it before this line"
    more = f", and {len(held) - 8} more" if len(held) > 8 else ""
    return f"{name} has the key{'s' * (len(held) > 1)} {', '.join(f'{one!r:.40}' for one in list(held)[:8])}{more}"


def _name(error: NameError, site: Site) -> str:
    name = getattr(error, "name", None)
    if isinstance(error, UnboundLocalError):
        found = re.search(r"local variable '(\w+)'", str(error))
        return _everyday.unbound(found[1], site) if found else ""
    if not isinstance(name, str):
        return ""
    owner: Any = site.frame.f_locals.get("self")
    if hasattr(owner, "_modules") and name in {**vars(owner), **owner._modules, **owner._parameters, **owner._buffers}:
        return f"it is an attribute of the module: self.{name}"
    if name not in _IMPORTS:
        return ""
    made = _IMPORTS[name].format(name)
    home = next(
        (key for key, value in site.frame.f_globals.items() if value is sys.modules["claygrad"]), None
    )
    return f"import it first: {made if home in (None, 'torch') else made.replace('torch', 'claygrad')}"


def file_hint(error: OSError, reading: bool) -> str:
    """Of a file that claygrad could not open."""
    name = error.filename
    if not isinstance(name, (str, bytes, os.PathLike)):
        return ""
    path = os.fsdecode(name)
    folder = os.path.dirname(os.path.abspath(path))
    if isinstance(error, FileNotFoundError):
        if not os.path.isdir(folder):
            if reading:
                start = "" if os.path.isabs(path) else ", which starts at the working directory"
                return f"there is no folder {folder}: correct the path{start}"
            return f"there is no folder {folder}: make it with os.makedirs(folder, exist_ok=True), or correct the path"
        ending = os.path.splitext(path)[1]
        alike = [one for one in os.listdir(folder) if one.endswith(ending)]
        near = difflib.get_close_matches(os.path.basename(path), alike, 3, 0.6)
        has = f"did you mean {' or '.join(near)}?" if near else "correct the path, or change the working directory"
        return f"there is no such file in {folder}: {has}"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder: name a file in it"
    if isinstance(error, PermissionError):
        return f"this user may not open {path}: choose another folder, or change its rights"
    return ""
