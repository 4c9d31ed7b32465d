"""Ways out of calls with wrong arguments."""
from __future__ import annotations

import ast
import re
from typing import Any

import numpy

from claygrad.core import Tensor
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.core.graph.provenance import place_text
from claygrad.errors._calls import near_parameter, parameters_in, signature_of
from claygrad.errors._kinds import converted
from claygrad.errors._source import MISSING, Line, assignment_before, line_of_return, short, value_of
from claygrad.errors._ways import Context, hint, say


def _shown(context: Context) -> str:
    called: Any = context.call.called
    if context.call.kind not in ("operation", "function"):
        called = None if context.module is None else type(context.module)
    return "" if called is None else signature_of(called)


_KINDS = {
    "Generator": "torch.Generator().manual_seed({0})", "dtype": "torch.float32", "device": 'torch.device("cpu")',
    "Tensor": "torch.tensor({0})", "bool": "bool({0})", "int": "int({0})", "float": "float({0})",
}


@hint(r"received an invalid combination of arguments - got (\(.*?\w+=.*?\)), but")
def keyword_of_another_kind(match: re.Match[str], context: Context) -> str | None:
    """`randn(2, generator=42)`: the keyword whose value is of no kind that a form lists for it."""
    node = context.line.expression
    for word in node.keywords if isinstance(node, ast.Call) else ():
        came = re.search(rf"(?<!\w){word.arg}=([\w.]+)", match[1])
        wanted = re.findall(rf"([\w.]+(?: of \w+)?) {word.arg}\b", context.head.partition("one of:")[2])
        kinds = list(dict.fromkeys(kind.rpartition(".")[2] for kind in wanted))
        if came is None or not kinds or came[1].rpartition(".")[2] in (*kinds, "NoneType"):
            continue
        value = value_of(word.value, context.frame)
        shown = short(word.value) or "value"
        way = _KINDS.get(kinds[0], "").format(shown)
        named = f", {shown} = {value!r:.40}" if type(value) in (int, float, str, bool) and shown != repr(value) else ""
        told = f"{word.arg}= takes a {' or '.join(kinds)}, and {came[1]} came{named}"
        return f"{told}: {word.arg}={way}" if way else told
    return None


@hint(r"got an unexpected keyword argument '(\w+)'|"
      r"received an invalid combination of arguments - got (\(.*?\w+=.*?\)), but")
def keyword(match: re.Match[str], context: Context) -> str | None:
    shown = _shown(context)
    if not shown:
        return None
    known = parameters_in(shown)
    unknown = [name for name in ([match[1]] if match[1] else re.findall(r"(\w+)=", match[2])) if name not in known]
    near = near_parameter(unknown[0], shown) if unknown else []
    if near:
        return f"did you mean {near[0]}? It is {shown}"
    return (f"it has no {unknown[0]}=, leave it out: " if unknown and not match[1] else "") + f"it is {shown}"


@hint(r"argument '(\w+)'.* must be Tensor, not ndarray|argument '(\w+)'.* must be Tensor, not numpy")
def array_for_tensor(match: re.Match[str], _: Context) -> str | None:
    return "make a tensor of the array: torch.from_numpy(a), or torch.tensor(a)"


@hint(r"argument '(\w+)'.* must be Tensor, not tuple")
def tuple_for_tensor(match: re.Match[str], context: Context) -> str | None:
    node = context.line.expression
    held = value_of(node.func, context.frame) if isinstance(node, ast.Call) else None
    layers = list(held._modules.values()) if held is not None and type(held).__name__ == "Sequential" else []
    at = next((i for i, one in enumerate(layers) if one is context.module), 0)
    if at:
        name, kind = short(node.func) or "model", type(layers[at - 1]).__name__   # type: ignore[union-attr]
        return (f"{name}[{at - 1}], {kind}, returned a tuple, (output, hidden), which nn.Sequential passes on as it is"
                f": call {kind} outside of it, output, hidden = rnn(x), or put a module between that returns x[0]")
    given_tuple = next((x for x in context.call.args if type(x) is tuple), ())
    if given_tuple and all(isinstance(x, str) for x in given_tuple):
        at = next(i for i, x in enumerate(context.call.args) if x is given_tuple)
        return (f"{context.name(at, match[1])} is a tuple of text, {given_tuple!r:.40}: strings are no numbers, so let "
                f"the dataset give indices of classes, classes.index(label)")
    word = context.name(0, "the argument")
    made = assignment_before(word, context.line.code, context.line.number) if word.isidentifier() else None
    given = getattr(made, "value", None)
    if made is not None and isinstance(given, ast.Attribute) and given.attr == "saved_tensors":
        return (f"{word} is a tuple of all saved tensors, since {Line.at(context.line.code, made.lineno)}: "
                f"{word}, = {short(given)} takes the one out of it")
    return (f"{word} is a tuple: recurrent layers return (output, hidden), so write out, "
            "hidden = rnn(x), "
            "or take [0]")


