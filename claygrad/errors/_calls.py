"""What was called with what: the operands, their names on the user's line, and how they are described."""
from __future__ import annotations

import ast
import difflib
import inspect
import re
from typing import TYPE_CHECKING, Any

from claygrad.core import Op, Tensor
from claygrad.core.dispatch.promotion import facts
from claygrad.errors._source import MISSING, Line, short, statement_at, value_of

if TYPE_CHECKING:
    from types import FrameType


class Call:
    """A call that failed: its kind, what was called, and the arguments, positional ones first."""

    def __init__(self, kind: str, called: Any, args: tuple[Any, ...]) -> None:
        self.kind, self.called, self.args = kind, called, tuple(args)

    @property
    def name(self) -> str:
        """As the user calls it; empty for what only claygrad calls."""
        if self.kind == "operation":
            name = self.called.name if isinstance(self.called, Op) else getattr(self.called, "__name__", "")
        elif self.kind == "method":
            name = self.called.rpartition(".")[2]
        elif self.kind == "module":
            name = type(self.called).__name__
        elif self.kind == "function":
            name = self.called.__qualname__.removesuffix(".__init__")
        else:
            name = str(self.called)
        return "" if name.startswith("_") and not name.endswith("__") else name

    @property
    def all_params(self) -> tuple[str, ...]:
        """With those of a function that go by keyword only."""
        code = getattr(self.called, "__code__", None)
        return self.params if code is None else code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]

    @property
    def params(self) -> tuple[str, ...]:
        if self.kind == "operation" and isinstance(self.called, Op):
            return tuple(self.called.params)
        if self.kind == "operation" and hasattr(self.called, "__wrapped__"):
            code = self.called.__wrapped__.__code__
            return code.co_varnames[:code.co_argcount]
        if self.kind == "function":
            return self.called.__code__.co_varnames[:self.called.__code__.co_argcount]
        if self.kind == "module":
            code = getattr(type(self.called).forward, "__code__", None)
            return () if code is None else code.co_varnames[1:code.co_argcount]
        return {"operator": ("a", "b"), "assignment": ("a", "b"), "indexing": ("input", "index", "value")}.get(
            self.kind, ())

    def value(self, name: str) -> Any:
        """The argument of that name; MISSING if it was not given in its place."""
        params = self.params
        return self.args[params.index(name)] if name in params and params.index(name) < len(self.args) else MISSING

    @property
    def tensors(self) -> list[Any]:
        return [x for _, x in self.operands()]

    def operands(self, given: list[Any] | None = None) -> list[tuple[str, Any]]:
        """Names and values of all tensors among the arguments, those in lists too."""
        found: list[tuple[str, Any]] = []
        params = self.params
        for i, value in enumerate(self.args):
            param = params[i] if i < len(params) else f"argument {i + 1}"
            if self.kind == "module" and i == 0 and not params:
                param = "input"
            name = (given[i] if given is not None and i < len(given) else None) or param
            if isinstance(value, Tensor):
                found.append((name if isinstance(name, str) else param, value))
            elif isinstance(value, (list, tuple)):
                each = name if isinstance(name, list) and len(name) == len(value) else [None] * len(value)
                base = name if isinstance(name, str) else param
                found += [(each[k] or f"{base}[{k}]", x) for k, x in enumerate(value) if isinstance(x, Tensor)]
        return found

    def names_on(self, line: Line, frame: FrameType) -> list[Any]:
        """What the user's line calls each argument: a text, a list of them for a list, or None."""
        node = line.expression
        parts: list[ast.AST] = []
        if self.kind == "operator":
            if isinstance(node, ast.BinOp):
                parts = [node.left, node.right]
            elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
                parts = [node.left, node.comparators[0]]
        elif self.kind == "assignment" and isinstance(node, ast.AugAssign):
            parts = [node.target, node.value]
        elif self.kind == "indexing" and isinstance(node, ast.Subscript):
            parts = [node.value, node.slice]
            given = statement_at(line.code, line.number)
            if isinstance(given, ast.Assign):
                parts.append(given.value)
        elif isinstance(node, ast.Call) and self.kind in ("operation", "module", "function"):
            parts = list(node.args)
            if self.kind == "function" and self.params[:1] == ("self",):
                parts = [node.func, *parts]
            elif (self.kind != "module" and isinstance(node.func, ast.Attribute)
                    and not _is_namespace(node.func.value, frame)):
                parts = [node.func.value, *parts]                # a method; Tensor.backward is autograd.backward
            if not any(isinstance(part, ast.Starred) for part in parts):
                parts += [word.value for word in node.keywords]
            if any(isinstance(part, ast.Starred) for part in parts):
                return []
            if self.kind == "operation":
                parts = parts[:len(self.args)]
            if any(_passes_on(part, value, frame) for part, value in zip(parts, self.args, strict=False)):
                return []
        return [_name(part) for part in parts]


