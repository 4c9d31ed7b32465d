"""Special functions that no array module for accelerators need have, as array code: forms of their operations.

Bessel functions are integrals over smooth functions (DLMF 10.9), taken by Gauss's rule on a fixed number of nodes, and
asymptotic series for large arguments; so is Airy's function, which is made of them; incomplete gammas are a power
series or a continued fraction (DLMF 8.7, 8.9). All are computed in float64, and rounded at the end. They are slow
beside a kernel, and right.
"""
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

FAR = 25.0                              # from here on Bessel's functions of order 0 and 1 are their asymptotic series
TINY = 1e-8                             # up to here they are the first term of their power series
EULER = 0.57721566490153286


@cache
def _panels(count: int, nodes: int) -> list[tuple[float, float]]:
    """Nodes and weights of Gauss's rule on 0 .. 1, cut into equal panels."""
    at, weights = np.polynomial.legendre.leggauss(nodes)
    return [((k + (x + 1) / 2) / count, w / 2 / count) for k in range(count)
            for x, w in zip(at.tolist(), weights.tolist(), strict=True)]


def _far(xp: Any, x: Any, order: float) -> tuple[Any, Any]:
    """J and Y of a large argument: the real and the imaginary part of Hankel's series."""
    mu, term, even, odd = 4.0 * order * order, xp.ones_like(x), xp.ones_like(x), xp.zeros_like(x)
    for k in range(1, 26):
        term = term * ((mu - (2 * k - 1) ** 2) / (8.0 * k)) / x
        if k % 2:
            odd = odd + (term if k % 4 == 1 else -term)
        else:
            even = even + (term if k % 4 == 0 else -term)
    angle, size = x - (order / 2 + 0.25) * np.pi, xp.sqrt(2 / (np.pi * x))
    return (size * (even * xp.cos(angle) - odd * xp.sin(angle)), size * (even * xp.sin(angle) + odd * xp.cos(angle)))


def _near(xp: Any, x: Any, order: int, second: bool) -> Any:
    out = xp.zeros_like(x)
    for at, weight in _panels(2, 40):
        angle = at * np.pi
        phase = x * np.sin(angle) - order * angle
        out = out + weight * (xp.sin(phase) if second else xp.cos(phase))
    if not second:
        return out
    reach = xp.arcsinh(40 / x)                  # behind it the integrand is below the last digit
    tail = xp.zeros_like(x)
    for at, weight in _panels(12, 16):
        t = at * reach
        factor = xp.exp(t) - xp.exp(-t) if order else 2.0
        tail = tail + weight * factor * xp.exp(-x * xp.sinh(t))
    return out - tail * reach / np.pi


def _bessel(xp: Any, input: Any, order: int, second: bool) -> Any:
    x = xp.absolute(input.astype(np.float64))
    far = x > FAR
    big, small = xp.where(far, x, FAR), xp.where(far | (x < TINY), 1.0, x)
    out = xp.where(far, _far(xp, big, order)[int(second)], _near(xp, small, order, second))
    tiny = xp.where((x > 0) & (x < TINY), x, 1.0)
    if second:
        first = -2 / (np.pi * tiny) if order else 2 / np.pi * (xp.log(tiny) + (EULER - np.log(2)))
    else:
        first = tiny / 2 if order else xp.ones_like(tiny)
    out = xp.where(x < TINY, first, out)
    sign = xp.sign(input.astype(np.float64))
    if second:
        out = xp.where(x == 0, -np.inf, out)
        out = xp.where(sign < 0, np.nan, out)
    else:
        out = xp.where(x == 0, 0.0 if order else 1.0, out)
        out = out * sign if order else out
    return xp.where(xp.isfinite(x), out, np.nan).astype(input.dtype)


