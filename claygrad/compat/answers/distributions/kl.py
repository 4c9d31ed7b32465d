"""Private names of `torch.distributions.kl` that divergences of other packages are made of."""
from __future__ import annotations

import math

from claygrad.core import Tensor


def _infinite_like(tensor: Tensor) -> Tensor:
    """Infinity in the shape of a tensor."""
    return tensor.new_full(tensor.shape, math.inf)


def _x_log_x(tensor: Tensor) -> Tensor:
    """x log x, which is 0 at 0."""
    return tensor.xlogy(tensor)


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """The traces of X Xᵀ."""
    return bmat.pow(2).sum((-2, -1))
