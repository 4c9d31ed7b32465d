"""Ways out that look at the values: which element is wrong, which sample, how many there are."""

from __future__ import annotations

import ast
import importlib
import re
from typing import TYPE_CHECKING, Any

import numpy

from claygrad.core import Tensor
from claygrad.core.graph.provenance import variables_of
from claygrad.errors._calls import shape_of, shape_text
from claygrad.errors._cuts import put_into
from claygrad.errors._source import Line, line_of_return, parsed, returns_of, short, value_of
from claygrad.errors._ways import Context, hint

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_ELEMENTS = 10_000_000          # larger tensors are not looked through
_MAX_ROWS = 512                     # of a matrix whose eigenvalues are computed


def first_wrong(x: Any, is_wrong: Callable[[Any], Any]) -> tuple[str, Any] | None:
    """Index, as it is written in brackets, and value of the first element for which a test is true."""
    if not isinstance(x, Tensor) or x.is_sparse or x.device.type != "cpu" or not 0 < x.numel() < _MAX_ELEMENTS:
        return None
    x = x.detach()
    wrong = is_wrong(x).reshape(-1)
    if not bool(wrong.any()):
        return None
    at = flat = int(wrong.byte().argmax())
    index = []
    for size in reversed(shape_of(x)):
        at, k = divmod(at, size)
        index.append(str(k))
    return ", ".join(reversed(index)), x.reshape(-1)[flat].item()


def element(name: str, x: Any, is_wrong: Callable[[Any], Any]) -> str:
    """`ids[0, 2] is 102`, or nothing."""
    found = first_wrong(x, is_wrong)
    if found is None:
        return ""
    index, value = found
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if index and isinstance(parsed(name), (ast.BinOp, ast.UnaryOp, ast.Compare)):
        name = f"({name})"
    return f"{name}[{index}] is {text}" if index else f"{name} is {text}"


def among(context: Context, is_wrong: Callable[[Any], Any], integers: bool = False) -> str:
    """The same for the first of the line's tensors that has such an element."""
    for one in context.seen:
        if integers and (one.tensor.is_floating_point() or one.tensor.is_complex()):
            continue
        found = element(one.name, one.tensor, is_wrong)
        if found:
            return found
    return ""


def first_argument(context: Context) -> tuple[Any, str | None]:
    """Of the call on the line: its value, MISSING where no name shows it, and how it is written."""
    node = context.line.expression
    part = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return value_of(part, context.frame), None if part is None else short(part)


@hint(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
def index(match: re.Match[str], context: Context) -> str | None:
    value, size = int(match[1]), int(match[3])
    if not size:
        return "there is nothing to index: its size is 0"
    node = context.line.expression
    text = short(node.slice) if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant) else None
    where = among(context, lambda x: x == value, integers=True)
    told = (f"indices of dimension {match[2]} go from -{size} to {size - 1}, that is 0 to {size - 1} from the front; "
            f"{match[1]} came")
    if not where:
        ends = ": let the loop end earlier, or mend the index" if value >= size else ""
        return f"{told}: {text} is {value}{ends}" if text and "," not in text and ":" not in text else told
    larger = f"make dimension {match[2]} {value + 1} long, or " if value >= size else ""
    return f"{told}: {where}; {larger}mend the indices"


@hint(r"index out of range in self")
def row(_: re.Match[str], context: Context) -> str | None:
    indices, table = context.argument("input"), context.argument("weight")
    if not isinstance(indices, Tensor) or not isinstance(table, Tensor):
        tensors = sorted(context.call.tensors, key=lambda x: x.dtype.is_floating_point)
        if len(tensors) < 2:
            return None
        indices, table = tensors[0], tensors[1]
    size = shape_of(table)[0]
    name = next((one.name for one in context.seen if one.tensor is indices), context.name(0, "input"))
    found = element(name, indices, lambda x: (x < 0) | (x >= size))
    given = f"{found.rpartition(' is ')[2]} came" if found else "one of these is not"
    return (f"indices go from 0 to {size - 1}, since num_embeddings is {size}: {given}; make the table larger, or "
            f"mend the indices (a vocabulary counted from 1, or unknown words){f': {found}' * bool(found)}")


