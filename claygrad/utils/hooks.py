"""Handles of hooks, and hooks that are not stored with a tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claygrad.core import Tensor
from claygrad.core.graph.handles import RemovableHandle
from claygrad.core.user_warnings import warn
from claygrad.nn.modules._hooks import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook as one that need not be stored: no warning is given when its tensor is."""
    f.__torch_unserializable__ = True       # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of hooks that storing a tensor loses."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                 "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning")
