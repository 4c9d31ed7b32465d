"""Ways out of errors of modules, optimizers and saved states."""
from __future__ import annotations

import ast
import difflib
import re
from typing import Any

from claygrad.core import Tensor
from claygrad.errors._calls import near_parameter, signature_of
from claygrad.errors._cuts import freezes
from claygrad.errors._source import Line, assignment_before, statements
from claygrad.errors._ways import Context, hint, say
from claygrad.errors.elements import models_near

say(r"before Module\.__init__\(\) call|cannot assign (module|parameters|buffer).*before", "call super().__init__() "
    "first in the "
    "__init__ of your module")
say(r'is missing the required "forward" function', "define def forward(self, ...) in the class (the name and the "
                                                   "indentation must be "
    "right)")


@hint(r"'(\w+)' object has no attribute '(\w+)'")
def attribute(match: re.Match[str], context: Context) -> str | None:
    if context.call.kind != "attribute" or not context.call.args:
        return None
    owner = context.call.args[0]
    if "_parameters" not in vars(owner):
        return "call super().__init__() first in the __init__ of your module"
    names = [name for name in {*dir(type(owner)), *vars(owner), *_children(owner)} if not name.startswith("_")]
    near = difflib.get_close_matches(match[2], names, 3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if hasattr(Tensor, match[2]):
        return (f"it is a {match[1]}, and {match[2]} is of tensors: call it first, result = "
                f"{_variable(match[1])}(...), and then result.{match[2]}")
    own = sorted(_children(owner))
    return f"it has {', '.join(own)}" if own else "assign it in __init__, after super().__init__()"


def _variable(name: str) -> str:
    return "loss_function" if name.endswith("Loss") else "model"


def _children(module: Any) -> list[str]:
    return [name for table in ("_parameters", "_buffers", "_modules") for name in vars(module).get(table, {})]


@hint(r"'(float|int|list|tuple|ndarray)' object has no attribute 'detach'")
def parameter_of_a_number(match: re.Match[str], context: Context) -> str | None:
    node = context.line.expression
    if not isinstance(node, ast.Call) or not node.args or "Parameter" not in ast.unparse(node.func):
        return None
    kind = "from_numpy" if match[1] == "ndarray" else "tensor"
    return f"a parameter is made of a tensor: {ast.unparse(node.func)}(torch.{kind}({ast.unparse(node.args[0])}))"


@hint(r"cannot assign '.*' as parameter '(\w+)'")
def value_for_a_parameter(match: re.Match[str], context: Context) -> str:
    name = match[1]
    if context.line.code.co_name in ("forward", "__call__"):
        return (f"a parameter keeps its values from call to call: give what forward computes from it a name of its "
                f"own, {name} = ..., and pass that on (F.linear(x, {name}, self.bias), say); "
                "torch.nn.utils.parametrize registers such a rule for good")
    return (f"wrap it: layer.{name} = nn.Parameter(tensor); or change the values with layer.{name}.copy_(tensor) under "
            "torch.no_grad()")


say(r"cannot assign '.*' as (child module|buffer) '(\w+)'", "assign a module (or a tensor for a buffer), or choose "
    "another name")


@hint(r"optimizer got an empty parameter list")
def no_parameters(_: re.Match[str], context: Context) -> str | None:
    told = _layers_in_a_list(context)
    if told:
        return told
    told = _all_frozen(context)
    if told:
        return told
    given = context.call.args[1] if len(context.call.args) > 1 else None
    node = context.line.expression
    direct = [x for x in getattr(node, "args", ())[:1] if isinstance(x, ast.Call)]
    if type(given).__name__ == "generator" and direct:
        return ("that model has no parameters: layers in a plain list or dict are not seen, keep them in "
                "nn.ModuleList(...) or nn.ModuleDict(...), as attributes that __init__ assigns")
    if type(given).__name__ == "generator":
        return ("the generator was used up before, by a loop or a sum: call model.parameters() again, or keep "
                "list(model.parameters())")
    return "give it model.parameters() of a model that has layers as attributes"


def _all_frozen(context: Context) -> str | None:
    """Of `filter(lambda p: p.requires_grad, model.parameters())` where all are frozen."""
    node, code = context.line.expression, context.line.code
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    made = assignment_before(given.id, code, context.line.number) if isinstance(given, ast.Name) else None
    asked = given if made is None else made
    if asked is None or not any(getattr(part, "attr", "") == "requires_grad" for part in ast.walk(asked)):
        return None
    words = {part.id for part in ast.walk(asked) if isinstance(part, ast.Name)}
    for name, model in models_near(context):
        held = list(model.parameters())
        if name in words and held and not any(p.requires_grad for p in held):
            for other in statements(code.co_filename):
                if other.lineno < context.line.number and freezes(other):
                    context.lines.append(f"they were frozen at {Line.at(code, other.lineno)}")
            return (f"none of the {len(held)} parameters of {name} requires grad, so none is left: call "
                    f"requires_grad_(True) on the part that is to be trained, after the rest is frozen")
    return None


def _layers_in_a_list(context: Context) -> str | None:
    """Modules that a module of the user's keeps where parameters() does not look."""
    values = [*context.frame.f_locals.values(), *context.frame.f_globals.values()]
    for value in values:
        table = getattr(value, "__dict__", None)
        if not isinstance(table, dict) or "_modules" not in table or "_parameters" not in table:
            continue
        for name, held in table.items():
            items = list(held.values()) if isinstance(held, dict) else held
            if name.startswith("_") or not isinstance(items, (list, tuple)):
                continue
            inside = [x for x in items if hasattr(x, "_parameters") and hasattr(x, "_modules")]
            if inside:
                kind = "ModuleDict" if isinstance(held, dict) else "ModuleList"
                where = _made_at(inside[0])
                if where:
                    context.lines.append(where)
                return (f"{type(value).__name__}.{name} is a plain {type(held).__name__} of layers, which "
                        "parameters() does not see: "
                        f"keep them in nn.{kind}(...)")
    return None


def _made_at(module: Any) -> str:
    from claygrad.core.dispatch.promotion import facts
    for parameter in module.parameters():
        origin = facts(parameter)[3]
        return "" if origin is None else f"the layers were made at {Line(*origin).text}"
    return ""


say(r"params argument given to the optimizer should be an iterable", "put it into a list: [w]")
say(r"can't optimize a non-leaf Tensor", "an optimizer changes leaves: give it the tensors that this was computed "
                                         "from, or a new leaf, "
    "x.detach().requires_grad_()")
say(r"optimizer can only optimize Tensors, but one of the params is", "give it model.parameters(), not names or a "
    "state_dict; "
    "named_parameters() for names as well")
say(r"parameter group didn't specify a value of required optimization parameter (\w+)", "pass {1}= to the optimizer")
say(r"[Ii]nvalid (learning rate|momentum|weight_decay|epsilon|beta|alpha|rho|lr_decay)[\w ]*: (\S+)",
    "{1} (lr, momentum, betas ...) "
    "must lie in its range: 0 or more; betas below 1")


@hint(r"Error\(s\) in loading state_dict for (\w+)")
def loading(_: re.Match[str], context: Context) -> str | None:
    module, state = context.call.args[0], context.call.args[1]
    have, given = list(module.state_dict()), list(state)
    missing, unexpected = [name for name in have if name not in state], [name for name in given if name not in have]
    for prefix in ("module.", "model.", "_orig_mod.", "net.", "state_dict."):
        bare = {name.removeprefix(prefix) for name in given if name.startswith(prefix)}
        if unexpected and len(bare) == len(given) and bare & set(have):
            return (f"all names start with '{prefix}', as a wrapped model saves them: load "
                    f"{{k.removeprefix('{prefix}'): v for k, v in state.items()}}")
        if missing and all(name.startswith(prefix) for name in have) and {prefix + name for name in given} & set(have):
            return (f"the names lack '{prefix}': load {{'{prefix}' + k: v for k, v in state.items()}}, or load it "
                    "into the model inside")
    if not set(have) & set(given) and {"state_dict", "model", "model_state_dict"} & set(given):
        inside = next(name for name in ("state_dict", "model_state_dict", "model") if name in given)
        return f"this is a checkpoint, not a state: load checkpoint['{inside}']"
    lines = []
    for name in unexpected[:5]:
        near = difflib.get_close_matches(name, missing or have, 1, 0.5)
        if near:
            lines.append(f"'{name}' is close to '{near[0]}'")
    if lines:
        return "; ".join(lines) + ": rename them, or pass strict=False to load the rest"
    if not missing and not unexpected:
        return ("make the model with the shapes of the state (out_features, num_embeddings ...), or leave those "
                "names out of the state "
                "and pass strict=False")
    return "make the model as it was when the state was saved, or pass strict=False to load the names that fit"


say(r"Expected state_dict to be dict-like", "read the file first: model.load_state_dict(torch.load(path))")
say(r"'?(NoneType|str|int|list|float|tuple|dict)'? .*is not a Module subclass|is not a Module subclass",
    "give it modules: "
    "nn.Sequential(nn.Linear(...), nn.ReLU()), with brackets after the class names")
say(r"Module (name|key)|module name can't", "choose a name that is a Python identifier and no attribute yet")
say(r"attribute '(\w+)' already exists", "choose another name than '{1}'")
say(r"(\w+) is not an Optimizer", "give the scheduler the optimizer: StepLR(optimizer, ...)")
say(r"missing 1 required positional argument: 'closure'", "LBFGS calls the model itself: give step() a function "
                                                          "that computes the loss, "
    "calls backward() and returns the loss")
say(r"Fan in and fan out can not be computed", "it takes weights of two dimensions or more; for a bias use "
                                               "nn.init.zeros_")
say(r"`lengths` array must be sorted|enforce_sorted", "pass enforce_sorted=False")


@hint(r"has no attribute `(\w+)`")
def path(match: re.Match[str], context: Context) -> str | None:
    owner: Any = context.call.args[0] if context.call.args else None
    names = [name for name, _ in owner.named_parameters()] + [name for name, _ in owner.named_modules()] \
        if hasattr(owner, "named_parameters") else []
    near = difflib.get_close_matches(match[1], names, 3, 0.4)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"it has {', '.join(filter(None, names))}" if names else None


@hint(r"^'?(\w+)'?$")
def key(match: re.Match[str], context: Context) -> str | None:
    owner: Any = context.call.args[0] if context.call.args else None
    keys = list(owner.keys()) if context.kind is KeyError and hasattr(owner, "keys") else []
    return f"it has {', '.join(map(repr, keys[:8]))}" if keys else None


@hint(r"index (-?\d+) is out of range")
def module_number(_: re.Match[str], context: Context) -> str | None:
    owner: Any = context.call.args[0] if context.call.args else None
    if owner is None:
        owner = next(iter(context.inside("_name_at", "self") + context.inside("__getitem__", "self")), None)
    held = len(owner) if hasattr(owner, "_modules") and hasattr(owner, "__len__") else 0
    return f"the container has {held} modules, 0 to {held - 1}" if held else "the container has fewer modules"



say(r"PytorchStreamReader|unexpected EOF|invalid load key|invalid magic", "the file is not complete, or was not "
    "made by torch.save")
say(r"each element in list of batch should be of equal size", "pad the samples to one length, or give the "
    "DataLoader a collate_fn")
say(r"default_collate: batch must contain", "return tensors, numbers or arrays from the dataset, or give the "
                                            "DataLoader a collate_fn")
say(r"object of type '(\w+)' has no len\(\)", "define def __len__(self) in {1}, the number of samples; a dataset of "
    "unknown length is an IterableDataset, without shuffle and sampler")
@hint(r"unsupported format string passed to Tensor\.__format__")
def formats(_: re.Match[str], context: Context) -> str:
    name = next((one.name for one in context.seen if one.name.replace(".", "").isidentifier()), "x")
    return (f"a format is for one number: {name}.mean().item(), {name}[0].item(), or each of {name}.tolist(); "
            "torch.set_printoptions(precision=4) is for printed tensors")


say(r"num_samples should be a positive integer", "it is 1 or more; a DataLoader that shuffles draws "
    "len(dataset), so there the dataset is empty: look at its __len__ and its files")


@hint(r"__init__\(\) got an unexpected keyword argument '(\w+)'")
def keyword_of_class(match: re.Match[str], context: Context) -> str | None:
    owner = context.owner_class()
    if owner is None:
        return None
    shown = signature_of(owner)
    near = near_parameter(match[1], shown)
    return (f"did you mean {near[0]}? " if near else "") + f"It is {shown}"


say(r"num_workers option should be non-negative", "num_workers is the number of processes that read samples: 0 reads "
    "them in this one, os.cpu_count() is as many as there are processors")
say(r"batch_size\b|num_workers|sampler option is mutually exclusive", "see the arguments of DataLoader: a "
    "batch_sampler replaces "
    "batch_size, shuffle, sampler and drop_last")
