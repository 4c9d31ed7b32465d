"""Ways out of errors about shapes."""
from __future__ import annotations

import ast
import itertools
import math
import re
from typing import Any

from claygrad.core import Tensor
from claygrad.core.dispatch.promotion import facts
from claygrad.errors._calls import shape_of, shape_text
from claygrad.errors._source import Line, parsed, value_of
from claygrad.errors._ways import Context, hint, say


def _disagree(x: Any, y: Any) -> bool:
    return any(m != n and 1 not in (m, n) for m, n in zip(shape_of(x)[::-1], shape_of(y)[::-1], strict=False))


def _widened(a: tuple[int, ...], b: tuple[int, ...], names: tuple[str, str]) -> str:
    """`mask[:, None, None, :] is (2, 1, 1, 5), which fits`: the smaller one with new dimensions, if that helps."""
    if len(a) == len(b) or 1 in (len(a), len(b)) or not a or not b:
        return ""                                                     # a vector: below
    small, large, name = (a, b, names[0]) if len(a) < len(b) else (b, a, names[1])
    places = [
        at for at in itertools.combinations(range(len(large)), len(small))
        if all(m == large[i] or m == 1 for m, i in zip(small, at, strict=True))
    ]
    if not places:
        return ""
    at = max(places, key=lambda one: (one[0] == 0, one[1:]))          # a batch first, the rest as far back as it goes
    first = at[0]
    parts = [":" if i in at else "None" for i in range(first, len(large))]
    shape = tuple(large[i] if i in at and small[at.index(i)] != 1 else 1 for i in range(first, len(large)))
    shown = f"{name}.unsqueeze({parts.index('None')})" if parts.count("None") == 1 else f"{name}[{', '.join(parts)}]"
    if "None" not in parts:
        return ""
    return f"{shown} is {shape_text(shape)}, which fits"


