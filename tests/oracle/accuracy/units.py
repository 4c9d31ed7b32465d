"""Errors in units in the last place, against references of more digits than the results have."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np

DIGITS = {"float32": 24, "float64": 53}
LOWEST = {"float32": -149, "float64": -1074}
BOUND = {"float32": 2.0, "float64": 4.0}                     # an error up to this is nobody's concern
CACHE = Path(os.environ.get("CLAYGRAD_ACCURACY_CACHE", Path(tempfile.gettempdir()) / "claygrad_accuracy"))


@dataclass
class Row:
    """A function, a dtype and a range: `arrays` are its inputs, `call` runs it in one library, `true` gives (head, rest)."""

    name: str
    dtype: str
    where: str
    arrays: list[np.ndarray]
    call: Callable
    true: Callable[[list[np.ndarray]], tuple[np.ndarray, np.ndarray]]
    error: Callable | None = None                            # (result, head, rest) to one number; units in the last place if None

    @property
    def title(self) -> str:
        return f"{self.name} {self.dtype} {self.where}"


def unit(size: np.ndarray, dtype: str) -> np.ndarray:
    """The distance between neighbouring floats of this dtype at `size`, as a float64 or long double."""
    _, exponent = np.frexp(np.abs(size))
    return np.ldexp(np.longdouble(1), np.maximum(exponent - DIGITS[dtype], LOWEST[dtype]))


def units(result: np.ndarray, head: np.ndarray, rest: np.ndarray, dtype: str) -> np.ndarray:
    """Errors of a result against head + rest. A true NaN is not judged; inf stands for what rounds to it."""
    result, head, rest = (np.asarray(a, dtype=np.longdouble) for a in (result, head, rest))
    largest = np.longdouble(np.finfo(dtype).max)
    beyond = np.ldexp(np.longdouble(1), 128 if dtype == "float32" else 1024)
    with np.errstate(all="ignore"):
        judged = ~np.isnan(head)
        both = np.abs(head) >= beyond
        result = np.where(np.isinf(result), np.sign(result) * beyond, result)
        head = np.where(both, np.sign(head) * beyond, head)
        rest = np.where(both, 0, rest)
        size = np.minimum(np.abs(head), largest)
        error = np.abs((result - head) - rest) / unit(size, dtype)
        error = np.where(np.isnan(error), np.inf, error)
    return np.where(judged, error, 0).astype(float)


def split(value: mpmath.mpf, dtype: str) -> tuple[float, float]:
    """A number of many digits as a float64 and what is left of it."""
    if mpmath.isnan(value):
        return np.nan, 0.0
    if mpmath.isinf(value) or abs(value) > mpmath.mpf(2) ** 1024:
        return (np.inf if value > 0 else -np.inf), 0.0
    head = float(value)
    if np.isinf(head):
        return head, 0.0
    return head, float(value - mpmath.mpf(head))


def by_element(function: Callable, name: str, dtype: str) -> Callable:
    """A reference that evaluates `function` with mpmath, element by element; kept on disk, since some take a millisecond."""

    def true(arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        digest = hashlib.sha1(name.encode() + b"".join(a.tobytes() for a in arrays)).hexdigest()
        kept = CACHE / f"{digest}.npy"
        if kept.exists():
            return tuple(np.load(kept))
        with mpmath.workprec(240):
            pairs = [split(_value(function, values), dtype) for values in zip(*(a.tolist() for a in arrays), strict=True)]
        both = np.array(pairs).T.reshape(2, -1)
        CACHE.mkdir(parents=True, exist_ok=True)
        np.save(kept, both)
        return both[0], both[1]

    return true


def _value(function: Callable, values: tuple) -> mpmath.mpf:
    if any(v != v for v in values):
        return mpmath.nan
    try:
        out = function(*map(mpmath.mpmathify, values))
    except (ValueError, ZeroDivisionError, OverflowError, ArithmeticError, mpmath.libmp.ComplexResult):
        return mpmath.nan
    if isinstance(out, mpmath.mpc):
        return out.real if out.imag == 0 else mpmath.nan
    return mpmath.mpmathify(out)


def worst(row: Row, library, head: np.ndarray, rest: np.ndarray) -> float:
    """The largest error of one library over a row."""
    result = np.asarray(row.call(library, *(library.from_numpy(a.copy()) for a in row.arrays)).detach().numpy())
    if row.error is not None:
        return float(row.error(result, head, rest))
    return float(units(result.reshape(-1), np.reshape(head, -1), np.reshape(rest, -1), row.dtype).max(initial=0.0))


def clearly_worse(ours: float, theirs: float, dtype: str) -> bool:
    return ours > BOUND[dtype] and ours > 2 * theirs
