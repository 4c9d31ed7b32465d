"""Attributes that tensors, layers, optimizers and modules of claygrad do not have: the nearest name, or the way out.

Python itself raises these errors, without asking claygrad: a hook in the look-up would make every call of a method
slower. So they are explained when they pass a door (a call of a model, for one), and in IPython and Jupyter when they
are shown. Python's own report of an uncaught error asks `dir()` for the nearest name, and needs no help.
"""
from __future__ import annotations

import difflib
import sys
import types
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.errors._frames import is_ours
from claygrad.errors._source import Line

if TYPE_CHECKING:
    from types import TracebackType

# What tensors are asked for that other libraries' arrays have, or that beginners expect.
_OTHERS = {
    "astype": "x.to(dtype)", "float32": "x.float()", "float64": "x.double()", "int32": "x.int()", "int64": "x.long()",
    "array": "x.numpy()", "as_numpy": "x.numpy()", "to_numpy": "x.numpy()", "asnumpy": "x.numpy()", "copy": "x.clone()",
    "concatenate": "torch.cat([x, y])", "concat": "torch.cat([x, y])", "append": "torch.cat([x, y])",
    "extend": "torch.cat([x, y])", "stack": "torch.stack([x, y])", "get_shape": "x.shape", "len": "len(x)",
    "length": "len(x)", "cross_entropy": "torch.nn.functional.cross_entropy(x, target)",
    "rank": "x.ndim", "dims": "x.ndim", "gradient": "x.grad", "value": "x.item()", "forward": "a call of the model",
    "parameters": "model.parameters()", "step": "optimizer.step()", "zero_grad": "optimizer.zero_grad()",
    "T_": "x.t_()", "cast": "x.to(dtype)", "fill": "x.fill_(value)", "keys": "x, which is a tensor, not a dict",
    "logits": "x itself, which is a tensor", "items": "x.tolist()",
}


def _is_claygrads(owner: Any) -> bool:
    """Whether an object is claygrad's own, or of a class that is made from one of claygrad's."""
    ours = sys.modules["claygrad"]
    named = [owner.__name__] if isinstance(owner, types.ModuleType) else [
        str(getattr(kind, "__module__", "")) for kind in type(owner).__mro__]
    return any(sys.modules.get(name.partition(".")[0]) is ours for name in named)


def way_out(error: AttributeError) -> str:
    """What to write instead; nothing where the object is not claygrad's or no name is near."""
    owner, name = error.obj, error.name
    if isinstance(name, str) and hasattr(Tensor, name) and not name.startswith("_"):
        if owner is None and _asked_for_grad(error):
            return "the gradient is None: call backward() before, on a loss that was computed from this tensor"
        if type(owner) in (int, float):
            return ("it is a number, without a graph: compute it from tensors, without item() and tolist(), to call "
                    f"{name}()")
    if owner is None or not isinstance(name, str) or name.startswith("__") or not _is_claygrads(owner):
        return ""
    try:
        names = [one for one in dir(owner) if not one.startswith("_")]
    except Exception:
        return ""
    if isinstance(owner, Tensor) and name in _OTHERS:
        return f"tensors have no {name}: use {_OTHERS[name]}"
    near = difflib.get_close_matches(name, names, 2, 0.7)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if isinstance(owner, Tensor) and name in dir(sys.modules["claygrad"].nn.functional):
        return f"it is a function: torch.nn.functional.{name}(x)"
    return ""


def _asked_for_grad(error: BaseException) -> bool:
    """Whether the line asks `x.grad` for something."""
    line = place(error)
    node = None if line is None else line.expression
    node = getattr(node, "func", node)
    return getattr(getattr(node, "value", None), "attr", "") == "grad"


def place(error: BaseException) -> Line | None:
    """The line that asked for the attribute, if it is none of claygrad's."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or is_ours(trace.tb_frame.f_code):
        return None
    return Line(trace.tb_frame.f_code, trace.tb_lasti)


def explain(error: BaseException) -> None:
    """Write the way out into the exception."""
    if not isinstance(error, AttributeError) or len(error.args) != 1 or "\n" in str(error.args[0]):
        return
    told = way_out(error)
    line = place(error) if told else None
    if line is not None:
        error.args = (f"{error.args[0]}\n  at {line.text}\n  {told}",)


def _show(shell: Any, kind: Any, error: Any, trace: Any, tb_offset: int | None = None) -> None:
    """Show an exception as IPython does, with the way out."""
    explain(error)
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def listen() -> None:
    """Explain attribute errors in IPython and Jupyter, unless somebody handles exceptions there already."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((AttributeError,), _show)
