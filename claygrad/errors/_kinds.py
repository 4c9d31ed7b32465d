"""Arguments of another kind than the signature says: which they are, and what to write instead."""

from __future__ import annotations

import inspect
import re
import types
from typing import TYPE_CHECKING, Any

import numpy

from claygrad.core import Op, Tensor, device, dtype
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.errors._calls import signature_of

if TYPE_CHECKING:
    from claygrad.errors._ways import Context

_NUMBERS = (int, float, numpy.integer, numpy.floating)
# What annotations say, and the kinds that fit. A word that is not here may mean anything.
_FITS: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,), "Parameter": (Tensor,), "int": (int, numpy.integer, Tensor), "bool": (bool, int, Tensor),
    "float": (*_NUMBERS, Tensor), "complex": (*_NUMBERS, complex, Tensor), "Number": (*_NUMBERS, complex, Tensor),
    "str": (str,), "dtype": (dtype, type), "device": (device, str, int), "None": (type(None),), "bytes": (bytes,),
    "list": (list, tuple), "tuple": (tuple, list), "Sequence": (list, tuple, str), "Size": (tuple, list),
    "dict": (dict,), "Mapping": (dict,),
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")


def wanted_by(called: Any) -> dict[str, str]:
    """The annotations of what was called, by the names of its parameters."""
    fn = called
    if isinstance(called, Op):
        said = called.info.get("declaration")
        fn = said.fn if said is not None else None
    try:
        params = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {
        p.name: p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
        for p in params
        if p.annotation is not inspect.Parameter.empty and p.kind is not inspect.Parameter.VAR_POSITIONAL
    }


def _misfits(value: Any, annotation: str) -> bool:
    """Whether a value is surely not what an annotation says."""
    outside = re.sub(r"\[[^\[\]]*\]", "", re.sub(r"\[[^\[\]]*\]", "", annotation))       # tuple[int, ...] | int
    words = _WORD.findall(outside)
    if not words or any(word not in _FITS for word in words):
        return False
    return not isinstance(value, tuple(kind for word in words for kind in _FITS[word]))


def converted(name: str, value: Any, want: str) -> str:
    """What to write instead of a value of another kind than is wanted: `int(n)`, `torch.tensor(values)`."""
    if value is None:
        return f"{name} is None: look at the line that should have given it a value"
    if want in ("int", "float", "Number", "number"):
        if isinstance(value, str):
            return f"int({name}) or float({name}) makes a number of text" if value.strip("-.").isdigit() else (
                f"{name} is text, {value!r:.30}: is it an argument of another name?")
        if isinstance(value, Tensor):
            return f"{name}.item() is a number, where the tensor has one element"
        if isinstance(value, float) and want == "int":
            return f"int({name}), or // instead of /, makes an int"
        return f"give it a number, not a {type_name(value)}"
    if want == "str":
        return f"give it one of the words that it knows, in quotes, not a {type_name(value)}"
    if want == "Tensor":
        return _tensor_of(name, value)
    if want == "dtype":
        return "dtypes are objects of torch: torch.float32, torch.int64"
    if want in ("list", "tuple", "Sequence"):
        return f"put it into a list: [{name}]" if not isinstance(value, types.GeneratorType) else f"list({name})"
    return f"give it a {want}"


def _tensor_of(name: str, value: Any) -> str:
    kind = type_name(value)
    if isinstance(value, str):
        return (f"{name} is text: strings are no numbers, map them to indices first; or is it an argument of another "
                "name?")
    if isinstance(value, (*_NUMBERS, bool, complex, range)):
        return f"make a tensor of it: torch.tensor({name})"
    if isinstance(value, numpy.ndarray):
        return f"make a tensor of the array: torch.from_numpy({name})"
    if isinstance(value, type):
        held = hasattr(value, "register_forward_hook")
        return f"{name} is a class: make one of it and call that, {name}(...)(x)" if held else (
            f"{name} is a class: give it a tensor that has values")
    if hasattr(value, "_modules"):
        return f"{name} is a module, not its result: call it with the data, {name}(x)"
    if isinstance(value, types.GeneratorType):
        return f"{name} is a generator: torch.stack(list({name})) makes one tensor of what it gives"
    if isinstance(value, (dtype, device)):
        return f"{name} is a {kind}, which x.to({name}) takes: give it a tensor here"
    if hasattr(value, "log_prob") and hasattr(value, "sample"):
        return f"{name} is a distribution: {name}.sample() and {name}.mean are tensors"
    if isinstance(value, dict):
        return f"{name} is a dict: take what is meant, {name}[key]"
    fields = getattr(value, "_fields", None) or getattr(value, "__dict__", {})
    held = next((key for key in fields if isinstance(getattr(value, key, None), Tensor)), None)
    if held is not None:
        return f"{name} is a {kind}: take the tensor in it, {name}.{held}"
    if isinstance(value, (list, tuple)):
        return f"make one tensor of it: torch.stack({name}) of tensors, torch.tensor({name}) of numbers"
    if callable(value):
        return f"{name} is a function: call it, {name}(...)"
    return f"{name} is a {kind}: give it a tensor that it holds"


def mistyped(context: Context) -> str:
    """Of a call that failed for some other reason on the way: the first argument that its signature rules out."""
    call = context.call
    wanted = wanted_by(call.called) if call.kind in ("operation", "function") else {}
    params = [name for name in call.params if name != "xp"]
    for i, (name, value) in enumerate(zip(params, call.args, strict=False)):
        if name == "self" or not _misfits(value, wanted.get(name, "")):
            continue
        want = _WORD.findall(wanted[name])[0]
        written = context.names[i] if i < len(context.names) and context.layer is None else None
        shown = signature_of(call.called)
        return (f"{name} must be {wanted[name]}, and a {type_name(value)} came: "
                f"{converted(written if isinstance(written, str) else name, value, want)}"
                + (f". It is {shown}" if shown and "*args" not in shown else ""))
    return ""


_USED = re.compile(r"'(?:[\w.]+\.)?(\w+)' object (?:has no attribute|is not (?:iterable|subscriptable|callable)|"
                   r"cannot be)|object of type '(?:[\w.]+\.)?(\w+)' has no len|type object '(\w+)' has no attribute")


def misused(context: Context) -> str:
    """Of text such as "'tuple' object has no attribute 'dim'": the argument that is one, if there is no other."""
    found = _USED.search(context.head)
    call = context.call
    if found is None or call.kind not in ("operation", "function"):
        return ""
    kind = found[1] or found[2] or found[3]
    at = [i for i, value in enumerate(call.args) if not isinstance(value, Tensor)
          and kind in (type(value).__name__, getattr(value, "__name__", None)) and call.params[i:i + 1] != ("self",)]
    if len(at) != 1:
        return ""
    wanted = wanted_by(call.called).get(call.params[at[0]], "") if at[0] < len(call.params) else ""
    want = next((word for word in _WORD.findall(wanted) if word in _FITS), "Tensor")
    written = context.names[at[0]] if at[0] < len(context.names) and context.layer is None else None
    name = written if isinstance(written, str) else call.params[at[0]] if at[0] < len(call.params) else "it"
    return converted(name, call.args[at[0]], want)
