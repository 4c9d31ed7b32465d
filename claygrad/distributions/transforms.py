"""Transforms of values that know their inverses and the logarithms of their Jacobians' determinants."""
from __future__ import annotations

from collections.abc import Sequence  # noqa: F401   (hints of the classes below are read here)
from typing import Any  # noqa: F401

from claygrad.core import Size, Tensor  # noqa: F401
from claygrad.distributions import constraints  # noqa: F401
from claygrad.distributions._transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _InverseTransform,
    identity_transform,
)
from claygrad.distributions._transform_each import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from claygrad.distributions._transform_joint import (
    CatTransform,
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]

# Shown, and found by readers of pickles, under the name that users import.
for _kind in [_InverseTransform, *(globals()[_name] for _name in __all__ if _name != "identity_transform")]:
    _kind.__module__ = __name__
del _kind