@hint(r"all elements of (input|target) should be between 0 and 1")
def not_probabilities(match: re.Match[str], context: Context) -> str | None:
    tensor = context.tensor()
    if match[1] == "input" and tensor is not None and bool(tensor.detach().isnan().any()):
        return ("the input holds NaN, so it was spoilt before: with claygrad.debug.trace_nans() around the program "
                "stops at the operation that made the first one")
    word = context.name(0 if match[1] == "input" else 1, match[1])
    tensors = context.call.tensors
    wrong = tensors[match[1] == "target"] if len(tensors) > 1 else tensor
    found = element(word, wrong, lambda x: ~((x >= 0) & (x <= 1)))
    here = f"; here {found}" if found else ""
    if match[1] == "input":
        return (f"binary_cross_entropy takes probabilities: give it torch.sigmoid({word}), or use "
                f"binary_cross_entropy_with_logits (nn.BCEWithLogitsLoss), which takes scores{here}")
    return f"targets of binary_cross_entropy lie between 0 and 1: scale or clamp them{here}"


@hint(r"Length of all samples has to be greater than 0")
def empty_sequences(_: re.Match[str], context: Context) -> str | None:
    found = among(context, lambda x: x <= 0, integers=True)
    return ("every sequence needs at least 1 step: leave the empty ones out, or give them one step of padding"
            + f"; here {found}" * bool(found))


@hint(r"Class values must be (smaller than num_classes|non-negative)")
def one_hot(match: re.Match[str], context: Context) -> str | None:
    count = context.argument("num_classes")
    low = match[1] == "non-negative"
    found = among(context, (lambda x: x < 0) if low or not isinstance(count, int) else (lambda x: x >= count),
                  integers=True)
    named = f", num_classes is {count}" if isinstance(count, int) and count >= 0 else ""
    return ("classes go from 0 to num_classes - 1: give a larger num_classes, or mend the labels (-1, 255 and such for "
            f"unknown ones: leave those out with a mask){f'; here {found}{named}' * bool(found)}")


@hint(r"invalid multinomial distribution \(encountering probability entry < 0\)|probability tensor contains either")
def weights(match: re.Match[str], context: Context) -> str | None:
    found = among(context, lambda x: ~(x >= 0) | (x == float("inf")))
    if not found:
        return None
    if match[0].startswith("invalid"):
        return f"weights are 0 or more: clamp(min=0), or softmax the scores first; here {found}"
    return f"probabilities are 0 or more, and not all 0: softmax the scores first; here {found}"


@hint(r"Boolean value of Tensor with more than one value is ambiguous")
def condition(_: re.Match[str], context: Context) -> str | None:
    """The condition that the line asks, with any() and all()."""
    node = context.line.expression
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("min", "max", "sorted") and node.args:
        name, called = short(node.args[0]) or "x", short(node.func)
        if len(node.args) == 2 and called in ("min", "max"):
            return (f"Python's {called}() compares them as a whole: torch.{called}imum({name}, "
                    f"{short(node.args[1]) or 'y'}) compares each element")
        given = value_of(node.args[0], context.frame)
        if isinstance(given, (list, tuple)) and (len(node.keywords) or not all(isinstance(x, Tensor) for x in given)):
            return (f"{called}() compares tensors with each other, and they have several elements: let key give one "
                    f"number for each, {called}({name}, key=lambda t: t[1].mean().item())")
        if isinstance(given, (list, tuple)):
            way = f", or torch.stack({name}).{called}(0).values for each element" * (called != "sorted")
            return (f"{called}() compares the tensors in {name} with each other, and they have several elements: give "
                    f"it numbers, {called}(x.mean().item() for x in {name}){way}")
    is_plain = isinstance(node, ast.Compare) and not any(
        isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in node.ops) and len(node.ops) == 1
    text = short(node, 60) if node is not None and (is_plain or isinstance(node, (ast.Name, ast.Attribute))) else None
    asked = "(x > 0)" if text is None else f"({text})" if is_plain else text
    return (f"say which is meant: {asked}.any() or {asked}.all(); & and | instead of `and` and `or`, torch.where "
            "instead of an if for each element")


