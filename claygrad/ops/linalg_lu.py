"""LU with row exchanges, systems solved with it, and determinants."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int32
from claygrad.core.user_warnings import warn, warn_once
from claygrad.ops import _lapack
from claygrad.ops._geometry import text
from claygrad.ops._linalg import (
    adjoint,
    batch_shape,
    check_fractions,
    check_loop,
    check_same_dtype,
    check_square,
    check_system,
    raise_first,
    shape_text,
)
from claygrad.ops._out import EXACT
from claygrad.ops._registry import composite, op
from claygrad.ops._returns import named_tuple
from claygrad.ops.linalg_solve import solve_triangular

if TYPE_CHECKING:
    from claygrad.core import Tensor

ZERO_PIVOT = ("U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
              "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


def need_matrices(name: str, A: Tensor) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {shape_text(A)} instead")


def check_lu(A: Tensor) -> None:
    need_matrices("linalg.lu", A)
    check_loop("lu_cpu", A)


def check_lu_factor(A: Tensor) -> None:
    need_matrices("torch.lu_factor", A)
    check_loop("lu_cpu", A)


# Derivatives. With A = P L U and both factors square:
#   gA = P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H
# What is wider or taller than the square adds to it, and has a part of its own.

def lu_gradient(of_L: Tensor | None, of_U: Tensor | None, P: Tensor | None, L: Tensor, U: Tensor) -> Tensor | None:
    if of_L is None and of_U is None:
        return None
    (m, k), n = L.shape[-2:], U.shape[-1]
    zeros = L.new_zeros
    of_L = zeros(L.shape) if of_L is None else of_L
    of_U = zeros(U.shape) if of_U is None else of_U
    top, left = L[..., :k, :], U[..., :, :k]
    of_top, of_left = of_L[..., :k, :], of_U[..., :, :k]
    beside = below = None
    if n > k:                                   # [A1 A2] = P L [U1 U2]
        beside = solve_triangular(adjoint(top), of_U[..., k:], upper=True, unitriangular=True)
        of_top = of_top - beside @ adjoint(U[..., k:])
    if m > k:                                   # [A1; A2] = P [L1; L2] U
        below = solve_triangular(adjoint(left), of_L[..., k:, :], upper=False, left=False)
        of_left = of_left - adjoint(L[..., k:, :]) @ below
    inner = (adjoint(top) @ of_top).tril(-1) + (of_left @ adjoint(left)).triu()
    out = solve_triangular(adjoint(top), inner, upper=True, unitriangular=True)
    out = solve_triangular(adjoint(left), out, upper=False, left=False)
    if beside is not None:
        out = joined(out, beside, -1)
    if below is not None:
        out = joined(out, below, -2)
    return out if P is None else P @ out


def joined(first: Tensor, second: Tensor, dim: int) -> Tensor:
    from claygrad.ops.join import cat
    return cat((first, second), dim)


def permutation(xp, pivots, m: int, dtype):
    """P with A = P L U."""
    return xp.eye(m, dtype=dtype)[_lapack.order(xp, pivots, m)].swapaxes(-2, -1)


def parts(xp, LU):
    """L and U out of the one matrix that holds both."""
    m, n = LU.shape[-2:]
    k = min(m, n)
    lower = xp.tril(LU[..., :k], -1)
    diagonal = xp.arange(k)
    lower[..., diagonal, diagonal] = 1
    return lower, xp.triu(LU[..., :k, :])


def lu_samples(t) -> list:
    return [t.args(t(3, 3)), t.args(t(2, 3, 4)), t.args(t(4, 3)), t.args(t(2, 0, 0))]


@op(kernel="linalg.lu_parts", namespace="linalg", method=False, returns=("P", "L", "U"), differentiable=(1, 2),
    check=check_lu, out=EXACT,
    meta=lambda A: [((*A.shape[:-2], A.shape[-2], A.shape[-2]), A.dtype),
                    ((*A.shape[:-1], min(A.shape[-2:])), A.dtype),
                    ((*A.shape[:-2], min(A.shape[-2:]), A.shape[-1]), A.dtype)], samples=lu_samples,
    errors=lambda t: [(t.args(t(3)), RuntimeError,
                       "linalg.lu: Expected tensor with 2 or more dimensions. Got size: [3] instead")])
def lu(xp, A: Tensor, *, pivot: bool = True):
    """A = P L U: a permutation, a lower triangle with ones on its diagonal, and an upper triangle.

    Without `pivot`, no rows are exchanged and P is empty.
    """
    LU, pivots, _ = _lapack.lu(xp, A, pivot)
    P = permutation(xp, pivots, A.shape[-2], A.dtype) if pivot else xp.zeros(0, A.dtype)
    return (P, *parts(xp, LU))


@lu.rules
def linalg_lu_gradient(gs, outs, pivot: bool) -> tuple[Tensor | None]:
    P, L, U = outs
    return (lu_gradient(gs[1], gs[2], P if pivot else None, L, U),)


@op(strides=["columns", None, None],
    kernel="linalg.lu", namespace="linalg", method=False, returns=("LU", "pivots", "info"), differentiable=(0,),
    check=check_lu_factor, out=EXACT, samples=lu_samples,
    meta=lambda A: [(A.shape, A.dtype), ((*A.shape[:-2], min(A.shape[-2:])), int32), (A.shape[:-2], int32)],
    errors=lambda t: [(t.args(t(3)), RuntimeError,
                       "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: [3] instead")])
def lu_factor_ex(xp, A: Tensor, *, pivot: bool = True, check_errors: bool = False):
    """L below the diagonal and U on and above it, the rows exchanged (from 1), and which pivot was zero, 0 for none."""
    LU, pivots, info = _lapack.lu(xp, A, pivot)
    if check_errors and info.any():
        at = int((info.reshape(-1) != 0).argmax())
        place = f"(Batch element {at}): " if info.ndim else ""
        raise RuntimeError(f"torch.linalg.lu_factor_ex: {place}{ZERO_PIVOT.format(info.reshape(-1)[at])}")
    return LU, pivots, info


@lu_factor_ex.rules
def lu_factor_gradient(g: Tensor, outs, pivot: bool) -> tuple[Tensor | None]:
    P, L, U = lu_unpack(outs[0], outs[1], unpack_pivots=pivot)
    k = L.shape[-1]
    return (lu_gradient(g[..., :k].tril(-1), g[..., :k, :].triu(), P if pivot else None, L, U),)


@composite(namespace="linalg", method=False, returns=("LU", "pivots"), out=EXACT, samples=lu_samples,
           errors=lambda t: [(t.args(t(2, 2) * 0), RuntimeError,
                              "torch.linalg.lu_factor: U[1,1] is zero and using it on lu_solve would result in")])
def lu_factor(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """L below the diagonal and U on and above it, and the rows exchanged (from 1)."""
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    raise_first(info, "torch.linalg.lu_factor", RuntimeError, ZERO_PIVOT)
    return LU, pivots


@composite(name="lu", samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 4, 3), get_infos=True)])
def torch_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple | None = None) -> tuple:
    """LU with the rows exchanged, and `info` where asked for. Deprecated by PyTorch in favour of linalg.lu_factor."""
    warn_once("lu", "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be "
                  "removed in a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced "
                  "with\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, "
                  "compute_pivots, get_infos=True)\nshould be replaced with\nLU, pivots, info = "
                  "torch.linalg.lu_factor_ex(A, compute_pivots)")
    if out is not None and len(out) != (3 if get_infos else 2):
        raise TypeError(f"expected tuple of {3 if get_infos else 2} elements but got {len(out)}")
    if not get_infos:
        info = lu_factor_ex(A.detach(), pivot=pivot)[2]
        raise_first(info, "lu", RuntimeError, ZERO_PIVOT)
    computed = tuple(lu_factor_ex(A, pivot=pivot))[:3 if get_infos else 2]
    if out is None:
        return named_tuple("_lu_with_info", ("LU", "pivots", "info"))(computed) if get_infos else computed
    for target, result in zip(out, computed):
        target.resize_as_(result).copy_(result)
    return out


def check_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_pivots: bool) -> None:
    need_matrices("torch.lu_unpack", LU_data)
    if unpack_pivots and LU_pivots.dtype != int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                           "Note: this function is intended to be used with the output produced by "
                           "torch.linalg.lu_factor")


def unpacked_shapes(LU_data: Tensor, unpack_data: bool, unpack_pivots: bool) -> list[tuple]:
    *batch, m, n = LU_data.shape
    k, kind = min(m, n), LU_data.dtype
    return [((*batch, m, m) if unpack_pivots else (0,), kind), ((*batch, m, k) if unpack_data else (0,), kind),
            ((*batch, k, n) if unpack_data else (0,), kind)]


@op(kernel="linalg.lu_unpack", method=False, returns=("P", "L", "U"), differentiable=(1, 2), check=check_unpack,
    out=EXACT, meta=unpacked_shapes,
    samples=lambda t: [t.args(t(3, 3), t.index((3,), 1, dtype="int32") + 3),
                       t.args(t(2, 3, 4), t.index((2, 3), 1, dtype="int32") + 3),
                       t.args(t(4, 3), t.index((3,), 1, dtype="int32") + 4, unpack_pivots=False)],
    errors=lambda t: [(t.args(t(3, 3), t.index((3,), 1)), RuntimeError,
                       "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")])
def lu_unpack(xp, LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True):
    """P, L and U out of what linalg.lu_factor returns; what is not asked for is empty."""
    m = LU_data.shape[-2]
    P = L = U = xp.zeros(0, LU_data.dtype)
    if unpack_pivots:
        if ((LU_pivots < 1) | (LU_pivots > m)).any():
            raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you "
                               "properly pass the result of lu_factor?")
        P = xp.broadcast_to(permutation(xp, LU_pivots, m, LU_data.dtype), (*LU_data.shape[:-2], m, m)).copy()
    if unpack_data:
        L, U = (xp.ascontiguousarray(part) for part in parts(xp, LU_data))
    return P, L, U


@lu_unpack.rules(constant=("LU_pivots",))
def unpack_gradient(gs, LU_data_shape: tuple) -> tuple[Tensor | None, None]:
    _, of_L, of_U = gs
    m, n = LU_data_shape[-2:]
    if of_L is not None:
        of_L = of_L.tril(-1)
        if n > m:
            of_L = joined(of_L, of_L.new_zeros((*LU_data_shape[:-1], n - m)), -1)
    if of_U is not None:
        of_U = of_U.triu()
        if m > n:
            of_U = joined(of_U, of_U.new_zeros((*LU_data_shape[:-2], m - n, n)), -2)
    return of_U if of_L is None else of_L if of_U is None else of_L + of_U, None


# Systems

def check_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool) -> None:
    name = "linalg.lu_solve"
    check_square(f"torch.{name}", LU)
    check_fractions(f"torch.{name}", LU)
    check_same_dtype(name, LU, B, "LU")
    if pivots.dtype != int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    if (pivots.shape[-1] if pivots.ndim else 1) != LU.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{text(pivots.shape)} instead")
    check_system(name, LU, B, left)
    batch_shape(LU.shape, B.shape)
    check_loop("linalg.lu_solve_cpu", LU)


def mixed(t):
    """The matrix of an LU: ones and more on the diagonal."""
    return t(3, 3, low=1, high=2)


@op(strides=lambda left: "columns" if left else None,
    kernel="linalg.lu_solve", namespace="linalg", method=False, check=check_lu_solve, out=EXACT,
    meta=lambda LU, B: (*batch_shape(LU.shape, B.shape), *B.shape[-2:]),
    samples=lambda t: [t.args(mixed(t), t.index((3,), 1, dtype="int32") + 3, t(2, 3, 2)),
                       t.args(mixed(t), t.index((3,), 1, dtype="int32") + 3, t(3, 2), adjoint=True),
                       t.args(mixed(t), t.index((3,), 1, dtype="int32") + 3, t(2, 3), left=False),
                       t.args(mixed(t), t.index((3,), 1, dtype="int32") + 3, t(2, 3), left=False, adjoint=True)],
    errors=lambda t: [(t.args(t(3, 3), t.index((3,), 1), t(3, 2)), RuntimeError,
                       "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")])
def lu_solve(xp, LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False):
    """Solve A X = B (`left`) or X A = B with the LU of A; `adjoint`: with the adjoint of A instead."""
    right = B if left else B.swapaxes(-2, -1).conj()
    said = "Did you properly pass the result of lu_factor?"
    if (pivots < 1).any():
        raise RuntimeError(f"Pivots given to lu_solve must all be greater or equal to 1. {said}")
    if (pivots > LU.shape[-2]).any():
        raise RuntimeError(f"Pivots given to lu_solve must all be smaller or equal to LU.size(-2). {said}")
    rows = _lapack.order(xp, pivots, LU.shape[-1])
    if left:
        return _lapack.columns(xp, _lapack.lu_solve(xp, LU, rows, B, adjoint))
    # X A = B is A^H X^H = B^H.
    return _lapack.lu_solve(xp, LU, rows, right, not adjoint).swapaxes(-2, -1).conj()


def lu_solve_gradient(g: Tensor, LU: Tensor, pivots: Tensor, out: Tensor, left: bool, adjointed: bool,
                      needs: tuple) -> tuple:
    of_B = lu_solve(LU, pivots, g, left=left, adjoint=not adjointed)
    if not needs[0]:
        return None, None, of_B if needs[2] else None
    if not left:
        g, out, adjointed = adjoint(g), adjoint(out), not adjointed
    P, L, U = lu_unpack(LU, pivots)
    if adjointed:                                  # U^H L^H P^T X = B
        X, g = P.mT @ out, solve_triangular(L, P.mT @ g, upper=False, unitriangular=True)
        Z = adjoint(L) @ X
        of_L, of_U = -(X @ adjoint(g)), -(Z @ adjoint(solve_triangular(U, g, upper=True)))
    else:                                       # P L U X = B
        g = solve_triangular(adjoint(U), g, upper=False)
        of_U, Y = -(g @ adjoint(out)), U @ out
        of_L = -(solve_triangular(adjoint(L), g, upper=True, unitriangular=True) @ adjoint(Y))
    return of_L.tril(-1) + of_U.triu(), None, of_B if needs[2] else None


@lu_solve.rules(constant=("pivots",))
def lu_solve_rules(g: Tensor, LU: Tensor, pivots: Tensor, out: Tensor, left: bool, adjoint: bool,
                   needs: tuple) -> tuple:
    return lu_solve_gradient(g, LU, pivots, out, left, adjoint, needs)


@composite(name="lu_solve", out=EXACT,
           samples=lambda t: [t.args(t(3, 2), mixed(t), t.index((3,), 1, dtype="int32") + 3)])
def torch_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve A X = input with the LU of A. Deprecated by PyTorch in favour of linalg.lu_solve."""
    warn("torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future "
         "PyTorch release.\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = "
         "torch.lu_solve(B, LU, pivots)\nshould be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)")
    return lu_solve(LU_data, LU_pivots, input)


