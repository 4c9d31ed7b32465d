"""Ranges and grids: tensors of evenly spaced numbers, rounded as in PyTorch."""
from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import DTYPES, Tensor, default_dtype, empty, recast_array, wrap_on
from claygrad.core.user_warnings import warn
from claygrad.ops._data import default_complex
from claygrad.ops._numbers import C_NAMES, converted, element, number_in, refuse_overflow
from claygrad.ops._registry import composite
from claygrad.ops._words import refuse_gradient
from claygrad.ops.creation import check_layout, checked_device, checked_dtype, leaf, refuse_pinning
from claygrad.ops.fill import finished, out_dtype

if TYPE_CHECKING:
    from collections.abc import Callable
    from numbers import Number

    from claygrad.core import device, dtype
    from claygrad.ops._formats import layout

    Device = device | str | None

PIECE = 1 << 20              # elements of a range that are computed at once


def _finished(name: str, n: int, make: Callable[[], np.ndarray], kind: dtype, out: Tensor | None, layout: Any,
              device: Device,
              pin_memory: bool, requires_grad: bool) -> Tensor:
    """The numbers as a new tensor or in `out`; they are not made where only their count is wanted."""
    refuse_pinning(name, pin_memory)
    check_layout(name, layout)
    where = checked_device(name, device) if out is None else out.device
    if n * kind.itemsize >= 1 << 32 and where.type == "cpu":
        empty((n,), kind, where)                # refuses what there is no memory for
    result = empty((n,), kind, where) if where.type == "meta" else wrap_on(make(), where)
    return ranged(name, result, out, requires_grad)


def ranged(name: str, result: Tensor, out: Tensor | None, requires_grad: bool) -> Tensor:
    """Numbers in a row as they are or in `out`, whose shape is kept where it has as many elements."""
    n = result.numel()
    if out is None:
        return finished(name, result, out, requires_grad)
    if out.numel() != n:
        if name not in ("range", "linspace", "logspace") and out.numel():
            warn(f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which "
                 f"does not match the computed number of elements {n}. Note that this may occur as a result "
                 f"of rounding error. The out tensor will be resized to a tensor of shape ({n},).")
        out.resize_(n)
    return finished(name, result.view(out.shape), out, requires_grad)


def _multiply_add(step: float, count: np.ndarray, start: np.ndarray | float) -> np.ndarray:
    """step * count + start in double precision, rounded once, as a fused instruction does.

    The product is split into its rounded value and the exact rest (Dekker), and so is the sum (Knuth).
    """
    product = step * count
    high, low = _high_and_low(step)
    count_high, count_low = _high_and_low(count)
    rest = ((high * count_high - product) + high * count_low + low * count_high) + low * count_low
    total = product + start
    back = total - product
    return total + (((product - (total - back)) + (start - back)) + rest)


def _high_and_low(x: Any) -> tuple[Any, Any]:
    scaled = 134217729.0 * x                    # 2**27 + 1
    high = scaled - (scaled - x)
    return high, x - high


