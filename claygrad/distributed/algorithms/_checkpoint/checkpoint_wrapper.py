"""Modules around others, which run them by `utils.checkpoint`, or keep in main memory what they save."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from claygrad._lazy import lazy
from claygrad.autograd.graph import save_on_cpu
from claygrad.distributed.fsdp.wrap import lambda_auto_wrap_policy, wrap_children
from claygrad.nn.modules.module import Module
from claygrad.utils.checkpoint import checkpoint

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
           "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper"]

_PREFIX = "_checkpoint_wrapped_module."


class CheckpointImpl(Enum):
    """`use_reentrant`, True or False."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another, under whose names its states are saved and loaded."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module inside."""
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_checkpoint_wrapped_module"), name)

    def __getitem__(self, key: Any) -> Any:
        """A part of the module inside, should that be a Sequential."""
        inside: Any = self._checkpoint_wrapped_module
        return inside[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters under the names that the module inside gives them."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), param


def _renamed(state_dict: dict[str, Any], old: str, new: str) -> None:
    for key in [key for key in state_dict if key.startswith(old)]:
        state_dict[new + key[len(old):]] = state_dict.pop(key)


def _without_prefix(module: Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> Any:
    _renamed(state_dict, prefix + _PREFIX, prefix)
    return state_dict


def _with_prefix(module: Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    _renamed(state_dict, prefix, prefix + _PREFIX)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved values are kept in main memory until backward."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module of which only the inputs are kept; backward runs it once more."""

    def __init__(self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                 checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        own = partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = partial(own if checkpoint_fn is None else checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        inside, names = self._checkpoint_wrapped_module, tuple(kwargs)
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not names:
            return self.checkpoint_fn(inside, *args, **kwargs)

        def by_position(*values: Any) -> Any:            # a reentrant checkpoint takes no keywords
            at = len(values) - len(names)
            return inside(*values[:at], **dict(zip(names, values[at:])))

        return self.checkpoint_fn(by_position, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """The module with its saved values in main memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                       checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any) -> Module:
    """The module run by a checkpoint function, `utils.checkpoint.checkpoint` if none is given."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def _every(_: Module) -> bool:
    return True


def apply_activation_checkpointing(model: Module, checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
                                   check_fn: Callable[[Module], Any] = _every,
                                   auto_wrap_policy: Callable[..., bool] | None = None) -> None:
    """Put a wrapper around every module inside a model for which `check_fn` or the policy says so."""
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_children(model, policy, checkpoint_wrapper_fn, ActivationWrapper)


__getattr__ = lazy(__name__)
