"""Attributes that an object does not have: the nearest name, what it is instead of a tensor, and the way out."""
from __future__ import annotations

import ast
import difflib
import importlib
import re
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy

from claygrad.core import Tensor
from claygrad.errors._calls import signature_of
from claygrad.errors._frames import is_ours_class
from claygrad.errors._source import MISSING, short, statement_at

if TYPE_CHECKING:
    from claygrad.errors._python import Site

# What tensors are asked for that other libraries' arrays have, or that beginners expect.
_OTHERS = {
    "astype": "x.to(dtype)", "float32": "x.float()", "float64": "x.double()", "int32": "x.int()", "int64": "x.long()",
    "array": "x.numpy()", "as_numpy": "x.numpy()", "to_numpy": "x.numpy()", "asnumpy": "x.numpy()", "copy": "x.clone()",
    "concatenate": "torch.cat([x, y])", "concat": "torch.cat([x, y])", "append": "torch.cat([x, y])",
    "extend": "torch.cat([x, y])", "stack": "torch.stack([x, y])", "get_shape": "x.shape", "len": "len(x)",
    "length": "len(x)", "cross_entropy": "torch.nn.functional.cross_entropy(x, target)",
    "rank": "x.ndim", "dims": "x.ndim", "gradient": "x.grad", "value": "x.item()", "forward": "a call of the model",
    "parameters": "model.parameters()", "step": "optimizer.step()", "zero_grad": "optimizer.zero_grad()",
    "T_": "x.t_()", "cast": "x.to(dtype)", "fill": "x.fill_(value)", "keys": "x, which is a tensor, not a dict",
    "logits": "x itself, which is a tensor", "items": "x.tolist()", "require_grad": "x.requires_grad",
    "last_hidden_state": "x itself, which is a tensor", "loss": "x itself, which is a tensor", "asscalar": "x.item()",
    "todense": "x.to_dense()", "map": "torch.stack([f(row) for row in x])", "apply": "x.apply_(f), or operations on "
    "the tensor",
    "update": "x.copy_(other)", "insert": "torch.cat([x[:i], y, x[i:]])", "remove": "x[keep], with a mask",
    "pop": "x[:-1]", "reverse": "x.flip(0)", "extend_": "torch.cat([x, y])", "shuffle": "x[torch.randperm(len(x))]",
    "cuda_": "x = x.cuda()", "to_": "x = x.to(device)", "join": "torch.cat([x, y])",
    "plot": "plt.plot(x.detach().numpy())", "save": "torch.save(x, path)", "load": "torch.load(path)",
    "eval": "model.eval(): it is a mode of models", "train": "model.train(): it is a mode of models",
    "state_dict": "model.state_dict()", "weight": "layer.weight: it is an attribute of layers",
}
_OPTIMIZERS = {
    **dict.fromkeys(("lr", "learning_rate", "get_lr", "set_lr", "get_last_lr"),
                    'optimizer.param_groups[0]["lr"] '
        'holds the learning rate'),
    "momentum": 'optimizer.param_groups[0]["momentum"] holds it', "parameters": 'optimizer.param_groups[0]["params"] '
    'holds them',
    "backward": "loss.backward() computes the gradients, optimizer.step() uses them",
}
_LOADERS = {"to": "move each batch: for x, y in loader: x, y = x.to(device), y.to(device)", "shape": "look at a "
    "batch: next(iter(loader))",
            "next": "next(iter(loader)) gives the first batch", "cuda": "move each batch: for x, y in loader: x = "
            "x.cuda()"}


def _is_claygrads(owner: Any) -> bool:
    """Whether an object is claygrad's own, or of a class that is made from one of claygrad's."""
    ours = sys.modules["claygrad"]
    named = [owner.__name__] if isinstance(owner, types.ModuleType) else [
        str(getattr(kind, "__module__", "")) for kind in type(owner).__mro__]
    return any(sys.modules.get(name.partition(".")[0]) is ours for name in named)


NO_MODELS = {
    "_IncompatibleKeys": "load_state_dict() fills the model itself, and returns the names that did not fit: call it on "
                         "a line of its own, model.load_state_dict(state), and go on with model",
}
_OF_RESULTS = ("keys", "values", "items", "get", "pop", "copy", "update", "append", "index", "zero_grad")
_MOVES = ("to", "cuda", "cpu", "float", "double", "half", "long", "detach", "requires_grad_")


