"""SciPy, where NumPy lacks a function: loaded on first use, with a way out where it is not installed."""
from __future__ import annotations

from functools import cache
from importlib import import_module


def need(module: str, wanted_by: str):
    """`scipy.<module>`, for the operation named."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError as error:
        raise ImportError(f"{wanted_by} needs SciPy, which is not installed: pip install claygrad[science]") from error


@cache
def transforms(xp):
    """The Fourier transforms of an array module; SciPy's in the place of NumPy's where it is installed, five times as
    fast on batches, under the same names."""
    if xp.__name__ == "numpy":
        try:
            return import_module("scipy.fft")
        except ImportError:
            pass
    return xp.fft
