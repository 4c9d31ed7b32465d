"""Arguments of another kind than the signature says: which they are, and what to write instead."""

from __future__ import annotations

import ast
import inspect
import re
import types
from typing import TYPE_CHECKING, Any

import numpy

from claygrad.core import Op, Tensor, device, dtype
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.core.graph.provenance import place_text
from claygrad.errors._calls import signature_of
from claygrad.errors._frames import is_ours
from claygrad.errors._source import MISSING, returns_of, value_of

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
        return f"{name} is a {type_name(value)}: give it a number"
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
    if isinstance(value, types.GeneratorType) and name in ("input", "tensors"):
        return "a generator came: torch.stack(list(...)) makes one tensor of what it gives, and Python's sum adds it up"
    if isinstance(value, types.GeneratorType):
        return f"{name} is a generator: torch.stack(list({name})) makes one tensor of what it gives"
    if isinstance(value, (dtype, device)):
        return f"{name} is a {kind}, which x.to({name}) takes: give it a tensor here"
    if hasattr(value, "log_prob") and hasattr(value, "sample"):
        return f"{name} is a distribution: {name}.sample() and {name}.mean are tensors"
    if isinstance(value, dict):
        return f"{name} is a dict: take what is meant, {name}[key]"
    if kind == "PackedSequence":
        return (f"{name} is a PackedSequence: nn.utils.rnn.pad_packed_sequence({name}, batch_first=True)[0] makes one "
                f"padded tensor of it, and {name}.data has the steps of all sequences")
    fields = getattr(value, "_fields", None) or getattr(value, "__dict__", {})
    field = next((key for key in fields if isinstance(getattr(value, key, None), Tensor)), None)
    if field is not None:
        return f"{name} is a {kind}: take the tensor in it, {name}.{field}"
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


_USED = re.compile(
    r"'(?:[\w.]+\.)?(\w+)' object (?:has no attribute|is not (?:iterable|subscriptable|callable)|cannot be)|"
    r"not supported between instances of '(\w+)' and '(?:int|float)'|object of type '(?:[\w.]+\.)?(\w+)' has no len|"
    r"type object '(\w+)' has no attribute"
)


def misused(context: Context) -> str:
    """Of text such as "'tuple' object has no attribute 'dim'": the argument that is one, if there is no other."""
    found = _USED.search(context.head)
    call = context.call
    if found is None or call.kind not in ("operation", "function"):
        return ""
    kind = next(group for group in found.groups() if group is not None)
    at = [i for i, value in enumerate(call.args) if not isinstance(value, Tensor)
          and kind in (type(value).__name__, getattr(value, "__name__", None)) and call.params[i:i + 1] != ("self",)]
    if len(at) != 1:
        return ""
    wanted = wanted_by(call.called).get(call.params[at[0]], "") if at[0] < len(call.params) else ""
    want = next((word for word in _WORD.findall(wanted) if word in _FITS), "int" if found[2] else "Tensor")
    written = context.names[at[0]] if at[0] < len(context.names) and context.layer is None else None
    name = written if isinstance(written, str) else call.params[at[0]] if at[0] < len(call.params) else "it"
    return converted(name, call.args[at[0]], want)


def _given(context: Context) -> dict[str, Any]:
    """The arguments of a call of a function, also those by keyword that the line shows."""
    call, node = context.call, context.line.expression
    given = {name: value for name, value in zip(call.params, call.args, strict=False) if name not in ("self", "xp")}
    if isinstance(node, ast.Call) and call.kind == "function":
        words = {one.arg: value_of(one.value, context.frame) for one in node.keywords if one.arg in call.all_params}
        given |= {str(name): value for name, value in words.items() if value is not MISSING}
    return given


def unlike_default(context: Context) -> str:
    """`betas=0.9`, where a pair is the default: text about a number that cannot be taken apart or compared."""
    call = context.call
    kinds = re.findall(r"'(?:[\w.]+\.)?(\w+)'", context.head)
    if call.kind != "function" or not kinds:
        return ""
    defaults = {name: p.default for name, p in inspect.signature(call.called).parameters.items()
                if p.default is not inspect.Parameter.empty and p.default is not None}
    for name, value in _given(context).items():
        usual = defaults.get(name)
        if type(value).__name__ not in kinds or usual is None or isinstance(value, (type(usual), Tensor)):
            continue
        if isinstance(usual, tuple):
            return f"{name} is a tuple of {len(usual)}, {usual} if it is left out, and {value!r:.40} came"
        if isinstance(usual, (int, float)) and not isinstance(value, (*_NUMBERS, type)):
            word = "int" if type(usual) is int else "float"
            text = isinstance(value, str) and re.fullmatch(r"[-+.\d]+(e[-+]?\d+)?", value)
            return f"{name} is a number, {usual!r} if it is left out, and {value!r:.40} came" + (
                f": a number came as a string, {word}(value) makes one of it" if text else "")
    return ""


def returns_nothing(context: Context) -> str:
    """Of an error about None: the function that the program gave, if it has no return."""
    if "NoneType" not in context.head:
        return ""
    for value in context.call.args:
        code = getattr(value, "__code__", None)
        if isinstance(value, types.FunctionType) and code is not None and not is_ours(code) and not returns_of(code):
            where = place_text(code.co_filename, code.co_firstlineno)
            return f"{code.co_name}, at {where}, has no return, so it gives None: end it with return and a value"
    return ""