@hint(r"not positive-definite|positive definite")
def definite(_: re.Match[str], context: Context) -> str | None:
    """Whether rounding is to blame, or the matrix."""
    matrix = context.call.tensors[0] if context.call.tensors else None
    name = context.name(0, "input")
    if matrix is None or matrix.dim() < 2 or not 0 < shape_of(matrix)[-1] <= _MAX_ROWS:
        return None
    a = matrix.detach()
    if not bool(a.isfinite().all()):
        return f"{name} holds NaN or infinity: look at the line that made it"
    if not bool((a - a.mH).abs().amax() <= 1e-4 * a.abs().amax()):
        return f"{name} is not symmetric: ({name} + {name}.mT) / 2 is, and a covariance is x.T @ x"
    values = importlib.import_module("claygrad.linalg").eigvalsh(a.cpu())
    least, largest = float(values.min()), float(values.max())
    if least < -1e-4 * largest:
        return (f"the smallest eigenvalue of {name} is {least:.3g}, the largest {largest:.3g}: it is no covariance, so "
                f"look at the line that made it; torch.linalg.eigh or lu_factor take any symmetric matrix")
    return (f"the smallest eigenvalue of {name} is {least:.3g}, which is 0 but for rounding: add a small multiple of "
            f"the identity, {name} + 1e-6 * torch.eye({shape_of(matrix)[-1]}), or compute in float64")


@hint(r"loaded state dict .*parameter group|loaded state dict has a different number")
def saved_groups(_: re.Match[str], context: Context) -> str | None:
    """How many parameters each group of the optimizer has, and of the state that is loaded."""
    way = "load it into an optimizer of the same groups and parameters as the one that was saved"
    optimizer = [context.owner(), *context.inside("load_state_dict", "self")][-1]
    state = [first_argument(context)[0], *context.inside("load_state_dict", "state_dict")][-1]
    given = state.get("param_groups") if isinstance(state, dict) else None
    if not hasattr(optimizer, "param_groups") or not isinstance(given, list):
        return way
    here = [len(group["params"]) for group in optimizer.param_groups]
    saved = [len(group["params"]) for group in given]
    if len(here) != len(saved):
        return f"the saved state has {len(saved)} groups, and this optimizer {len(here)}: {way}"
    for number, (a, b) in enumerate(zip(saved, here, strict=True)):
        if a != b:
            return f"group {number} of the saved state has {a} parameters, and that of this optimizer {b}: {way}"
    return way


@hint(r"Sum of input lengths does not equal")
def lengths_of_splits(_: re.Match[str], context: Context) -> str | None:
    data, lengths = context.argument("dataset"), context.argument("lengths")
    way = "the lengths must add up to len(dataset), or be fractions that add up to 1"
    try:
        count, total = len(data), sum(lengths)
    except TypeError:
        return way
    node = context.line.expression
    listed = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else None
    last = short(listed.elts[-1]) if isinstance(listed, (ast.List, ast.Tuple)) and listed.elts else None
    rest = f"; {last} = {count - (total - lengths[-1])} takes the rest" if last is not None else ""
    return f"{way}: {' + '.join(map(str, lengths))} is {total}, and the dataset has {count}{rest}"


@hint(r"Size mismatch between tensors")
def lengths_of_columns(_: re.Match[str], context: Context) -> str | None:
    counts = {one.name: shape_of(one.tensor)[0] for one in context.seen if shape_of(one.tensor)}
    way = "all tensors of a TensorDataset have one length"
    if len(set(counts.values())) < 2:
        return way
    fewest = min(counts.values())
    longer = next(name for name, count in counts.items() if count > fewest)
    shown = ", ".join(f"{name} has {count}" for name, count in counts.items())
    return f"{way}: {shown}; cut the longer, {longer}[:{fewest}], or look at the lines that made them"


