"""Complex numbers: their parts, conjugates and angles, and the ways between real and complex tensors."""
from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

from claygrad.core import DTYPES, complex64, complex128, float32, float64
from claygrad.ops._out import FOUND, OBJECT
from claygrad.ops._registry import composite, pointwise, view
from claygrad.ops._words import zeros

if TYPE_CHECKING:
    from claygrad.core import Tensor

REAL_OF = {DTYPES["complex32"]: DTYPES["float16"], complex64: float32, complex128: float64}
COMPLEX_OF = {part: whole for whole, part in REAL_OF.items()}


# Two views of the same memory

CONJ, NEG, OTHER_DTYPE = 1, 2, 16                # what a view changes: the bits of core/data/layout.pxd, or the dtype


@view(method=False, lazy=OTHER_DTYPE,
      samples=lambda t: [t.args(t(3, 4, dtype="complex128")), t.args(t(dtype="complex128"))],
      errors=lambda t: [(t.args(t(2)), RuntimeError, "view_as_real is only supported for complex tensors")])
def view_as_real(input: Tensor):
    "The complex tensor seen as pairs of reals: a last axis of size 2 holds real and imaginary part."
    if input.dtype not in REAL_OF:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if input.is_conj():
        raise RuntimeError("view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
                           "tensor so you can view it as real, use self.resolve_conj(); however, be warned that the "
                           "resulting tensor will NOT alias the original.")
    strides = tuple(2 * s for s in input.stride())
    return (*input.shape, 2), (*strides, 1), 2 * input.storage_offset(), REAL_OF[input.dtype]
view_as_real.rule(input=lambda g: view_as_complex(g.contiguous()))


@view(geometry="as_complex", method=False, lazy=OTHER_DTYPE, samples=lambda t: [t.args(t(3, 4, 2)), t.args(t(2))],
      errors=lambda t: [(t.args(t(3)), RuntimeError, "Tensor must have a last dimension of size 2"),
                        (t.args(t()), RuntimeError, "Input tensor must have one or more dimensions")])
