"""Private names of `torch.autograd.graph`: how a backward pass is run."""
from __future__ import annotations

from typing import Any

from claygrad import autograd
from claygrad.autograd.graph import get_gradient_edge
from claygrad.core import Tensor


def _engine_run_backward(t_outputs: Any, grad_tensors: Any, keep_graph: bool, create_graph: bool, inputs: Any = (), *,
                         allow_unreachable: bool = True, accumulate_grad: bool = False) -> Any:
    """Run the engine: gradients into `.grad` where they accumulate, or else of the inputs."""
    if accumulate_grad:
        return autograd.backward(t_outputs, grad_tensors, keep_graph, create_graph, inputs=inputs or None)
    return autograd.grad(t_outputs, inputs, grad_tensors, keep_graph, create_graph, allow_unused=allow_unreachable)


def _get_grad_fn_or_grad_acc(t: Tensor) -> Any:
    """The node that computes a tensor's gradient, or that accumulates it."""
    return get_gradient_edge(t).node


class _MultiHandle:
    """Several handles as one."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove all."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state
