"""Prints claygrad/kernels/vmath_tables.hpp: polynomials of odd functions, from 0 to where they are constant in float32.

A float from 1/16 on has its interval in its bits: exponent and two digits after the point, four to an octave.
The first interval begins at 0. Each polynomial is in the distance from where its interval begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

DEGREE = 6
OCTAVES = range(-4, 4)
FIRST = 492  # the number of the first interval, which begins at 0


def polynomial(function: Callable[[float], float], begin: float, end: float) -> numpy.ndarray:
    """Fitted at Chebyshev's points for the relative error; the first coefficient is the rounded value itself."""
    points = (1 - numpy.cos(numpy.pi * (numpy.arange(64) + 0.5) / 64)) / 2 * (end - begin)
    wanted = numpy.array([function(begin + t) for t in points])
    first = float(numpy.float32(function(begin)))
    powers = range(1, DEGREE + 1, 1 if begin else 2)  # an odd function where it begins at 0
    columns = numpy.stack([points**k for k in powers], 1) / wanted[:, None]
    found = numpy.linalg.lstsq(columns, (wanted - first) / wanted, rcond=None)[0]
    if not begin:  # how far it is from the identity: that is added by itself, for its last digit
        found[0] -= 1
    coefficients = numpy.zeros(DEGREE + 1)
    coefficients[0] = first
    coefficients[list(powers)] = found
    return coefficients.astype(numpy.float32)


def table(function: Callable[[float], float]) -> numpy.ndarray:
    """One row for each power. The columns stand where the last five bits of an interval's number say."""
    rows = numpy.zeros((DEGREE + 1, 32), numpy.float32)
    for octave in OCTAVES:
        for quarter in range(4):
            begin, end = (2.0**octave * (1 + (quarter + k) / 4) for k in (0, 1))
            bits = int(numpy.float32(begin).view(numpy.uint32)) >> 21
            rows[:, bits % 32] = polynomial(function, 0.0 if bits == FIRST else begin, end)
    return rows


def gelu_slope(x: float) -> float:
    """The derivative of gelu is this and a half."""
    return math.erf(x * math.sqrt(0.5)) / 2 + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def main() -> None:
    print("// Made by tools/fit_tables.py: polynomials of odd functions, by power and by interval.\n#pragma once\n")
    print("namespace clay {\n")
    for name, function in (("TANH", math.tanh), ("ERF", math.erf), ("GELU_SLOPE", gelu_slope)):
        print(f"alignas(64) constexpr float {name}_TABLE[{DEGREE + 1}][32] = {{")
        for row in table(function):
            texts = [f"{float(x)!r}f" for x in row]
            for start in range(0, 32, 4):
                line = ", ".join(texts[start : start + 4])
                print(("     " if start else "    {") + line + ("," if start < 28 else "},"))
        print("};\n")
    print("}  // namespace clay")


if __name__ == "__main__":
    main()
