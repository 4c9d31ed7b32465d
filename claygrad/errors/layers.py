"""Ways out that depend on which layer was called, asked before those that know the text alone."""

from __future__ import annotations

import ast
import difflib
import re
from typing import Any

from claygrad.core import Tensor
from claygrad.errors._calls import near_parameter, shape_of, signature_of
from claygrad.errors._frames import is_ours_class
from claygrad.errors._source import Line, short, value_of
from claygrad.errors._ways import Context, hint, say


def _layer(context: Context) -> str:
    return "" if context.module is None else type(context.module).__name__


@hint(
    r"Boolean value of Tensor|only integer tensors of a single element|argument '(\w+)'.* must be "
    r"(?:int|bool|float|str|tuple of ints|Number),? (?:not|but "
    r"got) Tensor"
)
def data_for_settings(_: re.Match[str], context: Context) -> str | None:
    """`nn.MSELoss(out, y)`, `nn.Softmax(x)(x)`: data where a layer is made."""
    made = context.owner_class()
    node = context.line.expression
    if (
        made is not None
        and hasattr(made, "forward")
        and isinstance(node, ast.Call)
        and (context.seen or any(isinstance(value_of(part, context.frame), Tensor) for part in node.args))
    ):
        name, given = made.__name__, ", ".join(short(part) or "x" for part in node.args)
        return f"the brackets after nn.{name} take settings, the data comes in a second call: nn.{name}()({given})"
    held = [
        key
        for key, value in (vars(context.module) if context.module is not None else {}).items()
        if isinstance(value, Tensor)
    ]
    if held and "_" + held[0] not in vars(context.module):
        name = _layer(context)
        return (
            f"{held[0]} of {name} is a tensor: the brackets after nn.{name} take settings, the data comes in a "
            f"second call, nn.{name}()(x)"
        )
    return None


@hint(r"index 1 is out of bounds for dimension 0 with size 1|'tuple' object has no attribute|expects two hidden states")
def states_of_lstm(_: re.Match[str], context: Context) -> str | None:
    if "LSTM" not in _layer(context) and "lstm" not in context.head:
        return None
    return "an LSTM has two states: give it the tuple (h0, c0), or none for zeros"


@hint(r"For batched 3-D input, hx and cx should also be|For unbatched 2-D input, hx and cx should also be")
def one_state_for_two(_: re.Match[str], context: Context) -> str | None:
    tensors = [one for one in context.seen if one.word in ("hx", "argument 2")]
    if type(context.module).__name__ != "LSTM" or len(tensors) != 1:
        return None
    name = tensors[0].name
    return (f"an LSTM has two states, and {name} is one tensor: give it the pair, ({name}, c0), where c0 is "
            f"torch.zeros_like({name}), or none for zeros")


@hint(r"mat1 and mat2 shapes cannot be multiplied|size mismatch")
def widths_of_attention(_: re.Match[str], context: Context) -> str | None:
    if _layer(context) != "MultiheadAttention":
        return None
    width = context.module.embed_dim
    names = [
        name
        for name, x in zip(("query", "key", "value"), context.layer.tensors if context.layer else (), strict=False)
        if shape_of(x)[-1:] != (width,)
    ]
    return (
        f"the last dimension of query, key and value must be embed_dim={width}: that of "
        f"{' and '.join(names) or 'one'} is not; "
        "project it with nn.Linear, or pass kdim= and vdim= to the layer"
    )


@hint(r"The shape of the 2D attn_mask is \S+?\(\[(\d+), (\d+)\]\), but should be \((\d+), (\d+)\)")
def padding_mask(match: re.Match[str], context: Context) -> str | None:
    rows, columns, length, source = map(int, match.groups())
    more = ""
    if columns == source and rows != length:
        more = (
            f"; a mask of {rows} rows, one for each sequence of the batch, says what is padding: pass it as "
            f"key_padding_mask= "
            "(src_key_padding_mask= of an encoder layer)"
        )
    name = next((one.name for one in context.seen if shape_of(one.tensor) == (rows, columns)), "the mask")
    return (f"the attention mask says who sees whom, (length, source length) = ({length}, {source}){more}; make {name} "
            f"of these sizes from the input, or take its part, {name}[:{length}, :{source}], where it is larger")