# --- arange -----------------------------------------------------------------------------------------------------
def _length(start: Any, end: Any, step: Any, kind: dtype) -> int:
    """The number of elements of a half-open range, checked."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {_shown(start)} -> {_shown(end)}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind.name == "int64":
        start, end, step = int(start), int(end), int(step)
        if step == 0:                           # a fraction that was cut
            raise ValueError("step must be nonzero")
        size: Any = -((start - end) // step)
    else:
        size = (float(end) - float(start)) / float(step)
        size = math.ceil(size) if math.isfinite(size) else size
    if not 0 <= size < 1 << 63:
        raise RuntimeError("invalid size, possible overflow?")
    return int(size)


def _shown(value: float) -> str:
    return f"{value:g}"


def _blocks(kind: dtype, start: float, step: float, n: int) -> np.ndarray:
    """start + i * step, in pieces: several numbers of 8 bytes for each element would not fit where the result does."""
    out = np.empty(n, kind.numpy)
    for at in range(0, n, PIECE):
        out[at:at + PIECE] = _block(kind, start, step, at, min(PIECE, n - at))
    return out


def _block(kind: dtype, start: float, step: float, at: int, n: int) -> np.ndarray:
    """n elements from index `at` on. PyTorch rounds every eighth (fourth of doubles) and counts on from it."""
    indices = np.arange(at, at + n, dtype=np.float64)
    if kind.itemsize == 2:
        start, step = float(np.float32(start)), float(np.float32(step))
    out = _multiply_add(step, indices, start)
    out = (out.astype(np.float32) if kind.itemsize == 2 else out).astype(kind.numpy)
    lanes = {2: 16, 4: 8, 8: 4}[kind.itemsize]
    whole = n // (2 * lanes) * (2 * lanes)
    if whole:
        firsts = out[:whole:lanes].astype(np.float64)[:, None]
        lane = np.arange(lanes, dtype=np.float64)
        if kind.itemsize == 2:
            block = (firsts.astype(np.float32) + (np.float32(step) * lane.astype(np.float32))).astype(np.float32)
        else:
            block = _multiply_add(step, lane, firsts)
        out[:whole] = block.astype(kind.numpy).reshape(-1)
    return out


@composite(native="arange", method=False, raw=True,
           samples=lambda t: [t.args(5), t.args(1, 2.5, 0.1), t.args(5, 0, -2)],
           errors=lambda t: [(t.args(5, 1), RuntimeError, "upper bound and lower bound inconsistent with step sign"),
                             (t.args(0, 1, 0), RuntimeError, "step must be nonzero"),
                             (t.args(2**62), RuntimeError, "Storage size calculation overflowed with sizes=[46116860")])
def arange(*args: Number, start: Number = 0, end: Number | None = None, step: Number = 1, out: Tensor | None = None,
           dtype: dtype | None = None, layout: layout | None = None, device: Device = None, pin_memory: bool = False,
           requires_grad: bool = False) -> Tensor:
    """The numbers start, start + step, ... below end: `arange(end)`, `arange(start, end)`, `arange(start, end, step)`.

    >>> claygrad.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if len(args) == 1 and end is None:
        end = args[0]
    elif len(args) == 1:
        start = args[0]
    elif len(args) == 2:
        start, end = args
    elif len(args) == 3:
        start, end, step = args
    if len(args) > 3 or end is None:
        raise TypeError("arange() received an invalid combination of arguments - got "
                        f"({', '.join(type(a).__name__ for a in args)}), but expected one of:\n * (Number end)\n * "
                        "(Number start, Number end)\n * (Number start, Number end, Number step)\n")
    named = {"start": start, "end": end, "step": step}
    numbers = [number_in(value) for value in named.values()]
    for (name, value), found in zip(named.items(), numbers):
        if found is None:
            place = 1 if len(args) == 1 else ["start", "end", "step"].index(name) + 1
            raise TypeError(f"arange(): argument '{name}' (position {place}) must be Number, not "
                            f"{type(value).__name__}")
    start, end, step = numbers
    given = None if dtype is None else checked_dtype("arange", dtype)
    integral = all(isinstance(value, int) for value in numbers)
    kind = out_dtype("arange", out, given) or (DTYPES["int64"] if integral else default_dtype())
    if any(isinstance(value, complex) for value in numbers):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if kind.is_complex or kind.name == "bool":
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{kind.legacy}'")
    n = _length(start, end, step, kind)

    def make() -> np.ndarray:
        if kind.is_floating_point:
            return _blocks(kind, float(start), float(step), n)
        numbers = np.empty(n, kind.numpy)
        for at in range(0, n, PIECE):
            part = numbers[at:at + PIECE]
            part[...] = (int(start) + int(step) * np.arange(at, at + len(part), dtype=np.int64)).astype(kind.numpy)
        return numbers

    return _finished("arange", n, make, kind, out, layout, device, pin_memory, requires_grad)


