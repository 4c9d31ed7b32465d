"""Comparing a tensor of either library with plain Python lists."""

from __future__ import annotations

import math
from typing import Any


def close(tensor: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-6) -> bool:
    """True if the tensor has the shape and, within rounding, the values of a nested list."""
    return tensor is not None and _close(tensor.detach().tolist(), expected, rtol, atol)


def exact(tensor: Any, expected: Any) -> bool:
    """True if the tensor's nested list equals the expected one, NaN being equal to NaN."""
    return close(tensor, expected, 0.0, 0.0)


def _close(got: Any, want: Any, rtol: float, atol: float) -> bool:
    if isinstance(want, list | tuple):
        return (
            isinstance(got, list)
            and len(got) == len(want)
            and all(_close(g, w, rtol, atol) for g, w in zip(got, want, strict=True))
        )
    if isinstance(got, list):
        return False
    if isinstance(want, bool) or isinstance(got, bool):
        return got is want
    if isinstance(want, complex) or isinstance(got, complex):
        return abs(got - want) <= atol + rtol * abs(want)
    if math.isnan(want) or math.isinf(want):
        return got == want or (math.isnan(want) and math.isnan(got))
    return abs(got - want) <= atol + rtol * abs(want)
