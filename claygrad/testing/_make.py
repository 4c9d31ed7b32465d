"""`make_tensor`: a tensor of any dtype with random elements between two bounds, for tests."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import claygrad

_INTEGRAL = (claygrad.uint8, claygrad.int8, claygrad.int16, claygrad.int32, claygrad.int64)


def make_tensor(*shape: int | Sequence[int], dtype: Any, device: Any, low: float | None = None,
                high: float | None = None, requires_grad: bool = False, noncontiguous: bool = False,
                exclude_zero: bool = False, memory_format: Any = None) -> claygrad.Tensor:
    """A tensor filled with uniform random numbers of [low, high): by default [-9, 9), for integers [-9, 10).

    >>> claygrad.testing.make_tensor(3, dtype=claygrad.float32, device="cpu", low=0, high=1).shape
    claygrad.Size([3])
    """
    sizes: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    sizes = tuple(sizes)
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError("`requires_grad=True` is not supported for boolean and integral dtypes, but got "
                         f"dtype={dtype!r}")
    if noncontiguous and math.prod(sizes) > 1:
        made = _drawn((*sizes[:-1], 2 * sizes[-1]), dtype, device, low, high)[..., 1::2]
    else:
        made = _drawn(sizes, dtype, device, low, high)
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = claygrad.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
    return made.requires_grad_() if requires_grad else made


def _drawn(sizes: tuple[int, ...], dtype: Any, device: Any, low: float | None, high: float | None) -> claygrad.Tensor:
    if dtype is claygrad.bool:
        least, most = _bounds(low, high, 0, 2, dtype, 0, 2)
        return claygrad.randint(math.ceil(least), math.ceil(most), sizes, dtype=dtype, device=device)
    if dtype in _INTEGRAL:
        info = claygrad.iinfo(dtype)
        least, most = _bounds(low, high, 0 if dtype is claygrad.uint8 else -9, 10, dtype, info.min,
                              info.max + (dtype is not claygrad.int64))
        return claygrad.randint(math.ceil(least), math.ceil(most), sizes, dtype=dtype, device=device)
    if dtype.is_floating_point or dtype.is_complex:
        span = claygrad.finfo(dtype)
        least, most = _bounds(low, high, -9, 9, dtype, span.min, span.max)
        if dtype.itemsize == 1:                   # which nothing draws
            return claygrad.empty(sizes, device=device).uniform_(least, most).to(dtype)
        made = claygrad.empty(sizes, dtype=dtype, device=device)
        (claygrad.view_as_real(made) if dtype.is_complex else made).uniform_(least, most)
        return made
    raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To request "
                    "support, file an issue at: https://github.com/pytorch/pytorch/issues")


def _bounds(low: float | None, high: float | None, least: float, most: float, dtype: Any, smallest: float,
            largest: float) -> tuple[Any, Any]:
    """The bounds as given, or the usual ones, within what the dtype holds."""
    low, high = least if low is None else low, most if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        return low, high
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < smallest or low >= largest:
        raise ValueError(f"The value interval [{low}, {high}) given by `low` and `high` is not fully contained in the "
                         f"value range [{smallest}, {largest}) of {dtype}")
    return max(low, smallest), min(high, largest)