def attribute_hint(error: AttributeError, site: Site) -> str:
    """What to write instead; nothing where the object has nothing to do with claygrad or no name is near."""
    owner, name = error.obj, error.name
    if name is None:                                   # an assignment: Python keeps neither
        found = re.search(r"object has no attribute '(\w+)'", str(error))
        target = getattr(statement_at(site.line.code, site.line.number), "targets", [None])[0]
        held = site.look(target.value) if found and isinstance(target, ast.Attribute) else MISSING
        if found is None or held is MISSING or target.attr != found[1]:
            return ""
        return _of_others(held, found[1], target.value, site) if hasattr(Tensor, found[1]) else ""
    if not isinstance(name, str) or name.startswith("__"):
        return ""
    node: Any = getattr(site.node, "func", site.node)
    value: Any = getattr(node, "value", None)
    if getattr(node, "attr", None) != name:
        value = None
    if _is_claygrads(owner):
        return _of_ours(owner, name)
    if isinstance(owner, dict) and name in owner and any(isinstance(held, Tensor) for held in owner.values()):
        said = (short(value) if value is not None else None) or "it"
        return f"{said} is a dict: {said}[{name!r}]"
    if isinstance(owner, (types.MethodType, types.FunctionType)) and name in _OF_RESULTS:
        said = (short(value) if value is not None else None) or "it"
        return f"{said} is a method: call it first, {said}().{name}"
    if not hasattr(Tensor, name) and name not in ("backward", "parameters", "state_dict", "zero_grad", "train", "eval"):
        return ""
    return _of_others(owner, name, value, site)


_HOMES = ("nn", "optim", "optim.lr_scheduler", "utils.data", "nn.functional", "nn.utils", "nn.utils.rnn", "nn.init",
          "autograd", "distributions", "linalg", "fft", "special", "func", "amp")


def _loaded(name: str) -> Any:
    return importlib.import_module(f"claygrad.{name}")


def _of_ours(owner: Any, name: str) -> str:
    kinds = {kind.__name__ for kind in type(owner).__mro__}
    if isinstance(owner, Tensor) and name in _OTHERS:
        return f"tensors have no {name}: use {_OTHERS[name]}"
    if "Optimizer" in kinds and name in _OPTIMIZERS:
        return _OPTIMIZERS[name]
    if "DataLoader" in kinds and name in _LOADERS:
        return _LOADERS[name]
    try:
        names = [one for one in dir(owner) if not one.startswith("_")]
    except Exception:
        return ""
    near = difflib.get_close_matches(name, names, 2, 0.7)
    same = [one for one in names if one.replace("_", "").lower() == name.replace("_", "").lower()]
    near = [*same, *(one for one in near if one not in same)]
    near = [one for one in near if one.removesuffix("_") == one or one.removesuffix("_") not in near][:2]
    if near:
        shown = signature_of(sys.modules["claygrad"].__dict__.get(near[0])) if isinstance(owner, Tensor) else ""
        return f"did you mean {' or '.join(near)}?" + (f" It is {shown}" if shown else "")
    if isinstance(owner, Tensor):
        if name in dir(sys.modules["claygrad"].nn.functional):
            return f"it is a function: torch.nn.functional.{name}(x)"
        if callable(vars(sys.modules["claygrad"]).get(name)):
            return f"it is a function: torch.{name}(x)"
    if isinstance(owner, types.ModuleType):
        home = next((other for other in _HOMES if hasattr(_loaded(other), name)), None)
        return "" if home is None else f"it is in another module: torch.{home}.{name}"
    if not is_ours_class(type(owner)) and not isinstance(owner, types.ModuleType):
        return f"{type(owner).__name__} has no {name}: assign self.{name} in its __init__"
    if "LRScheduler" in kinds:
        return "a scheduler has step(), get_last_lr() and state_dict()"
    if type(owner).__name__ in NO_MODELS:
        return NO_MODELS[type(owner).__name__]
    methods = [f"{one}()" for one in names if callable(getattr(type(owner), one, None))]
    methods += [one for one in names if one in vars(type(owner)) and f"{one}()" not in methods]
    if not isinstance(owner, (Tensor, types.ModuleType)) and 0 < len(methods) <= 12:
        return f"{type(owner).__name__} has {', '.join(methods)}"
    return ""