@hint(r"The shape of the 3D attn_mask is \S+?\(\[(\d+), (\d+), (\d+)\]\), but should be \((\d+), (\d+), (\d+)\)")
def mask_of_heads(match: re.Match[str], context: Context) -> str | None:
    came, want = tuple(map(int, match.groups()[:3])), tuple(map(int, match.groups()[3:]))
    name = next((one.name for one in context.seen if shape_of(one.tensor) == came), "the mask")
    rule = f"a mask of three dimensions is (batch * num_heads, length, source length) = {want}"
    if came[1:] != want[1:] or want[0] % came[0]:
        return f"{rule}; one of two, {want[1:]}, is for all of them"
    return (f"{rule}: {name}.repeat_interleave({want[0] // came[0]}, dim=0) gives every head that of its "
            f"sequence; one of two dimensions, {want[1:]}, is for all of them")


@hint(r"requested an output size of (.*), but valid sizes range from (\[.*?\]) to (\[.*?\])")
def sizes_of_transposed(match: re.Match[str], context: Context) -> str | None:
    stride = getattr(context.module, "stride", ())
    return (f"output_size chooses among the sizes that this input can come from, {match[2]} to {match[3]}, stride "
            f"{stride}: take one of these, or leave output_size out; for others change kernel_size, stride or "
            "padding, or F.interpolate the result")


say(
    r"feature number of (src and tgt|.*) must be equal to d_model",
    "the last dimension of both must be d_model, as "
    "the Transformer was "
    "made: project the input with nn.Linear, or make it with another d_model",
)
say(
    r"batch number of src and tgt must be equal",
    "give both one batch: the first dimension with batch_first=True, otherwise the second",
)
say(
    r"Given transposed=1, weight of size \[.*?\], expected input\[.*?\] to have (\d+) channels, but got (\d+) channels",
    "dimension 1 of the input holds the channels: make the layer with in_channels={2}, or give it {1} channels",
)
say(
    r"pad should be at most half of (?:effective )?kernel size",
    "take a padding of at most half of kernel_size, or a larger kernel_size",
)
say(
    r"(pixel_unshuffle|pixel_shuffle) expects .*divisible by",
    "give it channels that upscale_factor ** 2 divides, "
    "or take another "
    "upscale_factor: a convolution before it can make the channels",
)


@hint(r"failed to unpack the object at pos \d+ with error \"type must be tuple of ints,but got (.+)\"")
def sizes_of_layer(match: re.Match[str], context: Context) -> str | None:
    if match[1] == "float":
        return "sizes are int: int(n), or // instead of /, makes one"
    if "Size" in match[1] or match[1] in ("tuple", "list"):
        return "each size is one int: take one of them, x.shape[1], or their product, math.prod(x.shape[1:])"
    if match[1] == "str":
        return "sizes are int, and one is a str: int(text) makes a number of it"
    return f"sizes are int, and one is {match[1]}: len(...) of it may be meant"


@hint(r"(\S+) is not a Module subclass")
def no_module(match: re.Match[str], context: Context) -> str | None:
    if match[1] in ("list", "tuple", "generator"):
        return f"take the {match[1]} apart: nn.Sequential(*{context.name(1, 'layers')})"
    if match[1] in ("Tensor", "claygrad.Tensor", "torch.Tensor"):
        return (
            "give it the layers, not their results: nn.Sequential(nn.Linear(...), nn.ReLU()), and call it with the data"
        )
    return None


@hint(r'is missing the required "forward" function')
def containers(_: re.Match[str], context: Context) -> str | None:
    name = _layer(context)
    near = [one for one in difflib.get_close_matches("forward", vars(type(context.module)), 1, 0.7) if one != "forward"]
    if near:
        code = getattr(vars(type(context.module))[near[0]], "__code__", None)
        where = "" if code is None else f", at {Line.at(code, code.co_firstlineno).rstrip(':')}"
        return f"{name} has {near[0]}{where}: did you mean forward?"
    if name not in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        return None
    return (
        f"{name} only holds modules: call them one by one, for layer in layers: x = layer(x), or make it an "
        f"nn.Sequential"
    )


