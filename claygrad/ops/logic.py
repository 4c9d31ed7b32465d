"""Logical and bitwise operations."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._out import FOUND
from claygrad.ops._registry import pointwise
from claygrad.ops._words import INTS, need

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


# Truth: zero is false, everything else is true

def truths(t) -> list:
    return [t.args(t(3, 4, dtype="bool"), t(4, dtype="bool")), t.args(t(4, dtype="int64"), t(4, requires_grad=False))]


@pointwise(kernel="logical_and", promote="bool", samples=truths)
def logical_and(xp, input: Tensor, other: Tensor):
    "Whether both elements are true."
    return xp.logical_and(input, other)


@pointwise(kernel="logical_or", promote="bool", samples=truths)
def logical_or(xp, input: Tensor, other: Tensor):
    "Whether at least one element is true."
    return xp.logical_or(input, other)


@pointwise(kernel="logical_xor", promote="bool", samples=truths)
def logical_xor(xp, input: Tensor, other: Tensor):
    "Whether exactly one element is true."
    return xp.logical_xor(input, other)


@pointwise(kernel="logical_not", promote="bool",
           samples=lambda t: [t.args(t(4, dtype="bool")), t.args(t(4, dtype="int64")),
                              t.args(t(3, requires_grad=False))])
def logical_not(xp, input: Tensor):
    "Whether the element is false."
    return xp.logical_not(input)


# Bits: of booleans these are the logical operations

def bits(t) -> list:
    return [t.args(t(3, 4, low=-50, high=50, dtype="int64"), t(4, low=-50, high=50, dtype="int64")),
            t.args(t(4, dtype="bool"), t(4, dtype="bool")),
            t.args(t(4, low=0, high=50, dtype="uint8"), 6)]


def refusal(kernel: str):
    return lambda t: [(t.args(t(2, dtype="float32"), 1), NotImplementedError,
                       f"\"{kernel}\" not implemented for 'Float'")]


@pointwise(kernel="bitwise_and", overloads=True, half="raw", samples=bits, errors=refusal("bitwise_and_cpu"))
def bitwise_and(xp, input: Tensor | Number, other: Tensor | Number):
    "The bits that both numbers have."
    need(input, INTS + "b", "bitwise_and_cpu")
    return xp.bitwise_and(input, other)


@pointwise(kernel="bitwise_or", overloads=True, half="raw", samples=bits, errors=refusal("bitwise_or_cpu"))
def bitwise_or(xp, input: Tensor | Number, other: Tensor | Number):
    "The bits that at least one number has."
    need(input, INTS + "b", "bitwise_or_cpu")
    return xp.bitwise_or(input, other)


@pointwise(kernel="bitwise_xor", overloads=True, half="raw", samples=bits, errors=refusal("bitwise_xor_cpu"))
def bitwise_xor(xp, input: Tensor | Number, other: Tensor | Number):
    "The bits that exactly one number has."
    need(input, INTS + "b", "bitwise_xor_cpu")
    return xp.bitwise_xor(input, other)


@pointwise(kernel="bitwise_not", out=FOUND, half="raw",
           samples=lambda t: [t.args(t(4, low=-50, high=50, dtype="int64")), t.args(t(4, dtype="bool"))],
           errors=lambda t: [(t.args(t(2, dtype="float32")), NotImplementedError,
                              "\"bitwise_not_cpu\" not implemented for 'Float'")])
def bitwise_not(xp, input: Tensor):
    "Every bit inverted."
    need(input, INTS + "b", "bitwise_not_cpu")
    return xp.invert(input)


def shifts(t) -> list:
    return [t.args(t(3, 4, low=-50, high=50, dtype="int64"), t(4, low=0, high=5, dtype="int64")),
            t.args(t(4, low=-50, high=50, dtype="int64"), 3),
            t.args(t(4, low=-50, high=50, dtype="int64"), 70), t.args(t(4, low=0, high=50, dtype="uint8"), 2)]


@pointwise(kernel="bitwise_left_shift", overloads=True, half="raw", samples=shifts, errors=refusal("lshift_cpu"))
def bitwise_left_shift(xp, input: Tensor | Number, other: Tensor | Number):
    "The bits moved up: out = input * 2 ** other, and 0 for a shift that is negative or wider than the number."
    need(input, INTS, "lshift_cpu")
    width = 8 * input.dtype.itemsize
    inside = (other >= 0) & (other < width)
    return xp.where(inside, xp.left_shift(input, xp.where(inside, other, 0)), 0).astype(input.dtype)


@pointwise(kernel="bitwise_right_shift", overloads=True, half="raw", samples=shifts, errors=refusal("rshift_cpu"))
def bitwise_right_shift(xp, input: Tensor | Number, other: Tensor | Number):
    "The bits moved down: out = floor(input / 2 ** other); a shift that is negative or too wide leaves only the sign."
    need(input, INTS, "rshift_cpu")
    signed = input.dtype.kind == "i"
    widest = 8 * input.dtype.itemsize - signed
    inside = (other >= 0) & (other < widest)
    moved = xp.right_shift(input, xp.where(inside, other, widest if signed else 0).astype(input.dtype))
    return moved if signed else xp.where(inside, moved, 0).astype(input.dtype)
