"""`make_tensor`: a tensor of any dtype with random elements between two bounds, for tests."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import claygrad
from claygrad.core.user_warnings import warn

_INTEGRAL = (claygrad.uint8, claygrad.int8, claygrad.int16, claygrad.int32, claygrad.int64, claygrad.uint16,
             claygrad.uint32, claygrad.uint64)
_FLOATING = (claygrad.float16, claygrad.bfloat16, claygrad.float32, claygrad.float64, claygrad.complex32,
             claygrad.complex64, claygrad.complex128)
_SMALL = (claygrad.float8_e4m3fn, claygrad.float8_e5m2, claygrad.float8_e4m3fnuz, claygrad.float8_e5m2fnuz)


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
    return made.requires_grad_() if requires_grad and dtype in _FLOATING else made


def _drawn(sizes: tuple[int, ...], dtype: Any, device: Any, low: float | None, high: float | None) -> claygrad.Tensor:
    if dtype is claygrad.bool:
        least, most = _bounds(low, high, 0, 2, dtype, 0, 2)
        return claygrad.randint(math.ceil(least), math.ceil(most), sizes, dtype=dtype, device=device)
    if dtype in _INTEGRAL:
        info = claygrad.iinfo(dtype)
        least, most = _bounds(low, high, -9, 10, dtype, info.min, info.max + (dtype is not claygrad.int64))
        return claygrad.randint(math.ceil(least), math.ceil(most), sizes, dtype=dtype, device=device)
    if dtype in _FLOATING or dtype in _SMALL:
        span = claygrad.finfo(dtype)
        least, most = _bounds(low, high, -9, 9, dtype, span.min, span.max)
        made = claygrad.empty(sizes, dtype=claygrad.float32 if dtype in _SMALL else dtype, device=device)
        line = claygrad.view_as_real(made) if dtype.is_complex else made
        if most - least >= claygrad.finfo(line.dtype).max:          # wider than uniform_ takes
            line.uniform_(least / 2, most / 2).mul_(2)
        else:
            line.uniform_(least, most)
        return made.to(dtype)
    raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To request "
                    "support, file an issue at: https://github.com/pytorch/pytorch/issues")


def _bounds(low: float | None, high: float | None, least: float, most: float, dtype: Any, smallest: float,
            largest: float) -> tuple[Any, Any]:
    """The bounds as given, or the usual ones, within what the dtype holds."""
    low, high = least if low is None else low, most if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and dtype in _FLOATING:
        warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
             "and will be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < smallest or low >= largest:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only "
                         f"supports [{smallest}, {largest})")
    return min(max(low, smallest), largest), min(max(high, smallest), largest)
