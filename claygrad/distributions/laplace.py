"""The Laplace distribution."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad._info import finfo
from claygrad.core import Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.distribution import Distribution
from claygrad.ops.fill import empty
from claygrad.ops.random_fill import uniform_

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Densities exp(-|x - loc| / scale) / (2 scale)."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = ("loc", "scale")
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._take(loc=loc, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        u = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        uniform_(u, finfo(u.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        off = value - self._checked(value).loc
        return -(2 * self.scale).log() - off.abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        off = value - self._checked(value).loc
        return 0.5 - 0.5 * off.sign() * (-off.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        off = value - 0.5
        return self.loc - self.scale * off.sign() * (-2 * off.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
