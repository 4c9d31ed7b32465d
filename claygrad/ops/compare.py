"""Comparisons, tests of elements, and selection by a condition."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import float64, result_type, storage_shares
from claygrad.core.user_warnings import warn
from claygrad.ops._geometry import broadcast
from claygrad.ops._numbers import C_NAMES, refuse_overflow
from claygrad.ops._registry import composite, constant, pointwise, zero
from claygrad.ops._words import FLOATS, INTS, is_number, need, refuse_complex

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

REALS = FLOATS + INTS + "b"


# Order. The result is bool; in place (`x.gt_(0)`) it is 0 or 1 in the tensor's dtype, with gradient zero.

def pairs(t) -> list:
    return [t.args(t(3, 4, requires_grad=False), t(4, requires_grad=False)), t.args(t(3, requires_grad=False), 0.5),
            t.args(t(5, dtype="int64"), t(5, dtype="int64")), t.args(t(5, dtype="int64"), 0.5)]


def scalar_first(name: str):
    """Node names of the in-place forms: 0 with a number, 1 with a tensor."""
    return lambda other: f"{name}Backward{0 if is_number(other) else 1}"


@pointwise(overloads=True, kernel="eq", promote="bool", node=scalar_first("Eq"), samples=pairs)
def eq(xp, input: Tensor, other: Tensor | Number):
    "Whether input == other."
    return input == other
eq.rule(input=zero, other=zero)


@pointwise(overloads=True, kernel="ne", promote="bool", names=("not_equal",), node=scalar_first("Ne"), samples=pairs)
def ne(xp, input: Tensor, other: Tensor | Number):
    "Whether input != other."
    return input != other
ne.rule(input=zero, other=zero)


@pointwise(overloads=True, kernel="lt", promote="bool", names=("less",), node=scalar_first("Lt"), samples=pairs)
def lt(xp, input: Tensor, other: Tensor | Number):
    "Whether input < other."
    need(input, REALS, "lt_cpu")
    return input < other
lt.rule(input=zero, other=zero)


@pointwise(overloads=True, kernel="le", promote="bool", names=("less_equal",), node=scalar_first("Le"), samples=pairs)
def le(xp, input: Tensor, other: Tensor | Number):
    "Whether input <= other."
    need(input, REALS, "le_cpu")
    return input <= other
le.rule(input=zero, other=zero)


@pointwise(overloads=True, kernel="gt", promote="bool", names=("greater",), node=scalar_first("Gt"), samples=pairs)
def gt(xp, input: Tensor, other: Tensor | Number):
    "Whether input > other."
    need(input, REALS, "gt_cpu")
    return input > other
gt.rule(input=zero, other=zero)


@pointwise(overloads=True, kernel="ge", promote="bool", names=("greater_equal",), node=scalar_first("Ge"),
           samples=pairs)
def ge(xp, input: Tensor, other: Tensor | Number):
    "Whether input >= other."
    need(input, REALS, "ge_cpu")
    return input >= other
ge.rule(input=zero, other=zero)


# Nearness

def check_isclose(input, other, rtol, atol) -> None:
    if input.dtype != other.dtype:
        raise RuntimeError(f"{input.dtype.legacy} did not match {other.dtype.legacy}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    if input.dtype.itemsize == 1 and input.dtype.is_floating_point and (rtol or atol):
        raise NotImplementedError(f"\"mul_cpu_reduced_float\" not implemented for '{input.dtype.legacy}'\n"
                                  "  such elements are near each other if they are equal: pass rtol=0 and atol=0, or "
                                  "compute in another dtype, say x.to(float32)")


@pointwise(promote="bool", inplace=False, out=False, check=check_isclose,
           samples=lambda t: [t.args(t(3, requires_grad=False), t(3, requires_grad=False)),
                              t.args(t(3, requires_grad=False), t(3, requires_grad=False), atol=1.0),
                              t.args(t(4, dtype="int64"), t(4, dtype="int64"), 1.0)],
           errors=lambda t: [(t.args(t(2), t(2), rtol=-1.0), RuntimeError,
                              "rtol must be greater than or equal to zero, but got -1"),
                             (t.args(t(2, dtype="float32"), t(2, dtype="int64")), RuntimeError,
                              "Float did not match Long")])
def isclose(xp, input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    "Whether |input - other| <= atol + rtol * |other|; infinities must be equal."
    close = input == other
    if equal_nan and input.dtype.kind in "fc":
        close = close | (xp.isnan(input) & xp.isnan(other))
    if input.dtype.kind in INTS + "b":
        input, other = input.astype("float64"), other.astype("float64")
    distance = xp.absolute(input - other)
    return close | (xp.isfinite(distance) & (distance <= atol + rtol * xp.absolute(other)))


@composite(samples=lambda t: [t.args(t(3, requires_grad=False), t(3, requires_grad=False)),
                              t.args(t(3, requires_grad=False), t(3, requires_grad=False), atol=5.0)])
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    "Whether all elements are close in the sense of isclose."
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite(native="equal", samples=lambda t: [t.args(t(3), t(3)), t.args(t(3, dtype="int64"), t(4, dtype="int64"))])
def equal(input: Tensor, other: Tensor) -> bool:
    "Whether both tensors have the same shape and equal elements."
    return input.shape == other.shape and bool((input == other).all())


# What kind of number an element is

def singles(t) -> list:
    return [t.args(t(3, 4, requires_grad=False)), t.args(t(3, dtype="int64")),
            t.args(t(3, dtype="complex128", requires_grad=False))]


@pointwise(kernel="isnan", promote="bool", inplace=False, samples=singles)
def isnan(xp, input: Tensor):
    "Whether the element is not a number."
    return input != input


@pointwise(kernel="isinf", promote="bool", inplace=False, samples=singles)
def isinf(xp, input: Tensor):
    "Whether the element is infinite (a complex one: in either part)."
    return xp.isinf(input)


@pointwise(kernel="isfinite", promote="bool", inplace=False, out=False, samples=singles)
def isfinite(xp, input: Tensor):
    "Whether the element is neither infinite nor nan."
    return xp.isfinite(input)


@pointwise(kernel="isposinf", out="isposinf does not support non-boolean outputs.", promote="bool", inplace=False,
           samples=lambda t: singles(t)[:2],
           errors=lambda t: [(t.args(t(2, dtype="complex64")), RuntimeError,
                              "isposinf does not support complex inputs.")])
def isposinf(xp, input: Tensor):
    "Whether the element is positive infinity."
    refuse_complex(input, "isposinf does not support complex inputs.", RuntimeError)
    return input == float("inf")


@pointwise(kernel="isneginf", out="isneginf does not support non-boolean outputs.", promote="bool", inplace=False,
           samples=lambda t: singles(t)[:2],
           errors=lambda t: [(t.args(t(2, dtype="complex64")), RuntimeError,
                              "isneginf does not support complex inputs.")])
def isneginf(xp, input: Tensor):
    "Whether the element is negative infinity."
    refuse_complex(input, "isneginf does not support complex inputs.", RuntimeError)
    return input == -float("inf")


@pointwise(kernel="isreal", promote="bool", inplace=False, out=False, samples=singles)
def isreal(xp, input: Tensor):
    "Whether the imaginary part is zero."
    return xp.isreal(input)


@pointwise(kernel="signbit", out="signbit does not support non-boolean outputs.", promote="bool", inplace=False,
           samples=lambda t: singles(t)[:2],
           errors=lambda t: [(t.args(t(2, dtype="complex64")), NotImplementedError,
                              "signbit is not implemented for complex tensors.")])
def signbit(xp, input: Tensor):
    "Whether the sign is minus; -0.0 has it too."
    refuse_complex(input, "signbit is not implemented for complex tensors.")
    return xp.signbit(input) if input.dtype.kind in FLOATS else input < 0


# Choosing by a mask

def check_where(condition, input, other) -> None:
    name = condition.dtype.name
    if name == "uint8":
        warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
             "future version of PyTorch. Use a boolean condition instead.", UserWarning)
    elif name != "bool":
        raise RuntimeError("where expected condition to be a boolean tensor, "
                           f"but got a tensor with dtype {condition.dtype.legacy}")
    for value in (input, other):
        if is_number(value):                  # half precision overflows to infinity
            kind = result_type(input, other)
            refuse_overflow(value, float64 if kind.name in ("float16", "bfloat16") else kind)


@pointwise(kernel="where",
           name="_where", function=False, method=False, inplace=False, keep=("condition",), check=check_where,
           number_edge=True,
           node="WhereBackward0", samples=lambda t: [t.args(t(3, 4, dtype="bool"), t(3, 4), t(4))])
def choose(xp, condition: Tensor, input: Tensor | Number, other: Tensor | Number):
    "The three-argument form of where."
    return xp.where(condition, input, other)
choose.rule(condition=constant, input=lambda g, condition: g.masked_fill(~condition.bool(), 0),
            other=lambda g, condition: g.masked_fill(condition.bool(), 0))


@composite(method=False, out="Expected out type to be {0.legacy} but got {1.legacy}",
           samples=lambda t: [t.args(t(3, 4, dtype="bool"), t(3, 4), t(4)), t.args(t(3, 1, dtype="bool"), t(4), 2.0),
                              t.args(t(3, dtype="bool"), 1.0, t()),
                              t.args(t(3, dtype="bool"), 1, 2), t.args(t(3, 4, dtype="bool"))],
           errors=lambda t: [(t.args(t(2, dtype="int64"), t(2), t(2)), RuntimeError,
                              "where expected condition to be a boolean tensor, but got a tensor with dtype Long"),
                             (t.args(t(2, dtype="bool"), t(2, dtype="uint8"), 300), RuntimeError,
                              "value cannot be converted to type uint8_t without overflow")])
def where(condition: Tensor, input: Tensor | Number | None = None,
          other: Tensor | Number | None = None) -> Tensor | tuple[Tensor, ...]:
    """Elements of `input` where the condition is True, of `other` elsewhere. With the condition alone: the indices
    where it is True."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError("where() takes a condition alone, or a condition, input and other")
    return choose(condition, input, other)


