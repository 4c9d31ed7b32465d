"""Orthogonal polynomials over an array module, by their three-term recurrences.

Every function takes (xp, x, n) of one floating dtype and one shape; n counts as a whole number, cut off towards zero,
and below zero the polynomial is 0. The computation stays in the dtype it is given, in PyTorch's order of operations;
where PyTorch takes a closed form instead of the recurrence, so is it here.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HERMITE_LIMIT = {"float32": 128, "float64": 512}


def degrees(xp, n):
    """n as int64; what does not fit is below zero, as a conversion in C has it."""
    with xp.errstate(invalid="ignore"):
        return xp.where(xp.isfinite(n) & (xp.absolute(n) < 2.0 ** 63), n, -1).astype("int64")


def fused(a, b, c):
    """a * b - c, rounded once where that can be had: PyTorch's loops use the instruction, and recurrences show it."""
    if a.dtype.name != "float32":
        return a * b - c
    return (a.astype("float64") * b - c).astype("float32")


def climb(xp, n, first, second, step: Callable):
    """The polynomial of degree n of every element: `first`, `second`, then step(k, q, p) from degrees k - 1 and k - 2.

    Elements leave as soon as they have arrived, or as soon as they are NaN.
    """
    lowest, highest = (int(n.min()), int(n.max())) if n.size else (0, 0)
    if highest < 64 and lowest == highest > 1:          # one degree for all: nobody leaves early
        p, q, everywhere = first.reshape(-1), second.reshape(-1), slice(None)
        for k in range(2, highest + 1):
            p, q = q, step(k, q, p, everywhere)
        return q.reshape(n.shape)
    out = xp.where(n < 0, 0, xp.where(n == 0, first, second)).astype(second.dtype)
    at = xp.flatnonzero(n > 1)
    p, q, goal = first.reshape(-1)[at], second.reshape(-1)[at], n.reshape(-1)[at]
    flat = out.reshape(-1)
    k = 2
    while at.size:
        p, q = q, step(k, q, p, at)
        done = (goal == k) | xp.isnan(q)
        if done.any():
            flat[at[done]] = q[done]
            rest = ~done
            at, p, q, goal = at[rest], p[rest], q[rest], goal[rest]
        k += 1
    return flat.reshape(out.shape)


def selected(xp, climbed, *cases):
    """`climbed` but for the elements of (condition, value) cases, of which the first counts."""
    for where, value in reversed(cases):
        climbed = xp.where(where, value, climbed)
    return climbed


def _recurrence(xp, x, n, second, twice, closed, limit: int):
    """Chebyshev's recurrence q' = 2x q - p, of which `closed` (a mask) elements of higher degree are spared."""
    climbing = xp.where(closed & (n > limit), 0, n)
    two = twice.reshape(-1)
    return climb(xp, climbing, xp.ones_like(x), second, lambda k, q, p, at: fused(two[at], q, p))


def _sign(xp, n, dtype):
    """1 for an even degree, -1 for an odd one."""
    return xp.where(n % 2 == 0, 1, -1).astype(dtype)


def _chebyshev(xp, x, n, kind: str, limit: int, plus, minus):
    """One of the four kinds at x; `plus` and `minus` are the values at 1 and -1, by masks of their own."""
    n = degrees(xp, n)
    sign, double = _sign(xp, n, x.dtype), (n + n + 1).astype(x.dtype)
    one_more = (n + 1).astype(x.dtype)
    at_plus = {"t": 1, "u": one_more, "v": 1, "w": double}[kind]
    at_minus = {"t": sign, "u": sign * one_more, "v": sign * double, "w": sign}[kind]
    inside = xp.absolute(x) < 1
    second = {"t": x, "u": x + x, "v": x + x - 1, "w": x + x + 1}[kind]
    climbed = _recurrence(xp, x, n, second, x + x, inside | plus | minus, limit)
    cases = [(n < 0, 0), (plus, at_plus), (minus, at_minus)]
    if (n > limit).any():
        cases.append(((n > limit) & inside, _closed(xp, kind, x, n, inside, sign, double)))
    return selected(xp, climbed, *cases)


def _closed(xp, kind: str, x, n, inside, sign, double):
    """The polynomials inside of -1 .. 1 by angles, in double precision: a rounded angle is off m times as much.

    `sign` and `double` serve where a divisor vanishes.
    """
    angle = xp.arccos(xp.where(inside, x, 0).astype(xp.float64))
    m, half = n.astype(xp.float64), 0.5
    if kind == "t":
        closed = xp.cos(m * angle)
    elif kind == "u":
        sine = xp.sin(angle)
        closed = xp.where(sine != 0, xp.sin((m + 1) * angle) / sine, (m + 1) * xp.cos((m + 1) * angle) / x)
    elif kind == "v":
        closed = xp.where(xp.sin(angle / 2) != 1, xp.cos((m + half) * angle) / xp.cos(angle / 2), sign * double)
    else:
        at_end = xp.where(x > 0, double, sign)
        closed = xp.where(xp.cos(angle / 2) != 1, xp.sin((m + half) * angle) / xp.sin(angle / 2), at_end)
    return closed.astype(x.dtype)


def chebyshev(kind: str) -> Callable:
    limit = 6 if kind == "t" else 8
    return lambda xp, x, n: _chebyshev(xp, x, n, kind, limit, x == 1, x == -1)


def shifted_chebyshev(kind: str) -> Callable:
    """The same on [0, 1]: at 2x - 1."""
    limit = 4 if kind == "w" else 6
    return lambda xp, x, n: _chebyshev(xp, x + x - 1, n, kind, limit, x == 1, x == 0)


def _beyond(xp, x, n):
    """Degrees at which PyTorch gives up on Hermite's polynomials, NaN instead."""
    return n > HERMITE_LIMIT.get(x.dtype.name, 512)


def hermite_h(xp, x, n):
    n = degrees(xp, n)
    far, two = _beyond(xp, x, n), (x + x).reshape(-1)
    climbed = climb(xp, xp.where(far, 0, n), xp.ones_like(x), x + x,
                    lambda k, q, p, at: fused(two[at], q, x.dtype.type(2 * k - 2) * p))
    return xp.where(far, xp.nan, climbed)


def hermite_he(xp, x, n):
    n = degrees(xp, n)
    far, flat = _beyond(xp, x, n), x.reshape(-1)
    climbed = climb(xp, xp.where(far, 0, n), xp.ones_like(x), x,
                    lambda k, q, p, at: fused(flat[at], q, x.dtype.type(k - 1) * p))
    return xp.where(far, xp.nan, climbed)


def laguerre_l(xp, x, n):
    n = degrees(xp, n)
    flat = (1 - x).reshape(-1)

    def step(k, q, p, at):
        k = x.dtype.type(k - 1)
        return fused((k + k) + flat[at], q, k * p) / (k + 1)

    return selected(xp, climb(xp, xp.where(x == 0, 0, n), xp.ones_like(x), 1 - x, step), (n < 0, 0), (x == 0, 1))


def legendre_p(xp, x, n):
    n = degrees(xp, n)
    flat, end = x.reshape(-1), xp.absolute(x) == 1

    def step(k, q, p, at):
        k = x.dtype.type(k - 1)
        return fused((k + k + 1) * flat[at], q, k * p) / (k + 1)

    climbed = climb(xp, xp.where(end, 0, n), xp.ones_like(x), x, step)
    return selected(xp, climbed, (n < 0, 0), (x == 1, 1), (x == -1, _sign(xp, n, x.dtype)))