say(
    r"cannot assign '(\w+)' object to buffer '(\w+)'",
    "make a tensor of it: register_buffer('{2}', "
    "torch.tensor(value)); a plain "
    "attribute is enough for what is no tensor",
)
say(
    r"cannot assign '.*' object to parameter '(\w+)'",
    "wrap it: register_parameter('{1}', nn.Parameter(tensor)); a buffer for what is not trained",
)


@hint(r"forward\(\) (missing \d+ required positional arguments?|takes|got)|(?<!\.)\b__call__\(\)")
def arguments_of_forward(_: re.Match[str], context: Context) -> str | None:
    if context.module is None:
        return None
    kind = type(context.module)
    if not kind.forward.__code__.co_argcount or kind.forward.__code__.co_varnames[0] not in ("self", "_"):
        return f"forward of {kind.__name__} must have self as its first parameter: def forward(self, x)"
    shown = signature_of(kind.forward)
    node, code = context.line.expression, kind.forward.__code__
    given: Any = value_of(node.args[0], context.frame) if isinstance(node, ast.Call) and len(node.args) == 1 else None
    if type(given) in (list, tuple) and len(given) == code.co_argcount - 1 and isinstance(node, ast.Call):
        name = short(node.args[0]) or "batch"
        return (f"forward of {kind.__name__} takes {len(given)} arguments, {shown}, and one {type(given).__name__} of "
                f"{len(given)} came: take it apart, {short(node.func) or 'model'}(*{name})")
    return f"a call of {kind.__name__} passes its arguments to {shown}: give it these" if shown else None


@hint(r"(\S+?)\(\) (missing (\d+) required|takes (\d+|from \d+ to \d+) positional arguments?)")
def called_by_claygrad(match: re.Match[str], context: Context) -> str | None:
    """Functions of the user's that claygrad calls: hooks, forward of a Function."""
    name = match[1].rpartition(".")[2]
    apply = context.call.name == "apply" or ".apply(" in context.line.source
    owner = context.line.expression
    function = value_of(owner.func.value, context.frame) if apply and isinstance(owner, ast.Call) and isinstance(
        owner.func, ast.Attribute) else None
    held = vars(function).get(name) if isinstance(function, type) else None
    if apply and isinstance(held, staticmethod):
        code = held.__func__.__code__
        takes = ", ".join(code.co_varnames[:code.co_argcount])
        where = Line.at(code, code.co_firstlineno + 1).rstrip(":")
        return (f"{name} is called with ctx first: here it is {name}({takes}), at {where}; "
                f"write {name}(ctx, {takes}), or define setup_context(ctx, inputs, output) too")
    if apply and name in ("forward", "backward"):
        return (
            "forward and backward of a Function are static: put @staticmethod above each, with ctx as the first "
            "parameter, "
            "def forward(ctx, x)"
        )
    if name == "backward" and context.call.name == "backward" and "." in match[1]:
        return (
            "backward of a Function gets ctx and a gradient for each output: @staticmethod def backward(ctx, "
            "grad_output)"
        )
    backward = context.call.name in ("backward", "grad") or "backward(" in context.line.source
    if backward and name not in ("backward", "grad"):
        return (
            f"{name} is called with what its kind of hook gets: a hook of a tensor takes the gradient alone, "
            f"def {name}(grad); a "
            f"full backward hook of a module takes def {name}(module, grad_input, grad_output)"
        )
    if context.module is not None and name != "forward" and not name.startswith("__"):
        hooks = [*context.module._forward_hooks.values(), *context.module._forward_pre_hooks.values()]
        hook = next((one.__code__ for one in hooks if getattr(one, "__name__", "") == name
                     and hasattr(one, "__code__")), None)
        if hook is not None:
            context.lines.append(f"the hook is at {Line.at(hook, hook.co_firstlineno).rstrip(':')}")
        return (
            f"{name} is called with what its kind of hook gets: a forward hook takes (module, args, output), a "
            f"forward pre-hook "
            "(module, args)"
        )
    return None


