"""Fused operations: addcmul, addcdiv and lerp, each in one pass."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._out import FOUND
from claygrad.ops._registry import conj, pointwise
from claygrad.ops._words import COMPLEX, FLOATS, INTS, is_number, need, same_dtype
from claygrad.ops.arithmetic import scale

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


def check_addcdiv(input, tensor1, tensor2) -> None:
    if not any(d.is_floating_point or d.is_complex for d in (tensor1.dtype, tensor2.dtype)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as "
            "(input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as "
            "(input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter "
            "implementation: (input + value * tensor1 / tensor2), for all dtypes.")


def factor(xp, value, like):
    """`value` in the dtype of the sum, refused where it does not fit."""
    if isinstance(value, complex) and like.dtype.kind != "c":
        raise RuntimeError("value cannot be converted to type float without overflow")
    return scale(xp, value, like)


@pointwise(kernel="addcmul", kernel_if={"value": ...},
           samples=lambda t: [t.args(t(3, 4), t(3, 4), t(4)), t.args(t(3), t(3), t(3), value=0.5),
                              t.args(t(), t(3), t(2, 1))])
def addcmul(xp, input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1):
    "Adds a scaled product: out = input + value * tensor1 * tensor2."
    need(input, FLOATS + INTS + COMPLEX, "addcmul_cpu_out")
    return input + factor(xp, value, input) * tensor1 * tensor2
addcmul.rule(input=lambda g: g, tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
             tensor2=lambda g, tensor1, value: g * conj(tensor1 * value))


@pointwise(kernel="addcdiv", kernel_if={"value": ...}, check=check_addcdiv, check_of="dtypes",
           samples=lambda t: [t.args(t(3, 4), t(3, 4), t(4, nonzero=True)),
                              t.args(t(3), t(3), t(3, nonzero=True), value=0.5)],
           errors=lambda t: [(t.args(t(2), t(2, dtype="int64"), t(2, dtype="int64")), RuntimeError,
                              "Integer division with addcdiv")])
def addcdiv(xp, input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1):
    "Adds a scaled quotient: out = input + value * tensor1 / tensor2."
    return input + factor(xp, value, input) * tensor1 / tensor2
addcdiv.rule(input=lambda g: g, tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
             tensor2=lambda g, tensor1, tensor2, value: -g * conj(value * tensor1 / (tensor2 * tensor2)))


def check_lerp(input, end, weight) -> None:
    same_dtype(input, end=end, weight=None if is_number(weight) or weight.dim() == 0 else weight)
    if isinstance(weight, complex) and not input.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {input.dtype.c_name} without overflow")
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        form = "scalar" if is_number(weight) else "tensor"
        raise NotImplementedError(f"\"lerp_kernel_{form}\" not implemented for '{input.dtype.legacy}'")


@pointwise(kernel="lerp", out=lambda input, end, weight: is_number(weight) or FOUND, check=check_lerp,
           check_of="dtypes", keep=("weight",), wide="weight",
           node=lambda weight: "LerpBackward0" if is_number(weight) else "LerpBackward1",
           samples=lambda t: [t.args(t(3, 4), t(3, 4), 0.3), t.args(t(3, 4), t(4), t(3, 1)), t.args(t(3), t(3), 0.8)],
           errors=lambda t: [(t.args(t(2, dtype="float32"), t(2, dtype="float64"), 0.5), RuntimeError,
                              "expected dtype float for `end`")])
def lerp(xp, input: Tensor, end: Tensor, weight: Tensor | Number):
    "Linear interpolation: out = input + weight * (end - input). Weights 0 and 1 give `input` and `end` exactly."
    weight = xp.asarray(weight).astype(input.dtype)
    step = end - input
    if not weight.ndim:                         # one formula for all
        return input + weight * step if xp.absolute(weight) < 0.5 else end - step * (1 - weight)
    return xp.where(xp.absolute(weight) < 0.5, input + weight * step, end - step * (1 - weight))
lerp.rule(input=lambda g, weight: g * (1 - conj(weight)), end=lambda g, weight: g * conj(weight),
          weight=lambda g, input, end: g * conj(end - input))