@hint(r"(?:must be Tensor, not|but got|and|for .+:) '?\w+\.return_types\.(\w+)")
def results_for_tensor(match: re.Match[str], context: Context) -> str | None:
    """`x.max(dim=1)`, where its values are meant."""
    given = next((x for x in context.call.args if type(x).__name__ == match[1]), None)
    held = given if isinstance(given, tuple) else ()
    fields = [next((name for name in dir(given) if not name.startswith("_") and getattr(given, name) is x), "")
              for x in held]
    which = next((i for i, x in enumerate(context.call.args) if x is given), 0)
    name = context.name(which, "result") if context.layer is None else "result"
    node = context.line.expression
    model = value_of(node.func, context.frame) if isinstance(node, ast.Call) else None
    layers = list(model._modules.values()) if model is not None and type(model).__name__ == "Sequential" else []
    at = next((i for i, one in enumerate(layers) if one is context.module), 0)
    where = (f": {short(node.func) or 'model'}[{at - 1}], {type(layers[at - 1]).__name__}, returned it"  # type: ignore[union-attr]
             if at else "")
    first = fields[0] if fields else "values"
    return (f"{match[1]}() returns {len(held) or 'several'} tensors, "
            f"{' and '.join(fields) or 'values and indices'}{where}; take {name}.{first}, or {name}[0]")


say(r"argument '(\w+)'.* must be Tensor, not list", "make one tensor of the list: torch.stack(list) of tensors, "
                                                    "torch.tensor(list) of "
    "numbers")
say(r"argument '(\w+)'.* must be Tensor, not (int|float|bool)", "make a tensor of the number: torch.tensor(x)")
@hint(r"argument '(\w+)'.* must be Tensor, not NoneType")
def none_for_tensor(match: re.Match[str], context: Context) -> str | None:
    from claygrad.errors._python import Site, none_hint
    node: Any = context.line.expression
    for part in (*getattr(node, "args", ()), *(word.value for word in getattr(node, "keywords", ()))):
        site = Site(context.frame, context.line.lasti)
        if site.look(part) is None and isinstance(part, ast.Name):
            return none_hint(part, site)
    return "it is None: a function before returns nothing, or an attribute was never set"


@hint(r"argument '(\w+)'.* must be Tensor, not (\S+)")
def other_for_tensor(match: re.Match[str], context: Context) -> str | None:
    """Of all other kinds: text, a class, a generator, an object."""
    given = context.call.value(match[1])
    if given is MISSING or isinstance(given, Tensor):
        given = next((x for x in context.call.args if type_name(x) == match[2]), MISSING)
    if given is MISSING:
        return None
    at = next((i for i, x in enumerate(context.call.args) if x is given), len(context.names))
    written = context.names[at] if at < len(context.names) else None
    if context.layer is not None and any(x is given for x in context.layer.args):
        node = context.line.expression
        part = next((one for one in getattr(node, "args", ()) if value_of(one, context.frame) is given), None)
        written = short(part) if part is not None else None
    return converted(written if isinstance(written, str) else match[1], given, "Tensor")


