"""Ways out of errors of einsum, complex and sparse tensors, function transforms, distributions and custom Functions."""

from __future__ import annotations

import difflib
import linecache
import re
from typing import Any

from claygrad.core import Tensor
from claygrad.core.graph.provenance import place_text
from claygrad.errors._calls import described, shape_of, shape_text
from claygrad.errors._source import value_of
from claygrad.errors._ways import Context, hint, say

# einsum


@hint(r"^einsum\(\)")
def einsum(_: re.Match[str], context: Context) -> str | None:
    """Which operand or letter of the equation is wrong, with its sizes."""
    equation = next((x for x in context.call.args if isinstance(x, str)), None)
    tensors = context.call.tensors
    if equation is None or not tensors:
        return None
    named = context.call.operands(context.names)
    names = [name for name, _ in named]
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    if len(terms) != len(tensors):
        return (
            f"the equation has {len(terms)} operand{'s' * (len(terms) != 1)} before ->, {', '.join(terms)}, and "
            f"{len(tensors)} came: give one tensor for each"
        )
    sizes: dict[str, tuple[int, str]] = {}
    for term, tensor, name in zip(terms, tensors, names, strict=True):
        shape = shape_of(tensor)
        letters = term.replace("...", "")
        if "..." not in term and len(letters) != len(shape):
            return (
                f"'{term}' names {len(letters)} dimension{'s' * (len(letters) != 1)}, and {name} has {len(shape)}, "
                f"{shape_text(shape)}: write a letter for each, or ... for those in front"
            )
        if "..." in term:
            continue
        for letter, size in zip(letters, shape, strict=True):
            before = sizes.setdefault(letter, (size, name))
            if before[0] != size and 1 not in (before[0], size):
                return (
                    f"'{letter}' is {before[0]} in {before[1]} and {size} in {name}: a letter stands for one size; "
                    f"give different dimensions different letters, or make the sizes equal"
                )
    out = equation.replace(" ", "").partition("->")[2].replace("...", "")
    unknown = [letter for letter in out if letter not in "".join(terms)]
    if unknown:
        return f"'{unknown[0]}' stands behind -> but in no operand: the result has letters of the operands only"
    return "a letter for every dimension of an operand, one size for each letter, and behind -> each letter once"


# complex numbers

say(
    r"only for real scalar outputs but got|only be implicitly created for real scalar",
    "a loss is a real number: loss.abs(), loss.abs() ** 2 or loss.real of it; or pass gradient= to backward()",
)
say(
    r"not implemented for 'Complex\w+'|not (?:yet )?supported for complex|does not (?:yet )?support complex|"
    r"complex (?:tensors?|inputs?|dtypes?|numbers?) (?:is|are) not",
    "complex numbers have no order, and it takes real ones: x.abs(), x.angle(), x.real or x.imag; "
    "torch.view_as_real(x) gives the pairs",
)


# sparse tensors

say(
    r"[Ss]parse layout tensor to numpy|can't convert Sparse",
    "make it dense first: x.to_dense().numpy()",
)
say(
    r"is_coalesced|uncoalesced|coalesce first",
    "add up entries of equal indices first: x = x.coalesce()",
)
say(
    r"size is inconsistent with indices: for dim (\d+), size is (\d+) but found index (\d+)",
    "index {3} of dimension {1} does not fit into size {2}: give a larger size= (indices are (dimensions, entries), "
    "rows of indices first), or mend the indices",
)
say(
    r"number of dimensions must be sparse_dim \((\d+)\) \+ dense_dim \((\d+)\), but got (\d+)",
    "indices are (dimensions, entries): a row for each dimension of size=; transpose them with .t() where they are "
    "(entries, dimensions)",
)
say(
    r"[Ii]ndices and values must have same nnz|indices and values must have the same number",
    "indices are (dimensions, entries) and values (entries,): transpose the indices with .t() where they are "
    "(entries, dimensions), or give one value for each",
)


# function transforms

say(
    r"vmap: It looks like you're (?:calling \.item\(\)|attempting to use a Tensor in some data-dependent)",
    "inside vmap a tensor stands for all examples, so Python's if, while, float() and item() have no single value: "
    "torch.where(condition, a, b) chooses for each example",
)
say(
    r"vmap: called random operation while in randomness error mode",
    'say how: vmap(f, randomness="different") draws for each example, "same" once for all',
)
say(
    r"vmap: We do not support batching operators that can output dynamic shape",
    "the examples would get different shapes: multiply by the mask or use torch.where(mask, x, 0), which keep the "
    "shape, instead of x[mask] and nonzero()",
)