@hint(r"'(\w+)' object is not iterable")
def model_for_parameters(match: re.Match[str], context: Context) -> str | None:
    for number, given in enumerate(context.call.args):
        if match[1] in ("method", "function") and callable(given):
            return f"call it: {context.name(number, 'model.parameters')}()"
        if hasattr(given, "_parameters") and type(given).__name__ == match[1]:
            return f"give it {context.name(number, 'model')}.parameters(), not the model"
        if given is None and match[1] == "NoneType":
            names = context.call.params
            word = names[number] if number < len(names) else "the argument"
            return f"{word} is None: give it a list, such as model.parameters(), or look why nothing was assigned"
        if type(given).__name__ == match[1] and not isinstance(given, Tensor):
            names = context.call.params
            word = names[number] if number < len(names) else "the argument"
            return f"{word} is one {match[1]}: put it into a list, [{given!r:.40}]"
    node = context.line.expression
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        given = value_of(keyword.value, context.frame)
        if keyword.arg and type(given).__name__ == match[1] and not isinstance(given, Tensor):
            return f"{keyword.arg} is one {match[1]}: put it into a list, {keyword.arg}=[{given!r:.40}]"
    return None


@hint(r"'(\w+)' object has no attribute '(batch_sizes|sorted_indices|unsorted_indices)'")
def tensor_for_packed(match: re.Match[str], context: Context) -> str | None:
    return (
        f"it takes a PackedSequence, and a {match[1]} came: make one with pack_padded_sequence(x, lengths), or leave "
        "pad_packed_sequence away where nothing was packed"
    )


say(
    r"gradcheck expects at least one input tensor to require gradient",
    "give it leaves that require grad, in double precision: torch.randn(3, dtype=torch.float64, requires_grad=True)",
)
say(
    r"non-empty (?:2D or 3D|3D or 4D|4D or 5D) \(batch mode\) tensor expected for input",
    "it takes (batch, channels, ...), or (channels, ...) for one sample: x[None, None] adds both to a plain image",
)


@hint(r"'(Tensor|Parameter|NoneType|float|int)' object is not callable")
def no_function(match: re.Match[str], context: Context) -> str | None:
    source, name = context.line.source, context.call.name.rpartition(".")[2]
    if name == "step" or ".step(" in source:
        return (
            "step() takes nothing, or a function that computes the loss again: optimizer.step(); a scheduler that "
            "watches the loss takes it, scheduler.step(loss)"
        )
    if "backward" in (name, *re.findall(r"\w+", source)) and match[1] in ("NoneType", "Tensor"):
        return "a hook of a tensor in this graph is no function: register_hook(lambda grad: grad * 2) takes one"
    return None


@hint(r"'(\w+)' object has no attribute 'device'|'(\w+)' object has no attribute 'dtype'")
def device_of_a_module(match: re.Match[str], context: Context) -> str | None:
    if context.call.kind != "attribute" or not context.call.args or not hasattr(context.call.args[0], "_parameters"):
        return None
    what = "device" if match[1] else "dtype"
    node = context.line.expression
    name = (short(node.value) if isinstance(node, ast.Attribute) else None) or "model"
    return f"modules have no {what}, their parameters have: next({name}.parameters()).{what}"


@hint(r"can only concatenate tuple \(not \"(Tensor|Parameter)\"\) to tuple|"
      r"unsupported operand type\(s\) for .+: ('tuple' and 'Tensor'|'Tensor' and 'tuple')")
def results_of_a_layer(_: re.Match[str], context: Context) -> str | None:
    """`attention(x, x, x) + x`: a layer that returns several."""
    node = context.line.expression
    for part in (node.left, node.right) if isinstance(node, ast.BinOp) else ():
        made = value_of(part.func, context.frame) if isinstance(part, ast.Call) else None
        if hasattr(made, "_modules") and isinstance(part, ast.Call):
            name = short(part.func) or "layer"
            second = {"MultiheadAttention": "weights"}.get(type(made).__name__, "hidden")
            return (
                f"{type(made).__name__} returns a tuple, (output, {second}): take the first, {name}(...)[0], or "
                f"output, {second} = {name}(...)"
            )
    return None


