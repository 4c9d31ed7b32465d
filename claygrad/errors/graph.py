"""Ways out of errors of autograd."""
from __future__ import annotations

import ast
import linecache
import re

from claygrad.core.graph.provenance import place_text
from claygrad.errors._cuts import cut_lines, second_backward
from claygrad.errors._source import MISSING, parsed, short, statements, value_of
from claygrad.errors._ways import Context, hint, say


@hint(r"element \d+ of tensors does not require grad")
def does_not_require_grad(_: re.Match[str], context: Context) -> str | None:
    return cut_lines(context)


@hint(r"Trying to backward through the graph a second time")
def backward_twice(_: re.Match[str], context: Context) -> str | None:
    return second_backward(context)


say(r"is a view and is being modified inplace", "work on a copy: clone() it before the change, or compute a new "
                                                "tensor instead of "
    "changing this one")
say(r"more than one element of the written-to tensor", "several of its elements share one place in memory, as after "
                                                       "expand(): "
    "clone() it first")
say(r"some elements of the input tensor and the written-to tensor", "clone() one of them first: they share memory")
say(r"Mismatch in shape: grad_output\[\d+\] has a shape of \S+?\((\[.*?\])\) and output\[\d+\] has a shape of "
    r"\S+?\((\[.*?\])\)",
    "pass a gradient of shape {2}, that of the tensor backward() is called on")
say(r"[Oo]nly Tensors of floating point", "give it a floating dtype: write 1.0 instead of 1, pass "
                                          "dtype=torch.float32, or call "
    ".float() first")
@hint(r"Only Tensors created explicitly by the user")
def result_in_a_module(_: re.Match[str], context: Context) -> str | None:
    name = context.seen[0].name if context.seen else ""
    owner = value_of(parsed(name.partition(".")[0]), context.frame) if "." in name else None
    if not hasattr(owner, "_modules"):
        return None
    return (f"{name} is a result with its graph, which cannot be copied: let the module keep {name}.detach(), or set "
            "it to None before the copy; copy.deepcopy(model.state_dict()) copies parameters and buffers only")


say(r"Only Tensors created explicitly by the user", "copy it with .detach().clone(), or .clone() to keep its gradient")
say(r"you can only change requires_grad flags of leaf", "it was computed: use .detach() to get it without its "
                                                        "graph, or set "
    "requires_grad on the leaves before computing")


@hint(r"can't retain_grad on Tensor that has requires_grad=False|"
      r"cannot register a hook on a tensor that doesn't require")
def no_graph_for_a_hook(_: re.Match[str], context: Context) -> str | None:
    told = cut_lines(context)
    if told.startswith("nothing it was"):
        return "call requires_grad_() on it first, or on what it is computed from"
    return told


say(r"leaf variable has been moved into the graph interior", "clone() the leaf before changing it in place")
say(r"derivative for .* is not implemented", "detach() its input if no gradient is needed there, or write the step "
                                             "with other "
    "operations")
say(r"functions with out=\.\.\. arguments don't support automatic differentiation", "leave out= away and use the "
    "result, or call "
    "it under torch.no_grad()")
say(r"Inference tensors? (cannot be saved|do not track|.*outside InferenceMode)|Inplace update to inference tensor",
    "clone() it outside inference_mode(), or compute it under no_grad() instead")
@hint(r"Legacy autograd function|non-static forward method")
def called_function(_: re.Match[str], context: Context) -> str:
    node = context.line.expression
    func = node.func if isinstance(node, ast.Call) else None
    made = None if func is None else value_of(func, context.frame)
    name = "MyFunction" if made is None or made is MISSING else type(made).__name__
    given = ", ".join(short(x) or "x" for x in node.args) if isinstance(node, ast.Call) else "x"
    return f"call its apply: {name}.apply({given}), with static forward and backward"


@hint(r"but hook returned|hook '.*' has changed the (?:type|size) of value|hook '.*' (?:has )?returned")
def result_of_a_hook(_: re.Match[str], context: Context) -> str | None:
    """The line of the hook that returns it."""
    place = next((text for text in context.own if text.startswith("the hook is defined at ")), "")
    file, colon, number = place.removeprefix("the hook is defined at ").rpartition(":")
    for node in statements(file) if colon and number.isdigit() else ():
        if isinstance(node, ast.FunctionDef) and node.lineno == int(number):
            ends = [one for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
            for end in ends[-1:]:
                text = linecache.getline(file, end.lineno).strip()
                context.lines.append(f"it returns at {place_text(file, end.lineno)}, in {node.name}: {text}")
    return None


say(r"'(Tensor|Parameter)' object is not callable", "it is the result of a call: give the function or "
    "the module itself, without brackets, and its arguments after it")
say(r"[Ff]unction object is not callable|object is not callable", "call MyFunction.apply(x), not MyFunction()(x)")
say(r"returned nan values in its", "look at the line of the forward: a log, a square root or a division near 0 is "
                                   "usual; "
    "clamp its input")
say(r"must implement either the backward or vjp|must implement the (custom )?forward", "define it in the Function "
    "as a static "
    "method, with ctx as its first parameter")
say(r"save_for_backward can only save", "keep what is no tensor on ctx: ctx.k = k")
say(r"attempting to assign a gradient", "give .grad a tensor of the same shape, dtype and device, or None")
