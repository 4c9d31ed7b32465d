"""Arithmetic: sums, products, quotients, remainders, powers and roots."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import bool as bool_dtype
from claygrad.core import complex128, float64
from claygrad.core.graph.intercept import differentiated
from claygrad.ops._numbers import refuse_overflow
from claygrad.ops._out import FOUND
from claygrad.ops._registry import composite, conj, missing, pointwise, zero
from claygrad.ops._words import COMPLEX, FLOATS, INTS, is_number, need, zeros
from claygrad.ops.slopes import abs_backward, pow_backward

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


# Sums and products

def check_alpha(input, other, alpha) -> None:
    if isinstance(alpha, int) and not isinstance(alpha, bool):
        return
    dtypes = [value.dtype for value in (input, other) if not is_number(value)]
    numbers = [value for value in (input, other) if is_number(value)]
    has_complex = any(d.is_complex for d in dtypes) or any(isinstance(n, complex) for n in numbers)
    has_float = has_complex or any(d.is_floating_point for d in dtypes) or any(isinstance(n, float) for n in numbers)
    if isinstance(alpha, bool) and not (all(d.name == "bool" for d in dtypes)
                                        and all(isinstance(n, bool) for n in numbers)):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not has_float:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not has_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


@pointwise(kernel="add_scaled", kernel_if={"alpha": ...}, check=check_alpha, check_of="dtypes", function=False,
           method=False, inplace=False, samples=lambda t: [t.args(t(3, 4), t(4), 2.5), t.args(t(3), 2.5, -1)])
def add_scaled(xp, input: Tensor | Number, other: Tensor | Number, alpha: Number):
    "The sum with a share: add with alpha."
    return xp.add(input, other * scale(xp, alpha, other))
add_scaled.rule(input=lambda g: g, other=lambda g, alpha: g * conj(alpha))


@pointwise(kernel="add", kernel_if={"alpha": 1}, variants=("alpha", {...: add_scaled}), number_edge=True,
           check=check_alpha, check_of="dtypes",
           samples=lambda t: [t.args(t(3, 4), t(3, 4)), t.args(t(3, 4), t(4), alpha=2.5), t.args(t(3, 1), t(4)),
                              t.args(t(), t(3)), t.args(t(3), 2.5)],
           errors=lambda t: [(t.args(t(2, dtype="int64"), 1, alpha=0.5), RuntimeError, "For integral input tensors"),
                             (t.args(t(2), t(3)), RuntimeError, "The size of tensor a (2) must match")])
def add(xp, input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1):
    "The sum of two tensors: out = input + alpha * other. For booleans it is the logical or."
    return xp.add(input, other if alpha == 1 else other * scale(xp, alpha, other))
add.rule(input=lambda g: g, other=lambda g, alpha: g if alpha == 1 else g * conj(alpha))


def scale(xp, alpha, like):
    """A Python number as a 0-d array of the compute dtype, so that it cannot widen the result."""
    if isinstance(alpha, int) and like.dtype.kind in "iu":
        refuse_overflow(alpha, like.dtype)
        return xp.asarray(alpha).astype(like.dtype)
    return xp.asarray(alpha, dtype=like.dtype)


def check_subtraction(input, other, alpha) -> None:
    bools = [isinstance(v, bool) if is_number(v) else v.dtype.name == "bool" for v in (input, other)]
    if all(bools):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. "
                           "Use the `^` or `logical_xor()` operator instead.")
    if any(bools):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. "
                           "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    check_alpha(input, other, alpha)


@pointwise(kernel="sub_scaled", kernel_if={"alpha": ...}, check=check_subtraction, check_of="dtypes", function=False,
           method=False, inplace=False, samples=lambda t: [t.args(t(3, 4), t(4), 2.5), t.args(t(3), 2.5, -1)])
def sub_scaled(xp, input: Tensor | Number, other: Tensor | Number, alpha: Number):
    "The difference with a share: sub with alpha."
    return xp.subtract(input, other * scale(xp, alpha, other))
sub_scaled.rule(input=lambda g: g, other=lambda g, alpha: g * -conj(alpha))


@pointwise(kernel="sub", kernel_if={"alpha": 1}, variants=("alpha", {...: sub_scaled}), names=("subtract",),
           number_edge=True, check=check_subtraction, check_of="dtypes",
           samples=lambda t: [t.args(t(3, 4), t(3, 4)), t.args(t(3, 4), t(4), alpha=2.5), t.args(t(3), 2.5)],
           errors=lambda t: [(t.args(t(2, dtype="bool"), t(2, dtype="bool")), RuntimeError,
                              "Subtraction, the `-` operator, with two"),
                             (t.args(t(2), t(2, dtype="bool")), RuntimeError,
                              "Subtraction, the `-` operator, with a bool")])
def sub(xp, input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1):
    "The difference of two tensors: out = input - alpha * other."
    return xp.subtract(input, other if alpha == 1 else other * scale(xp, alpha, other))
sub.rule(input=lambda g: g, other=lambda g, alpha: -g if alpha == 1 else g * -conj(alpha))


@pointwise(kernel="rsub_scaled", kernel_if={"alpha": ...}, check=check_subtraction, check_of="dtypes", function=False,
           method=False, inplace=False, samples=lambda t: [t.args(t(3, 4), t(4), 2.5), t.args(t(3), 2.5, -1)])
def rsub_scaled(xp, input: Tensor, other: Tensor | Number, alpha: Number):
    "The difference the other way round, with a share: rsub with alpha."
    return xp.subtract(other, input * scale(xp, alpha, input))
rsub_scaled.rule(input=lambda g, alpha: g * -conj(alpha), other=lambda g: g)


@pointwise(kernel="rsub", kernel_if={"alpha": 1}, variants=("alpha", {...: rsub_scaled}), method=False, inplace=False,
           overloads=True, check=check_subtraction, check_of="dtypes",
           node=lambda other: "RsubBackward1" if is_number(other) else "RsubBackward0",
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(3, 4), 2), t.args(t(3), t(3), alpha=2.5)])
def rsub(xp, input: Tensor, other: Tensor | Number, *, alpha: Number = 1):
    "The reversed difference: out = other - alpha * input."
    return xp.subtract(other, input if alpha == 1 else input * scale(xp, alpha, input))
rsub.rule(input=lambda g, alpha: -g if alpha == 1 else g * -conj(alpha), other=lambda g: g)


@pointwise(kernel="mul", names=("multiply",), number_edge=True, wide="other",
           samples=lambda t: [t.args(t(3, 4), t(3, 4)), t.args(t(3, 4), t(4)), t.args(t(3, 1), t(1, 4)),
                              t.args(t(), t(3)), t.args(t(3), 2.5)])
def mul(xp, input: Tensor | Number, other: Tensor | Number):
    "The product of two tensors: out = input * other. For booleans it is the logical and."
    return xp.multiply(input, other)
mul.rule(input=lambda g, other: g * conj(other), other=lambda g, input: g * conj(input))


private = {"function": False, "method": False, "inplace": False}


@pointwise(name="_scaled", kernel="scaled", kernel_if={"factor": ...}, node="MulBackward1", **private,
           samples=lambda t: [t.args(t(3), 2.5)])
def scaled(xp, input: Tensor, factor: float):
    "The product with a number, under the node name that PyTorch's own functions give it."
    return input * input.dtype.type(factor)
scaled.rule(input=lambda g, factor: g * factor)


@pointwise(name="_divided", kernel="divided", kernel_if={"divisor": ...}, node="DivBackward1", **private,
           samples=lambda t: [t.args(t(3), 2.5)])
def divided(xp, input: Tensor, divisor: float):
    "The quotient by a number, under the node name that PyTorch's own functions give it."
    return xp.true_divide(input, input.dtype.type(divisor))
divided.rule(input=lambda g, divisor: g / divisor)


# Quotients and remainders

def refuse_zero(xp, input, divisor) -> None:
    "Integers have no quotient by zero; where nothing is divided, a zero does no harm."
    if divisor.dtype.kind in INTS and input.size and xp.any(divisor == 0):
        raise RuntimeError("ZeroDivisionError")


def truncated(xp, input, other):
    "The quotient of integers cut towards zero, or of floats rounded towards zero."
    if input.dtype.kind in FLOATS:
        return xp.trunc(xp.true_divide(input, other))
    refuse_zero(xp, input, other)
    return xp.floor_divide(input - xp.fmod(input, other), other)


@pointwise(kernel="floor_divide", node="torch::autograd::NotImplemented", wide="other",
           samples=lambda t: [t.args(t(3, 4, requires_grad=False), t(4, nonzero=True, requires_grad=False)),
                              t.args(t(5, low=-9, high=9, dtype="int64"), 2)],
           errors=lambda t: [(t.args(t(2, dtype="int64"), 0), RuntimeError, "ZeroDivisionError")])
def floor_divide(xp, input: Tensor | Number, other: Tensor | Number):
    "The quotient rounded down: out = floor(input / other). It has no derivative."
    need(input, FLOATS + INTS, "div_floor_cpu")
    refuse_zero(xp, input, other)
    return xp.floor_divide(input, other)
floor_divide.rule(input=missing, other=missing)


@pointwise(kernel="div_trunc", node="DivBackward2", wide="other", **private,
           samples=lambda t: [t.args(t(3, requires_grad=False), t(3, nonzero=True, requires_grad=False))])
def cut_divide(xp, input: Tensor | Number, other: Tensor | Number):
    "The quotient rounded towards zero: div with rounding_mode 'trunc'."
    return truncated(xp, input, other)
cut_divide.rule(input=zero, other=zero)


def check_rounding(rounding_mode) -> None:
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' "
                           f"but found '{rounding_mode}'")


@pointwise(kernel="div", kernel_if={"rounding_mode": None}, check_of="dtypes",
           variants=("rounding_mode", {"floor": floor_divide, "trunc": cut_divide}),
           names=("divide", "true_divide"), number_edge=True, wide="other", check=check_rounding,
           promote=lambda rounding_mode: "float" if rounding_mode is None else "common",
           node=lambda rounding_mode: "DivBackward0" if rounding_mode is None else "DivBackward2",
           samples=lambda t: [t.args(t(3, 4), t(3, 4, nonzero=True)), t.args(t(3, 1), t(4, nonzero=True)),
                              t.args(t(3), 2.5), t.args(t(3), 0.7, rounding_mode="floor"),
                              t.args(t(3), t(3, nonzero=True), rounding_mode="trunc")],
           errors=lambda t: [(t.args(t(2), t(2), rounding_mode="ceil"), RuntimeError,
                              "div expected rounding_mode to be one of"),
                             (t.args(t(2, dtype="int64"), 0, rounding_mode="floor"), RuntimeError,
                              "ZeroDivisionError")])
def div(xp, input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None):
    """The quotient: out = input / other. Integers give a floating-point result unless rounding_mode is 'floor' or
    'trunc'."""
    if rounding_mode is None:
        return xp.true_divide(input, other)
    need(input, FLOATS + INTS, f"div_{rounding_mode}_cpu")
    if rounding_mode == "trunc":
        return truncated(xp, input, other)
    refuse_zero(xp, input, other)
    return xp.floor_divide(input, other)
div.rule(input=lambda g, other, rounding_mode: zeros(g) if rounding_mode else g / conj(other),
         other=lambda g, input, other, rounding_mode: zeros(g) if rounding_mode else -g * conj(input / other / other))


def remainder_node(input, other) -> str:
    return "NotImplemented" if is_number(input) else "RemainderBackward0" if is_number(other) else "RemainderBackward1"


@pointwise(kernel="remainder", overloads=True, node=remainder_node,
           samples=lambda t: [t.args(t(3, 4, low=-5, high=5), t(4, nonzero=True)), t.args(t(3), 0.7),
                              t.args(t(5, low=-9, high=9, dtype="int64"), -4)],
           errors=lambda t: [(t.args(t(2, dtype="int64"), 0), RuntimeError, "ZeroDivisionError")])
def remainder(xp, input: Tensor | Number, other: Tensor | Number):
    "The remainder with the sign of the divisor, Python's %: out = input - floor(input / other) * other."
    need(input, FLOATS + INTS, "remainder_cpu")
    refuse_zero(xp, input, other)
    if input.dtype.kind in INTS:
        return xp.remainder(input, other)
    rest = xp.fmod(input, other)             # not xp.remainder: PyTorch keeps the sign of a zero remainder
    return xp.where((rest != 0) & ((other < 0) != (rest < 0)), rest + other, rest)


def remainder_other_grad(g, input, other):
    if is_number(input):
        raise RuntimeError("derivative for aten::remainder is not implemented")
    return -g * input.div(other, rounding_mode="floor")


remainder.rule(input=lambda g: g, other=remainder_other_grad)


@pointwise(kernel="fmod", overloads=True, node=lambda other: "FmodBackward0" if is_number(other) else "FmodBackward1",
           samples=lambda t: [t.args(t(3, 4, low=-5, high=5), t(4, nonzero=True)), t.args(t(3), 0.7),
                              t.args(t(5, low=-9, high=9, dtype="int64"), -4)],
           errors=lambda t: [(t.args(t(2, dtype="int64"), 0), RuntimeError, "ZeroDivisionError")])
def fmod(xp, input: Tensor, other: Tensor | Number):
    "The remainder with the sign of the dividend, C's fmod: out = input - trunc(input / other) * other."
    need(input, FLOATS + INTS, "fmod_cpu")
    refuse_zero(xp, input, other)
    return xp.fmod(input, other)
fmod.rule(input=lambda g: g, other=lambda g, input, other: -g * input.div(other, rounding_mode="trunc"))


# Sign changes

@pointwise(out=FOUND, kernel="neg", names=("negative",), samples=lambda t: [t.args(t(3, 4)), t.args(t())],
           errors=lambda t: [(t.args(t(2, dtype="bool")), RuntimeError,
                              "Negation, the `-` operator, on a bool tensor")])
def neg(xp, input: Tensor):
    "The negative: out = -input."
    if input.dtype.kind == "b":
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. "
                           "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    return xp.negative(input)
neg.rule(input=lambda g: -g)


@composite(samples=lambda t: [t.args(t(3, 4))],
           errors=lambda t: [(t.args(t(2, dtype="bool")), RuntimeError,
                              "The `+` operator, on a bool tensor is not supported.")])
def positive(input: Tensor) -> Tensor:
    "The tensor itself: out = +input."
    if input.dtype == bool_dtype:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def check_abs(input, inplace) -> None:
    if inplace and input.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")


@pointwise(out=lambda input: input.dtype.is_complex or FOUND, kernel="abs", names=("absolute",), check=check_abs,
           samples=lambda t: [t.args(t(3, 4)), t.args(t()), t.args(t(3, dtype="complex128"))])
def abs(xp, input: Tensor):
    "The absolute value: out = |input|. For complex numbers it is the modulus, a real number."
    need(input, FLOATS + INTS + COMPLEX, "abs_cpu")
    return xp.absolute(input)
abs.rule(input=lambda g, input: g * input.sgn() if input.dtype.is_complex else abs_backward(g, input))


# Powers and roots

def check_pow(input, exponent) -> None:
    whole = not (is_number(input) or input.dtype.is_floating_point or input.dtype.is_complex)
    if whole and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def pow_node(input, exponent) -> str:
    return "PowBackward2" if is_number(input) else "PowBackward0" if is_number(exponent) else "PowBackward1"


@pointwise(kernel="pow", node=pow_node, check=check_pow, check_of="dtypes", overloads=True,
           samples=lambda t: [t.args(t(3, 4), 3), t.args(t(3), 2), t.args(t(3), 0), t.args(t(3, low=0.2), -1.5),
                              t.args(t(3, low=0.2), t(3)), t.args(t(3, 1, low=0.2), t(4)), t.args(2.5, t(3))],
           errors=lambda t: [(t.args(t(2, dtype="int64"), -1), RuntimeError,
                              "Integers to negative integer powers are not allowed.")])
def pow(xp, input: Tensor | Number, exponent: Tensor | Number):
    "The power: out = input ** exponent."
    kind = input.dtype.kind
    if kind == "b":
        if exponent.ndim:
            need(input, FLOATS + INTS, "pow")
        return input | ~exponent
    if kind in INTS and xp.any(exponent < 0):
        inverse = xp.where(xp.absolute(input) == 1, xp.power(input, xp.absolute(exponent)), 0)
        return xp.where(exponent < 0, inverse, xp.power(input, xp.maximum(exponent, 0))).astype(input.dtype)
    if kind == "c" and xp.any(exponent == -1):                 # of an infinite number 0, as 1 / input
        return xp.where(exponent == -1, xp.reciprocal(input), xp.power(input, exponent))
    return xp.power(input, exponent)


def pow_input_grad(g, input, exponent):
    if is_number(exponent):
        if exponent == 0 or exponent == 1:
            if exponent and differentiated(input):     # so that its derivative is 0, not absent
                return g * input ** 0
            return g if exponent else zeros(g)
        if not (isinstance(exponent, complex) or input.dtype.is_complex):
            return pow_backward(g, input, exponent)
        return g * conj(exponent * input ** (exponent - 1))
    return (g * conj(exponent * input ** (exponent - 1))).masked_fill(exponent == 0, 0)


def pow_exponent_grad(g, input, exponent, out):
    if is_number(input):
        if input != 0:
            return g * conj(out * log_of(input, exponent))
        return (g * conj(out * -float("inf"))).masked_fill(real_part(exponent) >= 0, 0)
    base = input.to(out.dtype) if out.dtype.is_complex else input          # a negative one has a logarithm then
    return (g * conj(out * base.log())).masked_fill((input == 0) & (real_part(exponent) >= 0), 0)


def log_of(number, like: Tensor):
    """The logarithm of a Python number in the kind of numbers of `like`: nan for a negative base among reals."""
    import cmath
    result = cmath.log(number)
    if like.dtype.is_complex or isinstance(number, complex):
        return result
    return result.real if number > 0 else float("nan")


def real_part(value):
    return value.real if isinstance(value, complex) or (not is_number(value) and value.dtype.is_complex) else value


pow.rule(input=pow_input_grad, exponent=pow_exponent_grad)


def wide(*values):
    """The dtype float_power computes in: complex128 when anything is complex, else float64."""
    for value in values:
        if isinstance(value, complex) if is_number(value) else value.dtype.is_complex:
            return complex128
    return float64


@composite(overloads=True, out="the output given to float_power has dtype {1.legacy} but the operation's result "
                               "requires dtype {0.legacy}",
           samples=lambda t: [t.args(t(3, 4, low=0.2), 2.5), t.args(t(3, low=0.2), t(3)), t.args(2, t(3)),
                              t.args(t(3, dtype="int64", low=1, high=5), -1)])
def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    "The power in double precision, whatever the inputs: out = input ** exponent."
    dtype = wide(input, exponent)
    base = input if is_number(input) or input.dtype is dtype else input.to(dtype)
    return pow(base, exponent if is_number(exponent) or exponent.dtype is dtype else exponent.to(dtype))


@composite(function=False, samples=lambda t: [t.args(t(3, low=0.2, dtype="float64", requires_grad=False), 2.5)])
def float_power_(input: Tensor, exponent: Tensor | Number) -> Tensor:
    "The in-place form of float_power, for tensors that are in double precision already."
    dtype = wide(input, exponent)
    if input.dtype != dtype:
        legacy = {float64: "Double", complex128: "ComplexDouble"}[dtype]
        raise RuntimeError(f"the base given to float_power_ has dtype {input.dtype.legacy} but the operation's result "
                           f"requires dtype {legacy}")
    return input.pow_(exponent)


@pointwise(kernel="square", node="PowBackward0", promote=lambda input: "sum" if input.dtype == bool_dtype else "common",
           samples=lambda t: [t.args(t(3, 4)), t.args(t()), t.args(t(3, dtype="bool"))])
def square(xp, input: Tensor):
    "The square: out = input ** 2."
    return xp.square(input)
square.rule(input=lambda g, input: pow_input_grad(g, input, 2))


@pointwise(kernel="sqrt", promote="float",
           samples=lambda t: [t.args(t(3, 4, low=0.1, high=4)), t.args(t(low=0.1)), t.args(t(3, dtype="complex128"))])
def sqrt(xp, input: Tensor):
    "The square root: out = input ** (1/2)."
    return xp.sqrt(input)
sqrt.rule(input=lambda g, out: sqrt_backward(g, out))


@pointwise(kernel="sqrt_backward", function=False, method=False, samples=lambda t: [t.args(t(3), t(3, low=0.2))])
def sqrt_backward(xp, grad_output: Tensor, result: Tensor):
    "The gradient of sqrt: grad_output / (2 * conj(result))."
    return xp.true_divide(grad_output, 2 * xp.conj(result))
sqrt_backward.rule(grad_output=lambda g, result: sqrt_backward(g, conj(result)),
                   result=lambda g, grad_output, result: conj(g) * grad_output / conj(result).square() * -0.5)


@pointwise(kernel="rsqrt", promote="float",
           samples=lambda t: [t.args(t(3, 4, low=0.2, high=4)), t.args(t(3, dtype="complex128", nonzero=True))])
def rsqrt(xp, input: Tensor):
    "The reciprocal of the square root: out = 1 / sqrt(input)."
    return xp.reciprocal(xp.sqrt(input))
rsqrt.rule(input=lambda g, out: g * conj(out ** 3) * -0.5)


@pointwise(kernel="reciprocal", promote="float",
           samples=lambda t: [t.args(t(3, 4, nonzero=True)), t.args(t(nonzero=True))])
def reciprocal(xp, input: Tensor):
    "The reciprocal: out = 1 / input."
    return xp.reciprocal(input)
reciprocal.rule(input=lambda g, out: -g * conj(out * out))


@pointwise(kernel="hypot", samples=lambda t: [t.args(t(3, 4, nonzero=True), t(4, nonzero=True))])
def hypot(xp, input: Tensor, other: Tensor):
    "The hypotenuse: out = sqrt(input ** 2 + other ** 2), without overflow on the way."
    need(input, FLOATS, "hypot_cpu")
    return xp.hypot(input, other)
hypot.rule(input=lambda g, input, out: g * (input / out), other=lambda g, other, out: g * (other / out))


def check_ldexp(input, other, inplace) -> None:
    if inplace and not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"ldexp can't be cast to the desired output type {input.dtype.legacy}")


@pointwise(kernel="ldexp", promote="float", alias="ok", check=check_ldexp, check_of="dtypes",
           samples=lambda t: [t.args(t(3, 4), t(4, dtype="int64", low=0, high=4)), t.args(t(3), t(3))])
def ldexp(xp, input: Tensor, other: Tensor):
    """Scaling by a power of two: out = input * 2 ** other.

    PyTorch's gradient is zero where an integer `other` is negative; here it is not.
    """
    return input * (xp.exp2(other) if input.dtype.kind in FLOATS else xp.exp(other * 0.6931471805599453))
ldexp.rule(input=lambda g, other: g * conj(2.0 ** other), other=lambda g, out: g * conj(out * 0.6931471805599453))


# Divisors of integers

@pointwise(kernel="gcd", half="raw",
           samples=lambda t: [t.args(t(5, low=-40, high=40, dtype="int64"), t(5, low=-40, high=40, dtype="int64"))])
def gcd(xp, input: Tensor, other: Tensor):
    "The greatest common divisor of two integers, never negative."
    need(input, INTS, "gcd_cpu")
    return xp.gcd(input, other)
gcd.rule(input=zero, other=zero)


@pointwise(kernel="lcm", half="raw",
           samples=lambda t: [t.args(t(5, low=-40, high=40, dtype="int64"), t(5, low=-40, high=40, dtype="int64"))])
def lcm(xp, input: Tensor, other: Tensor):
    "The least common multiple of two integers, never negative."
    need(input, INTS, "lcm_cpu")
    return xp.lcm(input, other)
lcm.rule(input=zero, other=zero)