say(
    r"training mode is expected to be boolean",
    "give train() a bool, or nothing: model.train(), model.train(False), model.eval()",
)
say(
    r"Integers to negative integer powers are not allowed",
    "the result would be no integer: x.float() ** -1, or 1 / x",
)
say(
    r"size mismatch, got input \((\d+)\), mat \((\d+)x(\d+)\), vec \((\d+)\)",
    "a matrix of {3} columns meets a vector of {4} elements: give the vector {3}, or transpose the matrix (.T) where "
    "it has {4} rows",
)
say(
    r"\"?bitwise_(?:and|or|xor)\w*\"? not implemented for '(?:Float|Double|Half|BFloat16)'",
    "&, | and ^ take masks and integers: compare first, (x > 0) & (y > 0); logical_and(x, y) takes floats",
)


@hint(r"only batches of spatial targets supported \(3D tensors\) but got targets of dimension: 4")
def masks_with_a_channel(_: re.Match[str], context: Context) -> str | None:
    tensors = context.call.tensors
    if len(tensors) < 2 or shape_of(tensors[1])[1:2] != (1,):
        return None
    name = context.name(1, "target")
    return f"the target is one class for each pixel, (batch, height, width), without a channel: {name}.squeeze(1)"


@hint(r"Module\.(eval|train|zero_grad|parameters|state_dict|cpu|float|double|half)\(\) takes")
def data_for_a_method(match: re.Match[str], context: Context) -> str | None:
    node = context.line.expression
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    name = (short(owner) if owner is not None else None) or "model"
    given = any(isinstance(value_of(x, context.frame), Tensor) or isinstance(x, ast.Call)
                for x in getattr(node, "args", ()))
    if not given:
        return None
    return f"{match[1]}() takes no data: {name}.{match[1]}() on a line of its own, then {name}(x)"


say(
    r"^mode (\w+) is unknown|^threshold mode (\w+) is unknown",
    "mode is 'min' for a loss and 'max' for an accuracy; threshold_mode is 'rel' or 'abs'",
)
say(
    r"dropout probability has to be between 0 and 1, but got (\S+)",
    "p is the part that is dropped, between 0 and 1: divide a percentage by 100, p=0.5 for 50",
)
say(
    r"num_samples should be a positive integer value, but got num_samples=(?=-)(\S+)",
    "num_samples is an int of 1 or more, such as len(dataset), and {1} came",
)
say(
    r"num_samples should be a positive integer value, but got num_samples=(?!0\b)(\S+)",
    "num_samples is an int of 1 or more: int({1}), or len(dataset)",
)
say(
    r"example_inputs and example_kwarg_inputs are both None|example_kwarg_inputs should be a dict",
    "tracing runs the model once: give it an input, torch.jit.trace(model, torch.randn(1, 3)), or a tuple of them",
)
say(
    r"param_group must be a dict",
    'a group is a dict: optimizer.add_param_group({{"params": [tensor], "lr": 0.1}})',
)
say(
    r"Expected state_dict to be dict-like, got <class 'NoneType'>",
    "the state is None: look at what was saved under that name; model.load_state_dict(torch.load(path)) reads one of "
    "model.state_dict()",
)


@hint(r"Invalid backend: '(\w+)'")
def backends(match: re.Match[str], _: Context) -> str | None:
    near = difflib.get_close_matches(match[1], ("inductor", "eager", "aot_eager", "cudagraphs"), 1, 0.5)
    return f'did you mean "{near[0]}"?' if near else 'leave backend= out, or choose "inductor", "eager" or "aot_eager"'


@hint(r"[Uu]nexpected keyword arguments?:? (\w+)|got unexpected (?:keyword )?arguments?:? '?(\w+)")
def words_of_a_call(match: re.Match[str], context: Context) -> str | None:
    shown = signature_of(context.call.called) if context.call.kind in ("operation", "function") else ""
    near = near_parameter(match[1] or match[2], shown) if shown else []
    return (f"did you mean {near[0]}? It is {shown}" if near else f"it is {shown}") if shown else None


