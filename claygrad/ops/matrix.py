"""Products of vectors and matrices, single and in batches."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._geometry import expanded, product, text
from claygrad.ops._out import DOT, EXACT, SELF
from claygrad.ops._registry import conj, op
from claygrad.ops._words import NAMES, tensor_type

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


# What PyTorch says when operands do not fit. Types are never promoted here.

def no_bool(tensor: Tensor, kernel: str) -> None:
    if tensor.dtype.name == "bool":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES['bool']}'")


def check_inner(a: Tensor, b: Tensor) -> None:
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")


def check_stretch(input: Tensor, target: tuple[int, ...]) -> None:
    expanded(input.shape, (0,) * input.ndim, target, tensor_type(input.dtype))


def check_mm(input: Tensor, mat2: Tensor) -> None:
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_inner(input, mat2)
    if input.dtype != mat2.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {input.dtype.c_name} != "
                           f"{mat2.dtype.c_name}")
    if input.numel():
        no_bool(input, "addmm_impl_cpu_")


def check_stays(input: Tensor, target: tuple[int, ...], inplace: bool) -> None:
    """The product must fit the tensor it is added to; in place, without stretching it."""
    check_stretch(input, target)
    if inplace and tuple(input.shape) != target:
        raise RuntimeError(f"Bad in-place call: input tensor size {text(input.shape)} and output tensor size "
                           f"{text(target)} should match")


def check_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, inplace: bool) -> None:
    for name, mat in (("mat1", mat1), ("mat2", mat2)):
        if mat.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {mat.ndim}-D tensor")
    check_inner(mat1, mat2)
    check_stays(input, (mat1.shape[0], mat2.shape[1]), inplace)
    check_same(input, mat1, mat2)
    no_bool(mat1, "addmm_impl_cpu_")


def check_same(input: Tensor, a: Tensor, b: Tensor) -> None:
    if input.dtype != b.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {input.dtype.legacy} and {b.dtype.legacy}")
    if a.dtype != b.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {a.dtype.legacy} and {b.dtype.legacy}")


def check_3d(a: Tensor, b: Tensor) -> None:
    for i, batch in enumerate((a, b), 1):
        if batch.ndim != 3:
            raise RuntimeError(f"batch{i} must be a 3D tensor")


def check_batches(a: Tensor, b: Tensor) -> None:
    check_3d(a, b)
    if (a.shape[0], a.shape[2]) != b.shape[:2]:
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"{text((a.shape[0], a.shape[2]))} but got: {text(b.shape[:2])}.")


def check_bmm(input: Tensor, mat2: Tensor) -> None:
    check_batches(input, mat2)
    if input.numel():
        no_bool(input, "bmm")
    if input.dtype != mat2.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {mat2.dtype.legacy}")


def has_axis(x: Tensor, axis: int) -> None:
    """torch asks for a size before it looks how many there are."""
    if x.ndim == 0:
        raise IndexError(f"Dimension specified as {axis} but tensor has no dimensions")


def check_baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, inplace: bool) -> None:
    check_stays(input, (batch1.size(0), batch1.size(1), batch2.size(2)), inplace)
    check_3d(batch1, batch2)
    check_batches(batch1, batch2)
    if not input.dtype == batch1.dtype == batch2.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input {input.dtype.c_name}, batch1: "
                           f"{batch1.dtype.c_name}, batch2: {batch2.dtype.c_name}")
    no_bool(batch1, "baddbmm")


def check_addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Number) -> None:
    has_axis(batch1, 1)
    if batch1.ndim != 3 or batch2.ndim != 3:               # torch asks for sizes before it looks how many there are
        check_stretch(input, (batch1.size(1), batch2.size(2)))
    check_3d(batch1, batch2)
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and "
                           f"{batch2.shape[0]}")
    (_, n, k), (_, m, p) = batch1.shape, batch2.shape
    check_stretch(input, (n, p))
    if k != m:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{k} and {m}x{p})")
    check_same(input, batch1, batch2)
    whole = not (input.dtype.is_floating_point or input.dtype.is_complex)
    if not batch1.shape[0] and isinstance(beta, float) and whole:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.legacy}")
    no_bool(batch1, "addmm_impl_cpu_")


def check_addmv(input: Tensor, mat: Tensor, vec: Tensor, inplace: bool) -> None:
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    n = product(input.shape)
    if mat.shape[1] != vec.shape[0] or n not in (1, mat.shape[0]):
        has_axis(input, 0)
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})")
    if inplace:
        check_stays(input, (mat.shape[0],), inplace)
    if not input.dtype == mat.dtype == vec.dtype:
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {input.dtype.legacy}, "
                           f"{mat.dtype.legacy}, and {vec.dtype.legacy}")
    no_bool(mat, "addmv_impl_cpu")


def check_mv(input: Tensor, vec: Tensor) -> None:
    has_axis(input, 0)
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        rows, columns = input.shape
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({vec.shape[0]})")
    if input.dtype != vec.dtype:
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {vec.dtype.legacy}, "
                           f"{input.dtype.legacy}, and {vec.dtype.legacy}")
    if input.numel():
        no_bool(input, "addmv_impl_cpu")


def check_dot(input: Tensor, tensor: Tensor) -> None:
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype != tensor.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {input.dtype.legacy} and "
                           f"{tensor.dtype.legacy}")
    n, m = input.shape[0], tensor.shape[0]
    if n != m:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of "
                           f"elements, but got {n} and {m} elements respectively")
    no_bool(input, "dot")


# The products. Gradients of a matrix product are matrix products with the other factor transposed and conjugated.

def adjoint(t: Tensor) -> Tensor:
    return conj(t.transpose(-2, -1))


def of_right(g: Tensor, left: Tensor, stride: tuple[int, ...]) -> Tensor:
    """The gradient of the right factor of left @ right; in columns if that is, as the weight of a linear layer."""
    if stride == (1, left.shape[1]):
        return g.t().mm(conj(left)).t()
    return adjoint(left).mm(g)


def of_right_batch(g: Tensor, left: Tensor, stride: tuple[int, ...]) -> Tensor:
    """The same of a batch; in columns if all examples share one right factor in columns, as under `vmap`."""
    if stride == (0, 1, left.shape[2]):
        return g.mT.bmm(conj(left)).mT
    return adjoint(left).bmm(g)


@op(out=EXACT, kernel="mm", check=check_mm, meta=lambda input, mat2: (input.shape[0], mat2.shape[1]),
    samples=lambda t: [t.args(t(3, 4), t(4, 2)), t.args(t(4, 3).t(), t(2, 4).t()), t.args(t(2, 0), t(0, 3)),
                       t.args(t(0, 2), t(2, 3))],
    errors=lambda t: [(t.args(t(2, 3), t(2, 3)), RuntimeError,
                       "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
                      (t.args(t(3), t(3, 2)), RuntimeError, "self must be a matrix"),
                      (t.args(t(2, 3), t(3, 2, dtype="int64")), RuntimeError,
                       "expected m1 and m2 to have the same dtype, but got: float")])
def mm(xp, input: Tensor, mat2: Tensor):
    """The product of two matrices: out[i, j] = sum(input[i, k] * mat2[k, j])."""
    return xp.matmul(input, mat2)
mm.rule(input=lambda g, mat2: g.mm(adjoint(mat2)), mat2=lambda g, input, mat2_stride: of_right(g, input, mat2_stride))


@op(out=EXACT, kernel="bmm", check=check_bmm, meta=lambda input, mat2: (*input.shape[:2], mat2.shape[2]),
    samples=lambda t: [t.args(t(2, 3, 4), t(2, 4, 2)), t.args(t(2, 4, 3).transpose(1, 2), t(2, 4, 2)),
                       t.args(t(0, 3, 4), t(0, 4, 2))],
    errors=lambda t: [(t.args(t(2, 3), t(2, 3, 4)), RuntimeError, "batch1 must be a 3D tensor"),
                      (t.args(t(2, 3, 4), t(2, 3, 4)), RuntimeError,
                       "Expected size for first two dimensions of batch2 tensor to be: [2, 4]")])
def bmm(xp, input: Tensor, mat2: Tensor):
    """The products of two batches of matrices: out[b] = input[b] @ mat2[b]."""
    return xp.matmul(input, mat2)
bmm.rule(input=lambda g, mat2: g.bmm(adjoint(mat2)),
         mat2=lambda g, input, mat2_stride: of_right_batch(g, input, mat2_stride))


@op(out=EXACT, kernel="mv", check=check_mv, meta=lambda input: input.shape[:1],
    samples=lambda t: [t.args(t(3, 4), t(4)), t.args(t(4, 3).t(), t(4)), t.args(t(2, 0), t(0))],
    errors=lambda t: [(t.args(t(2, 3), t(2)), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (2)")])
def mv(xp, input: Tensor, vec: Tensor):
    """A matrix times a vector: out[i] = sum(input[i, k] * vec[k])."""
    return xp.matmul(input, vec)
mv.rule(input=lambda g, vec: g.outer(conj(vec)), vec=lambda g, input: adjoint(input).mv(g))


@op(out=DOT, kernel="dot", check=check_dot, meta=lambda input: (),
    samples=lambda t: [t.args(t(4), t(4)), t.args(t(0), t(0))],
    errors=lambda t: [(t.args(t(2), t(3)), RuntimeError,
                       "inconsistent tensor size, expected tensor [2] and src [3] to have the same number"),
                      (t.args(t(2, 2), t(2)), RuntimeError, "1D tensors expected, but got 2D and 1D tensors")])
def dot(xp, input: Tensor, tensor: Tensor):
    """The inner product of two vectors: out = sum(input * tensor)."""
    return xp.dot(input, tensor)
dot.rule(input=lambda g, tensor: g * conj(tensor), tensor=lambda g, input: g * conj(input))


@op(out=DOT, kernel="vdot", check=lambda input, other: check_dot(input, other), meta=lambda input: (),
    samples=lambda t: [t.args(t(4), t(4)), t.args(t(0), t(0))])
def vdot(xp, input: Tensor, other: Tensor):
    """The inner product of two vectors, the first conjugated: out = sum(conj(input) * other)."""
    return xp.vdot(input, other)
vdot.rule(input=lambda g, other: conj(g) * other, other=lambda g, input: g * input)


# Sums with products: beta * input + alpha * product. With beta = 0 the input is not read, so its NaN does not spread.

def combine(xp, input, out, beta, alpha):
    beta, alpha = factor(beta, out.dtype), factor(alpha, out.dtype)
    if alpha != 1:
        out = out * alpha
    if beta == 0:
        return out + xp.zeros(input.shape, out.dtype)
    return out + (input if beta == 1 else input * beta)


def factor(number: Number, dtype):
    """A Python number in the type of the product, fractions of integers cut off."""
    if isinstance(number, complex) and dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {NAMES[dtype.name].lower()} without overflow")
    return dtype.type(int(number) if dtype.kind in "iu" else number)


def scaled(g: Tensor, factor: Number) -> Tensor:
    return g if factor == 1 else g * conj(factor)


@op(out=EXACT, kernel="addmm", alias="ok", inplace=True, check=check_addmm,
    meta=lambda mat1, mat2: (mat1.shape[0], mat2.shape[1]),
    samples=lambda t: [t.args(t(2), t(3, 4), t(4, 2)), t.args(t(3, 2), t(3, 4), t(4, 2), beta=0.5, alpha=2),
                       t.args(t(), t(3, 4), t(4, 2)),
                       t.args(t(3, 2), t(3, 4), t(4, 2), beta=0)],
    errors=lambda t: [(t.args(t(3), t(2, 3), t(3, 4)), RuntimeError,
                       "The expanded size of the tensor (4) must match the existing size (3) at")])
def addmm(xp, input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """A matrix product and a sum: out = beta * input + alpha * (mat1 @ mat2)."""
    return combine(xp, input, xp.matmul(mat1, mat2), beta, alpha)
addmm.rule(input=lambda g, beta: scaled(g, beta), mat1=lambda g, mat2, alpha: scaled(g.mm(adjoint(mat2)), alpha),
           mat2=lambda g, mat1, mat2_stride, alpha: scaled(of_right(g, mat1, mat2_stride), alpha))


@op(out=EXACT, kernel="addmv", alias="ok", inplace=True, check=check_addmv, meta=lambda mat: mat.shape[:1],
    samples=lambda t: [t.args(t(3), t(3, 4), t(4)), t.args(t(), t(3, 4), t(4), beta=0.5, alpha=2)],
    errors=lambda t: [(t.args(t(3), t(2, 3), t(3)), RuntimeError, "size mismatch, got input (3), mat (2x3), vec (3)")])
def addmv(xp, input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """A matrix times a vector and a sum: out = beta * input + alpha * (mat @ vec)."""
    return combine(xp, input, xp.matmul(mat, vec), beta, alpha)
addmv.rule(input=lambda g, beta: scaled(g, beta), mat=lambda g, vec, alpha: scaled(g.outer(conj(vec)), alpha),
           vec=lambda g, mat, alpha: scaled(adjoint(mat).mv(g), alpha))


@op(out=EXACT, kernel="baddbmm", alias="ok", inplace=True, check=check_baddbmm,
    meta=lambda batch1, batch2: (*batch1.shape[:2], batch2.shape[2]),
    samples=lambda t: [t.args(t(2, 3, 2), t(2, 3, 4), t(2, 4, 2)),
                       t.args(t(2), t(2, 3, 4), t(2, 4, 2), beta=0.5, alpha=2)])
def baddbmm(xp, input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """Batched matrix products and a sum: out[b] = beta * input[b] + alpha * (batch1[b] @ batch2[b])."""
    return combine(xp, input, xp.matmul(batch1, batch2), beta, alpha)
baddbmm.rule(input=lambda g, beta: scaled(g, beta), batch1=lambda g, batch2,
             alpha: scaled(g.bmm(adjoint(batch2)), alpha),
             batch2=lambda g, batch1, alpha: scaled(adjoint(batch1).bmm(g), alpha))


@op(out=SELF, kernel="addbmm", alias="ok", inplace=True, check=check_addbmm,
    meta=lambda batch1, batch2: (batch1.shape[1], batch2.shape[2]),
    samples=lambda t: [t.args(t(3, 2), t(2, 3, 4), t(2, 4, 2)),
                       t.args(t(3, 2), t(2, 3, 4), t(2, 4, 2), beta=0.5, alpha=2)])
def addbmm(xp, input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """The sum of batched matrix products and a matrix: out = beta * input + alpha * sum(batch1[b] @ batch2[b])."""
    return combine(xp, input, xp.matmul(batch1, batch2).sum(0, dtype=batch1.dtype), beta, alpha)
addbmm.rule(input=lambda g, beta: scaled(g, beta),
            batch1=lambda g, batch2, alpha: scaled(g.expand((batch2.shape[0], *g.shape)).bmm(adjoint(batch2)), alpha),
            batch2=lambda g, batch1, alpha: scaled(adjoint(batch1).bmm(g.expand((batch1.shape[0], *g.shape))), alpha))


def check_addr(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Number, alpha: Number, inplace: bool) -> None:
    if inplace and input.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {input.ndim}D tensor for input")
    for name, vec in (("vec1", vec1), ("vec2", vec2)):
        if vec.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vec.ndim}-D")
    check_stretch(input, (vec1.shape[0], vec2.shape[0]))
    if not any(v.is_floating_point() or v.is_complex() for v in (input, vec1, vec2)):
        for name, number in (("beta", beta), ("alpha", alpha)):
            if isinstance(number, float):
                raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


@op(kernel="addr", alias="ok", promote="common", inplace=True, check=check_addr,
    meta=lambda vec1, vec2: (vec1.shape[0], vec2.shape[0]),
    samples=lambda t: [t.args(t(3, 4), t(3), t(4)), t.args(t(4), t(3), t(4), beta=0.5, alpha=2)],
    errors=lambda t: [(t.args(t(3, 3), t(2, 3), t(3)), RuntimeError, "addr: Expected 1-D argument vec1, but got 2-D")])
def addr(xp, input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """An outer product and a sum: out = beta * input + alpha * outer(vec1, vec2)."""
    return combine(xp, input, xp.multiply(vec1[:, None], vec2), beta, alpha)
addr.rule(input=lambda g, beta: scaled(g, beta), vec1=lambda g, vec2, alpha: scaled(g.mv(conj(vec2)), alpha),
          vec2=lambda g, vec1, alpha: scaled(g.t().mv(conj(vec1)), alpha))