@hint(r"only integer scalar arrays can be converted to a scalar index|only (?:length-1|0-dimensional) arrays can be")
def array_for_a_number(_: re.Match[str], context: Context) -> str | None:
    at = next((i for i, x in enumerate(context.call.args) if isinstance(x, numpy.ndarray)), None)
    if at is None:
        return None
    param = context.call.params[at] if at < len(context.call.params) else "the size"
    written = context.names[at] if at < len(context.names) else None
    name = written if isinstance(written, str) else "a"
    return (f"{param} came as a NumPy array of shape {context.call.args[at].shape}: it is an int or a tuple of ints, "
            f"int({name}) or tuple({name}.tolist()); torch.from_numpy({name}) where a tensor is wanted")


say(r"can't allocate memory|not enough memory", "the sizes ask for more memory than there is: look whether two "
    "arguments changed places, or take smaller sizes or a smaller batch")
say(r"Negative strides are not supported", "strides are 0 or more: x.flip(0) turns a dimension round")
@hint(r"__init__\(\) got multiple values for argument '(\w+)'")
def data_among_settings(match: re.Match[str], context: Context) -> str | None:
    """`nn.Softmax(x, dim=1)`."""
    node = context.line.expression
    kind = context.owner_class()
    if not isinstance(node, ast.Call) or not hasattr(kind, "register_forward_hook") or not node.args:
        return None
    func, words = short(node.func) or kind.__name__, ", ".join(f"{one.arg}={short(one.value)}" for one in node.keywords)
    return (f"the brackets after {func} take settings, the data comes in a second call: "
            f"{func}({words})({short(node.args[0]) or 'x'})")


@hint(r"'float' object cannot be interpreted as an integer")
def length_of_a_dataset(_: re.Match[str], context: Context) -> str | None:
    dataset = next((x for x in context.call.args if hasattr(type(x), "__getitem__") and hasattr(type(x), "__len__")
                    and not isinstance(x, (list, tuple, dict, str))), None)
    where = "" if dataset is None else line_of_return(type(dataset), "__len__")
    name = type(dataset).__name__
    return f"__len__ of {name} gives a float, at {where}: // gives an int, or int(...)" if where else None


@hint(r"randint\(\): argument 'size' \(position \d\) must be tuple of ints, not int")
def shape_of_randint(_: re.Match[str], context: Context) -> str:
    bounds = ", ".join(str(x) for x in context.call.args if isinstance(x, int))
    return f"the shape comes after the bounds, as a tuple: torch.randint({bounds}, (n,)), with n the number of elements"


say(r"expected BoolTensor for mask", "give it a mask: mask.bool(), or a comparison such as x > 0")
say(r"requires specifying either an? (.+?), or an? (.+)", "pass one of the two by its name: {1}, or {2}")
say(r"'Tensor' object has no attribute '(?:named_)?(?:parameters|buffers|modules|state_dict|children|training)'",
    "a model is wanted there, an nn.Module, and a tensor came")
say(r"object\.__init__\(\) takes exactly one argument", "it takes no arguments: leave them out")
say(r"inhomogeneous total_count", "total_count is one int for the whole batch")
say(r"argument '(\w+)'.* must be tuple of Tensors", "give it a list of tensors: torch.cat([a, b])")


@hint(r"argument 'dtype'.* must be \S+dtype, not (str|type|\w+)")
def names_of_dtypes(match: re.Match[str], context: Context) -> str | None:
    if match[1] == "int":
        return None
    return ("dtypes are objects of torch: torch.float32, torch.int64, torch.bool (torch.from_numpy(a).dtype for those "
            "of NumPy)")


@hint(r"^to\(\) received an invalid combination of arguments - got \((type|str|numpy\S*|.*dtype\S*)\)")
def numpys_dtype(match: re.Match[str], _: Context) -> str | None:
    return "to() takes a dtype of torch, torch.float32, a device, or another tensor: np.float32 is a class of NumPy's"


@hint(r"(reshape|view|expand|permute|repeat|zeros|ones|empty|randn|rand)\(\) takes 1 positional argument but \d+ "
    r"were given")
def sizes_of_floats(match: re.Match[str], context: Context) -> str | None:
    wrong = [x for x in context.call.args[1:] if isinstance(x, float)]
    of = f", and {wrong[0]} is none" if wrong else ""
    return f"sizes are int{of}: int(n), or // instead of /, makes one"


