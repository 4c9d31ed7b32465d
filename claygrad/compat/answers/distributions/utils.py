"""Private names of `torch.distributions.utils` that other packages ask for."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import claygrad
from claygrad.distributions.utils import sum_rightmost as _sum_rightmost  # noqa: F401


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Any:
    """Draws from the normal distribution of mean 0 and deviation 1."""
    return claygrad.empty(shape, dtype=dtype, device=device).normal_()