@hint(r"(\w+)\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given")
def function_given_to_apply(match: re.Match[str], context: Context) -> str | None:
    """A function of the user's that Module.apply, Tensor.apply_ or a scheduler calls with one argument."""
    if context.call.name.rpartition(".")[2] not in ("apply", "apply_", "map_", "_apply") or match[1] in (
            "apply", "forward", "backward"):
        return None
    return (
        f"{match[1]} is called with each module in turn: def {match[1]}(module), and it asks "
        "isinstance(module, nn.Linear)"
    )


@hint(r"^'?(\w+)'?$")
def key_of_a_sample(match: re.Match[str], context: Context) -> str | None:
    if context.kind is not KeyError or not re.search(r"loader|Loader|collate|next\(", context.line.source):
        return None
    return (
        f"the first sample of the batch has the key '{match[1]}', and another one has not: return the same keys from "
        "__getitem__ for every index, or give the DataLoader a collate_fn"
    )


say(
    r"(\w+)Cell: Expected (input|hx|hx\[\d\]) to be 1D or 2D",
    "a cell takes one step, (batch, features): go through the sequence with a for, or use nn.{1}, which does",
)
say(
    r"(\w+): Expected input to be (\d)D or (\d)D, got (\d)D",
    "it takes (length, batch, features), (batch, length, "
    "features) with "
    "batch_first=True, or (length, features) without a batch: flatten() the features, or leave a dimension away with "
    "squeeze()",
)
say(
    r"(\w+): Expected (input|hx|hx\[\d\]) to be 1D or 2D",
    "a cell takes one step, (batch, features): go through the sequence with a for",
)
say(
    r"For (un)?batched .*-D input, hx( and cx)? should also be|hx.*should also be",
    "the hidden state has a batch dimension where the input has one: (layers * directions, batch, hidden_size)",
)
say(r"Expected `?len\(lengths\)`? to be equal", "give one length for each sequence of the batch")


@hint(r"shape '\[(.*?)\]' is invalid for input of size (\d+)")
def batches_of_attention(_: re.Match[str], context: Context) -> str | None:
    if _layer(context) != "MultiheadAttention":
        return None
    dim = 0 if context.module.batch_first else 1
    return (
        f"query, key and value must have one batch, dimension {dim} here, and key and value one length: batch_first="
        f"{context.module.batch_first} says where the batch is"
    )


@hint(r"^'?params'?$")
def groups_without_parameters(_: re.Match[str], context: Context) -> str | None:
    return 'each group is a dict with the key "params": [{"params": model.parameters(), "lr": 0.1}]'


say(
    r"one of the params is (Module\.parameters|generator|list|tuple|\S+\.parameters)",
    "give it one list of all parameters: [*a.parameters(), *b.parameters()], or groups, [{{'params': "
    "a.parameters()}}, ...]",
)
say(
    r"not supported between instances of 'str' and '(int|float)'|not supported between instances of '(int|float)' "
    r"and 'str'",
    "a number came as a string: float(value), or int(value)",
)
say(
    r"Provided sizes \[(.*?)\] don't multiply up to the size of dim (\d+) \((\d+)\)",
    "the product of the sizes must be {3}: correct one of them, or write -1 for the one that is to be computed",
)
say(r"^not a sequence$", "rows must be lists of one length: a number stands where a list should")
say(
    r"[Cc]an't (pickle|get local)|cannot pickle|attribute lookup .* failed",
    "functions inside functions and lambdas cannot be saved, nor sent to another process: move it to the top of a "
    "file, or save model.state_dict() instead of the object. The workers of a DataLoader are sent its dataset where "
    "Python does not fork, as from 3.14 on: num_workers=0, or multiprocessing_context='fork', sends nothing",
)


@hint(r"argument '(\w+)'.* must be Tensor, not (?:\w+\.)*(\w+)")
def module_for_tensor(match: re.Match[str], context: Context) -> str | None:
    given = context.call.value(match[1])
    if not hasattr(given, "_modules"):
        return None
    name = next((x for x in context.names if isinstance(x, str)), "model")
    return (
        f"{match[1]} is a {match[2]}, a module: call it with the data first, {name}(x), or take its parameter, "
        f"{name}.weight"
    )


