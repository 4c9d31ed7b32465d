"""Errors of everyday Python in a program that trains: wrong calls of its own functions, lists, empty loops, imports.

Python raises them, and they have little to do with tensors; a program stops at them all the same. As in _python.py,
what is said is read from the line and from the values of its names.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import re
import sys
from typing import TYPE_CHECKING, Any

from claygrad.errors._calls import near_parameter, signature_of
from claygrad.errors._frames import is_library, is_ours
from claygrad.errors._source import MISSING, Line, short, statements

if TYPE_CHECKING:
    from types import TracebackType

    from claygrad.errors._python import Site


def called_wrongly(match: re.Match[str], site: Site) -> str:
    """`Net(3)` where `__init__` takes two: how the function or class of the user's is called."""
    node = site.node
    if not isinstance(node, ast.Call):
        return ""
    called = site.look(node.func)
    name = match[1].rpartition(".")[2]
    if called is MISSING or (name == "__init__") != isinstance(called, type):
        return ""
    if name not in ("__init__", "forward", getattr(called, "__name__", None)) and not hasattr(called, "_modules"):
        return ""
    if hasattr(called, "_modules"):
        return ""                                      # the entry point of modules tells more
    shown = signature_of(called)
    if not shown or "(*args, **kwargs)" in shown:
        return ""
    unknown = re.search(r"unexpected keyword argument '(\w+)'", match.string)
    near = near_parameter(unknown[1], shown) if unknown else []
    if unknown and near:
        return f"did you mean {near[0]}? It is {shown}"
    given = [short(part) or "x" for part in node.args if _is_data(part, site)]
    if name == "__init__" and hasattr(called, "register_forward_hook") and given and len(given) == len(node.args):
        settings = "" if shown.endswith("()") else "..."
        return (
            f"{called.__name__} is a class: make the model first, model = {called.__name__}({settings}), and give the "
            f"data to it, model({', '.join(given)})"
        )
    if name == "__init__" and shown.endswith("()"):
        return (
            f"{called.__name__} takes no arguments: leave them away, or give its __init__ parameters for them, "
            "def __init__(self, ...)"
        )
    return f"it is {shown}: give it these"


def _is_data(node: ast.AST, site: Site) -> bool:
    """Whether an argument is a tensor, or made by a function of torch's."""
    if isinstance(node, ast.Call):
        made = site.look(node.func)
        return getattr(made, "__name__", "") in ("rand", "randn", "zeros", "ones", "tensor", "randint", "from_numpy")
    return hasattr(site.look(node), "requires_grad") and not hasattr(site.look(node), "_modules")


def list_index(site: Site) -> str:
    """`layers[3]` of a list of three."""
    node = site.node
    if not isinstance(node, ast.Subscript):
        return ""
    held, at = site.look(node.value), site.look(node.slice)
    name = short(node.value) or "it"
    if not isinstance(held, (list, tuple, str)):
        return ""
    came = f", and {at} came" if isinstance(at, int) else ""
    if not held:
        return f"{name} is empty: nothing was put into it before this line"
    more = "; range(len(" + name + ")) counts them" if len(held) > 1 else ""
    return f"{name} has {len(held)} element{'s' * (len(held) != 1)}, 0 to {len(held) - 1}{came}{more}"


def zero_division(site: Site) -> str:
    """`total / len(loader)` of an empty loader, `loss / n` where nothing was counted."""
    node = site.node
    right = node.right if isinstance(node, ast.BinOp) else node.value if isinstance(node, ast.AugAssign) else None
    if right is None:
        return ""
    name = short(right) or "the divisor"
    if isinstance(right, ast.Call) and getattr(right.func, "id", "") == "len" and right.args:
        held = site.look(right.args[0])
        inner = short(right.args[0]) or "it"
        if any(one.__name__ == "DataLoader" for one in type(held).__mro__):
            few = len(getattr(held, "dataset", ()) or ())
            drop = ", and drop_last=True leaves them out" if getattr(held, "drop_last", False) else ""
            return (
                f"{inner} gives no batch: its dataset has {few} samples{drop}; take a smaller batch_size, or mend the "
                "dataset"
            )
        return f"{inner} is empty: look at the line that fills it, or ask `if {inner}` first"
    return f"{name} is 0{site.given_at(right)}: ask for it before, or divide by max({name}, 1)"


def unbound(name: str, site: Site) -> str:
    """A name that a loop or a branch should have given its value."""
    code, line = site.line.code, site.line.number
    for node in statements(code.co_filename):
        blocks = (ast.For, ast.While, ast.If, ast.Try)
        if not code.co_firstlineno <= node.lineno <= line or not isinstance(node, blocks):
            continue
        inside = [
            part
            for held in ast.walk(node)
            if isinstance(held, (ast.Assign, ast.AugAssign, ast.AnnAssign))
            for target in (held.targets if isinstance(held, ast.Assign) else [held.target])
            for part in ast.walk(target)
            if isinstance(part, ast.Name) and part.id == name
        ]
        if inside and not node.lineno <= line <= (node.end_lineno or node.lineno):
            where = Line.at(code, node.lineno)
            what = "the loop" if isinstance(node, (ast.For, ast.While)) else "the branch"
            ran = "gave nothing to go through: an empty loader or list?" if isinstance(node, ast.For) else "did not run"
            return f"{name} gets its value in {what} at {where}, which {ran} Give it a value before"
    after = next(
        (
            node
            for node in statements(code.co_filename)
            if isinstance(node, (ast.Assign, ast.AugAssign))
            and node.lineno >= line
            and code.co_firstlineno <= node.lineno
            and any(
                isinstance(part, ast.Name) and part.id == name
                for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
                for part in ast.walk(target)
            )
        ),
        None,
    )
    if after is not None:
        return (
            f"{Line.at(code, after.lineno)} makes {name} a name of this function, and it has no value yet here: assign "
            f"it before, pass it as an argument, or write `global {name}` for the one outside"
        )
    return ""