def view_as_complex(input: Tensor):
    "The inverse of view_as_real: a last axis of size 2 becomes one complex number."
    if input.dtype not in COMPLEX_OF:
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, "
                           f"but got a tensor of scalar type: {input.dtype.legacy}")
    if input.dim() == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides, offset = input.stride(), input.storage_offset()
    if strides[-1] != 1 and input.numel():
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 and n != 1 for s, n in zip(strides[:-1], input.shape)):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return input.shape[:-1], tuple(s // 2 for s in strides[:-1]), offset // 2, COMPLEX_OF[input.dtype]
view_as_complex.rule(input=lambda g: view_as_real(g.resolve_conj()))


# Parts

@composite(attribute=True, samples=lambda t: [t.args(t(3, 4, dtype="complex128")), t.args(t(3))])
def real(input: Tensor) -> Tensor:
    "The real parts, as a view: `x.real = y` writes into x. A real tensor is its own real part."
    return view_as_real(memory_of(input)).select(-1, 0) if input.dtype in REAL_OF else input


@composite(attribute=True, samples=lambda t: [t.args(t(3, 4, dtype="complex128"))],
           errors=lambda t: [(t.args(t(2)), RuntimeError,
                              "imag is not implemented for tensors with non-complex dtypes.")])
def imag(input: Tensor) -> Tensor:
    "The imaginary parts, as a view: `x.imag = y` writes into x."
    if input.dtype not in REAL_OF:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    pairs = view_as_real(memory_of(input))
    return (neg_view(pairs) if input.is_conj() else pairs).select(-1, 1)


def memory_of(input: Tensor) -> Tensor:
    """The complex numbers as they lie in memory: a conjugate that is not computed yet is conjugated again."""
    return lazy_conj(input) if input.is_conj() else input


@pointwise(function=False, method=False, inplace=False, node="SelectBackward0",
           samples=lambda t: [t.args(t(3, dtype="complex128"))])
def _real(xp, input: Tensor):
    "The real parts, copied: what the engine uses to bring a complex gradient back to a real input."
    return input.real.copy()
_real.rule(input=lambda g: g)


# Conjugates

@pointwise(name="conj_physical", kernel="conj", function=False, method=False,
           node=lambda inplace: f"ConjPhysicalBackward{int(inplace)}",
           samples=lambda t: [t.args(t(3, 4, dtype="complex128")), t.args(t(3))])
def conjugated(xp, input: Tensor):
    "The conjugate, computed."
    return xp.conj(input) if input.dtype.kind == "c" else input.copy()
conjugated.rule(input=lambda g: g.conj())


@composite(out=FOUND, samples=lambda t: [t.args(t(3, 4, dtype="complex128")), t.args(t(3))])
def conj_physical(input: Tensor) -> Tensor:
    "The conjugate: out = real - i * imag; a real tensor is returned itself."
    return conjugated(input) if input.dtype in REAL_OF else input


# Views that are conjugates or negatives of their base: Note [Lazy conjugates] in core/graph/conj_view.pxd

@view(name="_conj", lazy=CONJ, node="ConjBackward0", samples=lambda t: [t.args(t(3, dtype="complex128"))])
def lazy_conj(input: Tensor):
    "The conjugate of a complex tensor as a view."
    if input.dtype not in REAL_OF:
        raise RuntimeError("_conj is only supported for complex tensors\n  conj() takes all")
    return tuple(input.shape), input.stride(), input.storage_offset()
lazy_conj.rule(input=lambda g: g.conj())


@view(name="_neg_view", lazy=NEG, node="NegViewBackward0",
      samples=lambda t: [t.args(t(3, dtype="complex128")), t.args(t(2, 3, dtype="float64"))])
def neg_view(input: Tensor):
    "The negative as a view."
    return tuple(input.shape), input.stride(), input.storage_offset()
neg_view.rule(input=lambda g: g.neg())


@composite(samples=lambda t: [t.args(t(3, 4, dtype="complex128")), t.args(t(3))])
def conj(input: Tensor) -> Tensor:
    "The conjugate, as a view that is computed when it is read; a real tensor is returned itself."
    return lazy_conj(input) if input.dtype in REAL_OF else input


@composite(samples=lambda t: [t.args(t(3, dtype="complex128"))])
def resolve_conj(input: Tensor) -> Tensor:
    "The values of a conjugate in memory of their own; the tensor itself if it is none (`is_conj`)."
    return input.clone() if input.is_conj() else input


@composite(samples=lambda t: [t.args(t(3, dtype="complex128"))])
def resolve_neg(input: Tensor) -> Tensor:
    "The values of a negative in memory of their own; the tensor itself if it is none (`is_neg`)."
    return input.clone() if input.is_neg() else input


@composite(samples=lambda t: [t.args(t(3, 4, dtype="complex128")), t.args(t(3))])
def _conj_physical(input: Tensor) -> Tensor:
    "The conjugate in memory of its own, of real tensors too."
    return conjugated(input)


# Polar form

@pointwise(kernel="angle", promote="float", inplace=False,
           samples=lambda t: [t.args(t(3, 4, dtype="complex128", nonzero=True)), t.args(t(3, 4))])
def angle(xp, input: Tensor):
    "The angle of each number in the complex plane, in radians; for real numbers 0 or pi."
    if input.dtype.kind == "c":
        return xp.angle(input)
    kind, unknown = input.dtype.type, xp.isnan(input)
    out = xp.where(input < 0, kind(pi), kind(0))
    return xp.where(unknown, input, out) if unknown.any() else out


def angle_grad(g, input):
    if input.dtype not in REAL_OF:
        return zeros(g)
    square = (input * input.conj()).real
    return g * (input * 1j / square).masked_fill(square == 0, 0)


angle.rule(input=angle_grad)


def check_parts(first: Tensor, second: Tensor, name: str) -> None:
    floats = ("Half", "Float", "Double")
    if first.dtype.legacy not in floats or second.dtype.legacy not in floats:
        raise RuntimeError("Expected both inputs to be Half, Float or Double tensors but got "
                           f"{first.dtype.legacy} and {second.dtype.legacy}")
    if first.dtype != second.dtype:
        raise RuntimeError(f"Expected object of scalar type {first.dtype.legacy} but got scalar type "
                           f"{second.dtype.legacy} for second argument")
    if first.dtype.legacy == "Half" and name != "complex":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Half'")


def join(xp, real, imag):
    shape = xp.broadcast_shapes(real.shape, imag.shape)
    if real.dtype == xp.float16:
        out = xp.empty(shape, DTYPES["complex32"].numpy)
        out["real"], out["imag"] = real, imag
        return out
    out = xp.empty(shape, dtype=xp.result_type(real.dtype, xp.complex64))
    out.real, out.imag = real, imag
    return out


@pointwise(kernel="complex", half="raw", check_of="dtypes", out=OBJECT, name="complex", promote="none", method=False,
           inplace=False, check=lambda real, imag: check_parts(real, imag, "complex"),
           samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(), t(3))],
           errors=lambda t: [(t.args(t(2, dtype="float32"), t(2, dtype="float64")), RuntimeError,
                              "Expected object of scalar type Float but got"),
                             (t.args(t(2, dtype="int64"), t(2)), RuntimeError,
                              "Expected both inputs to be Half, Float or Double")])