@hint(r"'(\w+)' object has no attribute '(\w+)'")
def module_in_a_function(match: re.Match[str], context: Context) -> str | None:
    """`nn.init.xavier_uniform_(layer)`, `prune(layer, "weights")`, `m.bias` of a layer that has none."""
    owner = next((x for x in context.call.args if type(x).__name__ == match[1] and hasattr(x, "_parameters")), None)
    if owner is None:
        return None
    own = [*owner._parameters, *owner._buffers]
    if context.call.kind == "attribute":
        known = is_ours_class(type(owner))
        near = difflib.get_close_matches(match[2], [*dir(type(owner)), *vars(owner), *own, *owner._modules], 1)
        if known and not near and not hasattr(Tensor, match[2]) and not owner._modules:
            return f"{match[1]} has no {match[2]}: ask isinstance(m, nn.Linear) or hasattr(m, '{match[2]}') first"
        return None
    if hasattr(Tensor, match[2]):
        return f"it takes a tensor, not the layer: {context.name(0, 'layer')}.{own[0] if own else 'weight'}"
    return f"did you mean {' or '.join(own)}?" if own else f"{match[1]} has no parameters"


@hint(r"^'?(\w+)'?$")
def parameter_of_a_function(match: re.Match[str], context: Context) -> str | None:
    owner = next((x for x in context.call.args if hasattr(x, "_parameters")), None)
    if context.kind is not KeyError or owner is None or hasattr(owner, "keys"):
        return None
    own = list(owner._parameters)
    has = f"it has {', '.join(own)}: pass name=" if own else "it has none: choose a layer with parameters"
    return f"{type(owner).__name__} has no parameter '{match[1]}'; {has}"


@hint(r"^'?(param_groups|state)'?$")
def state_of_a_model(_: re.Match[str], context: Context) -> str | None:
    return (
        "this is no state of an optimizer: save optimizer.state_dict() beside model.state_dict(), and load each "
        "into its own"
    )


@hint(r"Error\(s\) in loading state_dict for")
def state_of_an_optimizer(_: re.Match[str], context: Context) -> str | None:
    given = context.call.args[1] if len(context.call.args) > 1 else None
    if isinstance(given, dict) and set(given) == {"state", "param_groups"}:
        return (
            "this is the state of an optimizer: give the model its own, model.load_state_dict(...), and the "
            "optimizer this one"
        )
    return None


@hint(r"(\S+?)\(\) (missing \d+ required|takes \d+ positional arguments?)")
def collate(match: re.Match[str], context: Context) -> str | None:
    if "DataLoader" not in context.line.source and context.call.name != "__next__":
        return None
    return f"{match[1]} is called with one argument, the list of the samples of a batch: def collate_fn(samples)"


say(
    r"don't know how to restore data location of .*tagged with (\w+)",
    'devices are named "cpu", "cuda", "cuda:0" ...: torch.load(path, map_location="cpu")',
)
say(
    r"batch_size should be a positive integer",
    "batch_size is an int of 1 or more: int(n), or // instead of /, makes one; None for no batches",
)
say(
    r"DataLoader with IterableDataset: expected unspecified (\w+) option",
    "leave {1}= out: an IterableDataset gives its samples in its own order; shuffle in its __iter__, or make it a "
    "Dataset with __getitem__",
)
say(
    r"p_in >= 0 && p_in <= 1|[Pp]robabilit\w+ .*between 0 and 1",
    "probabilities lie between 0 and 1: torch.sigmoid(scores) first, or clamp(0, 1)",
)
say(r"At least one of 'min' or 'max' must not be None", "pass min=, max= or both: x.clamp(min=0)")
say(
    r"No KL\(p \|\| q\) is implemented",
    "estimate it from samples: x = p.sample((1000,)), (p.log_prob(x) - q.log_prob(x)).mean(); or register one with "
    "@register_kl",
)
say(
    r"Invalid device string: '(\w*):[^']*'",
    "after the colon stands a number, which of several devices it is: '{1}:0', or '{1}' alone",
)
say(
    r"Got argnum=(-?\d+), but only (\d+) positional inputs",
    "argnums counts the arguments of the function from 0, and {2} came: leave argnums away for the first, "
    "argnums=(0, 1) takes two",
)
say(
    r"at start of device string: (\w+)",
    'devices are named "cpu", "cuda", "cuda:0", "meta" ...: there is no {1}; cuda where torch.cuda.is_available(). A '
    "dtype is an "
    "object: torch.float16",
)
say(
    r"offsets has to be a 1D Tensor but got None",
    "input of one dimension needs offsets=, where each bag begins: torch.tensor([0]); input (bags, length) needs none",
)
say(r"padding='same' is not supported for strided", "take stride=1, or give the padding as a number: kernel_size // 2")
say(r"requires_grad must be a bool", "write True or False, without quotes")
say(
    r"unsupported operand type\(s\) for (.+): 'Tensor' and '(list|tuple)'|unsupported operand type\(s\) for (.+): "
    r"'(list|tuple)' and 'Tensor'",
    "make a tensor of the list: torch.tensor(values); with [:, None, None] behind it, it meets the channels of an "
    "image",
)


