"""Which modules become units of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from claygrad._lazy import lazy
from claygrad.nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


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


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Modules for which a function says so."""
    return recurse or bool(lambda_fn(module))


class CustomPolicy:
    """Modules for which a function says so."""

    def __init__(self, lambda_fn: Callable[[Module], Any]) -> None:
        self._lambda_fn = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        if recurse:
            return True
        said = self._lambda_fn(module)
        if isinstance(said, dict):
            raise NotImplementedError("CustomPolicy: options of a unit alone are not there\n  return True or False")
        return bool(said)


_enabled: list[tuple[Callable[..., Module], dict[str, Any]]] = []


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """In this block `wrap(module)` makes units, with these options."""
    _enabled.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _enabled.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module as a unit inside `enable_wrap`; itself outside."""
    if not _enabled:
        return module
    wrapper, options = _enabled[-1]
    return wrapper(module, **{**options, **wrap_overrides})


def wrap_children(
    module: Module,
    policy: Callable[..., bool],
    wrap: Callable[[Module], Module],
    unit: type[Module],
    ignored: set[int] = frozenset(),  # type: ignore[assignment]
) -> int:
    """Replace the children that the policy names by units; how many parameters are in units now."""
    inside = 0
    for name, child in list(module.named_children()):
        if id(child) in ignored:
            continue
        if isinstance(child, unit):
            inside += sum(p.numel() for p in child.parameters())
            continue
        total = sum(p.numel() for p in child.parameters())
        wrapped = 0
        if policy(module=child, recurse=True, nonwrapped_numel=total):
            wrapped = wrap_children(child, policy, wrap, unit, ignored)
        if total > wrapped and policy(module=child, recurse=False, nonwrapped_numel=total - wrapped):
            setattr(module, name, wrap(child))
            wrapped = total
        inside += wrapped
    return inside


__getattr__ = lazy(__name__)
