"""Systems of linear equations: with any matrix, a triangular one, or a factor of Cholesky's; inverses."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int32
from claygrad.core.user_warnings import warn
from claygrad.ops import _lapack
from claygrad.ops._geometry import product
from claygrad.ops._linalg import (
    SINGULAR,
    LinAlgError,
    adjoint,
    batch_shape,
    check_fractions,
    check_loop,
    check_same_dtype,
    check_square,
    check_system,
    is_vector,
    of_all,
    raise_first,
)
from claygrad.ops._out import EXACT
from claygrad.ops._registry import composite, conj, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]


# Triangular systems

def check_triangular(A: Tensor, B: Tensor, left: bool) -> None:
    check_system("linalg.solve_triangular", A, B, left)
    batch_shape(A.shape, B.shape)
    check_loop("triangular_solve_cpu", A)


@op(strides="columns",
    kernel="linalg.triangular", namespace="linalg", method=False, out=EXACT, check=check_triangular,
    meta=lambda A, B: (*batch_shape(A.shape, B.shape), *B.shape[-2:]),
    samples=lambda t: [t.args(t(3, 3) + 4, t(3, 2), upper=True),
                       t.args(t(2, 3, 3) + 4, t(3, 2), upper=False),
                       t.args(t(3, 3), t(2, 4, 3), upper=True, left=False, unitriangular=True),
                       t.args(t(2, 0, 0), t(0, 3), upper=False)],
    errors=lambda t: [(t.args(t(3, 3), t(3), upper=True), RuntimeError,
                       "linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")])
def solve_triangular(xp, A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False):
    """Solve A X = B (`left`) or X A = B where A is triangular: elements beyond its diagonal are not read.

    `unitriangular`: the diagonal is not read either and counts as ones. A zero on it gives infinities, not an error.
    """
    B = B.astype(A.dtype, copy=False)
    if left:
        return _lapack.triangular(xp, A, B, upper, unitriangular)
    transposed = _lapack.triangular(xp, A.swapaxes(-2, -1), B.swapaxes(-2, -1), not upper, unitriangular)
    return _by_columns(xp, transposed.swapaxes(-2, -1))


def _by_columns(xp, matrices):
    "The same matrices stored by columns, as LAPACK leaves them."
    return xp.ascontiguousarray(matrices.swapaxes(-2, -1)).swapaxes(-2, -1)


@solve_triangular.rules
def solve_triangular_gradient(g: Tensor, A: Tensor, out: Tensor, upper: bool, left: bool, unitriangular: bool,
                              needs: tuple[bool, bool]) -> tuple:
    of_B = solve_triangular(adjoint(A), g, upper=not upper, left=left, unitriangular=unitriangular)
    of_A = None
    if needs[0]:
        of_A = -(of_B @ adjoint(out) if left else adjoint(out) @ of_B)
        beyond = int(unitriangular)
        of_A = of_A.triu(beyond) if upper else of_A.tril(-beyond)
    return of_A, of_B if needs[1] else None


def check_old_system(name: str, b: Tensor, A: Tensor, words: str) -> None:
    for letter, x in (("b", b), ("u" if name == "cholesky_solve" else "A", A)):
        if x.ndim < 2:
            raise RuntimeError(words.format(letter, x.ndim))
    check_pair(name, b, A)


def check_pair(name: str, b: Tensor, A: Tensor) -> None:
    (m, n), (rows, columns) = A.shape[-2:], b.shape[-2:]
    if A.dtype != b.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {b.dtype.legacy} and A of "
                           f"type {A.dtype.legacy} instead.")
    if m != n:
        raise RuntimeError(f"A must be batches of square matrices, but they are {m} by {n} matrices")
    if n != rows:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is "
                           f"{rows} by {columns}")


def check_triangular_solve(input: Tensor, A: Tensor) -> None:
    check_old_system("triangular_solve", input, A,
                     "torch.triangular_solve: Expected {} to have at least 2 dimensions, but it has {} dimensions "
                     "instead")
    check_loop("triangular_solve_cpu", A)


@op(kernel="linalg.triangular_pair", returns=("solution", "cloned_coefficient"), check=check_triangular_solve,
    out=EXACT, strides=["columns", "columns"],
    meta=lambda input, A: [((*batch_shape(A.shape, input.shape), *input.shape[-2:]), A.dtype),
                           ((*batch_shape(A.shape, input.shape), *A.shape[-2:]), A.dtype)],
    samples=lambda t: [t.args(t(3, 2), t(3, 3) + 4),
                       t.args(t(3, 2), t(2, 3, 3) + 4, upper=False, transpose=True),
                       t.args(t(3, 2), t(3, 3), unitriangular=True)],
    errors=lambda t: [(t.args(t(2, 3), t(3, 3)), RuntimeError,
                       "Incompatible matrix sizes for triangular_solve: each A matrix is 3 by 3")])
def triangular_solve(xp, input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False):
    """Solve A X = input for a triangular A, or A^T X = input (`transpose`). Deprecated: see linalg.solve_triangular."""
    warn("torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed "
         "in a future PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not "
         "return a copy of one of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced "
         "with\nX = torch.linalg.solve_triangular(A, B).")
    batch = batch_shape(A.shape, input.shape)
    transposed = A.swapaxes(-2, -1) if transpose else A
    return (_lapack.columns(xp, _lapack.triangular(xp, transposed, input, upper != transpose, unitriangular)),
            _lapack.columns(xp, xp.broadcast_to(A, (*batch, *A.shape[-2:]))))


@triangular_solve.rules
def triangular_solve_gradient(gs, A: Tensor, outs, upper: bool, transpose: bool, unitriangular: bool,
                              needs: tuple[bool, bool]) -> tuple:
    of_solution, of_A = gs
    of_b = None
    if of_solution is not None:
        of_b = solve_triangular(conj(A) if transpose else adjoint(A), of_solution, upper=upper == transpose,
                                unitriangular=unitriangular)
        if needs[1]:
            out = outs[0]
            slope = -(conj(out) @ of_b.mT if transpose else of_b @ adjoint(out))
            slope = slope.triu(int(unitriangular)) if upper else slope.tril(-int(unitriangular))
            of_A = slope if of_A is None else of_A + slope
    return of_b if needs[0] else None, of_A if needs[1] else None


# Any matrix

def check_solve(A: Tensor, B: Tensor, left: bool) -> None:
    name = "linalg.solve"
    check_square(name, A)
    check_fractions(name, A)
    check_same_dtype(name, A, B)
    vector = B.ndim > 0 and is_vector(A.shape, B.shape)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
                           "In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    check_system(name, A, B, left, vector)
    if not vector:
        batch_shape(A.shape, B.shape)
    check_loop("lu_cpu", A)


def solved_shape(A: Tensor, B: Tensor) -> list[tuple]:
    vector = is_vector(A.shape, B.shape)
    rows = (*B.shape, 1) if vector else B.shape
    batch = batch_shape(A.shape, rows)
    return [((*batch, *rows[-2:-1]) if vector else (*batch, *rows[-2:]), B.dtype), (A.shape[:-2], int32)]


def solved(xp, A, B):
    """A^-1 B for stacks of matrices, and the number of the first zero pivot of each. Never raises."""
    if not B.size or not A.size:
        return xp.zeros((*batch_shape(A.shape, B.shape), *B.shape[-2:]), B.dtype), xp.zeros(A.shape[:-2], "int32")
    try:
        return xp.linalg.solve(A, B), xp.zeros(A.shape[:-2], "int32")
    except xp.linalg.LinAlgError:
        factors, pivots, info = _lapack.lu(xp, A)
        return _lapack.lu_solve(xp, factors, _lapack.order(xp, pivots, A.shape[-1]), B), info


def pivoted(t, *shape: int):
    """A sample far from singular, whose rows must be exchanged: the diagonal is shifted."""
    return (t(*shape, low=1, high=2).diag_embed() + 0.3).roll(1, -1)


def solve_samples(t) -> list:
    return [t.args(t(3, 3), t(3)), t.args(pivoted(t, 2, 3), t(2, 3)), t.args(pivoted(t, 2, 1, 3), t(4, 3, 2)),
            t.args(t(3, 3), t(2, 4, 3), left=False), t.args(t(0, 0), t(0, 2))]


@op(kernel="linalg.solve", namespace="linalg", method=False, returns=("result", "info"), differentiable=(0,),
    check=check_solve, out=EXACT,
    meta=solved_shape, samples=solve_samples,
    errors=lambda t: [(t.args(t(3, 3), t(2, 3)), RuntimeError,
                       "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 2x3)")])
def solve_ex(xp, A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False):
    """Solve A X = B (`left`) or X A = B. `info` tells of each matrix which pivot was zero (from 1), 0 for none."""
    vector = is_vector(A.shape, B.shape)
    if vector:
        out, info = solved(xp, A, B[..., None])
        out = out[..., 0]
    elif left:
        out, info = solved(xp, A, B)
    else:
        out, info = solved(xp, A.swapaxes(-2, -1), B.swapaxes(-2, -1))
        out = out.swapaxes(-2, -1)
    if check_errors and info.any():
        at = int((info.reshape(-1) != 0).argmax())
        place = f"(Batch element {at}): " if info.ndim else ""
        raise LinAlgError(f"torch.linalg.solve_ex: {place}The solver failed because the input matrix is singular.")
    return xp.ascontiguousarray(out) if out.ndim else out, info


@solve_ex.rules
def solve_gradient(g: Tensor, A: Tensor, B_shape: tuple, out: Tensor, left: bool, needs: tuple[bool, bool]) -> tuple:
    vector = is_vector(A.shape, B_shape)
    if vector:
        g, out = g.unsqueeze(-1), out.unsqueeze(-1)
    of_B = solve_ex(adjoint(A), g, left=left)[0]
    of_A = None
    if needs[0]:
        of_A = -(of_B @ adjoint(out) if left else adjoint(out) @ of_B)
    return of_A, (of_B.squeeze(-1) if vector else of_B) if needs[1] else None


@composite(namespace="linalg", method=False, out=EXACT, samples=solve_samples,
           errors=lambda t: [(t.args(t(2, 2) * 0, t(2)), RuntimeError,
                              "torch.linalg.solve: The solver failed because the input matrix is singular.")])
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Solve A X = B (`left`) or X A = B for X, batched. B is one vector for each matrix, or a matrix."""
    out, info = solve_ex(A, B, left=left)
    raise_first(info, "torch.linalg.solve", LinAlgError, "The solver failed because the input matrix is singular.")
    return out