@hint(r"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes (\[.*?\])")
def mapped_sizes(match: re.Match[str], _: Context) -> str | None:
    return (
        f"vmap goes through the first dimension of every argument, and these have {match[1]} elements there: "
        "in_dims=(0, None) leaves an argument whole, in_dims=(0, 1) takes another dimension"
    )


say(
    r"vmap\(.*in_dims.*(?:dim of \d+|is not compatible)|in_dims is not compatible with the structure",
    "in_dims is one int for all, or a tuple with an int or None for each argument",
)
say(
    r"vmap: at least one|Expected at least one Tensor to vmap over",
    "give it a tensor by position: keyword arguments are mapped over dimension 0, and in_dims=None maps nothing",
)
say(
    r"output of type .*vmap|must only return Tensors",
    "a function inside vmap, grad or jvp returns tensors, or tuples and dicts of them: torch.as_tensor(value)",
)
say(
    r"has no forward gradient|Trying to (?:use|set) forward AD|forward AD level|no (?:forward )?dual level|"
    r"not currently inside a|outside of a forward AD",
    "do it inside `with torch.autograd.forward_ad.dual_level():`, or use torch.func.jvp(f, (x,), (tangent,))",
)
say(
    r"Expected tangent to have the same (shape|dtype|size)|tangent.*same (shape|size|dtype)",
    "the tangent has the {1} of its tensor: torch.ones_like(x), torch.randn_like(x)",
)


# distributions


@hint(r"Expected parameter (\w+) .*to satisfy the constraint (.+?), but found invalid values")
def parameter_outside(match: re.Match[str], context: Context) -> str | None:
    name, constraint = match[1], match[2]
    given = context.argument(name)
    if given is None:
        given = next((x for x in context.call.args if isinstance(x, Tensor) and bool(x.isnan().any())), None)
    if isinstance(given, Tensor) and bool(given.isnan().any()):
        return (
            f"{name} holds NaN, so it was spoilt before: with claygrad.debug.trace_nans() around the program stops at "
            "the operation that made the first one"
        )
    if "Simplex" in constraint:
        return None
    low = re.search(r"lower_bound=([-\d.]+)", constraint)
    high = re.search(r"upper_bound=([-\d.]+)", constraint)
    if low is not None and high is not None:
        if (float(low[1]), float(high[1])) == (0.0, 1.0):
            return f"{name} lies between 0 and 1: torch.sigmoid(scores), or pass logits=scores"
        return f"{name} lies between {low[1]} and {high[1]}: clamp({low[1]}, {high[1]}) it"
    if low is not None:
        more = "torch.exp(x), as of a log-variance, or F.softplus(x) + 1e-6"
        return f"{name} must be above {low[1]}: make it so with {more}"
    return None


# custom Functions


def _function_class(context: Context, name: str) -> Any:
    """The Function of that name that the user's file holds, or the one whose apply the line calls."""
    node: Any = context.line.expression
    func: Any = getattr(node, "func", None)
    made = value_of(func.value, context.frame) if getattr(func, "attr", "") == "apply" else None
    if isinstance(made, type):
        return made
    for table in (context.frame.f_locals, context.frame.f_globals):
        if isinstance(table.get(name), type):
            return table[name]
    return None


def _line_in(method: Any, word: str) -> str:
    """The line of a function that has a word in it, or where it begins."""
    code = getattr(method, "__code__", None)
    if code is None:
        return ""
    numbers = sorted({line for *_, line in code.co_lines() if line is not None})
    at = next((n for n in numbers if word in linecache.getline(code.co_filename, n)), code.co_firstlineno)
    source = linecache.getline(code.co_filename, at).strip()
    return f"{place_text(code.co_filename, at)}, in {code.co_name}: {source}"


@hint(r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)")
def kept_numbers(match: re.Match[str], context: Context) -> str | None:
    owner = _function_class(context, "")
    for method in ("forward", "setup_context"):
        where = _line_in(getattr(owner, method, None), "save_for_backward")
        if "save_for_backward" in where:
            context.lines.append(f"it was given to it at {where}")
            break
    return f"argument {match[1]} is {match[2]}: keep what is no tensor on ctx, ctx.k = k, and read ctx.k in backward"