def _modified(xp: Any, input: Any, order: int, scaled: bool) -> Any:
    """K, by the trapezoidal rule, whose error falls as fast as the integrand does: twice exponentially."""
    x = input.astype(np.float64)
    usual = (x > 0) & xp.isfinite(x)
    tiny = usual & (x < TINY)
    v = xp.where(usual & ~tiny, x, 1.0)
    reach = xp.arccosh(1 + 60 / v)
    total, steps = xp.zeros_like(v), 160
    for k in range(steps + 1):
        t = reach * (k / steps)
        each = xp.exp(-2 * v * xp.square(xp.sinh(t / 2)))             # cosh(t) - 1, without its rounding
        total = total + (0.5 if k == 0 else 1.0) * (each * xp.cosh(t) if order else each)
    out = total * reach / steps
    out = out if scaled else out * xp.exp(-v)
    small = xp.where(tiny, x, 1.0)
    first = 1 / small if order else np.log(2) - EULER - xp.log(small)
    out = xp.where(tiny, first * xp.exp(small) if scaled else first, out)
    out = xp.where(x == 0, np.inf, xp.where(x < 0, np.nan, xp.where(xp.isnan(x), np.nan, xp.where(usual, out, 0.0))))
    return out.astype(input.dtype)


def _airy(xp: Any, input: Any) -> Any:
    """Ai: its power series near 0, K of order 1/3 on the right, and J of orders 1/3 and -1/3 on the left (DLMF 9.6)."""
    x = input.astype(np.float64)
    near = xp.where(xp.absolute(x) <= 2, x, 0.0)
    cube, even, odd = near * near * near, xp.ones_like(near), near
    first, second = even, odd
    for k in range(1, 14):
        even = even * cube / ((3 * k - 1) * (3 * k))
        odd = odd * cube / ((3 * k) * (3 * k + 1))
        first, second = first + even, second + odd
    out = 0.35502805388781724 * first - 0.25881940379280680 * second
    right = xp.where((x > 2) & (x < 110), x, 2.0)
    z = right * xp.sqrt(right) * (2 / 3)
    reach, steps = xp.arccosh(1 + 60 / z), 160
    total = xp.zeros_like(z)
    for k in range(steps + 1):
        t = reach * (k / steps)
        total = total + (0.5 if k == 0 else 1.0) * xp.exp(-2 * z * xp.square(xp.sinh(t / 2))) * xp.cosh(t / 3)
    out = xp.where(x > 2, xp.sqrt(right / 3) / np.pi * xp.exp(-z) * total * reach / steps, out)
    left = xp.where((x < -2) & xp.isfinite(x), -x, 2.0)
    z = left * xp.sqrt(left) * (2 / 3)
    far = z > FAR
    big, small = xp.where(far, z, FAR), xp.where(far, FAR, z)
    waves = _far(xp, big, 1 / 3)[0] + _far(xp, big, -1 / 3)[0]
    closer, tail, reach = xp.zeros_like(z), xp.zeros_like(z), xp.arcsinh(40 / small)
    for at, weight in _panels(2, 40):
        closer = closer + weight * 2 * np.cos(at * np.pi / 3) * xp.cos(small * np.sin(at * np.pi))
    for at, weight in _panels(12, 16):
        t = at * reach
        tail = tail + weight * xp.sinh(t / 3) * xp.exp(-small * xp.sinh(t))
    closer = closer + tail * reach * (2 * np.sin(np.pi / 3) / np.pi)
    out = xp.where(x < -2, xp.sqrt(left) / 3 * xp.where(far, waves, closer), out)
    out = xp.where(x > 103.892, 0.0, out)
    return xp.where(xp.isfinite(x), out, np.nan).astype(input.dtype)


