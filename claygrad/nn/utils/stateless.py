"""Calling a module with other parameters than its own."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from claygrad.core import Tensor
from claygrad.core.user_warnings import warn
from claygrad.nn.modules.module import Module

__all__ = ["functional_call"]

_MISSING: Any = object()


def _named_tensors(module: Module) -> dict[str, Tensor]:
    return dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])


def _with_tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors given, under all names that the module has for what they replace."""
    names: dict[Tensor, set[str]] = {}
    for name, tensor in _named_tensors(module).items():
        names.setdefault(tensor, set()).add(name)
    full = dict(given)
    for tied in names.values():
        here = tied & given.keys()
        if len(tied) < 2 or not here:
            continue
        if len({given[name] for name in here}) != 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider "
                             "using tie_weights=False")
        full.update(dict.fromkeys(tied, given[next(iter(here))]))
    return full


def _check_names(module: Module, given: dict[str, Tensor]) -> None:
    own = _named_tensors(module).keys()
    problems = [f"{kind} key(s): {', '.join(map(repr, sorted(names)))}."
                for kind, names in (("Unexpected", given.keys() - own), ("Missing", own - given.keys())) if names]
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))


def _swap(module: Module, path: str, tensor: Any) -> Any:
    """Put a tensor in the place that a path names, whatever it is, and return what was there."""
    _check_tensor(tensor)
    place, _, name = path.rpartition(".")
    owner: Any = module
    for step in place.split(".") if place else ():
        if not hasattr(owner, step):
            raise AttributeError(f"{owner._get_name()} has no attribute `{step}`")
        owner = getattr(owner, step)
        if not isinstance(owner, Module):
            raise TypeError(f"submodule `{place}`: {owner} is not an instance of torch.nn.Module")
    return exchange(owner, name, tensor)


def _check_tensor(tensor: Any) -> None:
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")


def exchange(owner: Module, name: str, tensor: Any, *, typed: bool = True) -> Any:
    """Give a module another tensor under a name, or none, and return what was there: a tensor, if `typed`."""
    _check_tensor(tensor)
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for table in (owner._parameters, owner._buffers):
        if name in table:
            former = table[name]
            if tensor is _MISSING:
                del table[name]
            else:
                table[name] = tensor
            return former
    former = getattr(owner, name, _MISSING)
    if typed and former is not _MISSING and former is not None and not isinstance(former, Tensor):
        raise TypeError(f"attribute `{name}`: {former} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(owner, name, tensor)
    elif former is not _MISSING:
        delattr(owner, name)
    return former


def _swap_all(module: Module, tensors: dict[str, Any]) -> dict[str, Any]:
    """Swap all, or none if one cannot be."""
    former: dict[str, Any] = {}
    try:
        for path, tensor in tensors.items():
            former[path] = _swap(module, path, tensor)
    except Exception:
        for path, tensor in former.items():
            _swap(module, path, tensor)
        raise
    return former


@contextlib.contextmanager
def _reparametrize_module(module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False,
                          strict: bool = False) -> Iterator[None]:
    tensors = _with_tied(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_names(module, tensors)
    former = _swap_all(module, tensors)
    try:
        yield
    finally:
        left = _swap_all(module, former)
        # Buffers that forward assigned anew are handed to the caller, under the names that came in.
        parameters_and_buffers.update((name, left[name]) for name in parameters_and_buffers if name in left)


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Deprecated: `claygrad.func.functional_call` under its former name."""
    warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
         "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
         "replacement.", FutureWarning)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                     kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
