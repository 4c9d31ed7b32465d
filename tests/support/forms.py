"""The two forms of an operation, as functions of NumPy's arrays: the native one, and the reference."""

from __future__ import annotations

from typing import Any

import numpy

import claygrad
from claygrad.core.dispatch.reference import references_run
from claygrad.core.op import op_named


def _tensor(value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        value = value if value.flags.writeable else value.copy()
        return claygrad.from_numpy(value if min(value.strides, default=0) >= 0 else value.copy())
    return value


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, claygrad.Tensor) else value


def named(operation: Any) -> Any:
    return op_named(operation) if isinstance(operation, str) else operation


def called(operation: Any, *given: Any, **options: Any) -> Any:
    """What a call gives, by whichever form; arrays for arrays."""
    made = named(operation)(*map(_tensor, given), **{name: _tensor(value) for name, value in options.items()})
    return tuple(map(_array, made)) if isinstance(made, tuple) else _array(made)


def native(operation: Any, *given: Any, **options: Any) -> Any:
    """What the native form gives, which must have done the work."""
    before = references_run()
    made = called(operation, *given, **options)
    assert references_run() == before, f"{named(operation)}: the native form did not take {given}"
    return made


def refused(operation: Any, *given: Any, **options: Any) -> bool:
    """Whether the native form leaves such arguments to the reference."""
    before = references_run()
    called(operation, *given, **options)
    return references_run() > before


def reference(operation: Any, *given: Any, **options: Any) -> Any:
    """What the declared forward gives."""
    with numpy.errstate(all="ignore"):
        return named(operation).forward(numpy, *map(_array, given), **{name: _array(value) for name, value in options.items()})