def _gamma_parts(xp: Any, a: Any, x: Any, log_gamma: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The lower and the upper regularised gamma function of positive finite a and x."""
    low = x < a + 1
    factor = xp.exp(a * xp.log(x) - x - log_gamma(a))
    n, term = a, 1 / a
    total = term
    for k in range(1, 3000):                                            # the series, for what lies below the middle
        n = n + 1
        term = xp.where(low, term * x / n, 0.0)
        total = total + term
        if k % 16 == 0 and not bool((term > total * 1e-17).any()):
            break
    tiny = 1e-300
    b = x + 1 - a
    c, d = xp.full_like(x, 1 / tiny), 1 / xp.where(xp.absolute(b) < tiny, tiny, b)
    h = d
    for k in range(1, 3000):                                            # Lentz's continued fraction, for the others
        b = b + 2
        step = -k * (k - a)
        d = step * d + b
        c = b + step / c
        d = 1 / xp.where(xp.absolute(d) < tiny, tiny, d)
        c = xp.where(xp.absolute(c) < tiny, tiny, c)
        change = d * c
        h = xp.where(low, h, h * change)
        if k % 16 == 0 and not bool((xp.absolute(xp.where(low, 1.0, change) - 1) > 1e-16).any()):
            break
    lower = xp.where(low, total * factor, 1 - h * factor)
    return lower, xp.where(low, 1 - lower, h * factor)


def _incomplete(xp: Any, input: Any, other: Any, upper: bool) -> Any:
    kind = input.dtype
    a, x = xp.broadcast_arrays(input.astype(np.float64), other.astype(np.float64))
    usual = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    lower, rest = _gamma_parts(xp, xp.where(usual, a, 1.0), xp.where(usual, x, 1.0), lambda v: _log_gamma(xp, v))
    out = rest if upper else lower
    zero, one = (1.0, 0.0) if upper else (0.0, 1.0)
    edge = xp.where(xp.isinf(a) & ~xp.isinf(x), zero, xp.where(xp.isinf(x) & ~xp.isinf(a), one, np.nan))
    edge = xp.where((x == 0) & (a > 0), zero, xp.where((a == 0) & (x > 0), one, edge))
    edge = xp.where((a < 0) | (x < 0) | xp.isnan(a) | xp.isnan(x), np.nan, edge)
    return xp.where(usual, out, edge).astype(kind)


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _log_gamma(xp: Any, x: Any) -> Any:
    """The logarithm of gamma of a positive number: moved up to 12 and more, and Stirling's series there."""
    product = xp.ones_like(x)
    v = x
    for _ in range(12):
        small = v < 12
        product = xp.where(small, product * v, product)
        v = xp.where(small, v + 1, v)
    series, power = xp.zeros_like(v), 1 / v
    for term in _STIRLING:
        series = series + term * power
        power = power / (v * v)
    return (v - 0.5) * xp.log(v) - v + 0.5 * np.log(2 * np.pi) + series - xp.log(product)


def forms() -> dict[str, Callable[..., Any]]:
    """The forms, by the names of their operations."""
    def bessel(order: int, second: bool) -> Callable[..., Any]:
        return lambda xp, input: _bessel(xp, input, order, second) if input.dtype.kind == "f" else None

    def modified(order: int, scaled: bool) -> Callable[..., Any]:
        return lambda xp, input: _modified(xp, input, order, scaled) if input.dtype.kind == "f" else None

    def incomplete(upper: bool) -> Callable[..., Any]:
        return lambda xp, input, other: _incomplete(xp, xp.asarray(input), xp.asarray(other), upper) \
            if input.dtype.kind == "f" else None

    def airy(xp: Any, x: Any) -> Any:
        return _airy(xp, x) if x.dtype.kind == "f" else None

    return {"special_airy_ai": airy, "special_bessel_j0": bessel(0, False), "special_bessel_j1": bessel(1, False),
            "special_bessel_y0": bessel(0, True), "special_bessel_y1": bessel(1, True),
            "special_modified_bessel_k0": modified(0, False), "special_modified_bessel_k1": modified(1, False),
            "special_scaled_modified_bessel_k0": modified(0, True),
            "special_scaled_modified_bessel_k1": modified(1, True), "igamma": incomplete(False),
            "igammac": incomplete(True)}
