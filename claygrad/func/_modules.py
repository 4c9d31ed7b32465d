"""Modules as functions of their parameters."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad.core import Tensor
from claygrad.nn.modules.batchnorm import _BatchNorm
from claygrad.nn.modules.module import Module
from claygrad.nn.utils.stateless import _functional_call
from claygrad.ops._registry import NAMESPACES

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(module: Module, parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
                    args: Any = None, kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:
    """Call a module with other tensors in place of its parameters and buffers, by their full names.

    Gradients flow to those tensors; the module itself stays as it was. `tie_weights`: what is given for one name of a
    tensor that has several counts for all of them. `strict`: all names have to be given, and no others.

    >>> linear = claygrad.nn.Linear(2, 1, bias=False)
    >>> claygrad.func.functional_call(linear, {"weight": claygrad.ones(1, 2)}, (claygrad.ones(2),)).item()
    2.0
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, dict):
        named = given
    elif isinstance(given, Sequence):
        if not all(isinstance(one, dict) for one in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [key for one in given for key in one]
        repeated = [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        named = {key: value for one in given for key, value in one.items()}
    else:
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(given)}")
    return _functional_call(module, named, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one kind, each stacked along a new first axis."""
    return stacked_states(models, "stack_module_state")


def stacked_states(models: Sequence[Module], caller: str) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The same for a caller whom errors name."""
    if len(models) == 0:
        raise RuntimeError(f"{caller}: Expected at least one model, got 0.")
    if len({model.training for model in models}) != 1:
        raise RuntimeError(f"{caller}: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError(f"{caller}: Expected all models to be of the same class.")
    return (_stacked([dict(model.named_parameters()) for model in models]),
            _stacked([dict(model.named_buffers()) for model in models]))


def _stacked(states: list[dict[str, Any]]) -> dict[str, Tensor]:
    stacked = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        if len({tensor.requires_grad for tensor in tensors}) != 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked[name] = NAMESPACES["torch"]["stack"](tensors).detach().requires_grad_(tensors[0].requires_grad)
    return stacked


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch norm of a model use the statistics of its batch, and keep none: `vmap` cannot write to them."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
