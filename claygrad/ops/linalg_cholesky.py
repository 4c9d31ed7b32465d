"""Cholesky factorization, systems solved with it, and L D L^T of symmetric matrices."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import array_of, int32
from claygrad.core.user_warnings import warn
from claygrad.ops import _lapack
from claygrad.ops._linalg import (
    NOT_DEFINITE,
    LinAlgError,
    adjoint,
    batch_shape,
    check_fractions,
    check_loop,
    check_square,
    of_all,
    raise_first,
    shape_text,
)
from claygrad.ops._out import EXACT
from claygrad.ops._registry import composite, op
from claygrad.ops.linalg_solve import check_old_system, check_pair, solve_triangular

if TYPE_CHECKING:
    from claygrad.core import Tensor


def check_cholesky(input: Tensor) -> None:
    check_square("linalg.cholesky", input)
    check_fractions("linalg.cholesky", input)
    check_loop("cholesky_cpu", input)


def factored(xp, a, upper: bool):
    """L, or its adjoint, of a stack of matrices; and of each the order of the leading minor that is not positive."""
    info = xp.zeros(a.shape[:-2], "int32")
    if not a.size:
        return xp.zeros(a.shape, a.dtype), info
    transposed = a.swapaxes(-2, -1).conj() if upper else a
    try:
        out = xp.linalg.cholesky(transposed)
    except xp.linalg.LinAlgError:
        out = xp.tril(transposed)
        for at in xp.ndindex(a.shape[:-2]):
            info[at] = _as_far_as_it_goes(xp, out[at])
    return _lapack.columns(xp, out.swapaxes(-2, -1).conj() if upper else out), info


def _as_far_as_it_goes(xp, a) -> int:
    """Columns of L in place, up to the first whose pivot is not positive; the number of that one, from 1, or 0."""
    for j in range(a.shape[-1]):
        row = a[j, :j]
        pivot = (a[j, j] - row @ row.conj()).real
        a[j, j] = pivot
        if not pivot > 0:
            return j + 1
        a[j, j] = pivot ** 0.5
        a[j + 1:, j] = (a[j + 1:, j] - a[j + 1:, :j] @ row.conj()) / a[j, j]
    return 0


def definite(t, *shape: int):
    """A positive-definite sample: a positive diagonal and small equal elements beside it."""
    return t(*shape, low=0.5, high=2).diag_embed() + 0.3


@op(strides=["columns", None],
    kernel="linalg.cholesky", namespace="linalg", method=False, returns=("L", "info"), differentiable=(0,),
    check=check_cholesky, out=EXACT, symmetric=True,
    meta=lambda input: [(input.shape, input.dtype), (input.shape[:-2], int32)],
    samples=lambda t: [t.args(definite(t, 3)), t.args(definite(t, 2, 4), upper=True), t.args(t(0, 0)),
                       t.args(t(3, 3, requires_grad=False) - 9)],
    errors=lambda t: [(t.args(t(2, 2) - 9, check_errors=True), RuntimeError,
                       "linalg.cholesky_ex: The factorization could not be completed because the input is not")])
def cholesky_ex(xp, input: Tensor, *, upper: bool = False, check_errors: bool = False):
    """Cholesky's factor, and of each matrix the order of the leading minor that is not positive-definite, 0 for none.

    One triangle of a matrix is read: the lower one, or the upper one with `upper`.
    """
    out, info = factored(xp, input, upper)
    if check_errors and info.any():
        at = int((info.reshape(-1) != 0).argmax())
        place = f"(Batch element {at}): " if info.ndim else ""
        raise LinAlgError(f"linalg.cholesky_ex: {place}{NOT_DEFINITE.format(info.reshape(-1)[at])}")
    return out, info


def cholesky_gradient(g: Tensor, out: Tensor, upper: bool) -> Tensor:
    # A = L L^H. With P = L^H dL, lower triangular: dA = L (P + P^H) L^H.
    L, g = (adjoint(out), adjoint(g)) if upper else (out, g)
    inner = (adjoint(L) @ g).tril()
    inner = inner + inner.tril(-1).mH
    middle = solve_triangular(adjoint(L), inner, upper=True)
    return solve_triangular(L, middle, upper=False, left=False) * 0.5


cholesky_ex.rule(input=cholesky_gradient)


@composite(namespace="linalg", method=False, out=EXACT, symmetric=True,
           samples=lambda t: [t.args(definite(t, 3)), t.args(definite(t, 2, 4), upper=True)],
           errors=lambda t: [(t.args(t(2, 2) - 9), RuntimeError,
                              "linalg.cholesky: The factorization could not be completed because the input is not"),
                             (t.args(t(2, 3)), RuntimeError,
                              "linalg.cholesky: A must be batches of square matrices, but they are 2 by 3 matrices")])
def cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """Cholesky's factor of a positive-definite matrix: L with L @ L.mH = input, or its adjoint (`upper`)."""
    out, info = cholesky_ex(input, upper=upper)
    raise_first(info, "linalg.cholesky", LinAlgError, NOT_DEFINITE)
    return out


