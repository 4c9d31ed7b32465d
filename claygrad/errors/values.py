"""Ways out of errors about dtypes, devices, indices and single numbers."""
from __future__ import annotations

import ast
import re
from typing import Any

import numpy

from claygrad.core import Tensor
from claygrad.core.dispatch.promotion import facts
from claygrad.errors._calls import described, shape_of, shape_text
from claygrad.errors._python import Site, operands_hint
from claygrad.errors._source import short, value_of
from claygrad.errors._ways import Context, hint, say

_CASTS = {"Float": "float", "Double": "double", "Half": "half", "BFloat16": "bfloat16", "Long": "long", "Int": "int",
          "float": "float", "double": "double", "c10::Half": "half", "c10::BFloat16": "bfloat16", "long": "long",
          "long int": "long", "int": "int"}


@hint(r"expected m1 and m2 to have the same dtype, but got: (.+) != (.+)|mat1 and mat2 must have the same dtype, "
      r"but got (\S+) and (\S+)"
      r"|expected scalar type (\w+) but found (\w+)|Input type \((?:torch\.|claygrad\.)?([\w: ]+?)(?:Tensor)?\) and "
      r"(?:weight|bias) type "
      r"\((?:torch\.|claygrad\.)?([\w: ]+?)(?:Tensor)?\) should be the same|expected both vectors to have same dtype, "
      r"but found (\w+) and (\w+)")
def two_dtypes(match: re.Match[str], context: Context) -> str | None:
    first, second = [group for group in match.groups() if group is not None][:2]
    module = context.module
    buffers = [] if module is None else list(module.named_buffers(recurse=False))
    if buffers and not list(module.parameters(recurse=False)) and second in _CASTS:
        name, held = next(((name, x) for name, x in buffers if not x.is_floating_point()), buffers[0])
        return (f"{name} of the {type(module).__name__} is {held.dtype}, and must have the dtype of the input: make it "
                f"with {type(module).__name__}({name}={name}.{_CASTS[first]}())")
    if module is not None:
        dtypes = {str(p.dtype).rpartition(".")[2] for p in module.parameters(recurse=False)}
        want = dtypes.pop() if len(dtypes) == 1 else "float32"
        if "Complex" in first + second and not want.startswith("complex"):
            return (f"the parameters are {want} and real: give it the real parts, x.abs(), x.real or "
                    "torch.view_as_real(x).flatten(-2), or make the layer complex, .to(torch.complex64)")
        cast = {"float32": "float", "float64": "double", "float16": "half"}.get(want, want)
        return f"the parameters are {want}: cast the input with .{cast}(), or the layer with .to(input.dtype)"
    a, b = _CASTS.get(first, first), _CASTS.get(second, second)
    return f"make them one dtype: .{a}() on the second, or .{b}() on the first (x.to(y.dtype) in general)"


@hint(r"[Ee]xpected all tensors to be on the same device|is not on the expected device")
def two_devices(_: re.Match[str], context: Context) -> str | None:
    optimizer = context.owner()
    if hasattr(optimizer, "param_groups") and hasattr(optimizer, "state"):
        found = _state_apart(optimizer)
        if found:
            context.lines += [f"{name}: {described(x, True)}{context.made(x)}" for name, x in found]
            return ("the optimizer's state is where the model was before: make the optimizer after model.to(device), "
                    "or move its state by optimizer.load_state_dict(optimizer.state_dict())")
    held = [] if context.module is None else [*context.module.parameters(False), *context.module.buffers(False)]
    if context.module is not None and any(facts(x)[2] == "meta" for x in [*held, *(x for _, x in context.operands())]):
        return ('a tensor on the meta device has a shape but no values: make the model outside of '
                'torch.device("meta"), or give it memory with model.to_empty(device="cpu") and then its values, '
                'load_state_dict(...)')
    return "move one of them: x.to(y.device); a model with model.to(device), and every batch as well"


def _state_apart(optimizer: Any) -> list[tuple[str, Any]]:
    """The first parameter whose gradient or state is on another device, and that."""
    for number, group in enumerate(optimizer.param_groups):
        for index, param in enumerate(group["params"]):
            held = optimizer.state.get(param, {})
            for name, x in [("gradient", param.grad), *(held.items() if isinstance(held, dict) else ())]:
                if isinstance(x, Tensor) and x.device != param.device and (x.dim() or name == "gradient"):
                    what = "its gradient" if name == "gradient" else f"{name!r} of its state"
                    return [(f"parameter {index} of group {number}", param), (what, x)]
    return []


