"""`assert_close`: tensors, numbers and containers of them, compared up to tolerances that suit their dtype."""
from __future__ import annotations

import cmath
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy

import claygrad
from claygrad.core.user_warnings import warn

_BY_DTYPE: dict[Any, tuple[float, float]] = {      # rtol, atol
    claygrad.float16: (1e-3, 1e-5), claygrad.bfloat16: (1.6e-2, 1e-5), claygrad.float32: (1.3e-6, 1e-5),
    claygrad.float64: (1e-7, 1e-7), claygrad.complex64: (1.3e-6, 1e-5), claygrad.complex128: (1e-7, 1e-7),
}
_OF_PYTHON = {bool: claygrad.bool, int: claygrad.int64, float: claygrad.float64, complex: claygrad.complex128}
_NUMBERS = (int, float, complex, numpy.number)


class _Options(NamedTuple):
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """What was asked for, or else the loosest that the dtypes have by default."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        defaults = [_BY_DTYPE.get(one, (0.0, 0.0)) for one in dtypes]
        return max(rtol for rtol, _ in defaults), max(atol for _, atol in defaults)


class _Mismatch(Exception):
    """What differs, and where in the containers."""

    def __init__(self, text: str, path: tuple[Any, ...], kind: type[Exception] = AssertionError) -> None:
        where = "".join(f"[{key!r}]" for key in path)
        super().__init__(f"{text}\n\nThe failure occurred for item {where}" if where else text)
        self.kind = kind


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 msg: str | Callable[[str], str] | None = None) -> None:
    """Raise an AssertionError that says where and by how much, unless |actual - expected| <= atol + rtol * |expected|.

    Sequences and mappings are compared item by item. Without tolerances those of the dtype are taken; numbers and
    tensors of integers and booleans must be equal then. `msg` replaces the text, or makes it from the usual one.

    >>> claygrad.testing.assert_close(claygrad.tensor([1.0]), claygrad.tensor([1.0 + 1e-7]))
    """
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        pairs = list(_pairs(actual, expected, (), options))     # all of the structure first, then the values
    except _Mismatch as found:
        raise found.kind(str(found)) from None
    try:
        for one, other, path in pairs:
            _compare(one, other, path, options)
    except _Mismatch as found:
        text = str(found)
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg) from None


_OLD_TOLERANCES: dict[Any, tuple[float, float]] = {
    claygrad.float16: (1e-3, 1e-3), claygrad.float32: (1e-4, 1e-5), claygrad.float64: (1e-5, 1e-8),
}


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
                    equal_nan: bool = True, msg: str = "") -> None:
    """`assert_close` as it was called before, with wider tolerances and without a look at dtypes."""
    warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
         "use `torch.testing.assert_close()` instead.", FutureWarning)
    one, other = (x if isinstance(x, claygrad.Tensor) else claygrad.tensor(x) for x in (actual, expected))
    if rtol is None and atol is None:
        tolerances = [_OLD_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (one, other)]
        rtol, atol = max(rtol for rtol, _ in tolerances), max(atol for _, atol in tolerances)
    assert_close(one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, check_stride=False,
                 msg=msg or None)


def _pairs(actual: Any, expected: Any, path: tuple[Any, ...],
           options: _Options) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """The pairs of things that are no containers."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for i, (one, other) in enumerate(zip(actual, expected)):
            yield from _pairs(one, other, (*path, i), options)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            missing, more = set(expected) - set(actual), set(actual) - set(expected)
            raise _Mismatch(f"The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                            f"{_ordered(missing)}\nAdditional keys in the actual mapping: {_ordered(more)}", path)
        for key in _ordered(actual):
            yield from _pairs(actual[key], expected[key], (*path, key), options)
    else:
        _check_kinds(actual, expected, path, options)
        yield actual, expected, path


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _ordered(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _check_kinds(actual: Any, expected: Any, path: tuple[Any, ...], options: _Options) -> None:
    if actual is None or expected is None:
        return
    booleans = (bool, numpy.bool_)
    if isinstance(actual, booleans) or isinstance(expected, booleans):
        fit = isinstance(actual, booleans) and isinstance(expected, booleans)
    elif isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        fit = True
    else:
        fit = _tensor_likes(actual, expected, options)
    if not fit:
        kinds = f"{type(actual)} and {type(expected)}"
        raise _Mismatch(f"No comparison pair was able to handle inputs of type {kinds}.", path, TypeError)
    if not isinstance(actual, booleans) and (options.rtol is None) != (options.atol is None):
        raise _Mismatch("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                        f"{'rtol' if options.rtol is None else 'atol'}.", path, ValueError)


def _tensor_likes(actual: Any, expected: Any, options: _Options) -> bool:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or (not options.allow_subclasses and type(actual) is not type(expected)):
        return False
    try:
        _as_tensor(actual)
        _as_tensor(expected)
    except (TypeError, ValueError, RuntimeError):
        return False
    return isinstance(actual, claygrad.Tensor) or not isinstance(actual, (str, Sequence, Mapping))


def _as_tensor(value: Any) -> claygrad.Tensor:
    return value if isinstance(value, claygrad.Tensor) else claygrad.as_tensor(value)


def _compare(actual: Any, expected: Any, path: tuple[Any, ...], options: _Options) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            raise _Mismatch(f"None mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, (bool, numpy.bool_)):
        if bool(actual) is not bool(expected):
            raise _Mismatch(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", path)
    elif isinstance(actual, _NUMBERS):
        _compare_numbers(_python_number(actual), _python_number(expected), path, options)
    else:
        _compare_tensors(_as_tensor(actual), _as_tensor(expected), path, options)


def _python_number(value: Any) -> Any:
    return value.item() if isinstance(value, numpy.number) else value


# Numbers

def _compare_numbers(actual: Any, expected: Any, path: tuple[Any, ...], options: _Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        # PyTorch's default for numbers: a float may stand for an int only if that is asked for.
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    rtol, atol = options.tolerances(_OF_PYTHON[type(actual)], _OF_PYTHON[type(expected)])
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    off = abs(actual - expected)
    if isinstance(off, numbers.Real) and cmath.isfinite(off) and off <= atol + rtol * abs(expected):
        return
    relative = off / abs(expected) if expected != 0 else float("inf")
    equal = rtol == 0 and atol == 0
    raise _Mismatch(f"Scalars are not {'equal' if equal else 'close'}!\n\nExpected {expected} but got {actual}.\n"
                    f"Absolute difference: {off}{_allowed(atol, equal)}\n"
                    f"Relative difference: {relative}{_allowed(rtol, equal)}", path)


def _allowed(tolerance: float, equal: bool) -> str:
    return "" if equal else f" (up to {tolerance} allowed)"


# Tensors

def _compare_tensors(actual: claygrad.Tensor, expected: claygrad.Tensor, path: tuple[Any, ...],
                     options: _Options) -> None:
    def check(name: str, one: Any, other: Any) -> None:
        if one != other:
            raise _Mismatch(f"The values for attribute '{name}' do not match: {one} != {other}.", path)

    check("shape", actual.shape, expected.shape)
    if options.check_layout:
        check("layout", actual.layout, expected.layout)
    if options.check_stride:
        check("stride()", actual.stride(), expected.stride())
    if options.check_device:
        check("device", actual.device, expected.device)
    if options.check_dtype:
        check("dtype", actual.dtype, expected.dtype)
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    if "meta" in (actual.device.type, expected.device.type):
        return
    actual, expected = actual.detach(), expected.detach()
    if actual.dtype is not expected.dtype:
        common = claygrad.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    matches = claygrad.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if not bool(matches.all()):
        _tell(actual, expected, matches, rtol, atol, path)


def _tell(actual: claygrad.Tensor, expected: claygrad.Tensor, matches: claygrad.Tensor, rtol: float, atol: float,
          path: tuple[Any, ...]) -> NoReturn:
    if actual.ndim == 0:
        _compare_numbers(actual.item(), expected.item(), path,
                         _Options(True, rtol, atol, False, False, False, False, False))
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual, expected = actual.to(claygrad.int64), expected.to(claygrad.int64)
    off = (actual - expected).abs()
    off[matches] = 0
    relative = off / expected.abs()
    relative[matches] = 0
    wrong, total = int((~matches).sum()), matches.numel()
    equal = rtol == 0 and atol == 0
    lines = [f"Tensor-likes are not {'equal' if equal else 'close'}!", "",
             f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"]
    for name, differences, tolerance in (("absolute", off, atol), ("relative", relative, rtol)):
        most, at = differences.flatten().max(0)
        index = tuple(int(i) for i in claygrad.unravel_index(at, differences.shape))
        lines.append(f"Greatest {name} difference: {most.item()} at index {index}{_allowed(tolerance, equal)}")
    raise _Mismatch("\n".join(lines), path)
