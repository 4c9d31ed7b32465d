"""Whether two results say the same: structure, dtype, shape, values; or the same refusal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch

from tests.ops.cases import first_line, is_tensor, kind_of, numbers


def leaves(value: Any) -> Iterator[Any]:
    """The parts of a result or of arguments, in order."""
    if isinstance(value, list | tuple) and type(value).__name__ != "Size":
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    else:
        yield value


def tensors(value: Any) -> list[Any]:
    return [part for part in leaves(value) if is_tensor(part)]


def values(mine: Any, other: Any, tolerance: Callable[[torch.dtype], tuple[float, float]]) -> str | None:
    """How a result of claygrad's differs from PyTorch's, or None. `tolerance` is asked for the dtype of the result."""
    a, b = list(leaves(mine)), list(leaves(other))
    if len(a) != len(b):
        return f"{len(a)} results, torch {len(b)}"
    for n, (x, y) in enumerate(zip(a, b)):
        where = f"result {n}: " if len(a) > 1 else ""
        if is_tensor(x) != is_tensor(y):
            return f"{where}{type(x).__name__}, torch {type(y).__name__}"
        found = _tensors(x, y, tolerance) if is_tensor(x) else _plain(x, y)
        if found:
            return where + found
    return None


def _plain(x: Any, y: Any) -> str | None:
    if isinstance(x, bool | int | float | complex) and isinstance(y, bool | int | float | complex):
        same = type(x) is type(y) and numpy.allclose(x, y, rtol=1e-6, atol=1e-9, equal_nan=True)
    else:
        same = str(x).replace("claygrad.", "torch.") == str(y)
    return None if same else f"{x!r}, torch {y!r}"


def _tensors(x: Any, y: Any, tolerance: Callable[[torch.dtype], tuple[float, float]]) -> str | None:
    if kind_of(x.dtype) != kind_of(y.dtype) or tuple(x.shape) != tuple(y.shape):
        return f"{kind_of(x.dtype)}{list(x.shape)}, torch {kind_of(y.dtype)}{list(y.shape)}"
    if y.device.type == "meta":
        return None if x.device.type == "meta" else "not on meta"
    return arrays(numbers(x), numbers(y), tolerance(y.dtype))


def arrays(a: numpy.ndarray, b: numpy.ndarray, tolerance: tuple[float, float]) -> str | None:
    rtol, atol = tolerance
    with numpy.errstate(all="ignore"):
        if a.dtype.kind in "biu":
            close = a == b
        else:
            close = numpy.isclose(a.astype(_wide(a)), b.astype(_wide(b)), rtol=rtol, atol=atol, equal_nan=True)
            if a.dtype.kind == "c":       # a number of which a part is NaN has no other part worth telling
                close |= numpy.isnan(a) & numpy.isnan(b)
        if close.all():
            return None
        worst = int(numpy.argmin(close.ravel()))
    return f"{int((~close).sum())} of {close.size} differ, first at {worst}: {a.ravel()[worst]!r}, torch {b.ravel()[worst]!r}"


def _wide(a: numpy.ndarray) -> type:
    return numpy.complex128 if a.dtype.kind == "c" else numpy.float64


def nearer(mine: Any, other: Any, exact: Any, luck: float = 1) -> bool:
    """Whether every number of claygrad's is as near to the exact one as PyTorch's, or nearer; or `luck` times as far from it."""
    parts = [tensors(result) for result in (mine, other, exact)]
    if isinstance(mine, Exception) or len({len(part) for part in parts}) != 1:
        return False
    for x, y, z in zip(*parts):
        if kind_of(x.dtype) != kind_of(y.dtype) or not tuple(x.shape) == tuple(y.shape) == tuple(z.shape):
            return False
        a, b, c = (numbers(t).astype(numpy.complex128 if t.is_complex() else numpy.float64) for t in (x, y, z))
        with numpy.errstate(all="ignore"):
            unit = numpy.abs(c) * float(torch.finfo(y.dtype).eps if is_float(y) else 0)
            if not ((numpy.abs(a - c) <= luck * numpy.abs(b - c) + unit) | (a == b) | (numpy.isnan(a) & numpy.isnan(b))).all():
                return False
    return True


_ADDRESS = re.compile(r"0x[0-9a-f]+")


def refusals(mine: Exception | None, other: Exception) -> str | None:
    """The same type and the same first line."""
    theirs = f"{type(other).__name__}: {first_line(other)}"
    if mine is None:
        return f"no error\n      torch {theirs}"
    same = type(mine).__name__ == type(other).__name__.lstrip("_") and _ADDRESS.sub("", first_line(mine)) == _ADDRESS.sub("", first_line(other))
    return None if same else f"{type(mine).__name__}: {first_line(mine)}\n      torch {theirs}"


def is_float(t: Any) -> bool:
    return is_tensor(t) and (t.dtype.is_floating_point or t.dtype.is_complex)


def cotangents(outputs: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """A direction for every output; the same for both libraries."""
    source = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, dtype=t.dtype, generator=source) for t in outputs]
