"""Ways out of errors of losses: what each argument must be, and what was given."""
from __future__ import annotations

import ast
import difflib
import re
from typing import Any

from claygrad.core import Tensor
from claygrad.errors._calls import shape_of, shape_text
from claygrad.errors._ways import Context, hint, say
from claygrad.errors.elements import element

_TARGETS = ("cross_entropy takes scores (batch, classes, ...) and a target of class indices (batch, ...) as int64, "
            "or of "
            "probabilities with the shape of the scores as floats")


def _pair(context: Context) -> tuple[Any, Any]:
    tensors = context.call.tensors
    return (tensors[0], tensors[1]) if len(tensors) > 1 else (None, None)


def _of_classes(context: Context) -> bool:
    return context.call.name in ("cross_entropy", "nll_loss") or hasattr(context.module, "label_smoothing")


@hint(r"log_softmax\w* not implemented for '(Long|Int)'|\"log_softmax.* not implemented for '(Long|Int)'")
def swapped(_: re.Match[str], context: Context) -> str | None:
    scores, target = _pair(context)
    if scores is not None and target.dtype.is_floating_point:
        return "the scores come first, then the target: cross_entropy(logits, target)"
    return f"{_TARGETS}: cast the scores with .float()"


@hint(r"expected (scalar type|target dtype to be) Long")
def floats_for_classes(_: re.Match[str], context: Context) -> str | None:
    if not _of_classes(context):
        floats = [name for name, x in context.operands() if x.dtype.is_floating_point]
        whole = [name for name, x in context.operands() if not x.dtype.is_floating_point]
        if floats and whole and context.module is None:
            return f"make them one dtype: {whole[0]}.float(), as {floats[0]} holds floats"
        return "cast the indices: .long()"
    _, target = _pair(context)
    came = "floats" if target is None or target.dtype.is_floating_point else target.dtype.name
    return f"{_TARGETS}: class indices came as {came}, so cast the target with .long()"


@hint(r"(0D or 1D target tensor expected, multi-target not supported|Expected floating point type for target with "
      r"class "
      r"probabilities, got \w+)")
def targets_of_two_dimensions(_: re.Match[str], context: Context) -> str | None:
    scores, target = _pair(context)
    if not _of_classes(context):
        name = context.name(len(context.call.tensors) - 1, "target")
        given = shape_text(shape_of(context.call.tensors[-1])) if context.call.tensors else "more"
        return f"the target has one number for each row, (batch,), and {given} came: {name}.squeeze(1)"
    if scores is None:
        return _TARGETS
    if shape_of(target)[1:] == (1,):
        return (f"{_TARGETS}: the target is a column, {shape_text(shape_of(target))}; target.squeeze(1) makes class "
                "indices of it")
    if shape_of(target) == shape_of(scores):
        if len(shape_of(target)) == 2 and bool((target.detach().sum(1) != 1).any()):
            return (f"{_TARGETS}: rows of the target do not add up to 1, so if each says yes or no to several classes, "
                    "the loss is binary_cross_entropy_with_logits(scores, target.float()), nn.BCEWithLogitsLoss")
        return (f"{_TARGETS}: a one-hot target came as integers; give target.argmax(1), or target.float() as "
                "probabilities")
    return f"{_TARGETS}: the target is {shape_text(shape_of(target))}"


@hint(r"Target (-?\d+) is out of bounds")
def class_out_of_range(match: re.Match[str], context: Context) -> str | None:
    scores, target = _pair(context)
    if scores is None:
        return None
    shape = shape_of(scores)
    classes = shape[1 if len(shape) > 1 else 0]
    found = element(context.name(1, "target"), target, lambda x: x == int(match[1]))
    text = f"{f'{found}, and ' * bool(found)}the scores have {classes} classes: labels go from 0 to {classes - 1}"
    low = int(target.detach().min())
    if int(match[1]) == classes and low >= 1:
        return f"{text}; these start at 1, so take target - 1"
    if int(match[1]) < 0:
        return f"{text}; ignore_index={match[1]} leaves such elements out"
    if int(match[1]) == 255 and classes < 250:
        return (f"{text}; where {match[1]} marks what does not count, ignore_index={match[1]} leaves it out, and "
                f"otherwise mend the labels")
    return f"{text}; give the last layer an output for every class, or mend the labels"


@hint(r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)")
def other_batch(match: re.Match[str], context: Context) -> str | None:
    node = context.line.expression
    parts = [ast.unparse(part) for part in getattr(node, "args", ())[:2]]
    if len(parts) == 2 and ("[:, :-1" in parts[0]) != ("[:, 1:" in parts[1]):
        return (f"{match[1]} rows of scores need one target each, and {match[2]} came: scores[:, :-1] go with "
                f"target[:, 1:], so cut both")
    return (f"{_TARGETS}: {match[1]} rows of scores need one target each, and {match[2]} came; a reshape before may "
            "have "
            "mixed batch and features")


