"""The rules of `check`: each looks at what happened in a step, and speaks only of what is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claygrad.core.graph.memory_holders import own_grad, place_of
from claygrad.core.own_files import is_own_file
from claygrad.debug._places import Line, line_at
from claygrad.debug._watching import Call, Watch
from claygrad.nn import Module, ModuleDict, ModuleList, Parameter
from claygrad.nn.modules.batchnorm import _BatchNorm
from claygrad.nn.modules.dropout import _DropoutNd

if TYPE_CHECKING:
    from collections.abc import Iterator

    Found = tuple[str, str, Line | None, str]


@dataclass
class Facts:
    """A model, its parameters that are trained, and what happened to them."""

    model: Module
    watch: Watch
    trained: dict[str, Parameter]
    changed: bool  # whether any parameter has other values now
    paths: dict[int, str]
    root: str
    optimized: set[int]  # parameters of all optimizers


def findings(facts: Facts, cut: RuntimeError | None) -> Iterator[Found]:
    """Everything that one run tells."""
    for call in facts.watch.calls:
        yield from _of_call(facts, call)
    if cut is not None:
        yield _cut(cut)
    elif not facts.watch.arrived:
        yield from _no_gradient_at_all(facts)
    else:
        yield from _without_gradient(facts)
        yield from _unused(facts)
        yield from _outside(facts)
        yield from _missed(facts)
        yield from _evaluating(facts)


# --- the loss --------------------------------------------------------------------------------------------------------
def _crossed(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether one is (n, 1) and the other (n,)."""
    long, short = (a, b) if len(a) > len(b) else (b, a)
    return len(long) == 2 and len(short) == 1 and long == (short[0], 1) and short[0] > 1