_LAZY = ("map", "filter", "zip", "iter", "enumerate", "starmap", "itertools.starmap", "accumulate",
         "itertools.accumulate")


def _passes_on(part: ast.AST, came: Any, frame: FrameType) -> bool:
    """Whether the line calls what makes the call in turn: `list(map(torch.trace, x))`, `reduce(torch.matmul, x)`."""
    if isinstance(part, ast.GeneratorExp) or (isinstance(part, ast.Call) and short(part.func) in _LAZY):
        return True
    written = value_of(part, frame)
    if not isinstance(came, Tensor) or isinstance(written, Tensor) or written is MISSING:
        return False
    if isinstance(written, dict):
        return not any(x is came for x in written.values())
    return isinstance(written, (list, tuple)) or (callable(written) and not hasattr(written, "_modules"))


def _name(part: ast.AST) -> Any:
    if isinstance(part, (ast.List, ast.Tuple)):
        return [_name(each) for each in part.elts]
    return None if isinstance(part, ast.Constant) else short(part)


def _is_namespace(node: ast.AST, frame: FrameType) -> bool:
    """Whether `node.name(...)` calls a function of a module rather than a method."""
    value = value_of(node, frame)
    if value is not MISSING:
        return inspect.ismodule(value) or isinstance(value, type)
    return short(node) in ("torch.nn.functional", "nn.functional", "torch.linalg", "torch.fft", "torch.special")


def shape_of(x: Any) -> tuple[int, ...]:
    return facts(x)[0]


def shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def described(x: Any, besides: bool = False) -> str:
    """`(3, 4) float32`, and the device if it is not the CPU or `besides`."""
    shape, dtype, device = facts(x)[:3]
    return f"{shape_text(shape)} {dtype}" + (f" on {device}" if besides or device != "cpu" else "")


def signature_of(called: Any) -> str:
    """`sum(input, dim=None, keepdim=False, *, dtype=None)`, or nothing."""
    name, fn = getattr(called, "__name__", ""), called
    if isinstance(called, Op):
        said = called.info.get("declaration")
        fn, name = (said.fn if said is not None else None), called.name
    elif isinstance(called, type):
        fn = called.__init__                       # type: ignore[misc]
    elif name == "__init__":
        name = called.__qualname__.removesuffix(".__init__")
    try:
        params = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return ""
    if [p.kind for p in params] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        return ""                                    # it tells nothing
    shown = [p.replace(annotation=inspect.Parameter.empty) for p in params if p.name not in ("xp", "self")]
    return re.sub(r"=<[\w .]*?([\w.]+) at 0x[0-9a-f]+>", r"=\1", f"{name}{inspect.Signature(shown)}")


def parameters_in(signature: str) -> list[str]:
    """The names of the parameters in the text of a signature."""
    _, bracket, inside = signature.partition("(")
    return re.findall(r"(?<=[(, ])(\w+)(?==|,|\))", bracket + inside)


# Words that other libraries and older programs have for a parameter.
_SYNONYMS = {
    "axis": ("dim",), "axes": ("dims", "dim"), "axs": ("dim",), "keepdims": ("keepdim",), "learning_rate": ("lr",),
    "units": ("out_features",), "input_dim": ("in_features", "num_embeddings"), "rate": ("p",), "prob": ("p",),
    "output_dim": ("out_features", "embedding_dim"), "filters": ("out_channels",), "use_bias": ("bias",),
    "epsilon": ("eps",), "decay": ("weight_decay",), "workers": ("num_workers",), "batchsize": ("batch_size",),
}


def near_parameter(given: str, signature: str) -> list[str]:
    """The parameter that somebody meant who wrote another name: at most one."""
    names = parameters_in(signature)
    if given in names:
        return []
    meant = [name for name in _SYNONYMS.get(given.lower(), ()) if name in names]
    return meant[:1] or difflib.get_close_matches(given, names, 1, 0.5)