def _shortcut(a: tuple[int, ...], b: tuple[int, ...], names: tuple[str, str]) -> str:
    """The convolution that brings the larger of two images to the channels and the size of the other."""
    if len(a) != len(b) or len(a) not in (3, 4, 5) or a[0] != b[0]:
        return ""
    large, small, name, other = (
        (a, b, *names) if (a[2:], -a[1]) > (b[2:], -b[1]) else (b, a, *names[::-1]))
    sizes = list(zip(large[2:], small[2:], strict=True))
    strides = {-(-m // n) for m, n in sizes if n}
    if len(strides) != 1 or any(-(-m // max(strides)) != n for m, n in sizes):
        return ""
    stride = strides.pop()
    return (f"to add {name}, {shape_text(large)}, to {other}, {shape_text(small)}, bring it to that shape first, with "
            f"a layer of its own: nn.Conv{len(a) - 2}d({large[1]}, {small[1]}, kernel_size=1"
            f"{f', stride={stride}' * (stride > 1)})")


@hint(r"operands could not be broadcast together with shapes (\S+) (\S+)")
def arrays_and_tensors(match: re.Match[str], _: Context) -> str:
    return (f"NumPy compares shapes from the last dimension, and each pair of sizes must be equal or 1: {match[1]} and "
            f"{match[2]} came; torch.from_numpy(array) makes a tensor of an array")


@hint(r"The size of tensor a .* must match the size of tensor b")
def mask_of_attention(_: re.Match[str], context: Context) -> str | None:
    """A mask that does not fit the scores, in scaled_dot_product_attention."""
    query, key, mask = (context.call.value(word) for word in ("query", "key", "attn_mask"))
    node = context.line.expression
    if not isinstance(query, Tensor) or not isinstance(key, Tensor):
        return None
    name = next((one.name for one in context.seen if one.tensor is mask or one.word == "attn_mask"), "attn_mask")
    held = mask if isinstance(mask, Tensor) else next(
        (one.tensor for one in context.seen if one.word == "attn_mask"), None)
    if held is None or node is None:
        return None
    want = (shape_of(query)[-2], shape_of(key)[-2])
    if all(n in (1, m) for n, m in zip(shape_of(held)[::-1], want[::-1], strict=False)):
        return None                                                 # it is the batch that does not fit
    return (f"the mask says who sees whom, (..., query length, key length) = (..., {want[0]}, {want[1]}), and {name} "
            f"is {shape_text(shape_of(held))}: make it of the lengths of the inputs")


@hint(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)")
def broadcasting(match: re.Match[str], context: Context) -> str | None:
    rule = "shapes are compared from the last dimension, and each pair of sizes must be equal or 1"
    named = context.operands()
    if len(named) < 2:
        return rule
    pairs = [(one, other) for i, one in enumerate(named) for other in named[i + 1:] if _disagree(one[1], other[1])]
    first, second = pairs[0] if pairs else named[:2]
    (a, b), names = (shape_of(first[1]), shape_of(second[1])), (first[0], second[0])
    found = _widened(a, b, names)
    if found and not (len(a) == len(b) == 2 and a == b[::-1]):
        return f"{rule}: {found}"
    if len(a) != len(b):
        small, large, name = (a, b, names[0]) if len(a) < len(b) else (b, a, names[1])
        missing = len(large) - len(small)
        for at in range(len(large) - 1, -1, -1):
            widened = [*small]
            if missing == 1 and at <= len(small):
                widened.insert(at, 1)
                if all(m == n or 1 in (m, n) for m, n in zip(widened, large, strict=True)):
                    return f"{rule}: {name}.unsqueeze({at}) is {shape_text(tuple(widened))}, which fits"
    if a == b[::-1] and len(a) == 2:
        return f"{rule}: {names[1]}.T has the shape of {names[0]}"
    for small, large, name in ((a, b, names[0]), (b, a, names[1])):
        if len(small) == 1 < len(large) and small[0] in large[:-1]:
            at = large.index(small[0])
            return (f"{rule}: {name}[:{', None' * (len(large) - 1 - at)}] meets dimension {at} of the other, which has "
                    f"{small[0]} as well")
    small, large, name = (a, b, names[0]) if len(a) < len(b) else (b, a, names[1])
    if len(small) == 1 and len(large) > 2 and small[0] in (3, 4) and large[-3] == 1:
        return (f"{rule}: values for each channel go along dimension -3, {name}[:, None, None], and here there is 1 "
                f"channel: give it 1 value, or images of {small[0]} channels")
    width = max(len(a), len(b))
    padded = [(1,) * (width - len(shape)) + shape for shape in (a, b)]
    wrong = [at for at, (m, n) in enumerate(zip(*padded, strict=True)) if m != n and 1 not in (m, n)]
    inside = hasattr(value_of(ast.Name("self"), context.frame), "_modules")
    images = wrong == [1] and len(a) == len(b) > 3
    shortcut = _shortcut(a, b, names) if images or (len(wrong) > 1 and (inside or len(a) == len(b) > 3)) else ""
    if shortcut:
        return f"{rule}: {shortcut}"
    if len(wrong) == 1:
        at = wrong[0]
        longer = 0 if padded[0][at] > padded[1][at] else 1
        own = at - (width - len((a, b)[longer]))
        least = min(padded[0][at], padded[1][at])
        made = [text for (name, x), shape in zip((first, second), padded, strict=True)
                if (text := _layer_behind(name, x, shape[at]))]
        if made:
            context.lines += made
            return f"{rule}: make these two sizes equal where they are made, or bring one to the other with a layer"
        fixed = names[1 - longer]
        held = (first, second)[1 - longer][1]
        if "." in fixed and value_of(parsed(fixed), context.frame) is held and held.is_leaf:
            return (f"{rule}: {fixed} was made for {least} in dimension {at - width}, and {names[longer]} has "
                    f"{padded[longer][at]}: make it for as many, or cut the input")
        cut = names[longer] if re.fullmatch(r"[\w.()\[\], ]+", names[longer]) else f"({names[longer]})"
        return (f"{rule}: where they go together, take the same part, {cut}[{':, ' * own}:{least}]; or "
                f"reshape one of them")
    return f"{rule}: reshape or transpose one of them, or take the same part of both"


_WIDTHS = ("out_features", "out_channels", "embedding_dim", "hidden_size")
_MAX_NODES = 64                     # that are looked at on the way back to a layer


def _layer_behind(name: str, x: Any, size: int) -> str:
    """`the 3 of eps * std come from logvar: Linear(in_features=8, out_features=3), made at FILE:7`: the nearest layer
    in the graph of a tensor that makes as many."""
    waiting = [] if x.grad_fn is None else [x.grad_fn]
    for node in waiting:
        call: Any = getattr(node, "module", None)
        layer = None if call is None else call.module
        if layer is not None and any(getattr(layer, word, None) == size for word in _WIDTHS):
            origin = next((facts(p)[3] for p in layer.parameters()), None)
            where = "" if origin is None else f", made at {Line(*origin).text}"
            path = f"{call.path}: " * bool(call.path)
            return f"the {size} of {name} come from {path}{type(layer).__name__}({layer.extra_repr()}){where}"
        if len(waiting) < _MAX_NODES:
            waiting += [below for below, _ in node.next_functions if below is not None]
    return ""


@hint(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
def products(match: re.Match[str], context: Context) -> str | None:
    n, k, m, p = map(int, match.groups())
    module = context.module
    if getattr(module, "in_features", None) == m:
        if n > 1 and n * k == m and context.call.tensors and len(shape_of(context.call.tensors[0])) == 2:
            return (f"{n} * {k} is in_features={m}, so all of the input is one sample: give the model a batch, with "
                    "one dimension more: x.unsqueeze(0)")
        shape = shape_of(context.call.tensors[0]) if context.call.tensors else ()
        flat = 1
        for size in shape[1:]:
            flat *= size
        more = f", or flatten(1) the input, which gives ({shape[0]}, {flat})" if len(shape) > 2 and flat == m else ""
        return (f"the last dimension of the input is {k}, and must be in_features={m}: make the layer with "
                f"in_features={k}{more}")
    first, second = context.name(0, "mat1"), context.name(1, "mat2")
    if context.call.name == "linear":
        return f"the weight is (out_features, in_features): here ({p}, {m}), and the last dimension of the input is {k}"
    if (n, k) == (m, p):
        return (f"matrices of one shape, {shape_text((n, k))}: {first} * {second} multiplies them element by element; "
                f"{second}.T @ {first} and {first} @ {second}.T are matrix products")
    if k == p:
        return f"the inner sizes {k} and {m} differ: {first} @ {second}.T multiplies ({n}, {k}) by ({p}, {m})"
    if n == m:
        return f"the inner sizes {k} and {m} differ: {first}.T @ {second} multiplies ({k}, {n}) by ({m}, {p})"
    return f"the inner sizes, {k} and {m}, must be equal: look at where the two were made, or transpose one (.T, .mT)"


@hint(r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]")
def batches(match: re.Match[str], _: Context) -> str | None:
    return (f"the last dimension of the first must be the second last of the second: {match[2]} against {match[4]}, "
            "with equal "
            f"batches: {match[1]} against {match[3]}; .mT transposes the matrices of a batch")


@hint(r"[Ee]xpected (\w+) to have size (\d+) in last dimension, but got \w+ with sizes \[(.*?)\]")
def last_dimension(match: re.Match[str], context: Context) -> str | None:
    size, shape = int(match[2]), [int(n) for n in match[3].split(", ") if n]
    name = next((one.name for one in context.seen if one.word == match[1]), match[1])
    if size not in shape[:-1]:
        return None
    at = len(shape) - 2 - shape[:-1][::-1].index(size)
    moved = (*shape[:at], *shape[at + 1:], size)
    return f"its {size} are in dimension {at}, and must come last: {name}.movedim({at}, -1) is {shape_text(moved)}"


say(r"1D tensors expected, but got 2D and 2D", "dot takes two vectors: use @ (matmul) for matrices")
say(r"1D tensors expected|inconsistent tensor size, expected tensor \[(\d+)\] and src \[(\d+)\]", "dot takes two "
    "vectors of one length: slice or pad one of them; torch.outer(a, b) multiplies every pair")
say(r"size mismatch, got input|vector \+ matrix|self must be a matrix|mat2 must be a "
    r"matrix|(batch1|batch2|mat1|mat2) must be a \dD",
    "mm takes matrices, mv a matrix and a vector, bmm batches of matrices; @ (matmul) takes all of them")
say(r"both arguments to (linear|matmul) need to be at least 1D", "give it at least one dimension: unsqueeze(0)")


@hint(r"Given groups=(\d+), weight of size \[(.*?)\], expected input\[(.*?)\] to have (\d+) channels, but got (\d+) "
      r"channels")
def channels(match: re.Match[str], context: Context) -> str | None:
    given = [int(n) for n in match[3].split(", ")]
    want = int(match[4])
    whole = shape_of(context.call.tensors[0]) if context.call.tensors else ()
    if len(whole) == len(given) - 1 and want == 1:
        name = "images" if len(whole) == 3 else "samples"
        return (f"the input {shape_text(whole)} has no dimension for channels, so it was taken for one of {whole[0]} "
                f"channels: unsqueeze(1) makes {whole[0]} {name} of 1 channel of it, "
                f"{shape_text((whole[0], 1, *whole[1:]))}")
    if given[-1] == want:
        order = (0, len(given) - 1, *range(1, len(given) - 1))
        return (f"channels come second, and here they are last: permute{order} the input, which gives "
                f"{shape_text(tuple(given[i] for i in order))}")
    return (f"dimension 1 of the input holds the channels: make the layer with in_channels={match[5]}, or give it "
            f"{want} channels")


@hint(r"Expected 3D \(unbatched\) or 4D \(batched\) input to (conv2d|conv_transpose2d|max_pool2d|\w+), but got "
      r"input of size: \[(.*?)\]")
def images(match: re.Match[str], _: Context) -> str | None:
    given = [int(n) for n in match[2].split(", ") if n]
    if len(given) == 2:
        side = round(given[1] ** 0.5)
        if side * side == given[1] and "transpose" not in match[1]:
            return (f"it takes (batch, channels, height, width): view(-1, 1, {side}, {side}) makes {given[0]} images "
                    "of it")
    if len(given) == 2 and "transpose" in match[1]:
        return (f"it takes (batch, channels, height, width): x[:, :, None, None] makes ({given[0]}, {given[1]}, 1, 1) "
                f"of it, view({given[0]}, channels, height, width) larger images")
    return ("it takes (batch, channels, height, width): unsqueeze(1) adds a dimension for one channel, unsqueeze(0) "
            "one for the batch")


@hint(r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input to (\w+)")
def rows(match: re.Match[str], _: Context) -> str | None:
    sizes = {"3": "(batch, channels, length)", "4": "(batch, channels, height, width)",
             "5": "(batch, channels, depth, height, width)"}
    return (f"it takes {sizes.get(match[2], 'a batch')}: unsqueeze(1) adds a dimension for one channel, unsqueeze(0) "
            "one for the batch")


say(r"Kernel size can't be greater than actual input size", "take a smaller kernel_size, give it padding=, or a "
    "larger input: earlier "
    "layers may have made it too small")
say(r"Output size is too small|input image .* smaller than kernel", "the input is too small here: fewer poolings or "
    "strides before "
    "it, or padding=")


@hint(r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) for tensor "
      r"number (\d+)")
def joined(match: re.Match[str], context: Context) -> str | None:
    shapes = [shape_of(x) for x in context.call.tensors]
    dim = int(match[1])
    if shapes and all(len(shape) == len(shapes[0]) for shape in shapes):
        for at in range(len(shapes[0])):
            others = {shape[:at] + shape[at + 1:] for shape in shapes}
            if at != dim and len(others) == 1:
                return f"joined along dim={dim}, the sizes must be equal in all others: dim={at} fits these"
    rule = f"joined along dim={dim}, the sizes must be equal in all other dimensions"
    return f"{rule}: cut the larger, or pad the smaller with F.pad{_padded(dim, int(match[4]), context)}"


def _padded(dim: int, number: int, context: Context) -> str:
    """`: F.pad(up, (0, 1, 0, 1)) is (1, 8, 25, 25)`: the part that differs, or the first, made larger."""
    named = context.operands()
    if number >= len(named) or len(shape_of(named[0][1])) != len(shape_of(named[number][1])):
        return ""
    (first, a), (other, b) = [(name, shape_of(x)) for name, x in (named[0], named[number])]
    more = [0 if at == dim else m - n for at, (m, n) in enumerate(zip(a, b, strict=True))]
    name, shape = (other, b) if max(more) > 0 else (first, a)
    more = more if max(more) > 0 else [-n for n in more]
    if min(more) < 0:
        return ""
    if all(n == 0 or shape[at] == 1 for at, n in enumerate(more)):
        sizes = ", ".join("-1" if n == 0 else str(shape[at] + n) for at, n in enumerate(more))
        became = tuple(m + n for m, n in zip(shape, more, strict=True))
        return f": {name}.expand({sizes}) is {shape_text(became)}, with what it has for each"
    while more and more[0] == 0:
        more = more[1:]
    widths = ", ".join(f"0, {n}" for n in reversed(more))
    became = (*shape[:len(shape) - len(more)], *(m + n for m, n in zip(shape[len(shape) - len(more):], more,
                                                                        strict=True)))
    return f": F.pad({name}, ({widths})) is {shape_text(became)}"


say(r"stack expects each tensor to be equal size", "pad them to one length (nn.utils.rnn.pad_sequence), or join "
                                                   "them with torch.cat")
@hint(r"Tensors must have same number of dimensions")
def dimensions_of_joined(_: re.Match[str], context: Context) -> str:
    named = context.operands()
    if len(named) < 2:
        return "unsqueeze the smaller, or stack() to join along a new dimension"
    (name, x), (least, y) = max(named, key=_rank), min(named, key=_rank)
    large, small = shape_of(x), shape_of(y)
    flat: tuple[int, ...] = (large[0], math.prod(large[1:])) if large else ()
    if len(small) == 2 and flat[:1] == small[:1] and set(large[2:]) == {1}:
        return f"give both as many dimensions: {name}.flatten(1) is {shape_text(flat)}"
    if len(large) == len(small) + 1:
        fits = [at for at in range(len(large)) if large[:at] + large[at + 1:] == small]
        at = fits[0] if fits else 0
        return (f"give both as many dimensions: {least}.unsqueeze({at}) is "
                f"{shape_text((*small[:at], 1, *small[at:]))}")
    return (f"give both as many dimensions: {name} is {shape_text(large)}, and {least} {shape_text(small)}; flatten() "
            "or squeeze() takes some away, unsqueeze() adds one")


def _rank(named: tuple[str, Any]) -> int:
    return len(shape_of(named[1]))


say(r"expected a non-empty list of Tensors|stack expects a non-empty", "the list is empty: nothing was put into it "
    "before")


@hint(r"shape '\[(.*?)\]' is invalid for input of size (\d+)")
def sizes(match: re.Match[str], context: Context) -> str | None:
    wanted = [int(n) for n in match[1].split(", ") if n]
    total = 1
    for n in wanted:
        total *= n if n >= 0 else 1
    numel = int(match[2])
    if -1 in wanted:
        return (f"the input has {numel} elements, which {total} does not divide: correct one of the sizes"
                f"{_corrected(wanted, context.tensor())}")
    tensor: Any = context.tensor()
    if tensor is not None and total and numel % total == 0 and len(shape_of(tensor)) > 1:
        return (f"the input has {numel} elements, {numel // total} times {total}: view(-1, "
                f"{', '.join(map(str, wanted))}) keeps them all")
    if total and not any(n > 0 and numel % (total // n) == 0 for n in wanted):
        return (f"the input has {numel} elements and the shape {total}, and no single size would mend it: look which "
                "sizes of the input these are to divide, and cut or pad the input to a multiple")
    return (f"the input has {numel} elements and the shape {total}: correct a size, or write -1 for the one that is "
            "to be computed")


def _corrected(wanted: list[int], tensor: Any) -> str:
    """`: (-1, 128, 7, 7) keeps the 5 samples of 6272`: one size made to fit the samples of the input."""
    shape = shape_of(tensor) if tensor is not None else ()
    if len(shape) < 2 or wanted[0] != -1 or 0 in wanted or 0 in shape:
        return ""
    own = math.prod(shape[1:])
    for at in range(1, len(wanted)):
        rest = math.prod(wanted[1:at] + wanted[at + 1:])
        if own % rest == 0:
            fits = [*wanted[:at], own // rest, *wanted[at + 1:]]
            return f", such as ({', '.join(map(str, fits))}), which keeps the {shape[0]} samples of {own}"
    return ""


say(r"view size is not compatible with input tensor's size and stride", "call .reshape(...) instead, which copies "
    "where it must, or "
    ".contiguous() first: the tensor was transposed or sliced")
say(r"only one dimension can be inferred", "write -1 for one size at most")
say(r"cannot reshape tensor of 0 elements", "give all sizes: an empty tensor does not tell what -1 stands for")
say(r"The expanded size of the tensor \((\S+)\) must match the existing size \((\d+)\) at non-singleton dimension "
    r"(\d+)",
    "only dimensions of size 1 expand: unsqueeze() where the new one belongs, or repeat()")
say(r"permute.*number of dimensions in the tensor input does not match|number of dims don't match in permute",
    "name every dimension of "
    "the tensor once; to exchange two, use transpose(a, b)")
say(r"number of sizes provided .* must be greater or equal|number of dimensions in the tensor", "give a size for "
    "every dimension; "
    "-1 keeps the size of one")
say(r"shape mismatch: value tensor of shape \[(.*?)\] cannot be broadcast to indexing result of shape \[(.*?)\]",
    "the value must have the shape ({2}), or one that broadcasts to it")
say(r"output with shape \[(.*?)\] doesn't match the broadcast shape \[(.*?)\]", "a change in place keeps the shape "
    "({1}): write "
    "x = x + y instead, or reshape the other operand")


@hint(r"Dimension out of range|must be a (?:\dD tensor|matrix|vector)|Dimension specified as|[Ee]xpected \dD|"
      r"(?:iteration over|invalid index of|len\(\) of) a 0-d|expects? .*but got .*dim")
def squeezed(_: re.Match[str], context: Context) -> str | None:
    """`h.squeeze()` of a batch of one, some lines above."""
    for name, x in context.operands():
        origin = facts(x)[3]
        line = None if origin is None else Line(*origin)
        text = line.source if line is not None else ""
        if re.search(r"\.squeeze\(\)", text) and len(shape_of(x)) < 3:
            return (f"squeeze() takes every dimension of size 1 away, that of a batch of one too: {name} is "
                    f"{shape_text(shape_of(x))}; name the one that is meant, squeeze(-1), or leave it out")
    return None


@hint(r"(running_mean|running_var|weight|bias) should contain (\d+) elements not (\d+)")
def features(match: re.Match[str], context: Context) -> str | None:
    kind = "the layer" if context.module is None else type(context.module).__name__
    return (f"dimension 1 of the input holds {match[2]} features: make {kind} with num_features={match[2]}, or give "
            f"it {match[3]}")


@hint(r"expected (\S+) input \(got (\d)D input\)")
def dims_of_norm(match: re.Match[str], context: Context) -> str | None:
    got = match[2]
    sibling = {"2": "BatchNorm1d", "3": "BatchNorm1d", "4": "BatchNorm2d", "5": "BatchNorm3d"}.get(got, "another layer")
    if context.module is not None and "Instance" in type(context.module).__name__:
        sibling = sibling.replace("Batch", "Instance")
    return f"{sibling} takes {got}D input; for this one give {match[1]} (batch, channels, ...)"


say(r"output padding must be smaller than either stride or dilation.*?output_padding_\w+: (\d+).*?stride_\w+: (\d+)",
    "output_padding={1} must be less than stride={2}, or than dilation: it chooses among the sizes that one stride "
    "covers; take stride - 1 at most")
say(r"output padding must be smaller than either stride or dilation", "output_padding must be less than stride, or "
    "than dilation: take stride - 1 at most")
say(r"Expected more than 1 value per channel when training", "take a larger batch (drop_last=True in the DataLoader "
    "for a last batch "
    "of one), or call model.eval() where you do not train")
say(r"Expected more than 1 spatial element when training", "give it larger images, or leave the normalisation out here")
say(r"Given normalized_shape=\[(.*?)\], expected input with shape \[(.*?)\], but got input of size\[(.*?)\]",
    "normalized_shape is that of the last dimensions of the input: make the layer with those of ({3}), or give it "
    "an input that ends "
    "in ({1})")
say(r"num_channels .*must be divisible by num_groups|Expected number of channels in input to be divisible by "
    r"num_groups",
    "take a num_groups that divides the number of channels")
@hint(r"embed_dim must be divisible by num_heads")
def heads(_: re.Match[str], context: Context) -> str | None:
    width, count = ([context.argument(word), *context.inside("__init__", word)][-1]
                    for word in ("embed_dim", "num_heads"))
    if not isinstance(width, int) or not isinstance(count, int) or width < 1:
        return "take num_heads that divides embed_dim"
    if width > 1_000_000:
        return f"num_heads must divide embed_dim, and {count} does not divide {width}"
    fits = [n for n in range(1, width + 1) if width % n == 0]
    near = sorted(sorted(fits, key=lambda n: abs(n - count))[:2])
    shown = ("nhead", "d_model") if re.search(r"nhead|Transformer", context.line.source) else ("num_heads", "embed_dim")
    return (f"{shown[0]} must divide {shown[1]}, and {count} does not divide {width}: take {shown[0]}="
            f"{' or '.join(map(str, near))}, or {shown[1]}={-(-width // count) * count}")



say(r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)", "the last dimension of the input "
    "must be "
    "input_size: make the layer with input_size={2}, or give it {1} features")
say(r"input has inconsistent input_size: got (\d+) expected (\d+)|input has inconsistent input_size got (\d+),? "
    r"expected (\d+)",
    "the last dimension of the input must be input_size, as the layer was made")
say(r"Expected hidden(\[\d\])? size|hidden0? has inconsistent|batch_size .* hidden", "the hidden state is (layers * "
    "directions, batch, "
    "hidden_size): make it for this batch, or leave it out for zeros")
say(r"was expecting embedding dimension of (\d+), but got (\d+)", "the last dimension must be embed_dim, {1}: make "
    "the layer with "
    "embed_dim={2}, or project the input")
say(r"to be within the support \((.*)\) of the distribution", "the value must lie in the support, {1}; pass "
    "validate_args=False to the distribution to have no check")
say(r"Got (\d)D input, but (\w+) mode needs (\d)D input", "mode 'linear' takes (batch, channels, length), 'bilinear' "
    "and 'bicubic' (batch, channels, height, width), 'trilinear' one dimension more; 'nearest' takes all of them")


@hint(r"Index tensor must have the same number of dimensions as (input|self|src) tensor")
def index_dimensions(_: re.Match[str], context: Context) -> str | None:
    found = {name: x for name, x in context.call.operands() if name in ("input", "index")}
    if len(found) < 2:
        return None
    missing = len(shape_of(found["input"])) - len(shape_of(found["index"]))
    index = context.name(2, "index")
    if missing == 1:
        dim = context.call.value("dim")
        rows = dict(context.call.operands()).get("src")
        if rows is not None and shape_of(rows)[:1] == shape_of(found["index"]) and dim == 0:
            src, of = context.name(3, "src"), context.name(0, "input")
            return (f"the index says where each element goes, so it has the shape of {src}: "
                    f"{index}.unsqueeze(1).expand_as({src}); {of}.index_add(0, {index}, {src}) adds whole rows")
        return (f"give the index as many dimensions as the input: {index}.unsqueeze("
                f"{dim if isinstance(dim, int) else 1}), and squeeze the result")
    return f"the index needs {len(shape_of(found['input']))} dimensions, as the input has"


@hint(r"\b(query|key|value)\b.*(shape|dimension)|attn_mask|key_padding_mask")
def attention(_: re.Match[str], context: Context) -> str | None:
    words = f"{context.head} {context.call.name} {'' if context.module is None else type(context.module).__name__}"
    if not re.search(r"attn|[Aa]ttention|Transformer|padding_mask", words):
        return None
    return ("queries are (length, batch, embed_dim), or (batch, length, embed_dim) with batch_first=True; masks are "
        "(length, source length), "
            "key_padding_mask (batch, source length)")


@hint(r"Padding length should be less than or equal to two times the input dimension but got padding length (\d+) and "
      r"input of dimension (\d+)")
def padded_dimensions(match: re.Match[str], _: Context) -> str:
    pairs, dims = int(match[1]) // 2, int(match[2])
    return (f"padding has two numbers for each dimension, from the last one: {match[1]} of them pad {pairs}, and the "
            f"input has {dims}; give {2 * dims} at most, such as F.pad(x, ({', '.join(['1'] * 2 * dims)}))")


say(r"Padding size should be less than|[Pp]adding length|Only \dD, \dD", "padding is given from the last dimension: "
    "(left, right, "
    "top, bottom, ...), less than the size for reflect")
say(r"split_with_sizes expects split_sizes to sum exactly to (\d+)", "the sizes must add up to {1}")
say(r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)", "dim goes from "
    "{1} to {2} for "
    "this tensor: negative ones count from the end")
say(r"Dimension specified as -?\d+ but tensor has no dimensions", "it is a single number: leave dim away, or "
    "unsqueeze(0) it first")
say(r"dim -?\d+ appears multiple times|repeated dim", "name each dim once")
