"""Private names of `torch.optim.lbfgs`: the line search, as other optimizers call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import claygrad
from claygrad.core import Tensor
from claygrad.optim._line_search import cubic_minimum, strong_wolfe


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """Where the cubic with those values and slopes is least, within the bounds; slopes may be numbers."""
    return cubic_minimum(x1, f1, claygrad.as_tensor(g1), x2, f2, g2, bounds)


def _strong_wolfe(
    obj_func: Callable[..., tuple[Any, Tensor]],
    x: Any,
    t: Any,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Tensor, Any, int]:
    """Loss, gradient and distance of a point that meets the strong Wolfe conditions, and how often it was evaluated."""
    return strong_wolfe(lambda step: obj_func(x, step, d), t, d, f, g, gtd, c1, c2, tolerance_change, max_ls)