say(r"Cannot copy out of meta tensor|convert meta device|on the meta device", "a tensor on the meta device has a "
    "shape but no values: make it on the cpu, or use "
    "to_empty(device=...) for a module")
say(r"not compiled with CUDA|CUDA|cuda|No CUDA|[Aa]ccelerator", 'there is no such device here: choose device = '
    '"cuda" if '
    'torch.cuda.is_available() else "cpu", and pass map_location="cpu" to torch.load')
say(r"Expected one of cpu, cuda.* device type at start of device string: (\w+)", 'devices are named "cpu", "cuda", '
    '"meta" ...: there is '
    "no {1}")
say(r"mean\(\): could not infer output dtype|mean\(\): .*dtype", "the mean of integers is no integer: "
    "x.float().mean(), or "
    "mean(dtype=torch.float32)")
@hint(r"result type (\w+) can't be cast to the desired output type (Long|Int|Bool|Byte|Char|Short)")
def target_of_floats(_: re.Match[str], context: Context) -> str | None:
    names = context.call.params
    if "target" not in names:
        return None
    target = context.name(names.index("target"), "target")
    return f"the target holds integers, and this loss compares floats: cast it with {target}.float()"


say(r"result type (\w+) can't be cast to the desired output type (\w+)", "a change in place keeps the dtype: write "
    "x = x / y instead "
    "of x /= y, or make x floating first")
say(r"\"?(bincount|histc|one_hot|gcd|lcm|bitwise_\w+|lshift|rshift|shift|and|or|xor)\w*\"? not implemented for "
    r"'(Float|Double|Half|BFloat16)'",
    "it counts or indexes, with integers: cast the input with .long()")
say(r"\"?(\w+)\"? not implemented for '(Long|Int|Short|Byte|Char|Bool)'", "it takes floating numbers: call .float() "
    "first")
say(r"\"?(\w+)\"? not implemented for '(Half|BFloat16)'", "it takes float32: call .float() first")
say(r"not implemented for '(?!Complex)(\w+)'", "cast the input to a dtype that it takes, such as .float()")
say(r"[Ee]xpected a (floating|complex).*|should be .*floating|must be .*floating|only (supports|for) floating",
    "cast the input with .float()")
say(r"Subtraction, the `-` operator, with (a|two) bool|Negation, the `-` operator, on a bool", "use ~ or "
    "logical_not() for masks, ^ for "
    "differences, or .int() to count")
say(r"Integer division|floor_divide|ZeroDivisionError", "divide by what is not 0, or make it floating")
@hint(r"value cannot be converted to type c10::(?:Half|BFloat16) without overflow")
def too_large_for_half(_: re.Match[str], context: Context) -> str | None:
    name = next((one.name for one in context.seen if one.tensor.dtype.is_floating_point), "x")
    return (f"the number does not fit into the dtype: torch.finfo({name}.dtype).min is its smallest, "
            f"float(\"-inf\") fits too, and {name}.float() has room for it")


say(r"value cannot be converted to type|out of bounds for (?!dimension)|without overflow|Overflow when unpacking",
    "the number does not fit into the dtype: take a larger one")


@hint(r"selected (?:index|number) k out of range")
def too_large_k(_: re.Match[str], context: Context) -> str | None:
    tensor, k, dim = context.tensor(), context.argument("k"), context.argument("dim")
    if tensor is None or not isinstance(k, int):
        return None
    shape = shape_of(tensor)
    at = dim if isinstance(dim, int) else -1
    size = shape[at] if shape else 1
    return f"dimension {at} has {size} elements, and k is {k}: take k={size} at most, min(k, x.size({at}))"


@hint(r"index (-?\d+) is out of bounds for dimension \d+ with size (\d+)|index out of range|out of bounds: |"
      r"out of range: tried to access index|selected index k out of range|index (-?\d+) out of (range|bounds)")
def other_index(match: re.Match[str], context: Context) -> str | None:
    tensor: Any = context.tensor()
    sizes = "" if tensor is None else f" The tensor is {shape_text(shape_of(tensor))}."
    return f"an index must be at least 0 and less than the size of its dimension.{sizes}"


