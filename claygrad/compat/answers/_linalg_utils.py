"""`torch._linalg_utils`: small functions that solvers of other packages are made of."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad.core import Tensor


def is_sparse(A: Any) -> bool:
    """Whether a tensor is sparse."""
    if not isinstance(A, Tensor):
        raise TypeError(f"expected Tensor but got {type(A)}")
    return A.layout == claygrad.sparse_coo


def get_floating_dtype(A: Tensor) -> Any:
    """The dtype to compute in: that of the tensor, or float32 for integers."""
    known = (claygrad.float16, claygrad.float32, claygrad.float64)
    return A.dtype if A.dtype in known else claygrad.float32


def matmul(A: Tensor | None, B: Tensor) -> Tensor:
    """A @ B, where None stands for the identity."""
    return B if A is None else claygrad.matmul(A, B)


def bform(X: Tensor, A: Tensor | None, Y: Tensor) -> Tensor:
    """The bilinear form Xᵀ A Y."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: Tensor | None, S: Tensor) -> Tensor:
    """The quadratic form Sᵀ A S."""
    return bform(S, A, S)


def basis(A: Tensor) -> Tensor:
    """An orthogonal basis of the columns."""
    return claygrad.linalg.qr(A).Q


def symeig(A: Tensor, largest: bool | None = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of a symmetric matrix; with `largest` the largest first."""
    values, vectors = claygrad.linalg.eigh(A, UPLO="U")
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)