# Inverses

def check_inverse(A: Tensor) -> None:
    check_square("linalg.inv", A)
    check_fractions("linalg.inv", A, low=True)


@op(strides=["columns", None],
    kernel="linalg.inverse", namespace="linalg", method=False, returns=("inverse", "info"), differentiable=(0,),
    check=check_inverse, out=EXACT,
    meta=lambda A: [(A.shape, A.dtype), (A.shape[:-2], int32)],
    samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 2, 3, 3)), t.args(t(0, 0)), t.args(t(0, 2, 2))],
    errors=lambda t: [(t.args(t(2, 3)), RuntimeError,
                       "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices")])
def inv_ex(xp, A: Tensor, *, check_errors: bool = False):
    """The inverse, and for each matrix which pivot was zero (from 1), 0 for none."""
    try:
        out, info = xp.linalg.inv(A), xp.zeros(A.shape[:-2], "int32")
    except xp.linalg.LinAlgError:
        out, info = solved(xp, A, xp.broadcast_to(xp.eye(A.shape[-1], dtype=A.dtype), A.shape))
    if check_errors and info.any():
        at = int((info.reshape(-1) != 0).argmax())
        place = f"(Batch element {at}): " if info.ndim else ""
        raise LinAlgError(f"linalg.inv_ex: {place}{SINGULAR.format(info.reshape(-1)[at])}")
    return _lapack.columns(xp, out), info