def check_old_cholesky(input: Tensor) -> None:
    if not input.numel():
        return
    check_square("cholesky", input)
    check_loop("cholesky_cpu", input)


@op(strides="columns",
    name="cholesky", kernel="linalg.old_cholesky", check=check_old_cholesky, symmetric=True,
    meta=lambda input: input.shape,
    samples=lambda t: [t.args(definite(t, 3)), t.args(definite(t, 2, 4), upper=True)],
    errors=lambda t: [(t.args(t(2, 2) - 9), RuntimeError,
                       "cholesky: The factorization could not be completed because the input is not")])
def torch_cholesky(xp, input: Tensor, upper: bool = False):
    """Cholesky's factor of a positive-definite matrix. Deprecated by PyTorch in favour of linalg.cholesky."""
    warn("torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future "
         "PyTorch release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand"
         "\nU = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis "
         "transform will produce equivalent results for all valid (symmetric positive definite) inputs.")
    out, info = factored(xp, input, upper)
    if info.any():
        at = int((info.reshape(-1) != 0).argmax())
        place = f"(Batch element {at}): " if info.ndim else ""
        raise LinAlgError(f"cholesky: {place}{NOT_DEFINITE.format(info.reshape(-1)[at])}")
    return out
torch_cholesky.rule(input=cholesky_gradient)


# Systems with a factor

def check_cholesky_solve(input: Tensor, input2: Tensor) -> None:
    check_old_system("cholesky_solve", input, input2,
                     "{} should have at least 2 dimensions, but has {} dimensions instead")
    batch_shape(input2.shape, input.shape)
    check_loop("cholesky_solve_cpu", input2)


def with_factor(xp, factor, b, upper: bool):
    """Solve L L^H x = b, or U^H U x = b; the solutions lie column by column."""
    transposed = factor.swapaxes(-2, -1).conj()
    first, second = (transposed, factor) if upper else (factor, transposed)
    return _lapack.columns(xp, _lapack.triangular(xp, second, _lapack.triangular(xp, first, b, False), True))


@op(strides="columns",
    kernel="linalg.cholesky_solve", check=check_cholesky_solve,
    meta=lambda input, input2: (*batch_shape(input2.shape, input.shape), *input.shape[-2:]),
    samples=lambda t: [t.args(t(3, 2), t(3, 3, requires_grad=False) + 4),
                       t.args(t(3, 2), t(2, 3, 3, requires_grad=False) + 4, upper=True)],
    errors=lambda t: [(t.args(t(3), t(3, 3)), RuntimeError,
                       "b should have at least 2 dimensions, but has 1 dimensions instead")])
def cholesky_solve(xp, input: Tensor, input2: Tensor, upper: bool = False):
    """Solve A X = input where A = L L^H and input2 is L (or L^H, with `upper`)."""
    return with_factor(xp, input2, input, upper)


@cholesky_solve.rules
def cholesky_solve_gradient(g: Tensor, input2: Tensor, out: Tensor, upper: bool, needs: tuple[bool, bool]) -> tuple:
    of_input = cholesky_solve(g, input2, upper)
    of_factor = None
    if needs[1]:
        both = of_input @ adjoint(out)
        both = both + both.mH
        of_factor = -(input2 @ both) if upper else -(both @ input2)
    return of_input if needs[0] else None, of_factor


def check_cholesky_inverse(input: Tensor) -> None:
    check_square("cholesky_inverse", input)
    check_loop("cholesky_inverse_out_cpu", input)


@op(strides="columns",
    kernel="linalg.cholesky_inverse", check=check_cholesky_inverse, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 3, dtype="float64", requires_grad=False) + 4),
                       t.args(t(2, 3, 3, dtype="float32", requires_grad=False) + 4, upper=True), t.args(t(0, 0))],
    errors=lambda t: [(t.args(t(2, 3)), RuntimeError,
                       "cholesky_inverse: A must be batches of square matrices, but they are 2 by 3 matrices")])
def cholesky_inverse(xp, input: Tensor, upper: bool = False):
    """The inverse of A = L L^H, where input is L (or L^H, with `upper`)."""
    return with_factor(xp, input, xp.broadcast_to(xp.eye(input.shape[-1], dtype=input.dtype), input.shape), upper)


