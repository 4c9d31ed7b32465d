"""Prints claygrad/kernels/simd/math_tables.hpp: polynomials of odd functions, from 0 to where they are constant in
float32, and the powers of two of sixteenths.

There are 16 intervals of one width about the multiples of it, the first of them half as wide, from 0 on; in the last
one the function is what it tends to. Each polynomial is in the distance from the middle of its interval, the first one
from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

INTERVALS = 16


def polynomial(function: Callable[[float], float], middle: float, width: float, degree: int) -> numpy.ndarray:
    """Fitted at Chebyshev's points for the relative error; the first coefficient is the value itself."""
    points = -numpy.cos(numpy.pi * (numpy.arange(64) + 0.5) / 64) * width / 2
    points = points if middle else numpy.abs(points)
    wanted = numpy.array([function(middle + t) for t in points])
    first = function(middle)
    columns = numpy.stack([points**k for k in range(1, degree + 1)], 1) / wanted[:, None]
    found = numpy.linalg.lstsq(columns, (wanted - first) / wanted, rcond=None)[0]
    return numpy.array([first, *found])


def table(function: Callable[[float], float], width: float, degree: int) -> numpy.ndarray:
    """One row for each power, a column for each interval."""
    middles = [k * float(numpy.float32(width)) for k in range(INTERVALS - 1)]
    columns = [polynomial(function, middle, width, degree) for middle in middles]
    end = numpy.zeros(degree + 1)
    end[0] = round(2 * function(100.0)) / 2
    return numpy.stack([*columns, end], 1)


def normal_share(x: float) -> float:
    """The share of a normal distribution below x is this and a half."""
    return math.erf(x * math.sqrt(0.5)) / 2


def gelu_slope(x: float) -> float:
    """The derivative of gelu is this and a half."""
    return normal_share(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


# name: function, width of an interval, degree
TABLES: dict[str, tuple[Callable[[float], float], float, int]] = {
    "TANH": (math.tanh, 0.6, 7),
    "ERF": (math.erf, 0.27, 5),
    "NORMAL": (normal_share, 0.37, 5),
    "GELU_SLOPE": (gelu_slope, 0.4, 5),
}


def written(row: list[float], opening: str, closing: str) -> None:
    texts = [f"{float(numpy.float32(x))!r}f" for x in row]
    for start in range(0, INTERVALS, 4):
        line = ", ".join(texts[start : start + 4])
        print((" " * len(opening) if start else opening) + line + ("," if start < INTERVALS - 4 else closing))


def main() -> None:
    print("// Made by tools/fit_tables.py: powers of two, and polynomials of odd functions, by power and by interval.")
    print("#pragma once\n\nnamespace clay {\n")
    print("alignas(64) constexpr float POWERS_TABLE[16] = {")
    written([2 ** (k / 16) for k in range(16)], "    ", "};\n")
    print("alignas(64) constexpr float POWERS_LOST[16] = {")
    written([2 ** (k / 16) - float(numpy.float32(2 ** (k / 16))) for k in range(16)], "    ", "};\n")
    for name, (function, width, degree) in TABLES.items():
        print(f"constexpr float {name}_WIDTH = {width}f;")
        print(f"alignas(64) constexpr float {name}_TABLE[{degree + 1}][{INTERVALS}] = {{")
        rows = table(function, width, degree)
        for row in rows:
            written(row, "    {", "},")
        print("};\n")
        # What the values at the middles lose as floats: without it a function would step down between intervals.
        print(f"alignas(64) constexpr float {name}_LOST[{INTERVALS}] = {{")
        written(rows[0] - rows[0].astype(numpy.float32), "    ", "};\n")
    print("}  // namespace clay")


if __name__ == "__main__":
    main()
