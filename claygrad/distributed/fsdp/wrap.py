"""Which modules become units of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from claygrad._late import late
from claygrad.nn.modules.module import Module

__all__ = ["ModuleWrapPolicy", "always_wrap_policy", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy"]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: Any = None,
    exclude_wrap_modules: Any = None,
) -> bool:
    """Modules with at least so many parameters that no unit inside has."""
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(force_leaf_modules or ()))
    return large and not isinstance(module, tuple(exclude_wrap_modules or ()))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Modules of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


class ModuleWrapPolicy:
    """Modules of these classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, self._classes)


def wrap_children(
    module: Module, policy: Callable[..., bool], wrap: Callable[[Module], Module], unit: type[Module]
) -> int:
    """Replace the children that the policy names by units; how many parameters are in units now."""
    inside = 0
    for name, child in list(module.named_children()):
        if isinstance(child, unit):
            inside += sum(p.numel() for p in child.parameters())
            continue
        total = sum(p.numel() for p in child.parameters())
        wrapped = 0
        if policy(module=child, recurse=True, nonwrapped_numel=total):
            wrapped = wrap_children(child, policy, wrap, unit)
        if total > wrapped and policy(module=child, recurse=False, nonwrapped_numel=total - wrapped):
            setattr(module, name, wrap(child))
            wrapped = total
        inside += wrapped
    return inside


__getattr__ = late(__name__)