def cholesky_inverse_gradient(g: Tensor, input: Tensor, out: Tensor, upper: bool) -> Tensor:
    both = out @ ((g + g.mH) @ out)
    return -(input @ both) if upper else -(both @ input)


cholesky_inverse.rule(input=cholesky_inverse_gradient)


# L D L^T. PyTorch has no derivative of it either.

def check_ldl(input: Tensor) -> None:
    check_square("torch.linalg.ldl_factor_ex", input)
    check_fractions("torch.linalg.ldl_factor_ex", input)
    check_loop("ldl_factor_kernel_cpu", input)


@op(strides=["columns", None, None],
    kernel="ldl", namespace="linalg", method=False, returns=("LD", "pivots", "info"), check=check_ldl, out=EXACT,
    meta=lambda input: [(input.shape, input.dtype), (input.shape[:-1], int32), (input.shape[:-2], int32)],
    samples=lambda t: [t.args(t(3, 3, requires_grad=False)), t.args(t(2, 4, 4, requires_grad=False), hermitian=True),
                       t.args(t(0, 0, requires_grad=False))])
def ldl_factor_ex(xp, input: Tensor, *, hermitian: bool = False, check_errors: bool = False):
    """L D L^T of symmetric matrices (or L D L^H of `hermitian` ones) in one matrix, with the rows exchanged and `info`.

    The lower triangle is read.
    """
    LD, pivots, info = _lapack.ldl(xp, input, hermitian)
    if check_errors:
        refuse_ldl(info, "torch.linalg.ldl_factor_ex")
    return _lapack.columns(xp, LD), pivots, info


def refuse_ldl(info, name: str) -> None:
    if info.any():
        at = int((info.reshape(-1) != 0).argmax())
        raise LinAlgError(f"{name}: {f'(Batch element {at}): ' if info.ndim else ''}D has a zero block "
                          f"{info.reshape(-1)[at]}: the matrix is singular, and the factors solve no system.")


@composite(namespace="linalg", method=False, returns=("LD", "pivots"), out=EXACT,
           samples=lambda t: [t.args(t(3, 3, requires_grad=False)),
                              t.args(t(2, 4, 4, requires_grad=False), hermitian=True)])
def ldl_factor(input: Tensor, *, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """L D L^T of symmetric matrices (or L D L^H of `hermitian` ones) in one matrix, and the rows exchanged."""
    LD, pivots, info = ldl_factor_ex(input, hermitian=hermitian)
    info = of_all(info)
    if info.any():
        refuse_ldl(array_of(info), "torch.linalg.ldl_factor")
    return LD, pivots


def check_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor) -> None:
    name = "torch.linalg.ldl_solve"
    check_square(name, LD)
    check_fractions(name, LD)
    if B.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(B.ndim, 1)}, "
                         f"{max(B.ndim, 1) - 1}], but got -2)")
    check_pair(name, B, LD)
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{shape_text(pivots)} instead")
    if pivots.is_floating_point() or pivots.is_complex() or pivots.dtype.name == "bool":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype.legacy}")
    check_loop("ldl_solve_kernel_cpu", LD)


@op(strides="columns",
    kernel="ldl_solve", namespace="linalg", method=False, check=check_ldl_solve, out=EXACT,
    meta=lambda LD, B: (*batch_shape(LD.shape, B.shape), *B.shape[-2:]),
    samples=lambda t: [t.args(t(3, 3, requires_grad=False) + 4, t.index((3,), 1) + 1, t(3, 2, requires_grad=False))])
def ldl_solve(xp, LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False):
    """Solve A X = B with the factors that linalg.ldl_factor gave of A."""
    size = xp.absolute(pivots.astype("int64"))               # as LAPACK takes them for rows
    said = "Did you properly pass the result of ldl_factor?"
    if (size < 1).any():
        raise RuntimeError(f"Pivots given to ldl_solve must all satisfy |pivot| >= 1. {said}")
    if (size > LD.shape[-2]).any():
        raise RuntimeError(f"Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). {said}")
    pairs = (pivots < 0).astype("int64")
    if (xp.cumsum(pairs, -1)[..., -1:] % 2).any() or ((pairs[..., 1:] < pairs[..., :-1]) & (
            xp.cumsum(pairs, -1)[..., :-1] % 2 == 1)).any():
        raise RuntimeError(f"Pivots given to ldl_solve must be negative in pairs. {said}")
    return _lapack.ldl_solve(xp, LD, pivots, B, hermitian)


