"""Where a loss was cut from its graph, and which part of a graph was used before."""
from __future__ import annotations

import ast
import inspect
import linecache
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from claygrad.core import Tensor
from claygrad.core.dispatch.promotion import facts
from claygrad.core.graph.modes import get_grad_enabled
from claygrad.core.graph.provenance import place_text
from claygrad.errors._frames import is_library, is_ours
from claygrad.errors._source import (
    MISSING,
    Line,
    assignment_before,
    block_around,
    parsed,
    returns_of,
    short,
    statement_at,
    statements,
    value_of,
)

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from claygrad.errors._ways import Context

_NEW = ("tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "asarray")
_OUT = {
    "detach": "compute it without detach() there", "data": "compute it without .data there", "item":
    "compute it without item(), on tensors",
    "tolist": "compute it without tolist(); join tensors with torch.stack([...])",
    "numpy": "compute it without numpy(): NumPy records no graph",
    "float()": "compute it without float(), on tensors",
    "indices": "indices have no gradient: use the values",
    "round": "rounding has a gradient of 0, and integers have none: keep the loss without round()",
    "autograd.grad": "gradients have a graph of their own only on request: autograd.grad(..., create_graph=True)",
    "grad": "gradients have a graph of their own only on request: backward(create_graph=True), or autograd.grad(..., "
    "create_graph=True)",
    **dict.fromkeys(("argmax", "argmin", "argsort"),
                    "argmax, argmin and argsort have no gradient: use the values (max, softmax, cross_entropy of "
                    "the scores)"),
    **dict.fromkeys(("long", "int", "short", "byte", "bool", "char"),
                    "integers have no gradient: stay with floating numbers for the loss"),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "isclose"),
                    "a comparison has no gradient: use a loss that changes with the values (such as sigmoid of the "
                    "difference)"),
    **dict.fromkeys(_NEW, "torch.tensor(...) makes a new leaf: join tensors with torch.stack([...]), and use the "
                          "tensor itself "
                          "where it was one already"),
}
_OUT_OF: dict[Any, str] = {
    **_OUT, None: "that line records no graph: it runs under torch.no_grad(), or its result has no gradient"}
_UNRECORDED = "compute it outside torch.no_grad() (or inference_mode), which records nothing"
_INTEGERS = ("long", "int", "int64", "int32", "int16", "int8", "uint8", "bool", "short")