def _of_call(facts: Facts, call: Call) -> Iterator[Found]:
    if call.name == "dead":
        dead, units, module = call.args
        found = None if module is None else module()
        path = facts.paths.get(id(found)) if found is not None else None
        yield (
            "dead units",
            f"{dead} of {units} units{f' of `{path}`' if path else ''} are 0 for every sample, and get no gradient",
            call.where,
            "use a smaller learning rate, another initialization, or leaky_relu",
        )
        return
    if call.name == "one unit":
        name, made = call.args
        yield (
            f"{name} over one unit",
            (
                f"{name} goes over the one unit of the layer that ran at {made}: the result is always {_ALWAYS[name]}, "
                "whatever the layer computes, and its gradient is 0"
            ),
            call.where,
            "use sigmoid for one unit, or make the layer with one unit for each class",
        )
        return
    shape, other = call.args[0], call.args[1]
    if call.name in ("sub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        if _crossed(shape, other):
            n = max(shape[0], other[0])
            yield (
                "loss broadcasts",
                (
                    f"{_shape(shape)} against {_shape(other)} gives ({n}, {n}): every prediction is compared with "
                    "every target"
                ),
                call.where,
                "give both the same shape: `.squeeze(1)` of one, or `.unsqueeze(1)` of the other",
            )
        return
    tag, more = call.args[2], call.args[3]
    if (
        call.name == "cross_entropy"
        and tag in ("softmax", "log_softmax")
        and more[0] in (None, 1 if len(shape) > 1 else 0)
    ):
        yield (
            f"{tag} before cross-entropy",
            (f"cross_entropy takes logits and applies log_softmax itself; {tag} was applied at {more[1]}"),
            call.where,
            f"leave the {tag} out of training" if tag == "softmax" else "use nll_loss, or leave the log_softmax out",
        )
    if call.name == "binary_cross_entropy_with_logits" and tag == "sigmoid":
        yield (
            "sigmoid before a loss with logits",
            (f"binary_cross_entropy_with_logits applies sigmoid itself; it was applied at {more[1]} already"),
            call.where,
            "leave the sigmoid out of training",
        )
    if call.name == "kl_div" and tag in ("softmax", "target"):
        what = "its input" if tag == "softmax" else "its target"
        yield (
            "probabilities in kl_div" if tag == "softmax" else "log-probabilities in kl_div",
            (f"kl_div takes log-probabilities, and a target of probabilities, but {what} is the "
             f"{'softmax' if tag == 'softmax' else 'log_softmax'} of {more[1]}"),
            call.where,
            "use log_softmax for the input" if tag == "softmax" else "use softmax for the target, or log_target=True",
        )
    if call.name == "nll_loss" and tag == "other dimension":
        yield (
            "log_softmax over another dimension",
            f"classes are in dimension {1 if len(shape) > 1 else 0}, and log_softmax went over {more[0]} at {more[1]}",
            call.where,
            f"use log_softmax(..., dim={1 if len(shape) > 1 else 0}), or give the logits to cross_entropy",
        )
    if call.name == "nll_loss" and tag == "softmax":
        yield (
            "probabilities in nll_loss",
            f"nll_loss takes log-probabilities, but got the softmax of {more[1]}",
            call.where,
            "use log_softmax, or give the logits to cross_entropy",
        )
    elif call.name == "nll_loss" and call.args[4]:
        yield (
            "logits in nll_loss",
            "nll_loss takes log-probabilities, which are never above 0, but some of these are",
            call.where,
            "use cross_entropy, or log_softmax before",
        )


_ALWAYS = {"softmax": "1", "log_softmax": "0"}


def _shape(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else str(shape)


def _cut(error: RuntimeError) -> Found:
    lines = str(error).split("\n")
    more = "; ".join(line.strip() for line in lines[1:]) or "something cut it on the way from the parameters"
    return (
        "loss is cut from the graph",
        f"backward was called on a loss that does not depend on any parameter: {more}",
        None,
        "compute the loss from the outputs themselves, without detach, .data, item(), argmax or no_grad",
    )


# --- gradients -------------------------------------------------------------------------------------------------------
def _no_gradient_at_all(facts: Facts) -> Iterator[Found]:
    watch = facts.watch
    if not facts.trained:
        yield (
            "nothing to train",
            f"no parameter of `{facts.root}` requires a gradient",
            None,
            "call requires_grad_() on those to be trained",
        )
    elif not watch.backwards:
        if not facts.changed:
            yield (
                "no backward",
                "the step computed no gradient and changed no parameter",
                None,
                "call loss.backward()",
            )
    elif id(facts.model) not in watch.ran:
        yield (
            "model was not called",
            f"`{facts.root}` did not run in this step",
            None,
            f"compute the loss from `{facts.root}(...)`",
        )
    else:
        cut = watch.cuts[-1] if watch.cuts else None
        yield (
            "loss is cut from the graph",
            f"`{facts.root}` ran and backward was called, but no gradient came to any parameter",
            watch.backwards[0] if cut is None else cut.where,
            "compute the loss from the outputs themselves, without detach, .data, item(), argmax or no_grad",
        )


def _owners(model: Module) -> dict[int, Any]:
    return {id(p): module for module in model.modules() for p in module._parameters.values() if p is not None}


def _without_gradient(facts: Facts) -> Iterator[Found]:
    """Parameters of modules that ran, to which no gradient came."""
    owners = _owners(facts.model)
    groups: dict[int, list[str]] = {}
    for name, p in facts.trained.items():
        owner = owners.get(id(p))
        if id(p) not in facts.watch.arrived and (owner is None or id(owner) in facts.watch.ran):
            groups.setdefault(id(owner), []).append(f"{facts.root}.{name}")
    for owner_id, names in groups.items():
        yield (
            "no gradient",
            f"{_list(names)} got no gradient: the loss does not depend on {'it' if len(names) == 1 else 'them'}",
            facts.watch.ran.get(owner_id),
            (
                "use the result in the loss, look for a detach() or no_grad() behind it, or freeze it "
                "with requires_grad_(False)"
            ),
        )


def _unused(facts: Facts) -> Iterator[Found]:
    """Modules that never ran, and whose parameters nobody else used."""
    ran, arrived = facts.watch.ran, facts.watch.arrived
    parents = {
        id(child): parent for parent in facts.model.modules() for child in parent._modules.values() if child is not None
    }
    told: set[int] = set()
    for module in facts.model.modules():
        own = [p for p in module.parameters() if p.requires_grad]
        parent = parents.get(id(module))
        if id(module) in ran or parent is None or id(parent) in told or any(id(p) in arrived for p in own):
            told |= {id(module)} if id(parent) in told else set()
            continue
        if isinstance(parent, ModuleList | ModuleDict) and any(id(one) in ran for one in parent.children()):
            continue  # which of them run may depend on the data
        if not own and (not isinstance(module, _DropoutNd | _BatchNorm) or _is_from_nn(parent)):
            continue
        if module._modules and not own:
            continue
        told.add(id(module))
        made = next((line_at(place_of(p)) for p in own), None)
        yield (
            "unused module",
            f"`{facts.paths.get(id(module), '?')}` ({type(module).__name__}) did not run in this step"
            + (", and its parameters got no gradient" if own else ""),
            made,
            "call it in forward, or remove it",
        )


def _is_from_nn(module: Any) -> bool:
    import sys

    return is_own_file(getattr(sys.modules.get(type(module).__module__), "__file__", None) or "")


def _outside(facts: Facts) -> Iterator[Found]:
    """Layers that forward calls, that are no part of the model, and that nobody trains."""
    for module, where in facts.watch.outside.values():
        own = [p for p in module._parameters.values() if p is not None and p.requires_grad]
        if all(own_grad(p) is not None for p in own) and not facts.optimized & {id(p) for p in own}:
            yield (
                "layer outside of the model",
                (
                    f"{type(module).__name__} ran in `{facts.root}` and got a gradient, but is no part of it, so "
                    f"`{facts.root}.parameters()` has none of its parameters and no optimizer changes them"
                ),
                where,
                "make it in __init__ and keep it as an attribute, or in nn.ModuleList(...)",
            )


def wasted(facts: Facts) -> Iterator[Found]:
    """Nothing was trained, for the gradients were cleared first."""
    known = facts.optimized & {id(p) for p in facts.trained.values()}
    if facts.changed or not known or not facts.watch.wasted or set(facts.watch.wasted) < facts.watch.arrived:
        return
    where = next(iter(facts.watch.wasted.values()))
    yield (
        "gradients are cleared before they are used",
        "gradients were computed and cleared, and no optimizer changed a parameter in between",
        where,
        "call optimizer.zero_grad() before backward, and optimizer.step() after it",
    )


def _missed(facts: Facts) -> Iterator[Found]:
    """Parameters that got a gradient but that no optimizer has."""
    steps = facts.watch.optimizers
    if not steps:
        if not facts.changed and not facts.optimized & {id(p) for p in facts.trained.values()}:
            yield (
                "no optimizer step",
                "gradients were computed, but no parameter was changed",
                facts.watch.backwards[-1] if facts.watch.backwards else None,
                "make an optimizer of model.parameters() and call its step()",
            )
        return
    missed = [
        f"{facts.root}.{name}"
        for name, p in facts.trained.items()
        if id(p) in facts.watch.arrived and id(p) not in facts.optimized
    ]
    if missed and not facts.changed:
        yield (
            "optimizer has other parameters",
            f"the optimizer that stepped has none of the parameters of `{facts.root}`",
            steps[0][1],
            f"make it of {facts.root}.parameters(), after the model is complete",
        )
    elif missed:
        yield (
            "optimizer misses parameters",
            (f"{_list(missed)} got a gradient, but no optimizer changes {'it' if len(missed) == 1 else 'them'}"),
            steps[0][1],
            (
                f"make the optimizer of {facts.root}.parameters(), after the "
                "model is complete, or freeze what is not to be trained with requires_grad_(False)"
            ),
        )


def _evaluating(facts: Facts) -> Iterator[Found]:
    """A model in evaluation mode that is being trained. Parts of one in training mode may be so on purpose."""
    if facts.watch.modes.get(id(facts.model), True):
        return
    for module in facts.model.modules():
        kind = (
            "dropout"
            if isinstance(module, _DropoutNd) and module.p > 0
            else "batch norm"
            if isinstance(module, _BatchNorm)
            else None
        )
        if kind is not None and facts.watch.modes.get(id(module)) is False:
            yield (
                "evaluation mode",
                (
                    f"`{facts.root}` is in evaluation mode in a training step: its {kind} "
                    f"(`{facts.paths.get(id(module), '?')}`) does not do what it does in training"
                ),
                facts.watch.ran.get(id(facts.model)),
                f"call {facts.root}.train() before the step",
            )
            return


def piled(facts: Facts) -> Iterator[Found]:
    """Gradients that came on top of those that an optimizer had used already."""
    names = [f"{facts.root}.{name}" for name, p in facts.trained.items() if id(p) in facts.watch.piled]
    where = next(iter(facts.watch.piled.values()), None)
    yield (
        "gradients are not cleared",
        f"the gradient of {_list(names)} was added to that of the step before",
        where,
        "call optimizer.zero_grad() before backward",
    )


def _list(names: list[str]) -> str:
    if len(names) == 1:
        return f"`{names[0]}`"
    return f"`{names[0]}` and {len(names) - 1} other{'s' if len(names) > 2 else ''}"