@hint(r"new\(\): invalid data type 'str'|too many indices for tensor of dimension (\d+)")
def text_as_index(_: re.Match[str], context: Context) -> str | None:
    key = context.call.args[1] if context.call.kind == "indexing" and len(context.call.args) > 1 else None
    if not isinstance(key, str):
        return None
    return (f"{context.name(0, 'it')} is a tensor, not a dict: index it with an int, a slice or a mask; a batch that "
        f"is a dict comes from a dataset that "
            "returns one")


@hint(r"too many indices for tensor of dimension (\d+)")
def too_many(match: re.Match[str], _: Context) -> str | None:
    return f"the tensor has {match[1]} dimension{'s' * (match[1] != '1')}: take as many indices at most"


@hint(r"The shape of the mask \[(.*?)\] at index (\d+) does not match the shape of the indexed tensor \[(.*?)\] at "
      r"index (\d+)")
def mask(match: re.Match[str], _: Context) -> str | None:
    return f"a mask has the shape of the tensor, ({match[3]}), or of its first dimensions"


@hint(r"argument #1 'indices' to have one of the following scalar types|Expected dtype int32/int64 for index|"
      r"tensors used as indices must be|one_hot is only applicable to index tensor")
def floats_as_indices(_: re.Match[str], context: Context) -> str | None:
    """Floats that are no indices either: rows with a single 1, and numbers with a fraction."""
    found = next(((one.name, one.tensor) for one in context.seen if one.tensor.is_floating_point()
                  and one.word in ("index", "indices", "input", "tensor", "")), None)
    if found is None or not found[1].numel() or found[1].numel() > 2**16 or found[1].device.type == "meta":
        return None
    name, x = found[0], found[1].detach()
    if context.module is not None and x.dim() > 1 and bool(((x != 0).sum(-1) == 1).all() & (x.sum(-1) == 1).all()):
        weight = getattr(context.module, "weight", None)
        if weight is not None and x.shape[-1] == weight.shape[0]:
            return (f"rows of {name} have a single 1: {name}.argmax(-1) is the index that the layer takes, and "
                    f"{name} @ layer.weight gives the same rows")
    return None


say(r"elements in indices should be type int64|tensor for argument #\d+ '(?!weight)\w+' to have one of the following "
    r"scalar types: Long, Int|to be integer dtype", "indices are integers: cast them with .long()")
say(r"tensors used as indices must be long|[Ii]ndex tensor must|[Ee]xpected dtype int\d* (or int64 )?for "
    r"index|index tensor of type LongTensor|"
    r"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int",
    "indices are integers: cast "
    "them with .long()")
say(r"invalid index of a 0-dim tensor", "it is a single number already: use it, or .item()")
say(r"only integers, slices|[Uu]nsupported index|invalid index", "an index is an int, a slice, None, ..., a mask or "
    "a tensor of "
    "integers (.long())")
say(r"slice\(\) cannot be applied to a 0-dim|iteration over a 0-d|len\(\) of a 0-d", "it is a single number: "
    "unsqueeze(0) makes it a "
    "vector of one")
say(r"step must be greater than zero|negative step", "reverse with x.flip(0)")
@hint(r"slice indices must be integers")
def slices(_: re.Match[str], context: Context) -> str:
    node = context.line.expression
    parts = [part for one in ast.walk(node) if isinstance(one, ast.Slice) for part in (one.lower, one.upper, one.step)
             if part is not None] if node is not None else []
    for part in parts:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            whole = ast.unparse(ast.BinOp(part.left, ast.FloorDiv(), part.right))
            return f"/ gives a float, and a slice counts in whole numbers: {whole}"
        if isinstance(value_of(part, context.frame), float):
            return f"{short(part)} is a float, {value_of(part, context.frame)!r}: int({short(part)})"
    shown = next((short(part) for part in parts if not isinstance(part, ast.Constant) and short(part)), "n")
    return f"a slice counts in whole numbers: int({shown}), or // instead of / where it is computed"


@hint(r"shape mismatch: indexing tensors could not be broadcast")
def index_shapes(_: re.Match[str], context: Context) -> str:
    rule = "the indices are taken together, element by element: they must have one shape, or shapes that broadcast"
    node = context.line.expression
    given = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
    names = [short(part) for part in given]
    if len(names) != 2 or None in names or any(isinstance(part, ast.Slice) for part in given):
        return rule
    of = short(node.value) or "x"                            # type: ignore[union-attr]
    return f"{rule}; for every pair of a row and a column {of}[{names[0]}][:, {names[1]}]"