def _sample(context: Context) -> tuple[str, Any, str] | None:
    """`item 1 of sample 2 of the batch`, the item, and `; it is Detection[5]`: what could not be put into a batch."""
    batches = [x for x in context.inside("collate", "batch") if isinstance(x, (list, tuple))]
    number = re.search(r"as element (\d+)|at entry \d+ and \[.*?\] at entry (\d+)", context.head)
    if not batches or (number is None and not context.head.startswith("default_collate")):
        return None
    at = 0 if number is None else int(number[1] or number[2])
    column, samples = batches[-1], batches[0]
    if at >= len(column) or at >= len(samples):
        return None
    sample, what, where = samples[at], f"sample {at} of the batch", ""
    keys = (sample.items() if isinstance(sample, dict) else enumerate(sample) if isinstance(sample, (list, tuple))
            else ())
    for key, item in keys:
        if column is not samples and item is column[at]:
            what = f"item {key!r} of sample {at} of the batch"
            break
    data, picked = context.inside("fetch", "self"), context.inside("fetch", "possibly_batched_index")
    if data and picked and isinstance(picked[0], (list, tuple)) and at < len(picked[0]):
        where = _place_of_sample(data[0].dataset, picked[0][at])
    return what, column[at], where


def _place_of_sample(dataset: Any, at: Any) -> str:
    """`; it is Detection[5], which FILE:7, in __getitem__: return x, y returned`."""
    while hasattr(dataset, "indices") and hasattr(dataset, "dataset"):          # a Subset
        dataset, at = dataset.dataset, dataset.indices[at]
    where = line_of_return(type(dataset), "__getitem__")
    return f"; it is {type(dataset).__name__}[{at}]" + f", returned at {where}" * bool(where)


@hint(r"expected Tensor as element (\d+) in argument \d+, but got (?:\w+\.)*(\w+)")
def no_tensor_in_a_batch(match: re.Match[str], context: Context) -> str | None:
    found = _sample(context)
    if found is None:
        return None
    what, _, where = found
    return (f"{what} is {match[2]}, the others are tensors: return a tensor from __getitem__ for every index, or leave "
            f"such samples out in a collate_fn{where}")


@hint(r"default_collate: batch must contain")
def kind_in_a_batch(_: re.Match[str], context: Context) -> str | None:
    found = _sample(context)
    if found is None:
        return None
    what, item, where = found
    return (f"return tensors, numbers or arrays from the dataset, or give the DataLoader a collate_fn: {what} is "
            f"{type(item).__name__}{where}")


@hint(r"stack expects each tensor to be equal size")
def sizes_in_a_batch(_: re.Match[str], context: Context) -> str | None:
    found = _sample(context)
    if found is None:
        states, names = context.inside("_stacked", "states"), context.inside("_stacked", "name")
        if states and names:
            shapes = [shape_text(shape_of(state[names[-1]])) for state in states[-1]]
            at = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
            return (f"all models must have one shape: {names[-1]} is {shapes[0]} in the first and {shapes[at]} in "
                    f"number {at}")
        return None
    what, item, where = found
    first = context.inside("collate", "batch")[-1][0]
    return (f"the samples of a batch must have one shape: pad them, or give the DataLoader a collate_fn "
            f"(nn.utils.rnn.pad_sequence)\n{what} is {shape_text(shape_of(item))}, and the first "
            f"{shape_text(shape_of(first))}{where}")


@hint(r"should contain a single element|return a scalar")
def not_one_number(_: re.Match[str], context: Context) -> str | None:
    """What the function that torch.func differentiates returned, and where."""
    way = ("reduce what the function returns to one number: .sum() or .mean() (vjp, jacrev and jacobian take functions "
           "of many)")
    functions, outputs = context.inside("wrapper", "func"), context.inside("wrapper", "output")
    code = getattr(functions[-1], "__code__", None) if functions else None
    if code is None or not outputs or not isinstance(outputs[-1], Tensor):
        return way
    ends = returns_of(code)
    where = f" at {Line.at(code, ends[-1].lineno)}" if ends else ""
    return f"{code.co_name} returned {shape_text(shape_of(outputs[-1]))}{where}\n{way}"


@hint(r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton dimension "
      r"(\d+).*Target sizes: \[(.*?)\]\. +Tensor sizes: \[(.*?)\]")
def assigned_sizes(match: re.Match[str], context: Context) -> str | None:
    """`x[:, 1::2] = value`: the two sides of an assignment."""
    node = context.line.expression
    if context.call.kind != "indexing" or not isinstance(node, ast.Subscript):
        return None
    left, right = short(node, 60) or "the left side", context.name(2, "the value")
    cut = f": {right} of dimension {match[3]} can be cut, [{':, ' * int(match[3])}:{match[1]}]" if (
        int(match[2]) > int(match[1])) else ""
    return f"{left} is ({match[4]}), and {right} is ({match[5]}): both sides must have one shape{cut}"


