"""`torch._C._autograd`: what nodes save, and the backward under way."""
from __future__ import annotations

from claygrad.core.graph.engine import run_keeps_graph as _get_current_graph_task_keep_graph
from claygrad.core.graph.modes import disable_saved_hooks, get_saved_hooks
from claygrad.core.graph.modes import pop_saved_hooks as _pop_saved_tensors_default_hooks
from claygrad.core.graph.modes import push_saved_hooks as _push_saved_tensors_default_hooks
from claygrad.core.graph.node import SavedTensor as SavedTensor
from claygrad.core.graph.saved_values import make_saved as _make_saved_tensor

__all__ = ["SavedTensor", "_get_current_graph_task_keep_graph", "_make_saved_tensor",
           "_pop_saved_tensors_default_hooks", "_push_saved_tensors_default_hooks"]


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether hooks on what nodes save may be used."""
    return get_saved_hooks()[1] is None


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """Why they may not."""
    return get_saved_hooks()[1]


def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    """Forbid them, with this message; `fail_if_non_empty=False` also where some are in force."""
    if not fail_if_non_empty and get_saved_hooks()[0]:
        raise NotImplementedError("fail_if_non_empty=False is not supported while saved tensor hooks are in force")
    disable_saved_hooks(error_message)


def _saved_tensors_hooks_enable() -> None:
    """Allow them again."""
    disable_saved_hooks(None)
