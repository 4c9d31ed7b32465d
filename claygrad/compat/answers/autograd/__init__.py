"""Answers of `torch.autograd` that other packages ask for."""
from __future__ import annotations

from typing import Any

import claygrad as torch
from claygrad.autograd.graph import GradientEdge
from claygrad.compat.refusing import always
from claygrad.core import Size, Tensor
from claygrad.core.graph.engine import run_has_inputs

_profiler_enabled = kineto_available = always(False)


def _is_checkpoint_valid() -> bool:
    """Whether a reentrant checkpoint may run: not in a backward that was asked for some gradients only."""
    return not run_has_inputs()


def _calculate_shape(output: Tensor | GradientEdge, grad: Tensor, is_grads_batched: bool) -> tuple[Size, Size]:
    """The shape of an output and of the gradient given for it, without the axis of a batch."""
    if isinstance(output, GradientEdge):
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        return Size(output.node._input_metadata[output.output_nr].shape), grad.shape
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


class _force_original_view_tracking(torch.autograd.grad_mode._Mode):
    """Which way PyTorch finds the history of a view whose base was written. Here its geometry tells it, and the
    gradients are those of both ways."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        """Nothing to choose."""

    def __exit__(self, *error: object) -> None:
        """Nothing was chosen."""

    def clone(self) -> Any:
        return type(self)(self.mode)