def _cutter(node: ast.AST | None) -> str | None:
    """What in an expression makes a value without a graph, the outermost first."""
    if node is None:
        return None
    for part in ast.walk(node):
        if isinstance(part, ast.Compare) and not isinstance(part.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return "eq"
        if isinstance(part, ast.Call) and getattr(part.func, "attr", getattr(part.func, "id", "")) == "grad":
            made = [word for word in part.keywords if word.arg == "create_graph"]
            return None if made else "autograd.grad"
        if isinstance(part, ast.Attribute) and part.attr in _OUT and part.attr not in (*_NEW, "round"):
            return part.attr
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("float", "int"):
            return "float()"
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if part.func.attr in ("to", "type") and any(getattr(arg, "attr", "") in _INTEGERS for arg in part.args):
                return "long"
            named = [x for arg in part.args for x in ast.walk(arg) if isinstance(x, (ast.Name, ast.Call))]
            if part.func.attr in _NEW and named:
                inner = [_cutter(arg) for arg in part.args]
                return next((found for found in inner if found), part.func.attr)
    return None


def cut_lines(context: Context) -> str:
    """What cut the loss, where, and what to do instead."""
    frame, line = context.frame, context.line
    names, root = roots_of(context)
    marked = next((text for text in context.own if text.startswith("it was cut from its graph at ")), None)
    context.own[:] = []
    if isinstance(root, Tensor):
        _, _, _, origin, cut, _ = facts(root)
        if origin is not None and cut:
            return _told(context, Line(*origin))
    for name in names:
        told = _follow(context, name, frame, line.code, line.number, set())
        if told is not None:
            return told
    if marked is not None:
        context.lines.append(marked)
        return _OUT_OF[_cutter(parsed(marked.rpartition(": ")[2]))]
    what = _cutter(getattr(line.expression, "func", None))
    if what is not None:
        context.lines.append(f"it is cut from its graph at {line.text}")
        return _OUT_OF[what]
    origin = facts(root)[3] if isinstance(root, Tensor) else None
    if origin is not None:
        made = Line(*origin)
        if made.number != line.number:
            context.lines.append(f"it was made at {made.text}")
        what = _cutter(made.expression)
        if what is not None:
            return _OUT_OF[what]
    frozen = [node for node in statements(line.code.co_filename) if freezes(node) and _runs_before(node, line)]
    if frozen:
        context.lines.append(f"parameters were frozen at {Line.at(line.code, frozen[-1].lineno)}")
    return ("nothing it was computed from requires grad: call requires_grad_() on the parameters (or pass "
            "requires_grad=True) before "
            "computing the loss")


def _told(context: Context, at: Line, what: str | None = None) -> str:
    what = what or _cutter(at.expression) or _cutter(parsed(at.source))
    if what == "autograd.grad" and at.number == context.line.number:
        what = next((found for found in map(_cutter, getattr(context.line.expression, "args", ())) if found), None)
    context.lines.append(f"it was cut from its graph at {at.text}")
    if what is None:
        if _unrecorded(at.code, at.number):
            return _UNRECORDED
        if not get_grad_enabled():
            _name_the_switch(context, at)
            return "recording is switched off in this thread: torch.set_grad_enabled(True) before the loss is computed"
    return _OUT_OF[what]


def _name_the_switch(context: Context, at: Line) -> None:
    """The line that switched recording off for all that follows, if the file shows it."""
    for node in statements(at.code.co_filename):
        call = node.value if isinstance(node, ast.Expr) else None
        name = getattr(getattr(call, "func", None), "attr", "")
        if isinstance(call, ast.Call) and name == "set_grad_enabled" and call.args and (
                getattr(call.args[0], "value", None) is False):
            text = linecache.getline(at.code.co_filename, node.lineno).strip()
            context.lines.append(f"it was switched off at {place_text(at.code.co_filename, node.lineno)}: {text}")
            return


def _follow(context: Context, name: str, frame: Any, code: CodeType, line: int, seen: set[str]) -> str | None:
    """Go back from a name to the line that gave it its value, and on from the names there."""
    if name in seen or len(seen) > 8:
        return None
    seen.add(name)
    value = MISSING if frame is None else value_of(ast.Name(name), frame)
    if isinstance(value, Tensor) and facts(value)[5]:
        return None                                        # it is in a graph: the cut is nearer to the loss
    origin, cut = facts(value)[3:5] if isinstance(value, Tensor) else (None, False)
    if origin is not None and cut:
        return _told(context, Line(*origin))
    made = assignment_before(name, code, line)
    put = put_into(name, code, line, made)
    if put is not None:
        what = _cutter(put.args[0])
        if what is not None:
            context.lines.append(f"it was cut from its graph at {Line.at(code, put.lineno)}")
            return _OUT_OF[what]
    if made is None or not hasattr(made, "value"):
        return None
    if put is not None:
        for part in ast.walk(put.args[0]):
            if isinstance(part, ast.Name) and part.id != name:
                deeper = _follow(context, part.id, frame, code, put.lineno, seen)
                if deeper is not None:
                    return deeper
    if _unrecorded(code, made.lineno):
        context.lines.append(f"it was cut from its graph at {Line.at(code, made.lineno)}")
        return _UNRECORDED
    for part in ast.walk(made.value):
        if isinstance(part, ast.Name) and part.id != name:
            deeper = _follow(context, part.id, frame, code, made.lineno, seen)
            if deeper is not None:
                return deeper
    what = _cutter(made.value)
    if what is None:
        return _follow_call(context, made, name, frame, seen)
    context.lines.append(f"it was cut from its graph at {Line.at(code, made.lineno)}")
    return _OUT_OF[what]


def _runs_before(node: ast.stmt, line: Line) -> bool:
    """Whether a statement is above a line in the same function, or in a function that this one names."""
    at = node.lineno
    if at in {number for *_, number in line.code.co_lines()}:
        return at < line.number
    return any(isinstance(other, ast.FunctionDef) and other.lineno <= at <= (other.end_lineno or at)
               and other.name in line.code.co_names for other in statements(line.code.co_filename))


def freezes(node: ast.stmt) -> bool:
    """Whether a statement is `p.requires_grad = False` or `model.requires_grad_(False)`."""
    if isinstance(node, ast.Assign):
        return any(getattr(target, "attr", "") == "requires_grad" for target in node.targets) and getattr(
            node.value, "value", None) is False
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "requires_grad_" and any(
        getattr(x, "value", None) is False for x in call.args)


class _Inside(NamedTuple):
    """A function that has returned: what its parameters were, as far as the call shows."""

    f_locals: dict[str, Any]
    f_globals: dict[str, Any]


def _unrecorded(code: CodeType, line: int) -> bool:
    """Whether a line lies in a block or a function that records nothing."""
    blocks = [ast.unparse(node.items[0]) for node in block_around(code, line, (ast.With,))]     # type: ignore[attr-defined]
    blocks += [ast.unparse(mark) for node in block_around(code, line, (ast.FunctionDef,))
               for mark in node.decorator_list]                                                 # type: ignore[attr-defined]
    return any(word in text for text in blocks for word in ("no_grad", "inference_mode", "set_grad_enabled"))


def _callee(node: ast.AST, frame: Any) -> tuple[Any, list[Any]]:
    """The function of the user's that an expression calls, and what it is bound to."""
    if not isinstance(node, ast.Call) or frame is None:
        return None, []
    called = value_of(node.func, frame)
    if called is MISSING and isinstance(node.func, ast.Attribute):
        owner = value_of(node.func.value, frame)
        called = MISSING if owner is MISSING else inspect.getattr_static(type(owner), node.func.attr, MISSING)
        return (None, []) if called is MISSING else (called, [owner])
    if hasattr(called, "_modules"):
        return type(called).forward, [called]
    return called, []


def _follow_call(context: Context, made: Any, name: str, frame: Any, seen: set[str]) -> str | None:
    """The same in a function of the user's that made the value: from what it returns."""
    node = made.value
    called, bound = _callee(node, frame)
    called = inspect.unwrap(called) if inspect.isfunction(called) else None
    code = getattr(called, "__code__", None)
    if called is None or code is None or is_ours(code) or is_library(code):
        return None
    given = [*bound, *(value_of(part, frame) for part in node.args)]
    inside = _Inside(dict(zip(code.co_varnames[:code.co_argcount], given, strict=False)), called.__globals__)
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    names = [getattr(part, "id", "") for part in target.elts] if isinstance(target, ast.Tuple) else []
    for end in returns_of(code):
        value: Any = end.value
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names) and name in names:
            value = value.elts[names.index(name)]
        for part in ast.walk(value):
            if isinstance(part, ast.Name):
                told = _follow(context, part.id, inside, code, end.lineno, seen - {part.id})
                if told is not None:
                    return told
        if _unrecorded(code, end.lineno):
            context.lines.append(f"it was cut from its graph at {Line.at(code, end.lineno)}")
            return _UNRECORDED
        what = _cutter(value)
        if what is not None:
            context.lines.append(f"it was cut from its graph at {Line.at(code, end.lineno)}")
            return _OUT_OF[what]
    return None


