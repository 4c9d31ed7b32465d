"""The normal distribution's relative on the circle."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from claygrad.autograd import no_grad
from claygrad.core import DTYPES, Size, Tensor
from claygrad.distributions import constraints
from claygrad.distributions.distribution import Distribution
from claygrad.distributions.utils import lazy_property
from claygrad.ops.compare import where
from claygrad.ops.fill import zeros
from claygrad.ops.random import rand

__all__ = ["VonMises"]

# Abramowitz and Stegun, 9.8.1 to 9.8.4: I_0 and I_1 in powers of (x / 3.75)², and of 3.75 / x from there on.
_SMALL = ((1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
          (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411))
_LARGE = ((0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633,
           0.00392377),
          (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654,
           -0.00420059))


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Any:
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = coefficient + x * total
    return total


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """The logarithm of the modified Bessel function I_0 or I_1 of positive numbers."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    small = (x.abs() * small if order else small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return where(x < 3.75, small, large)


class VonMises(Distribution):
    """Angles near `loc`, with densities proportional to exp(concentration cos(x - loc)). Samples are in [-π, π)."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._take(loc=loc, concentration=concentration), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> VonMises:
        return type(self)(self.loc.expand(batch_shape), self.concentration.expand(batch_shape),
                          validate_args=self.__dict__.get("_validate_args"))

    def log_prob(self, value: Tensor) -> Tensor:
        kappa = self._checked(value).concentration
        return kappa * (value - self.loc).cos() - math.log(2 * math.pi) - _log_modified_bessel_fn(kappa)

    # Samples are drawn in double: in float, r cannot be told from 1 for large concentrations.
    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(DTYPES["float64"])

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(DTYPES["float64"])

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher, 1979)."""
        with no_grad():
            shape, loc, kappa, r = self._extended_shape(sample_shape), self._loc, self._concentration, self._proposal_r
            x = zeros(shape, dtype=loc.dtype, device=loc.device)
            done = zeros(shape, dtype=DTYPES["bool"], device=loc.device)
            while not done.all():
                u1, u2, u3 = rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                accepted |= (c > 0).logical_not()        # r is 1 or NaN: no other draw would be accepted
                x = where(accepted, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accepted
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - (_log_modified_bessel_fn(self.concentration, 1) - _log_modified_bessel_fn(self.concentration)).exp()