@hint(r"can't convert np\.ndarray of type numpy\.object_")
def array_of_objects(_: re.Match[str], context: Context) -> str | None:
    array, name = first_argument(context)
    way = ("the array holds objects: give it a number dtype with .astype(float), which needs rows of one length")
    for at, x in numpy.ndenumerate(array) if isinstance(array, numpy.ndarray) and array.size < _MAX_ELEMENTS else ():
        if not isinstance(x, (int, float, complex, numpy.number)):
            shown = f"{name or 'it'}[{', '.join(map(str, at))}] is {x!r:.40}"
            if isinstance(x, str):
                return (f"the array holds text: leave such columns out, or map them to numbers, and give the rest a "
                        f"number dtype with .astype(float); {shown}")
            return f"{way}; {shown}"
    return way


@hint(r"negative strides? .*not|strides in the given numpy array is negative")
def negative_strides(_: re.Match[str], context: Context) -> str | None:
    array, written = first_argument(context)
    name = written or "a"
    strides = f", whose strides are {array.strides}" if isinstance(array, numpy.ndarray) else ""
    return f"copy the array first: a[::-1].copy(), here {name}.copy(){strides}"


@hint(r"expected sequence of length (\d+) at dim (\d+) \(got (\d+)\)")
def rows_of_lists(match: re.Match[str], context: Context) -> str | None:
    rows, name = first_argument(context)
    way = "rows must have one length: pad them, or keep a list of tensors (nn.utils.rnn.pad_sequence)"
    if match[2] == "1" and isinstance(rows, (list, tuple)) and name:
        for i, one in enumerate(rows):
            if hasattr(one, "__len__") and len(one) != len(rows[0]):
                return f"{way}; {name}[{i}] has {len(one)} elements, and {name}[0] {len(rows[0])}"
    return way


@hint(r"some parameters appear in more than one parameter group")
def parameter_in_two_groups(_: re.Match[str], context: Context) -> str | None:
    groups = [group for found in context.inside("add_param_group", "self") for group in found.param_groups]
    new = [group for group in context.inside("add_param_group", "param_group") if isinstance(group, dict)]
    way = "name each parameter in one group"
    for param in new[-1].get("params", ()) if new else ():
        for number, group in enumerate(groups):
            if any(param is other for other in group["params"]):
                names = [f"{text}.{name}" for text, model in models_near(context)
                         for name, one in model.named_parameters() if one is param]
                of = names[0] if names else "a parameter"
                return f"{way}: {of} {shape_text(shape_of(param))} is in group {number} and in group {len(groups)}"
    return way


def models_near(context: Context) -> list[tuple[str, Any]]:
    """The modules among the names of the function that failed."""
    return [(name, x) for name, x in {**context.frame.f_globals, **variables_of(context.frame)}.items()
            if hasattr(x, "_modules") and hasattr(x, "named_parameters") and not isinstance(x, type)]


@hint(r"The total norm of order .* is non-finite")
def gradients_not_finite(_: re.Match[str], context: Context) -> str | None:
    way = ("look for the first operation that made it: with torch.debug.trace_nans(); a log, a division or a square "
           "root near 0 is usual, clamp its input; error_if_nonfinite=False scales the gradients all the same")
    for text, model in models_near(context):
        for name, param in model.named_parameters():
            found = element(f"{text}.{name}.grad", param.grad, lambda x: ~x.isfinite())
            if found:
                return f"{way}\n{found}"
    return way


@hint(r"Expected attn_mask dtype to be bool or float")
def dtype_of_a_mask(_: re.Match[str], context: Context) -> str | None:
    name = next((one.name for one in context.seen if one.word == "attn_mask"), "the mask")
    return (f"cast the mask with {name}.bool(), True where a query sees a key, or give it floats that are added to the "
            "scores")


@hint(r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)")
def axes_of_permute(match: re.Match[str], context: Context) -> str | None:
    have, want = int(match[1]), int(match[2])
    name = context.name(0, "the input")
    way = "name every dimension of the tensor once; to exchange two, use transpose(a, b)"
    if want == have + 1:
        return (f"{way}; {name} has {have} dimensions and {want} are named: {name}.unsqueeze(0) first where the batch "
                "is missing")
    return f"{way}; {name} has {have} dimensions and {want} are named"