@composite(name="range", method=False, raw=True, samples=lambda t: [t.args(0, 3), t.args(0, 1, 0.25)])
def closed_range(start: Number = 0, end: Number | None = None, step: Number = 1, *, out: Tensor | None = None,
                 dtype: dtype | None = None, layout: layout | None = None, device: Device = None,
                 pin_memory: bool = False,
                 requires_grad: bool = False) -> Tensor:
    "The numbers start, start + step, ... up to end, end included. `arange` is what one wants."
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warn("torch.range is deprecated and will be removed in a future release because its behavior is "
         "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
         "[start, end).")
    given = checked_dtype("range", dtype)
    kind = out_dtype("range", out, given) or default_dtype()
    for place, (word, value) in enumerate((("start", start), ("end", end), ("step", step)), 1):
        if number_in(value) is None:
            raise TypeError(f"range(): argument '{word}' (position {place}) must be Number, not {type(value).__name__}")
    ends = [number_in(start), number_in(end), number_in(step)]
    wide = DTYPES["float64" if kind.is_floating_point else "int64"]
    first, last, by = (element(value, wide).item() for value in ends)          # fractions are cut before anything else
    if kind.is_complex or kind.name == "bool":
        raise NotImplementedError(f"\"range_cpu\" not implemented for '{kind.legacy}'")
    _length(*ends, kind)
    if not by:
        raise RuntimeError("step must be nonzero")
    n = int((last - first) // by) + 1 if wide.name == "int64" else int((last - first) / by) + 1
    return _finished("range", n, lambda: (first + np.arange(n) * by).astype(kind.numpy), kind, out, layout, device,
                     pin_memory, requires_grad)


# --- linspace and logspace --------------------------------------------------------------------------------------
def _ends(name: str, start: Any, end: Any, steps: Any, out: Tensor | None,
          given: dtype | None) -> tuple[Any, Any, dtype]:
    """The two ends as numbers and the dtype of the result, checked."""
    tensors = [isinstance(value, Tensor) for value in (start, end)]
    if any(tensors) and any(flag and value.ndim for flag, value in zip(tensors, (start, end))):
        dims = [value.ndim if flag else 0 for flag, value in zip(tensors, (start, end))]
        if all(tensors):
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got start with "
                               f"{dims[0]} dimension(s) and end with {dims[1]} dimension(s).")
        which = "start" if tensors[0] else "end"
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {which} with "
                           f"{max(dims)} dimension(s).")
    first, last = (number_in(value.detach() if isinstance(value, Tensor) else value) for value in (start, end))
    if first is None or last is None or not hasattr(steps, "__index__") or isinstance(steps, bool) \
            or (isinstance(steps, Tensor) and steps.is_floating_point()):
        got = ", ".join(type(value).__name__ for value in (start, end, steps) if value is not None)
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n "
                        "* (Tensor start, Tensor end, int steps)\n * (Number start, Number end, int steps)\n")
    if int(steps) < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = out_dtype(name, out, given)
    if isinstance(first, complex) or isinstance(last, complex):
        inferred = default_complex()
        kind = kind or inferred
        if not kind.is_complex:
            raise RuntimeError(f"torch.{name}(): inferred dtype {C_NAMES[inferred.name]} can't be safely cast to "
                               f"passed dtype {kind.legacy}")
    kind = kind or default_dtype()
    for value in (first, last):
        refuse_overflow(value, kind)
    if kind.name == "bool" and int(steps) > 1:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    return first, last, kind


def _between(start: Any, end: Any, steps: int, kind: dtype) -> np.ndarray:
    """`steps` numbers from start to end: the first half counted from the start, the second back from the end."""
    if kind.name == "complex32":
        return recast_array(_between(start, end, steps, DTYPES["complex64"]), kind.numpy)
    first, last = converted(start, kind), converted(end, kind)
    if steps < 2:
        return np.full(steps, first, kind.numpy)
    half = steps // 2
    ahead, behind = np.arange(half), steps - 1 - np.arange(half, steps)
    if kind.is_complex:
        step = (last - first) / kind.numpy.type(steps - 1)
        return np.concatenate([first + step * ahead.astype(kind.numpy), last - step * behind.astype(kind.numpy)])
    if kind.itemsize == 2 and kind.is_floating_point:            # rounded to half after every operation
        def rounded(x: Any) -> Any:
            return np.asarray(x, np.float32).astype(kind.numpy).astype(np.float32)

        first, last = np.float32(first), np.float32(last)
        step = rounded(rounded(last - first) / rounded(steps - 1))
        parts = [first + rounded(step * rounded(ahead)), last - rounded(step * rounded(behind))]
        return np.concatenate(parts).astype(kind.numpy)
    if kind.name == "float32":
        step = float((last - first) / np.float32(steps - 1))
        ahead, behind = ahead.astype(np.float32), behind.astype(np.float32)
        parts = [float(first) + step * ahead.astype(np.float64), float(last) - step * behind.astype(np.float64)]
        return np.concatenate(parts).astype(np.float32)
    first, last = float(first), float(last)
    step = (last - first) / (steps - 1)
    parts = [_multiply_add(step, ahead.astype(np.float64), first),
             _multiply_add(-step, behind.astype(np.float64), last)]
    return np.concatenate(parts).astype(kind.numpy)


@composite(native="linspace",
           method=False, raw=True, samples=lambda t: [t.args(0, 1, 5), t.args(-3, 10, 7), t.args(2, 3, 1)],
           errors=lambda t: [(t.args(0, 1, -1), RuntimeError, "number of steps must be non-negative")])