def put_into(name: str, code: CodeType, line: int, made: ast.stmt | None) -> ast.Call | None:
    """The last `name.append(...)` between the line that made a list and the one that uses it."""
    best = None
    first = code.co_firstlineno if made is None else made.lineno
    for node in statements(code.co_filename):
        call = node.value if isinstance(node, ast.Expr) else None
        if (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
                and call.func.attr in ("append", "extend", "insert") and call.args
                and getattr(call.func.value, "id", None) == name and first <= node.lineno < line):
            best = call
    return best


def second_backward(context: Context) -> str:
    """Which part of the graph was built outside the loop, or that it is the same graph as before."""
    code, line = context.line.code, context.line.number
    loops = block_around(code, line, (ast.For, ast.While))
    recorded = next((text for text in context.own if " was recorded at " in text), "")
    number = _line_number(recorded, code)
    carried = _carried(loops[-1], context.frame) if loops else _kept_by(recorded)
    if loops and not carried:
        carried = _kept_by(recorded)
    if carried:
        given = _given_in(loops[-1], carried) if loops else None
        if given is not None:
            context.lines.append(f"{carried} was given at {Line.at(code, given.lineno)}")
        trained = any(getattr(node, "attr", "") == "step" for loop in loops for node in ast.walk(loop))
        keep = "" if trained else ", or pass retain_graph=True to backward()"      # after a step its weights are others
        held = value_of(parsed(carried), context.frame)
        cut = f"tuple(x.detach() for x in {carried})" if isinstance(held, (tuple, list)) else f"{carried}.detach()"
        return f"a value from the step before is part of this graph: cut it with {carried} = {cut} between steps{keep}"
    if loops and number is not None:
        inner = loops[-1]
        if not inner.lineno <= number <= (inner.end_lineno or inner.lineno):
            return ("that part of the graph was built once, outside the loop, and the first backward() freed it: "
                    "compute it inside the "
                    "loop, or detach() it")
        first = next((text for text in context.own if "freed by the backward" in text), "")
        if first.partition(" at ")[2] not in ("", context.line.text):          # another call, in this step
            return ("it was the same graph: call backward() once for each computation of it, or pass retain_graph=True "
                    "to the first")
        return ("a value from the step before is part of this graph: cut it with h = h.detach() between steps, or pass "
                "retain_graph=True to backward()")
    freed = first_backward_line(context, code)
    shared = _shared(recorded, context) if number is None else _used_by_both(number, freed, context)
    if shared:
        return shared
    again = "compute the loss again before the second backward(), or pass retain_graph=True to the first"
    if number is not None and number not in (line, freed):
        return (f"{again}; where two losses share that part, add them and call backward() once, or detach() it for "
                f"one of them")
    return again


