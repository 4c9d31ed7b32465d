"""A module as a function and the tuple of its parameters: how functorch did it before `functional_call`."""
from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from claygrad.core import Tensor
from claygrad.func._modules import functional_call, stacked_states
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "make_functional",
           "make_functional_with_buffers"]


class FunctionalModuleWithBuffers(Module):
    """A module without values of its own: it is called with parameters and buffers, in the order of their names."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The result of the module with these values."""
        named = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, named, args, kwargs)


class FunctionalModule(Module):
    """The same of a module without buffers: it is called with parameters alone."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, tuple(param_names)

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The result of the module with these values."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple]:
    """A function of parameters and inputs, and a copy of the parameters. `functional_call` does the same by names.

    >>> function, params = make_functional(claygrad.nn.Linear(2, 1, bias=False))
    >>> function((claygrad.ones(1, 2),), claygrad.ones(2)).item()
    2.0
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use "
                           "make_functional_with_buffers(model) instead.")
    stateless, params, _ = _taken_apart(model, disable_autograd_tracking)
    return FunctionalModule(stateless, tuple(params)), tuple(params.values())


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False
                                 ) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """A function of parameters, buffers and inputs, and a copy of the parameters and of the buffers."""
    stateless, params, buffers = _taken_apart(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(stateless, tuple(params), tuple(buffers))
    return function, tuple(params.values()), tuple(buffers.values())


def _taken_apart(model: Module, disable_autograd_tracking: bool) -> tuple[Module, dict[str, Any], dict[str, Any]]:
    """A copy of the model on the meta device, and copies of its parameters and buffers by name."""
    params = {name: copy.deepcopy(x) for name, x in model.named_parameters()}
    buffers = {name: copy.deepcopy(x) for name, x in model.named_buffers()}
    if disable_autograd_tracking:
        for param in params.values():
            param.requires_grad_(False)
    memo: dict[int, Any] = {id(x): Parameter(x.detach().to("meta"), x.requires_grad) for x in model.parameters()}
    memo.update((id(x), x.detach().to("meta")) for x in model.buffers())
    return copy.deepcopy(model, memo), params, buffers


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """A function for `vmap` over several models of one kind, and their parameters and buffers, stacked."""
    params, buffers = stacked_states(models, "combine_state_for_ensemble")
    function = make_functional_with_buffers(models[0])[0]
    return function, tuple(x.detach() for x in params.values()), tuple(buffers.values())
