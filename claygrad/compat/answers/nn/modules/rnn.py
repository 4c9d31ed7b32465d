"""Private names of `torch.nn.modules.rnn`."""
from __future__ import annotations

from claygrad.core import Tensor
from claygrad.core.user_warnings import warn


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The parts along an axis in another order."""
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The same, with PyTorch's warning."""
    warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead", FutureWarning)
    return _apply_permutation(tensor, permutation, dim)