@hint(r"view\(\): argument 'dtype' .* must be \S+dtype, not int")
def sizes_of_view(_: re.Match[str], context: Context) -> str | None:
    return "sizes are int: int(n), or // instead of /, makes one"


@hint(r"argument '(\w+)'.* must be (tuple of ints|int|float|bool|Number|str|\S+dtype),? (?:not|but)")
def other_kind(match: re.Match[str], context: Context) -> str | None:
    shown = _shown(context)
    extra = "; int(n), or // instead of /, makes an int" if "int" in match[2] else ""
    return f"{match[1]} must be {match[2]}{extra}" + (f". It is {shown}" if shown else "")


@hint(r"^([\w.<>]+)\(\) (?:missing (\d+) required positional|takes .*positional)")
def function_that_was_given(match: re.Match[str], context: Context) -> str | None:
    """`jacobian(f, x)`, `vmap(f)(x)`: the function of the user's that claygrad called wants other arguments."""
    name = match[1].rpartition(".")[2]
    held = next((x for x in context.call.args if getattr(x, "__name__", "") == name and hasattr(x, "__code__")), None)
    if held is None or held.__code__ is getattr(context.call.called, "__code__", None):
        return None
    code = held.__code__
    names = ", ".join(code.co_varnames[:code.co_argcount])
    made = f"at {place_text(code.co_filename, code.co_firstlineno)}, takes ({names})"
    if "inputs" in context.call.params:
        given = next((one.name for one in context.seen), "x")
        return (f"the function {made}, and is called with what inputs holds: a tuple of {code.co_argcount}, "
                f"({given}, ...), for {code.co_argcount} arguments; or functools.partial fixes the others")
    return f"the function {made}: it is called with the tensors that follow it, give one for each"


@hint(r"received an invalid combination of arguments|positional arguments?|missing .* argument|multiple values for "
      r"argument")
def arguments(match: re.Match[str], context: Context) -> str | None:
    shown = _shown(context)
    missing = re.search(r"missing \d+ required (?:keyword-only |positional )?arguments?: (.+)", match.string)
    if missing is not None and shown:
        names = re.findall(r"['\"](\w+)['\"]", missing[1])
        return f"give it {' and '.join(f'{name}=...' for name in names)}: it is {shown}"
    forms = _forms(match.string, context.call.name)
    expected = re.search(r"arguments: expected \((.*)\)$", match.string.partition("\n")[0])
    if expected and not shown:
        return f"it is {context.call.name}({expected[1]})"
    if forms and (not shown or "*args" in shown or "invalid combination" in match.string):
        return f"it is {' or '.join(forms)}"
    return f"it is {shown}" if shown else None


def _forms(text: str, name: str) -> list[str]:
    """`randint(high, size)` and `randint(low, high, size)`, from the lines of a text that lists them."""
    found = []
    for line in re.findall(r"^ ?\* \((.*)\)$", text, re.MULTILINE):
        before = line.partition(", *,")[0].removeprefix("*, ")
        names = [part.partition(" = ")[0].split(" ")[-1] for part in before.split(", ") if part and "*" not in part]
        found.append(f"{name}({', '.join(names)})")
    return list(dict.fromkeys(found))[:3] if name else []


@hint(r"expected Tensor as element (\d+) in argument \d+, but got (?:\w+\.)*(\w+)")
def element(match: re.Match[str], context: Context) -> str | None:
    if context.call.name in ("__next__", "default_collate", "collate") or "DataLoader" in type(
            context.call.args[0] if context.call.args else None).__name__:
        return (f"sample {match[1]} of the batch is {match[2]}, the others are tensors: return a tensor from "
                "__getitem__ for every index, or leave such samples out in a collate_fn")
    made = {"ndarray": "torch.from_numpy(a)", "list": "torch.tensor(values)", "float": "torch.tensor(x)",
            "int": "torch.tensor(x)"}.get(match[2])
    return f"element {match[1]} is {match[2]}: make a tensor of it{f', {made}' if made else ''}, or leave it out"

say(r"'(\w+)' object is not callable", "it is a value, not a function: look at the brackets")