def _of_others(owner: Any, name: str, node: ast.AST | None, site: Site) -> str:
    """None, a number or a container that is used as if it were a tensor."""
    from claygrad.errors._python import none_hint
    said = (short(node) if node is not None else None) or "it"
    if owner is None:
        if node is None and getattr(site.node, "attr", None) != name:
            return ""
        return none_hint(node, site)
    if type(owner) is bool and isinstance(node, ast.Compare):
        return (f"{said} compares a tensor with what is none, and that is one bool: make a tensor of the other side "
                f"first, torch.tensor(...) of numbers")
    if type(owner) in (int, float, bool, complex):
        return (f"{said} is a number, without a graph{site.given_at(node)}: compute it from tensors, without item() "
            f"and tolist(), to "
                f"call {name}()")
    if isinstance(owner, (numpy.ndarray, numpy.generic)):
        return (f"{said} is a NumPy array{site.given_at(node)}: torch.from_numpy({said}).{name}, or "
                f"torch.tensor({said}), which copies")
    if isinstance(owner, (list, tuple)):
        return _of_sequence(owner, name, said)
    if isinstance(owner, dict):
        inside = [key for key, held in owner.items() if isinstance(held, Tensor)]
        if inside and name in ("eval", "train", "parameters", "state_dict", "zero_grad", "load_state_dict"):
            return (f"{said} is a state, a dict of tensors, and no model: make the model, and "
                    f"model.load_state_dict({said}) fills it")
        if inside and name in _MOVES:
            return f"{said} is a dict of tensors: {{key: x.{name}(...) for key, x in {said}.items()}}"
        if inside:
            return f"{said} is a dict of tensors: take one, {said}[{inside[0]!r}].{name}"
        return ""
    if isinstance(owner, types.GeneratorType):
        if name == "zero_grad":
            return "call optimizer.zero_grad() or model.zero_grad()"
        return f"{said} gives one after the other: for p in {said}: p.{name}"
    if isinstance(owner, str) and name in ("to", "cuda", "cpu", "float", "long", "shape", "size", "unsqueeze", "numel"):
        return (f"{said} is a string: strings are no numbers, map them to indices first, and take those that hold "
                f"tensors only")
    if callable(owner) and not isinstance(owner, type) and site.look(node) is not MISSING:
        return f"{said} is a function: call it first, {said}(...).{name}"
    return ""


def _of_sequence(owner: Any, name: str, said: str) -> str:
    kind = type(owner).__name__ if type(owner) in (list, tuple) else "tuple"
    held = [x for x in owner if isinstance(x, Tensor)]
    if not held and owner and isinstance(owner[0], str) and name in _MOVES:
        return (f"{said} is a {kind} of strings, and only tensors move: {said}.{name}(...) if torch.is_tensor({said}) "
                f"else {said}")
    if not held and owner and not isinstance(owner[0], (int, float, list, tuple)):
        return ""
    if kind == "tuple" and len(owner) == 2 and isinstance(owner[0], str) and held:
        return (f"{said} is a pair of a name and a tensor, as named_parameters() gives them: for name, {said} in "
                f"model.named_parameters(), or model.parameters() for the tensors alone")
    shapes = {x.dim() for x in held}
    if kind == "tuple" and name in _MOVES and len(held) == len(owner) and len(shapes) == 1:
        return (f"{said} is a tuple of {len(owner)} tensors: [x.{name}(...) for x in {said}], or "
                f"torch.stack({said}) where their shapes are equal; of what a layer returns, {said}[0]")
    if kind == "tuple":
        return (f"{said} is a tuple of {len(owner)}: take its elements apart, out, rest = ..., or use "
            f"{said}[0].{name} (recurrent layers "
                "return output and hidden state, max and sort along a dimension values and indices)")
    if not held:
        return f"{said} is a list: torch.tensor({said}).{name}"
    if name == "backward":
        return (f"{said} is a list of {len(owner)} tensors: sum({said}).backward(), or "
                f"torch.stack({said}).mean().backward()")
    if name in _MOVES:
        return (f"{said} is a list of {len(owner)} tensors: [x.{name}(...) for x in {said}], or torch.stack({said}) "
                f"where their shapes are equal")
    return (f"{said} is a list of {len(owner)} tensors: torch.stack({said}).{name}, or torch.cat({said}).{name} along "
            f"a dimension that exists")
