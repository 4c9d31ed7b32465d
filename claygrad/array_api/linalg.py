"""Linear algebra: the extension `linalg` of the array API standard."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import claygrad
from claygrad import linalg as _functions
from claygrad.array_api._common import axes_of, together
from claygrad.array_api._manipulation import matmul, matrix_transpose, tensordot, vecdot
from claygrad.array_api._reductions import sum as _sum

if TYPE_CHECKING:
    from claygrad.core import Tensor, dtype

_linalg: Any = _functions
__all__ = ["cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
           "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd",
           "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangle whose square is the matrix."""
    return _linalg.cholesky(x, upper=upper).resolve_conj()


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements along an axis."""
    a, b = together(x1, x2)
    if not -min(a.ndim, b.ndim) <= axis < max(a.ndim, b.ndim) or a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError("both arrays need vectors of three elements along the axis")
    a, b = claygrad.broadcast_tensors(a, b)
    return _linalg.cross(a, b, dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinant."""
    return _linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The elements on a diagonal of the last two axes."""
    return _linalg.diagonal(x, offset=offset)


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor:
    """The sum of the elements on a diagonal."""
    return _sum(_linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


def eig(x: Tensor, /) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors."""
    return _linalg.eig(x)


def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues."""
    return _linalg.eigvals(x)


def eigh(x: Tensor, /) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    return _linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of a Hermitian matrix."""
    return _linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverse."""
    return _linalg.inv(x)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudoinverse; singular values below rtol times the largest count as zero."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * claygrad.finfo(x.dtype).eps
    return _linalg.pinv(x, rtol=rtol)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The number of singular values above rtol times the largest."""
    if x.ndim < 2:
        raise ValueError("a matrix has two axes")
    if rtol is None:
        return _linalg.matrix_rank(x)
    values = _linalg.svdvals(x)
    if not values.shape[-1]:
        return claygrad.zeros(x.shape[:-2], dtype=claygrad.int64)
    least = claygrad.amax(values, -1, True) * (rtol if isinstance(rtol, float | int) else rtol[..., None])
    return claygrad.sum(values > least, -1)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """The norm of matrices."""
    return _linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def vector_norm(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False,
                ord: float = 2) -> Tensor:
    """The norm of vectors: all elements, or those along axes."""
    axes = axes_of(axis, x.ndim)
    if not axes:
        return claygrad.abs(x) if ord != 0 else (x != 0).to(claygrad.abs(x).dtype)
    if (ord < 0 or ord == float("inf")) and ord != -float("inf") and any(not x.shape[one] for one in axes):
        nothing = _sum(claygrad.abs(x), axis=axes, keepdims=keepdims)
        return nothing if ord > 0 else nothing ** ord          # of no element: zero or infinite, as in NumPy
    return _linalg.vector_norm(x, ord, axes, keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The matrix times itself, n times; of its inverse if n is negative."""
    return _linalg.matrix_power(x, n)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of every element of one vector with every element of another."""
    a, b = together(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError("vectors have one axis")
    return claygrad.outer(a, b)


def qr(x: Tensor, /, *, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Orthogonal columns and a triangle whose product is the matrix."""
    return _linalg.qr(x, mode)


def slogdet(x: Tensor, /) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return _linalg.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of x1 @ x = x2; x2 is a vector if it has one axis, else a stack of matrices."""
    a, b = together(x1, x2)
    if b.ndim == 1:
        return _linalg.solve(a, b.reshape(-1, 1))[..., 0]
    stack = claygrad.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return _linalg.solve(a.expand(*stack, *a.shape[-2:]), b.expand(*stack, *b.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition."""
    return _linalg.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values."""
    return _linalg.svdvals(x)
