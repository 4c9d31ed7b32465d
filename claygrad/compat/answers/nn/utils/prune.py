"""Private names of `torch.nn.utils.prune` that pruning methods of other packages are made of."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad.core import Tensor
from claygrad.nn.utils.prune import _channels


def _validate_structured_pruning(t: Tensor) -> None:
    """Structures are pruned from tensors of two dimensions and more."""
    if t.ndim <= 1:
        _channels(t, 0)


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    """The tensor has such a dimension."""
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """The norms of the slices along a dimension."""
    others = [d for d in range(t.dim()) if d != dim % t.dim()]
    return claygrad.norm(t, p=n, dim=others)