inv_ex.rule(A=lambda g, out: -(adjoint(out) @ (g @ adjoint(out))))


@composite(namespace="linalg", method=False, out=EXACT,
           samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 2, 3, 3)), t.args(t(0, 0))],
           errors=lambda t: [(t.args(t(2, 2) * 0), RuntimeError,
                              "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed"),
                             (t.args(t(3)), RuntimeError,
                              "linalg.inv: The input tensor A must have at least 2 dimensions."),
                             (t.args(t(2, 2, dtype="int64")), RuntimeError,
                              "linalg.inv: Expected a floating point or complex tensor as input. Got Long")])
def inv(A: Tensor) -> Tensor:
    """The inverse of every matrix of a batch: A @ inv(A) = eye."""
    out, info = inv_ex(A)
    raise_first(info, "linalg.inv", LinAlgError, SINGULAR)
    return out


@composite(out=EXACT, samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 3, 3))])
def inverse(input: Tensor) -> Tensor:
    """The inverse of every matrix of a batch; the same as linalg.inv."""
    return inv(input)


# Tensors as matrices

@composite(namespace="linalg", method=False, out=True, samples=lambda t: [t.args(t(2, 3, 6)), t.args(t(6, 2, 3), 1)],
           errors=lambda t: [(t.args(t(2, 3), 0), RuntimeError, "Expected a strictly positive integer for 'ind'")])
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a map from its axes `ind` and on to those before: tensordot(out, input, ind) = eye."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > input.ndim:
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {input.ndim}")
    rows, columns = input.shape[:ind], input.shape[ind:]
    m, n = product(rows), product(columns)
    if m != n:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
                           f"but got {n} != {m}")
    out, info = inv_ex(input.reshape((n, m)))
    if of_all(info).any():
        raise RuntimeError("Failed to invert the input tensor, because it is singular.")
    return out.reshape((*columns, *rows))


@composite(namespace="linalg", method=False, out=True,
           samples=lambda t: [t.args(t(2, 3, 6), t(2, 3)), t.args(t(2, 6, 3), t(2, 3), dims=(1,))],
           errors=lambda t: [(t.args(t(2, 3, 4), t(2, 3)), RuntimeError,
                              "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) ==")])
def tensorsolve(input: Tensor, other: Tensor, dims: ints | None = None) -> Tensor:
    """Solve tensordot(input, X, X.ndim) = other for X; `dims` of input are moved to its end first."""
    if dims is not None:
        ends = tuple(range(input.ndim - (1 if isinstance(dims, int) else len(dims)), input.ndim))
        input = input.movedim(dims, ends)
    columns = input.shape[other.ndim:]
    m, n = other.numel(), product(columns)
    if m != n:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {n} != {m}")
    return solve(input.reshape((n, n)), other.reshape(-1)).reshape(columns)