def _shared(recorded: str, context: Context) -> str:
    """Of a tensor that was made once, at a line above in another function or outside the loop, and is used by both."""
    match = re.search(r"(?:line |:)(\d+), in ([^:]+): (.*)", recorded)
    node = parsed(match[3]) if match else None
    if match is None:
        return ""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(target, ast.Name) and match[2] != context.line.code.co_name:
        return (f"{target.id}, made there, is part of both graphs: pass {target.id}.detach() where its gradient is not "
                f"wanted, or add the losses and call backward() once")
    return _made_before_the_loop(match[2], context)


def _used_by_both(number: int, freed: int | None, context: Context) -> str:
    """`fake = G(z)`, which the loss of before and this one were computed from."""
    code, line = context.line.code, context.line.number
    made = statement_at(code, number)
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    if not isinstance(target, ast.Name) or freed is None or not number < freed < line:
        return ""
    if target.id in roots_of(context)[0]:
        return ""                                              # backward was called on it twice
    after = [node for node in statements(code.co_filename) if freed < node.lineno <= line
             and isinstance(node, (ast.Assign, ast.Expr, ast.AugAssign))]
    if not any(isinstance(part, ast.Name) and part.id == target.id and isinstance(part.ctx, ast.Load)
               for node in after for part in ast.walk(node)):
        return ""
    return (f"{target.id}, made there, is part of both graphs: pass {target.id}.detach() to the first where its "
            "gradient is not wanted there, or add the losses and call backward() once, or pass retain_graph=True to "
            "the first backward()")


def _given_in(loop: ast.stmt, name: str) -> ast.stmt | None:
    """The statement of a loop that gives a name its value."""
    return next((node for node in ast.walk(loop) if isinstance(node, ast.Assign) and any(
        isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == name
        for target in node.targets for part in ast.walk(target))), None)


def _made_before_the_loop(function: str, context: Context) -> str:
    """`reg = penalty(model)` above the loop that calls backward."""
    code, line = context.line.code, context.line.number
    loops = block_around(code, line, (ast.For, ast.While))
    for node in statements(code.co_filename) if loops else ():
        called = getattr(getattr(node, "value", None), "func", None)
        if (isinstance(node, ast.Assign) and code.co_firstlineno <= node.lineno < loops[-1].lineno
                and getattr(called, "attr", getattr(called, "id", "")) == function):
            name = ast.unparse(node.targets[0])
            return (f"{name} was made once, outside the loop, at {Line.at(code, node.lineno)}, and the first "
                    f"backward() freed its graph: compute {name} inside the loop, or detach() it")
    return ""


def _carried(loop: ast.stmt, frame: FrameType) -> str:
    """The name of a tensor with a graph that one round of a loop gives to the next: read before it is given."""
    given: dict[str, int] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part in ast.walk(target):
                    if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                        given.setdefault(ast.unparse(part), node.end_lineno or node.lineno)
    for node in ast.walk(loop):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            name = ast.unparse(node)
            if node.lineno <= given.get(name, 0):
                value = value_of(node, frame)
                held = value if isinstance(value, (tuple, list)) else [value]
                if any(isinstance(x, Tensor) and facts(x)[5] for x in held):
                    return name
    return ""


def _kept_by(recorded: str) -> str:
    """The same of a line such as `out, self.h = self.rnn(x, self.h)`, which keeps a value for its next call."""
    node = parsed(recorded.partition(": ")[2])
    if not isinstance(node, ast.Assign):
        return ""
    given = {ast.unparse(part) for target in node.targets for part in ast.walk(target)
             if isinstance(part, ast.Attribute)}
    read = [ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.Attribute)]
    return next((name for name in read if name in given), "")


def first_backward_line(context: Context, code: CodeType) -> int | None:
    """The line of the backward that freed the values."""
    return _line_number(next((text for text in context.own if "freed by the backward" in text), ""), code)


def _line_number(text: str, code: CodeType) -> int | None:
    match = re.search(r"(?:line |:)(\d+), in ", text)
    return int(match[1]) if match and code.co_name in text else None


def roots_of(context: Context) -> tuple[list[str], Any]:
    """The names in what `x.backward()`, `backward(x)`, `grad(x, ...)` or a hook starts from, and the tensor."""
    node: Any = context.line.expression
    if not isinstance(node, ast.Call):
        return [], None
    func: Any = node.func
    target: Any = func.value if isinstance(func, ast.Attribute) else None
    if target is None or func.attr not in ("backward", "register_hook", "retain_grad") or short(target) in (
            "torch.autograd", "autograd"):
        target = node.args[0] if node.args else None
    if isinstance(target, (ast.List, ast.Tuple)):
        target = target.elts[0] if target.elts else None
    if target is None:
        return [], None
    value = value_of(target, context.frame)
    names = [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]
    return names, None if value is MISSING else value