def linspace(start: Number, end: Number, steps: int | None = None, *, out: Tensor | None = None,
             dtype: dtype | None = None,
             layout: layout | None = None, device: Device = None, pin_memory: bool = False,
             requires_grad: bool = False) -> Tensor:
    """`steps` numbers from start to end, both included, equally far apart.

    >>> claygrad.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    given = checked_dtype("linspace", dtype)
    first, last, kind = _ends("linspace", start, end, steps, out, given)
    return _finished("linspace", int(steps), lambda: _between(first, last, int(steps), kind), kind, out, layout, device,
                     pin_memory,
                     requires_grad)


def _powers(start: Any, end: Any, steps: int, base: float, kind: dtype) -> np.ndarray:
    """base to the power of numbers from start to end, in double precision, one by one as the C library has them."""
    if kind.name == "complex32":
        return recast_array(_powers(start, end, steps, base, DTYPES["complex64"]), kind.numpy)
    if kind.is_complex:
        return np.power(kind.numpy.type(base), _between(start, end, steps, kind)).astype(kind.numpy)
    first, last = float(converted(start, kind)), float(converted(end, kind))
    if steps < 2:
        exponents = [float(start)] * steps
    else:
        span = converted(last - first, kind) if kind.is_floating_point else last - first
        step = float(span) / (steps - 1)
        half = steps // 2
        exponents = [first + step * i for i in range(half)]
        exponents += [last - step * (steps - 1 - i) for i in range(half, steps)]
    values = []
    for exponent in exponents:
        try:
            values.append(math.pow(base, exponent))
        except ValueError:                                       # a negative base to a fraction, 0 to a negative power
            values.append(math.inf if base == 0 else math.nan)
        except OverflowError:
            values.append(math.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.array(values, np.float64)
        if kind.numpy.kind in "iu":
            array = array.astype(np.int64)                       # what is too large wraps around
        elif kind.itemsize == 2:
            array = array.astype(np.float32)                     # rounded twice, as PyTorch does
        return array.astype(kind.numpy)


@composite(native="logspace",
           method=False, raw=True, samples=lambda t: [t.args(0, 2, 5), t.args(-1, 3, 4, 2.0), t.args(1, 3, 1)],
           errors=lambda t: [(t.args(0, 1, -1), RuntimeError, "number of steps must be non-negative")])
def logspace(start: Number, end: Number, steps: int | None = None, base: float = 10.0, *, out: Tensor | None = None,
             dtype: dtype | None = None, layout: layout | None = None, device: Device = None, pin_memory: bool = False,
             requires_grad: bool = False) -> Tensor:
    "`steps` powers of `base`, with exponents from start to end equally far apart."
    given = checked_dtype("logspace", dtype)
    refuse_gradient("logspace", "base", base, "float")
    first, last, kind = _ends("logspace", start, end, steps, out, given)
    return _finished("logspace", int(steps), lambda: _powers(first, last, int(steps), float(base), kind), kind, out,
                     layout, device,
                     pin_memory, requires_grad)


# --- the indices of triangles -----------------------------------------------------------------------------------
def _triangle(name: str, row: int, col: int, offset: int, lower: bool, dtype: Any, device: Device, layout: Any,
              pin_memory: bool, requires_grad: bool) -> Tensor:
    for word, value in (("row", row), ("col", col), ("offset", offset)):
        refuse_gradient(name, word, value, "int")
    row, col, offset = index(row), index(col), index(offset)
    for word, value in (("row", row), ("col", col)):
        if value < 0:
            raise RuntimeError(f"{word} must be non-negative, got{value}")
    kind = checked_dtype(name, dtype) or DTYPES["int64"]
    if kind.is_floating_point or kind.is_complex or kind.name == "bool":
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind.legacy}'")
    refuse_pinning(name, pin_memory)
    check_layout(name, layout)
    offset = max(-row - 1, min(offset, col + 1))                    # beyond are no other elements
    if row * col >= 1 << 62 or row >= 1 << 59:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[2, {row * col // 2}]")
    empty((row,), DTYPES["int64"])                                  # so many numbers are counted with, and more come
    edges = np.clip(np.arange(row) + (offset + lower), 0, col)      # the column of each row where the other side begins
    first, counts = (0, edges) if lower else (edges, col - edges)
    ends, where = counts.cumsum(), checked_device(name, device)
    total = int(ends[-1]) if row else 0
    if where.type == "meta":
        return leaf(name, empty((2, total), kind, where), requires_grad)
    indices = np.empty((2, total), kind.numpy)
    indices[0] = np.arange(row).repeat(counts)
    np.subtract(np.arange(total), (ends - counts - first).repeat(counts), out=indices[1], casting="unsafe")
    return leaf(name, wrap_on(indices, where), requires_grad)


@composite(native="tril_indices", method=False, raw=True, samples=lambda t: [t.args(3, 4), t.args(3, 3, -1)],
           errors=lambda t: [(t.args(-1, 3), RuntimeError, "row must be non-negative, got-1")])
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: Device = None,
                 layout: layout | None = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    "Rows and columns of the elements on and below a diagonal of a row x col matrix, as two rows."
    return _triangle("tril_indices", row, col, offset, True, dtype, device, layout, pin_memory, requires_grad)


@composite(native="triu_indices", method=False, raw=True, samples=lambda t: [t.args(3, 4), t.args(3, 3, -1)],
           errors=lambda t: [(t.args(-1, 3), RuntimeError, "row must be non-negative, got-1")])
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: Device = None,
                 layout: layout | None = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    "Rows and columns of the elements on and above a diagonal of a row x col matrix, as two rows."
    return _triangle("triu_indices", row, col, offset, False, dtype, device, layout, pin_memory, requires_grad)
