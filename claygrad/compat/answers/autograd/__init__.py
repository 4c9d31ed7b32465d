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


is_view_replay_enabled = always(False)


def _tensor_or_tensors_to_tuple(tensors: Any, length: int) -> tuple[Any, ...]:
    """Tensors as a tuple; of None so many of it."""
    if tensors is None:
        return (None,) * length
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _make_grads(outputs: Any, grads: Any, is_grads_batched: bool) -> tuple[Any, ...]:
    """The gradients that a backward pass begins with: ones for a number, and given for all else, in its shape."""
    found = []
    for number, (out, grad) in enumerate(zip(outputs, grads, strict=True)):
        if grad is None and out.requires_grad:
            if out.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            grad = torch.ones_like(out, memory_format=torch.preserve_format)
        elif grad is not None:
            wanted, given = _calculate_shape(out, grad, is_grads_batched)
            if wanted != given:
                raise RuntimeError(f"Mismatch in shape: grad_output[{number}] has a shape of {grad.shape} and "
                                   f"output[{number}] has a shape of {out.shape}.")
        found.append(grad)
    return tuple(found)
