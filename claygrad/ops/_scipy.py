"""SciPy, where NumPy lacks a function: loaded on first use, with a way out where it is not installed."""
from __future__ import annotations

from importlib import import_module


def need(module: str, wanted_by: str):
    """`scipy.<module>`, for the operation named."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError as error:
        raise ImportError(f"{wanted_by} needs SciPy, which is not installed: pip install claygrad[science]") from error