@composite(name="where", function=False, samples=lambda t: [t.args(t(3, 4), t(3, 4, dtype="bool"), t(4))])
def where_method(input: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    "The elements of the tensor where the condition is True, of `other` elsewhere."
    return choose(condition, input, other)


def check_masked_fill(input, mask, value, inplace) -> None:
    if not inplace and mask.shape != input.shape:
        broadcast(mask.shape, input.shape)         # PyTorch names the mask first
    if mask.dtype.name != "bool":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}")
    if is_number(value):
        refuse_overflow(value, input.dtype)
    elif value.dim():
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, "
                           f"but got tensor with {value.dim()} dimension(s).")
    elif value.dtype.is_complex and not input.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {C_NAMES[input.dtype.name]} without overflow")
    if inplace and any(step == 0 and size > 1 for size, step in zip(input.shape, input.stride())):
        warn("Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before "
             "performing this operation. This also applies to advanced indexing e.g. tensor[mask] = scalar",
             UserWarning)


def _shares_with_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> str | None:
    """The value may lie anywhere, the mask not in a part of what is written."""
    return None if storage_shares(input, mask) else "ok"


@pointwise(kernel="masked_fill",
           keep=("mask", "value"), overlap="ok", alias=_shares_with_fill, contiguous=True, check=check_masked_fill,
           node=lambda value: "MaskedFillBackward0" if is_number(value) else "MaskedFillBackward1",
           samples=lambda t: [t.args(t(3, 4), t(3, 4, dtype="bool"), 2.0), t.args(t(4), t(3, 1, dtype="bool"), -1),
                              t.args(t(3, 4), t(4, dtype="bool"), t()),
                              t.args(t(4, dtype="int64"), t(4, dtype="bool"), 2.5)],
           errors=lambda t: [(t.args(t(2), t(2, dtype="int64"), 1), RuntimeError,
                              "masked_fill_ only supports boolean masks, but got mask with dtype long int"),
                             (t.args(t(2), t(2, dtype="bool"), t(2)), RuntimeError,
                              "masked_fill_ only supports a 0-dimensional value tensor"),
                             (t.args(t(2, dtype="int8"), t(2, dtype="bool"), 200), RuntimeError,
                              "value cannot be converted to type int8_t without overflow")])
def masked_fill(xp, input: Tensor, mask: Tensor, value: Tensor | Number):
    "A copy with `value`, a single number, where the mask is True."
    value = xp.asarray(value).astype(input.dtype)
    return xp.where(mask, value, input)
masked_fill.rule(input=lambda g, mask: g.masked_fill(mask, 0), mask=constant,
                 value=lambda g, mask: g.masked_fill(~mask, 0).sum())
