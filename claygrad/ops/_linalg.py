"""What linear algebra shares: its error, the words it refuses with, and small helpers on matrices."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import array_of
from claygrad.native.linalg import all_succeeded
from claygrad.ops._geometry import broadcast, text
from claygrad.ops._registry import conj

if TYPE_CHECKING:
    from claygrad.core import Tensor


class LinAlgError(RuntimeError):
    """A matrix for which there is no answer: singular, not positive-definite, or not finite."""


LinAlgError.__module__ = "claygrad.linalg"


# Refusals

def check_matrix(name: str, A: Tensor, argument: str = "A") -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name: str, A: Tensor, argument: str = "A") -> None:
    check_matrix(name, A, argument)
    m, n = A.shape[-2:]
    if m != n:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {m} by {n} matrices")


def check_fractions(name: str, A: Tensor, *, half: str | None = None, low: bool = False) -> None:
    """Refuse integers; and halves, by the name of the kernel that has no loop for them or as of low precision."""
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.legacy}")
    if A.is_floating_point() and A.dtype.itemsize == 2:
        if low:
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {A.dtype.legacy}")
        if half:
            no_loop(half, A)


def no_loop(kernel: str, A: Tensor) -> None:
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{A.dtype.legacy}'")


def check_loop(kernel: str, A: Tensor) -> None:
    """Refuse all but the four dtypes that LAPACK knows. It is not asked about matrices without elements."""
    if A.numel() and not A.is_complex() and not (A.is_floating_point() and A.dtype.itemsize > 2):
        no_loop(kernel, A)


def check_same_dtype(name: str, A: Tensor, B: Tensor, first: str = "A") -> None:
    if A.dtype != B.dtype:
        raise RuntimeError(f"{name}: Expected {first} and B to have the same dtype, but found {first} of type "
                           f"{A.dtype.legacy} and B of type {B.dtype.legacy} instead")


def check_system(name: str, A: Tensor, B: Tensor, left: bool, vector: bool = False) -> None:
    """Whether A X = B, or X A = B, has matrices that fit."""
    check_square(name, A)
    if not vector:
        check_matrix(name, B, "B")
    n, size = A.shape[-2], B.shape[-1] if vector else B.shape[-2 if left else -1]
    if size != n:
        rows = (*B.shape[-1:], 1) if vector else B.shape[-2:]
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                           f"({A.shape[-2]}x{A.shape[-1]} and {rows[0]}x{rows[1]})")


def of_all(info: Tensor) -> Tensor:
    """What is said of all matrices: inside vmap, of the whole batch."""
    while hasattr(info, "_value"):
        info = info._value
    return info


def raise_first(info: Tensor, said: str, kind: type[Exception], sentence: str) -> None:
    """Raise for the first matrix that failed; `{}` in the sentence is what `info` says of it."""
    if all_succeeded(info):
        return
    info = of_all(info)
    if info.is_meta:
        return
    if info.any():
        found = array_of(info).reshape(-1)
        at = int((found != 0).argmax())
        place = f"(Batch element {at}): " if info.ndim else ""
        raise kind(f"{said}: {place}{sentence.format(found[at])}")


SINGULAR = ("The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
            "singular.")
NOT_DEFINITE = ("The factorization could not be completed because the input is not positive-definite (the leading "
                "minor of order {} is not positive-definite).")


# Matrices as tensors

def adjoint(t: Tensor) -> Tensor:
    return conj(t.transpose(-2, -1))


def diagonal_of(t: Tensor) -> Tensor:
    return t.diagonal(0, -2, -1)


def real(t: Tensor) -> Tensor:
    return t.real if t.is_complex() else t


def is_vector(A_shape: tuple[int, ...], B_shape: tuple[int, ...]) -> bool:
    """Whether a right-hand side is one vector for each matrix rather than a matrix."""
    return len(B_shape) == 1 or (len(A_shape) - 1 == len(B_shape) and tuple(A_shape[:-1]) == tuple(B_shape))


def batch_shape(A_shape: tuple[int, ...], B_shape: tuple[int, ...]) -> tuple[int, ...]:
    """The batch axes of a system of matrices."""
    return broadcast(A_shape[:-2], B_shape[:-2])


def shape_text(t: Tensor) -> str:
    return text(t.shape)