@hint(r"missing 1 required positional argument: 'self'")
def class_for_instance(_: re.Match[str], context: Context) -> str | None:
    node = context.line.expression
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    made = None if owner is None else value_of(owner, context.frame)
    if owner is None or not isinstance(made, type):
        return None
    of = "model.parameters(), lr=0.1" if hasattr(made, "add_param_group") else "..."
    return (
        f"{short(owner)} is the class: make one of it first, {made.__name__.lower()} = {made.__name__}({of}), and "
        f"call that"
    )


say(
    r"dictionary update sequence element|'str' object has no attribute '(items|keys|copy)'",
    "a state is a dict, not a path: load_state_dict(torch.load(path))",
)
say(
    r"'(list|tuple|dict|str)' object cannot be interpreted as an integer",
    "an int is wanted: len(x) for the length of a {1}; __len__ returns a number",
)


@hint(
    r"Expected (weight|bias) to be a vector of size equal to the number of channels in input, but got \w+ of shape "
    r"\[(\d+)\] and "
    r"input of shape \[\d+, (\d+)"
)
def channels_of_group_norm(match: re.Match[str], context: Context) -> str | None:
    return (
        f"dimension 1 of the input holds {match[3]} channels: make the layer with num_channels={match[3]}, or "
        f"give it {match[2]}"
    )


@hint(r"'weight' must be 2-D|Expected tensor for argument #1 'indices'")
def swapped_embedding(_: re.Match[str], context: Context) -> str | None:
    tensors = context.call.tensors
    if (
        context.module is None
        and len(tensors) > 1
        and tensors[0].dtype.is_floating_point
        and not tensors[1].dtype.is_floating_point
    ):
        return "the indices come first, then the table: F.embedding(indices, weight)"
    return None


@hint(r"Kernel size can't be greater than actual input size")
def swapped_convolution(_: re.Match[str], context: Context) -> str | None:
    tensors = context.call.tensors
    if context.module is None and len(tensors) > 1 and shape_of(tensors[1])[-1] > shape_of(tensors[0])[-1]:
        return (
            "the input comes first, then the weight (out_channels, in_channels, ...): here the second is the "
            "larger one; or give padding="
        )
    return None


@hint(r"argument '(\w+)'.* must be Tensor, not (dict|(?:collections\.)?OrderedDict)")
def dict_for_tensor(match: re.Match[str], context: Context) -> str | None:
    given = context.call.value(match[1])
    keys = [key for key, held in given.items() if isinstance(held, Tensor)] if isinstance(given, dict) else []
    name = next((x for x in context.names if isinstance(x, str)), "it")
    return f"it is a dict: take what is meant, {name}[{keys[0]!r}]" if keys else "it is a dict: take one of its tensors"


@hint(r"key_padd\w*_mask")
def shape_of_padding_mask(_: re.Match[str], context: Context) -> str | None:
    return (
        "key_padding_mask is (batch, source length), True where a key is padding: transpose it with .T where it "
        "is (length, batch)"
    )
