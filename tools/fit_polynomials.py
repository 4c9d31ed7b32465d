"""Prints coefficients for simd/math_plain.hpp, of tanh and the normal tail: minimax polynomials."""

from __future__ import annotations

import math

import numpy

POINTS = 800
STEPS = 300


def minimax(powers: numpy.ndarray, wanted: numpy.ndarray, weight: numpy.ndarray) -> numpy.ndarray:
    """Lawson's algorithm: repeated least squares with more weight where the error is large."""
    share = numpy.full(len(wanted), 1 / len(wanted))
    for _ in range(STEPS):
        scale = numpy.sqrt(share) * weight
        found = numpy.linalg.lstsq(powers * scale[:, None], wanted * scale, rcond=1e-17)[0]
        error = abs(powers @ found - wanted) * weight
        share *= error + 1e-12 * error.max()
        share /= share.sum()
    print(f"// largest error, weighted: {error.max():.3g}")
    return found


def show(name: str, coefficients: numpy.ndarray) -> None:
    print(f"{name}: {[float(numpy.float32(c)) for c in coefficients[::-1]]}")


def main() -> None:
    chebyshev = numpy.cos(numpy.pi * (numpy.arange(POINTS) + 0.5) / POINTS)
    f = chebyshev / 2
    show("2**f - 1, from f**5 down", minimax(numpy.stack([f**k for k in range(1, 6)], 1), 2**f - 1, 2**-f))

    u = (1 - chebyshev) / 2 * 0.6**2
    x = numpy.sqrt(u)
    bend = numpy.where(u < 0.002, -1 / 3 + u * (2 / 15 - u * (17 / 315 - u * 62 / 2835)), (numpy.tanh(x) / x - 1) / u)
    show("(tanh(x) / x - 1) / u for u = x * x, from u**4 down",
         minimax(numpy.stack([u**k for k in range(5)], 1), bend, u))

    # The tail of a normal distribution, over its density times sqrt(2 pi). Its error counts twice: against 1, with the
    # density, where gelu is x times nearly 1, and against the tail itself, where gelu is x times that.
    a = (1 - chebyshev) / 2 * 5.6
    ratio = numpy.array([math.erfc(x * math.sqrt(0.5)) / 2 * math.exp(x * x / 2) for x in a])
    weight = numpy.maximum(numpy.exp(-a * a / 2) / numpy.maximum(a, 0.25) / 2e-8, 1 / ratio / 4e-6)
    s = a / (a + 1 / 0.379)
    powers = numpy.stack([s**k for k in range(1, 7)], 1)
    show("Mills' ratio - 1/2, from s**6 down", minimax(powers, ratio - 0.5, weight))


if __name__ == "__main__":
    main()