def exhausted(site: Site) -> str:
    """`next(it)` at the end."""
    node = site.node
    if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "next" and node.args):
        return ""
    name = short(node.args[0]) or "it"
    kinds = {one.__name__ for one in type(site.look(node.args[0])).__mro__}
    if any("DataLoader" in kind for kind in kinds):
        return (
            f"{name} has given all its batches: start again with {name} = iter(loader), or give next({name}, None) a "
            "value for the end"
        )
    if "generator" in kinds:
        return f"{name} has given all it had: make it again, or keep list(...) of it"
    return f"{name} is at its end: make a new iterator, or pass a value for the end, next({name}, None)"


def not_found(error: ImportError, site: Site) -> str:
    """A name or a module that claygrad does not have: the nearest."""
    home = error.name or ""
    match = re.search(r"cannot import name '(\w+)'", str(error))
    ours = "claygrad"
    if match is not None:
        if home.partition(".")[0] not in (ours, "torch"):
            return ""
        module = sys.modules.get(home)
        names = [one for one in dir(module) if not one.startswith("_")] if module is not None else []
        near = difflib.get_close_matches(match[1], names, 2, 0.6)
        if near:
            return f"did you mean {' or '.join(near)}?"
        for other in ("nn", "optim", "utils.data", "nn.functional", "optim.lr_scheduler", "autograd", "nn.utils.rnn"):
            if hasattr(sys.modules.get(f"{ours}.{other}"), match[1]):
                return f"it is in another module: from torch.{other} import {match[1]}"
        return ""
    if home.partition(".")[0] in (ours, "torch") and "." in home:
        parent, _, last = home.rpartition(".")
        try:
            held = dir(importlib.import_module(parent.replace("torch", ours, 1)))
        except ImportError:
            return ""
        near = difflib.get_close_matches(last, held, 2, 0.6)
        return f"did you mean {' or '.join(f'{parent}.{one}' for one in near)}?" if near else ""
    if home and "." not in home:
        return f"it is not installed here: pip install {home}, in the environment of {sys.executable}"
    return ""


_IN_LIBRARIES = (
    (r"Object of type (Tensor|Parameter) is not JSON serializable",
     "JSON has numbers and lists: loss.item() for one, x.tolist() for many; tensors themselves go into torch.save"),
    (r"Object of type (device|dtype|Size) is not JSON serializable",
     "make text or a list of it: str(x), list(x.shape)"),
    (r"can't pickle|cannot pickle '(\w+)' object",
     "it cannot be copied or sent to another process: keep it out of the object, or make it in each process"),
    (r"(?:Population must be a sequence|'Tensor' object .*sequence)",
     "random takes lists: x[torch.randint(len(x), (1,))], x[torch.randperm(len(x))[:k]], or x.tolist()"),
    (r"can't convert type 'Tensor' to numerator/denominator", "use x.mean(), x.std(), or give it x.tolist()"),
)


def in_a_library(error: BaseException) -> tuple[str, Any] | None:
    """Of an error that Python's own library raised for a tensor; and the user's frame that called it."""
    trace: TracebackType | None = error.__traceback__
    user = None
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_library(code) and not is_ours(code):
            user = trace
        trace = trace.tb_next
    if user is None or len(error.args) != 1 or not isinstance(error.args[0], str):
        return None
    for pattern, told in _IN_LIBRARIES:
        if re.search(pattern, error.args[0]):
            return told, Line(user.tb_frame.f_code, user.tb_lasti)
    return None


_PAIRS = ("max", "min", "sort", "topk", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin", "aminmax")


def values_and_indices(node: ast.AST | None, site: Site) -> str:
    """`x.max(dim=1) + 1`: a pair where its first part is meant."""
    value = site.look(node)
    made: Any = node
    if isinstance(node, ast.Name):
        made = getattr(site.made(node), "value", None)
    name = (short(node) if node is not None else None) or "it"
    func = made.func if isinstance(made, ast.Call) else None
    if getattr(func, "attr", "") in _PAIRS and (value is MISSING or isinstance(value, tuple)):
        first = "min and max" if getattr(func, "attr", "") == "aminmax" else "values and indices"
        taken = "" if first == "min and max" else f": take {name}.values, or {name}[0]"
        return f"{getattr(func, 'attr', '')}() along a dimension returns two tensors, {first}{taken}"
    if isinstance(value, tuple) and value and hasattr(value[0], "requires_grad"):
        return f"{name} is a tuple of {len(value)}: take its parts, {name}[0], or first, rest = {name}"
    return ""


def parts_of(node: ast.Call, match: re.Match[str]) -> str:
    """`a, b = x.split(4)`: as many names as there are parts."""
    name = getattr(node.func, "attr", "")
    count = f"{match[2]} came" if match[2] else "another number came"
    if name in ("split", "tensor_split", "split_with_sizes"):
        return (
            f"split(n) makes parts of n elements, as many as there are, and {count}: chunk({match[1]}) makes "
            f"{match[1]} parts, split([a, b]) parts of these sizes"
        )
    if name in ("chunk", "unbind"):
        return f"{name}() may give more or fewer parts than {match[1]}: count the names before =, or keep the tuple"
    if name in _PAIRS:
        return f"{name}() along a dimension returns two tensors, values and indices; without dim, one number"
    return ""
