"""Functions of every element, with the names and dtypes of the array API standard."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import claygrad
from claygrad.array_api._common import is_whole, named, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor

__all__ = ["abs", "bitwise_invert", "clip", "conj", "expm1", "imag", "positive", "pow", "real", "remainder",
           "sign", "square"]
_max, _min = max, min


def _of_one(name: str, function: Callable) -> None:
    def call(x, /):
        return function(x)
    globals()[name] = named(call, name, f"{function.__name__} of every element.")
    __all__.append(name)


for _name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "log1p", "log2",
              "logical_not", "negative", "reciprocal", "signbit", "sin", "sinh", "sqrt", "tan", "tanh"):
    _of_one(_name, getattr(claygrad, _name))


def _of_two(name: str, function: Callable) -> None:
    def call(x1, x2, /):
        return function(*together(x1, x2))
    globals()[name] = named(call, name, f"{function.__name__} of the elements of two arrays, broadcast.")
    __all__.append(name)


for _name, _theirs in (("add", "add"), ("atan2", "atan2"), ("bitwise_and", "bitwise_and"), ("bitwise_or", "bitwise_or"),
                       ("bitwise_xor", "bitwise_xor"), ("bitwise_left_shift", "bitwise_left_shift"),
                       ("bitwise_right_shift", "bitwise_right_shift"), ("copysign", "copysign"), ("divide", "divide"),
                       ("equal", "eq"), ("floor_divide", "floor_divide"), ("greater", "gt"), ("greater_equal", "ge"),
                       ("hypot", "hypot"), ("less", "lt"), ("less_equal", "le"), ("logaddexp", "logaddexp"),
                       ("logical_and", "logical_and"), ("logical_or", "logical_or"), ("logical_xor", "logical_xor"),
                       ("maximum", "maximum"), ("minimum", "minimum"), ("multiply", "mul"), ("nextafter", "nextafter"),
                       ("not_equal", "ne"), ("subtract", "sub")):
    _of_two(_name, getattr(claygrad, _theirs))


def pow(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """x1 to the power of x2."""
    return claygrad.pow(*together(x1, x2))


def remainder(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """What is left of x1 after whole multiples of x2, with the sign of x2, also where it is zero."""
    a, b = together(x1, x2)
    out = claygrad.remainder(a, b)
    if out.is_floating_point():
        values = out.detach()                # the sign of a zero changes no gradient
        values.copy_(claygrad.where(values == 0, claygrad.copysign(values, b.detach()), values))
    return out


def abs(x: Tensor, /) -> Tensor:
    """The absolute value of every element."""
    return x.clone() if x.dtype.name.startswith("uint") else claygrad.abs(x)


def positive(x: Tensor, /) -> Tensor:
    """The elements as they are."""
    return x.clone()


def square(x: Tensor, /) -> Tensor:
    """Every element times itself."""
    return x * x


def bitwise_invert(x: Tensor, /) -> Tensor:
    """The bits of every element turned over."""
    return claygrad.bitwise_not(x)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; of a complex number, the number of length 1 in its direction. NaN stays."""
    if x.is_complex():
        nan = claygrad.tensor(complex("nan+nanj"), dtype=x.dtype)
        return claygrad.where(claygrad.isnan(x), nan, claygrad.sgn(x))
    return claygrad.where(claygrad.isnan(x), x, claygrad.sign(x)) if x.is_floating_point() else claygrad.sign(x)


def expm1(x: Tensor, /) -> Tensor:
    """exp(x) - 1, exactly where x is small."""
    if not x.is_complex():
        return claygrad.expm1(x)
    a, b = x.real, x.imag
    near = claygrad.complex(claygrad.expm1(a) * claygrad.cos(b) - 2 * claygrad.sin(b / 2) ** 2,
                            claygrad.exp(a) * claygrad.sin(b))
    return claygrad.where(claygrad.isfinite(near) & (claygrad.abs(a) < 1), near, claygrad.exp(x) - 1)


def conj(x: Tensor, /) -> Tensor:
    """The complex conjugate of every element."""
    return claygrad.conj(x).resolve_conj() if x.is_complex() else x.clone()


def real(x: Tensor, /) -> Tensor:
    """The real part of every element."""
    return x.real.clone() if x.is_complex() else x.clone()


def imag(x: Tensor, /) -> Tensor:
    """The imaginary part of every element."""
    return x.imag.resolve_neg().clone() if x.is_complex() else claygrad.zeros_like(x)


def _rounding(name: str) -> None:
    function = getattr(claygrad, name)

    def call(x, /):
        if is_whole(x.dtype):
            return x.clone()
        if x.is_complex():
            return claygrad.complex(function(x.real), function(x.imag.resolve_neg()))
        return function(x)
    globals()[name] = named(call, name, f"The whole number that {name} gives, for every element.")
    __all__.append(name)


for _name in ("ceil", "floor", "round", "trunc"):
    _rounding(_name)


def _test(name: str, of_integers: bool) -> None:
    function = getattr(claygrad, name)

    def call(x, /):
        if x.is_floating_point() or x.is_complex():
            return function(x)
        return claygrad.full(x.shape, of_integers, dtype=claygrad.bool, device=x.device)
    globals()[name] = named(call, name, f"{name} of every element.")
    __all__.append(name)


_test("isfinite", True)
_test("isinf", False)
_test("isnan", False)


def clip(x: Tensor, /, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Every element brought between two bounds, in the dtype of x."""
    out = x.clone()
    for bound, keep in ((min, claygrad.maximum), (max, claygrad.minimum)):
        if bound is None:
            continue
        limit = _bound(bound, x)
        if limit is not None:
            out = keep(out, limit)
    return out


def _bound(bound: Any, x: Tensor) -> Tensor | None:
    """A bound as an array of the dtype of x; None if no number of the dtype lies beyond it."""
    if isinstance(bound, (int, float)) and is_whole(x.dtype):
        limits = claygrad.iinfo(x.dtype)
        if bound != bound:
            raise ValueError("a bound of integers cannot be NaN")
        bound = _max(limits.min, _min(limits.max, bound))
    return bound.to(x.dtype) if isinstance(bound, claygrad.Tensor) else claygrad.tensor(bound, dtype=x.dtype)