@hint(r"[Ee]xpected target size \[(.*?)\], got \[(.*?)\]")
def other_size(match: re.Match[str], context: Context) -> str | None:
    scores, target = _pair(context)
    if scores is not None and len(shape_of(scores)) == 3 and shape_of(scores)[:2] == shape_of(target):
        order = ("transpose(1, 2) makes the scores "
                 f"{shape_text((shape_of(scores)[0], shape_of(scores)[2], shape_of(scores)[1]))}")
        return f"the class dimension of the scores is the second, not the last: {order}"
    return f"{_TARGETS}: the target must be ({match[1]})"


say(r"only batches of spatial targets supported|\dD target tensor expects \dD input|input.* target.*dimension",
    _TARGETS)
say(r"weight tensor should be defined either for all|weight tensor should be defined", "weight has one number for "
    "every class")


@hint(r"Using a target size \(.*\) that is different to the input size|Target size \(.*\) must be the same as input "
      r"size")
def sizes_of_pairs(_: re.Match[str], context: Context) -> str | None:
    scores, target = _pair(context)
    if scores is None:
        return "give input and target one shape"
    a, b = shape_of(scores), shape_of(target)
    first, second = context.name(0, "input"), context.name(1, "target")
    if a == (*b, 1):
        return f"input and target must have one shape: {second}.unsqueeze(1), or {first}.squeeze(1)"
    if (*a, 1) == b:
        return f"input and target must have one shape: {second}.squeeze(1), or {first}.unsqueeze(1)"
    if len(a) == 2 and len(b) == 1 and a[0] == b[0]:
        return (f"input and target must have one shape: here {shape_text(a)} and {shape_text(b)}, {a[1]} scores for "
                f"each sample; with one class each, F.cross_entropy({first}, {second}.long()) takes them so, and "
                "otherwise make the last layer with one output")
    return f"input and target must have one shape: here {shape_text(a)} and {shape_text(b)}"


@hint(r"Found dtype (Long|Int|Bool|Byte|Short|Char) but expected (Float|Double|Half)")
def integers_for_floats(_: re.Match[str], context: Context) -> str | None:
    return "the target must be floating numbers, as the input: cast it with .float()"


@hint(r"kl_div: Integral inputs not supported")
def classes_for_probabilities(_: re.Match[str], context: Context) -> str | None:
    scores, target = _pair(context)
    if target is None or target.is_floating_point():
        return None
    name = context.name(1, "target")
    if len(shape_of(target)) == len(shape_of(scores)) - 1:
        return (f"kl_div compares probabilities, and {name} has indices of classes: F.one_hot({name}, "
                f"{shape_of(scores)[-1]}).float(), or F.nll_loss({context.name(0, 'input')}, {name}) takes indices")
    return None


@hint(r"^(.*) is not a valid value for reduction")
def reductions(match: re.Match[str], context: Context) -> str:
    name = f"{context.call.name} {'' if context.module is None else type(context.module).__name__}"
    more = ["batchmean"] if re.search(r"kl_?div", name, re.IGNORECASE) else []
    known = ["mean", "sum", "none", *more]
    meant = {"avg": "mean", "average": "mean", "add": "sum", "total": "sum", "null": "none"}.get(match[1].lower())
    near = [meant] if meant else difflib.get_close_matches(match[1].lower().replace("_", ""), known, 1, 0.6)
    did = f'did you mean "{near[0]}"? ' if near else ""
    batch = ', or "batchmean", the sum divided by the batch' if more else ""
    return f'{did}reduction is "mean", "sum" or "none"{batch}'
say(r"Expected input_lengths to have value at most (\d+), but got value (\d+)", "log_probs has {1} steps, (time, "
    "batch, classes), and an input length of {2} came: lengths are counted in those steps, after any pooling or stride")
say(r"Expected target_lengths to have value at (?:most|least) (-?\d+), but got value (-?\d+)", "the targets have "
    "{1} columns, and a target length of {2} came: target_lengths counts the labels of each row, without padding")
@hint(r"(input_lengths|target_lengths) must be of size batch_size")
def lengths_of_sequences(match: re.Match[str], context: Context) -> str | None:
    scores, lengths = (context.call.value(word) for word in ("log_probs", match[1]))
    if not isinstance(scores, Tensor) or len(shape_of(scores)) != 3:
        return None
    batch = shape_of(scores)[1]
    came = f" and {shape_of(lengths)[0]} came" if isinstance(lengths, Tensor) and shape_of(lengths) else ""
    return (f"log_probs is (time, batch, classes), here a batch of {batch}: {match[1]} holds {batch} lengths, one for "
            f"each sequence{',' * bool(came)}{came}")


say(r"ctc_loss|[Tt]arget_lengths|input_lengths", "ctc_loss takes log-probabilities (time, batch, classes), targets, "
                                                 "and the two "
    "tuples of lengths")