say(r"Index tensor must have the same number of dimensions|Size does not match at dimension", "index has as many "
    "dimensions as the "
    "input, and at most its sizes outside dim")
@hint(r"only one element tensors can be converted")
def tensors_for_numbers(_: re.Match[str], context: Context) -> str | None:
    if context.call.name in ("tensor", "as_tensor", "Tensor"):
        return "join tensors with torch.stack([...]), or torch.cat: torch.tensor takes numbers"
    return None


say(r"cannot be converted to Scalar|only one element tensors can be converted", "take one element, x[i].item(), or "
    "reduce it first: "
    "x.sum().item(), x.mean().item(); tolist() gives all")
say(r"Boolean value of Tensor with no values is ambiguous", "ask for x.numel() == 0, or for `x is None`")
@hint(r"only integer tensors of a single element can be converted to an index")
def list_times_tensor(_: re.Match[str], context: Context) -> str | None:
    node = context.line.expression
    index = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(index, ast.Call) and getattr(index.func, "attr", "") in ("max", "min"):
        best = short(index.func.value) or "x"                                              # type: ignore[attr-defined]
        return (f"{index.func.attr}() is the value, and an index is wanted: "              # type: ignore[attr-defined]
                f"{best}.arg{index.func.attr}().item()")                                   # type: ignore[attr-defined]
    if index is not None and not isinstance(index, ast.Slice) and any(one.tensor.numel() > 1 for one in context.seen):
        name, which = short(node.value) or "values", short(index) or "index"                # type: ignore[union-attr]
        return f"it takes one integer, and several came: [{name}[j] for j in {which}.tolist()] takes one for each"
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    for part in (node.left, node.right):
        held, name = value_of(part, context.frame), short(part) or "values"
        if type(held) in (list, tuple):
            made = "stack" if any(isinstance(x, Tensor) for x in held) else "tensor"
            return f"a {type(held).__name__} is repeated by *, not scaled: torch.{made}({name}) makes one tensor of it"
    return None


say(r"only integer tensors of a single element can be converted to an index", "use .item() on one integer, or "
    ".long() first")
say(r"too many dimensions 'str'|new\(\): invalid data type 'str'", "strings are no numbers: map them to indices first")
@hint(r"Could not infer dtype of (?!NoneType|str|dict|Tensor|function|type|builtin|set|method)(\w+)")
def tensor_of_an_object(match: re.Match[str], _: Context) -> str:
    return (f"a tensor is made of numbers, lists of them, or an array, and a {match[1]} came: of an image or a table "
            "np.asarray(x) makes an array, torch.from_numpy(np.asarray(x)) a tensor, and otherwise take the numbers in "
            "it")


say(r"could not determine the shape of object type|[Cc]ould not infer dtype of", "a tensor is made of numbers, "
    "lists of them, or a "
    "NumPy array of numbers")
say(r"can't convert np\.ndarray of type", "cast the array first: .astype(np.float32) or .astype(np.int64)")
@hint(r"expected np\.ndarray \(got (tuple|list|dict)\)")
def array_in_a_container(match: re.Match[str], context: Context) -> str | None:
    """What an environment returns: an array, and a dict of other things."""
    node = context.line.expression
    part = node.args[0] if isinstance(node, ast.Call) and node.args else None
    held = value_of(part, context.frame)
    keys = (list(held) if isinstance(held, dict) else range(len(held))) if isinstance(held, (tuple, list, dict)) else []
    at = next((key for key in keys if isinstance(held[key], numpy.ndarray)), None)
    if at is None:
        return None
    name = (short(part) if part is not None else None) or "it"
    more = f", and all of them np.stack({name})" * (isinstance(held, list))
    return f"{name} is a {match[1]} with the array in it: torch.from_numpy({name}[{at!r}]){more}"


say(r"expected np\.ndarray", "from_numpy takes NumPy arrays: use torch.tensor(...) for lists and numbers")
say(r"can only concatenate str", 'make text of the tensor: f"loss {{loss.item():.4f}}", or str(loss.item())')
say(r"can only concatenate (list|tuple)", "a {1} and a tensor do not join: torch.tensor(list) + x adds numbers, list "
    "+ [x] puts it into the list; "
    "max, min, sort and topk along a dimension return values and indices: take .values")