@hint(r"[Ff]unction (\w+)Backward returned an (?:invalid gradient|incorrect number)")
def wrong_gradient(match: re.Match[str], context: Context) -> str | None:
    owner = _function_class(context, match[1])
    where = _line_in(getattr(owner, "backward", None), "return ")
    if where:
        context.lines.append(f"its backward returns at {where}")
    return None


@hint(r"The differentiated Tensor at index (\d+) appears to not have been used in the graph|"
      r"One of the differentiated Tensors")
def unused_input(match: re.Match[str], context: Context) -> str | None:
    inputs = context.argument("inputs")
    if match[1] is None or not isinstance(inputs, (list, tuple)) or int(match[1]) >= len(inputs):
        return None
    node: Any = context.line.expression
    parts = getattr(node, "args", [])
    listed = getattr(parts[1], "elts", []) if len(parts) > 1 else []
    from ast import unparse

    name = unparse(listed[int(match[1])]) if int(match[1]) < len(listed) else f"inputs[{match[1]}]"
    context.lines.append(f"{name}: {described(inputs[int(match[1])])}, which the outputs were not computed from")
    return None


# single texts

say(
    r"maximum size for tensor at dimension (-?\d+) is (\d+) but size is (\d+)",
    "dimension {1} has {2} elements, and windows of {3} do not fit: take a size of {2} at most, or pad it first",
)
say(r"only supports 1-d non-negative integral inputs", "it counts 0, 1, 2 ...: one dimension, .flatten(), of integers, "
    ".long(), none below 0, x[x >= 0]")
say(
    r"istft requires a complex-valued input",
    "give it what torch.stft(..., return_complex=True) returns; torch.view_as_complex(x) makes them of pairs",
)
say(
    r"Expected (primals|tangents) to be a tuple",
    "put each argument into a tuple: jvp(f, (x,), (tangent,))",
)
say(
    r"Expected object of scalar type (\w+) but got scalar type (\w+) for (\w+) argument",
    "both must have one dtype: the {3} is {2}, so cast it to {1}, x.to(y.dtype)",
)
say(
    r"does not have a parametrization on (\w+)",
    "{1} was never parametrized, or no longer is: register_parametrization(module, '{1}', ...) makes it so, and "
    "parametrize.is_parametrized(module, '{1}') tells",
)
say(
    r"Expected a matrix or batch of matrices\. Got a tensor of (\d+) dimensions",
    "a bias has one dimension, a weight two or more: name the weight, name='weight'",
)
say(
    r"All outputs of f must be floating-point or complex Tensors, got Tensor with dtype (\S+)",
    "integers have no derivative: give it floating numbers, x.float()",
)
say(
    r"contracted dimensions need to match, but first has size (\d+) in dim (-?\d+) and second has size (\d+) in dim "
    r"(-?\d+)",
    "dimension {2} of the first, {1}, must have the size of dimension {4} of the second, {3}: name the pairs, "
    "dims=([1], [1]), or transpose one",
)


# names of parameters


@hint(
    r"(?:does not have|doesn't have|has no|no) (?:a )?(?:parameter|buffer|parametriz\w+)\b.*?"
    r"['\"`](\w+)['\"`]|[Mm]odule has no parameter (\w+)|no (?:weight|spectral) norm\w* of '(\w+)'|"
    r"['\"`](\w+)['\"`] of .* found in"
)
def parameter_by_name(match: re.Match[str], context: Context) -> str | None:
    owner = next((x for x in context.call.args if hasattr(x, "_parameters") and hasattr(x, "_modules")), None)
    name = next((group for group in match.groups() if group), "")
    if owner is None or not name:
        return None
    own = [*owner._parameters, *owner._buffers]
    near = difflib.get_close_matches(name, own, 1, 0.4)
    if near:
        return f"did you mean '{near[0]}'?"
    inner = [full for full, _ in owner.named_parameters()]
    if own:
        return f"{type(owner).__name__} has {', '.join(own)}"
    if inner:
        return (
            f"{type(owner).__name__} itself has no parameter; its layers have {', '.join(inner[:6])}: give it the layer"
        )
    return f"{type(owner).__name__} has no parameters: choose a layer with a weight"