def complex_(xp, real: Tensor, imag: Tensor):
    "The complex number with these parts: out = real + i * imag."
    return join(xp, real, imag)
complex_.rule(real=lambda g: g.real, imag=lambda g: g.imag)


@pointwise(kernel="polar", check_of="dtypes", out=OBJECT, promote="none", method=False, inplace=False,
           check=lambda abs, angle: check_parts(abs,
           angle, "polar"),
           samples=lambda t: [t.args(t(3, 4, low=0.1), t(4)), t.args(t(low=0.1), t(3))],
           errors=lambda t: [(t.args(t(2, dtype="float32"), t(2, dtype="float64")), RuntimeError,
                              "Expected object of scalar type Float but got")])
def polar(xp, abs: Tensor, angle: Tensor):
    "The complex number with this length and angle: out = abs * (cos(angle) + i * sin(angle))."
    return join(xp, abs * xp.cos(angle), abs * xp.sin(angle))
polar.rule(abs=lambda g, out: g * out.sgn().conj(), angle=lambda g, out: g * (out * 1j).conj())


# Questions about the kind of numbers

@composite(samples=lambda t: [t.args(t(3, dtype="complex128")), t.args(t(3))])
def is_complex(input: Tensor) -> bool:
    "Whether the tensor holds complex numbers."
    return input.dtype.is_complex


@composite(samples=lambda t: [t.args(t(3)), t.args(t(3, dtype="int64"))])
def is_floating_point(input: Tensor) -> bool:
    "Whether the tensor holds real floating-point numbers."
    return input.dtype.is_floating_point


@composite(function=True, samples=lambda t: [t.args(t(3)), t.args(t(3, dtype="bool"))])
def is_signed(input: Tensor) -> bool:
    "Whether the tensor's dtype can hold negative numbers."
    return input.dtype.is_signed


@composite(method=False, samples=lambda t: [t.args(t(3, dtype="complex128"))])
def is_conj(input: Tensor) -> bool:
    "Whether it is a conjugate that is not computed yet: a view that conj() made, or a part of one."
    return input.is_conj()


@composite(method=False, samples=lambda t: [t.args(t(3, dtype="complex128"))])
def is_neg(input: Tensor) -> bool:
    "Whether it is a negative that is not computed yet, such as the imaginary part of a conjugate."
    return input.is_neg()


@composite(samples=lambda t: [t.args(t(1)), t.args(t(1, dtype="int64"))],
           errors=lambda t: [(t.args(t(2)), RuntimeError,
                              "Boolean value of Tensor with more than one value is ambiguous")])
def is_nonzero(input: Tensor) -> bool:
    "Whether the only element is different from zero."
    return bool(input)