@hint(r"unsupported operand type\(s\) for .+: '(?:NoneType|method|function|list|tuple|builtin_function_or_method)' and|"
      r"unsupported operand type\(s\) for .+ and '(?:NoneType|method|function|list|tuple|builtin_function_or_method)'")
def no_operand(match: re.Match[str], context: Context) -> str:
    """Why one side is no tensor, as it is told of numbers and None."""
    return operands_hint(context.head, Site(context.frame, context.line.lasti))


say(r"unsupported operand type\(s\) for (.+): 'NoneType' and '(\w+)'|unsupported operand type\(s\) for (.+): '(\w+)' "
    r"and 'NoneType'",
    "one side is None: look at the line that should have given it a value; a function without return gives None, and "
    ".grad is None before backward()")
say(r"unsupported operand type\(s\) for (.+): '(\w+)' and '(\w+)'", "operands are tensors and numbers: convert the "
    "other, or look why "
    "it is {3}")
say(r"can't convert (\w+) device type tensor to numpy", "call .cpu() first")
say(r"cannot perform reduction|Expected reduction dim|have no identity|does not have an identity", "the dimension "
    "is empty: look at "
    "how the tensor came to have no elements")
say(r"from 0 to|must be non-negative|[Ee]xpected .* >= 0|negative dimension|Trying to create tensor with negative "
    r"dimension",
    "sizes are 0 or more")
say(r"invalid multinomial distribution \(encountering probability entry < 0\)", "weights are 0 or more: clamp(min=0), "
    "or softmax the scores first")
say(r"probability tensor contains either|invalid multinomial|sum of probabilities <= 0", "probabilities are 0 or "
    "more, and not all 0: "
    "softmax the scores first")
say(r"[Pp]robability has to be between 0 and 1", "p lies between 0 and 1")
say(r"Singular matrix|singular|not positive-definite|positive definite", "add a small multiple of torch.eye(n), or use "
    "torch.linalg.lstsq or pinv")
say(r"square matri|must be square", "give it (..., n, n)")
say(r"operator\.invert|bitwise_\w+ .*not implemented|\"bitwise", "~, &, | and ^ take masks and integers: compare "
    "first, (x > 0)")
say(r"[Ee]xpected .*boolean|boolean masks|condition to be a boolean|bool.* mask", "give it a mask: mask.bool(), or "
    "a comparison such as "
    "x > 0")
say(r"[Ee]xpected self\.dtype to be equal to src\.dtype|same dtype|dtypes? .*(equal|match)", "make them one dtype: "
    "x.to(y.dtype)")
say(r"upper bound and (larger|lower) bound inconsistent with step sign", "a negative step counts down: start above "
    "end, or make the step "
    "positive")
say(r"too many values to unpack|not enough values to unpack", "count what is returned")
say(r"no dimension of size 3", "cross takes vectors of three elements: pass dim=")
say(r"only supported on matrices", "it takes at least two dimensions: unsqueeze() first")
say(r"zero-dimensional tensor \(at position \d+\) cannot be concatenated", "single numbers are stacked: "
    "torch.stack(list)")
say(r"duplicate dims are not allowed", "name every dimension once")
say(r"Number of dimensions of repeat dims can not be smaller", "give a number for every dimension of the tensor, and "
    "more in front for new ones; 1 "
    "leaves one as it is: x.repeat(2, 1)")
say(r"random_ expects 'from' to be less than 'to'", "low must be less than high: randint(low, high, size)")
say(r"masked_fill_? only supports a 0-dimensional value tensor", "the value is a single number: torch.where(mask, "
    "values, x) takes a tensor of them")
say(r"(argmax|argmin|\w+)\(\):? does not support bool input", "cast the mask first: mask.int().{1}(); nonzero() "
    "gives the indices of what is True")
say(r"std and var only support floating point", "cast the input with .float()")
say(r"n_sample > prob_dist\.size\(-1\) samples without replacement", "draw fewer, or pass replacement=True")
say(r"Expected dtype int32/int64 for index", "indices are integers: cast them with .long()")
say(r"satisfy the constraint", "give parameters that the constraint allows (scale and probabilities above 0, logits "
                               "for scores); "
    "validate_args=False takes them unseen")
say(r"either size or scale_factor should be defined|only one of size or scale_factor", "pass one of them: "
    "size=(height, width), or "
    "scale_factor=2")