@hint(r"Padding_idx must be within")
def padding_index(_: re.Match[str], context: Context) -> str | None:
    held = context.inside("__init__", "padding_idx"), context.inside("__init__", "num_embeddings")
    way = "padding_idx is one of the indices: 0 to num_embeddings - 1"
    if not (held[0] and held[1]):
        return way
    at, count = held[0][-1], held[1][-1]
    return f"{way}; it is {at}, and the table has {count} rows, 0 to {count - 1}"


@hint(r"(in|out)_channels must be divisible by groups")
def groups_of_channels(match: re.Match[str], context: Context) -> str | None:
    way = "take groups that divide in_channels and out_channels"
    groups, first = context.inside("__init__", "groups"), context.inside("__init__", "in_channels")
    second = context.inside("__init__", "out_channels")
    if not (groups and first and second) or not all(isinstance(x[-1], int) for x in (groups, first, second)):
        return way
    fits = [n for n in range(1, min(first[-1], second[-1], 64) + 1) if first[-1] % n == 0 and second[-1] % n == 0]
    channels = (first if match[1] == "in" else second)[-1]
    return (f"{way}: groups={groups[-1]} does not divide {match[1]}_channels={channels}; "
            f"groups={', '.join(map(str, fits))} fit")


@hint(r"optimizer can only optimize Tensors, but one of the params is str")
def names_for_parameters(_: re.Match[str], context: Context) -> str | None:
    held, name = first_argument(context)
    if isinstance(held, dict) and name is not None:
        return f"{name} is a dict, and going through it gives its keys: pass {name}.values()"
    return None


@hint(r"expected Tensor as element \d+ in argument \d+, but got (float|int)")
def numbers_for_tensors(match: re.Match[str], context: Context) -> str | None:
    held, name = first_argument(context)
    if not isinstance(held, (list, tuple)) or not all(type(x) in (float, int) for x in held) or name is None:
        return None
    return f"{name} is a list of {len(held)} numbers: make one tensor of it, torch.tensor({name})"


@hint(r"Can't call numpy\(\) on Tensor that requires grad")
def numpy_of_a_result(_: re.Match[str], context: Context) -> str | None:
    held, written = first_argument(context)
    if isinstance(held, (list, tuple)) and written and any(isinstance(x, Tensor) for x in held):
        code = context.line.code
        put = put_into(written, code, context.line.number, None)
        if put is not None:
            context.lines.append(f"they were put into it at {Line.at(code, put.lineno)}")
        kept = short(put.args[0]) if put is not None and isinstance(put.args[0], ast.Name) else None
        way = f"keep numbers, {written}.append({kept}.item()), or " if kept else ""
        return (f"{written} holds tensors with their graphs: {way}give NumPy numbers, [x.item() for x in {written}], "
                f"or torch.stack({written}).detach().numpy()")
    name = context.seen[0].name if context.seen else ""
    where = f": {name}.detach().numpy()" if name.replace(".", "").isidentifier() else ""
    return f"call .detach().numpy(): gradients do not flow through NumPy{where}"


@hint(r"Error\(s\) in loading state_dict for")
def buffers_left_out(_: re.Match[str], context: Context) -> str | None:
    """A state that was made of named_parameters()."""
    if len(context.call.args) < 2 or not hasattr(context.call.args[0], "named_buffers"):
        return None
    module, state = context.call.args[:2]
    missing = {name for name in module.state_dict() if name not in state}
    buffers = {name for name, _ in module.named_buffers()}
    if not missing or not missing <= buffers or set(state) - set(module.state_dict()):
        return None
    return ("the missing names are all buffers, which named_parameters() leaves out: save model.state_dict(), or pass "
            "strict=False to keep those of the model")


@hint(r"(?i)KL-divergence|No KL")
def divergence(_: re.Match[str], context: Context) -> str | None:
    given = [type(x).__name__ for x in context.call.args[:2]]
    if len(given) < 2:
        return None
    return (f"p is {given[0]} and q is {given[1]}, and there is no formula for this pair: take two of one family, or "
            "the mean of p.log_prob(x) - q.log_prob(x) over x = p.sample((1000,))")
