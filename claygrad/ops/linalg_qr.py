"""QR: a matrix as a product of orthonormal columns and a triangle; and the reflections that make the first factor."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops import _lapack
from claygrad.ops._linalg import (
    adjoint,
    check_fractions,
    check_loop,
    check_matrix,
    diagonal_of,
    real,
    shape_text,
)
from claygrad.ops._out import EXACT
from claygrad.ops._registry import composite, conj, op
from claygrad.ops.linalg_solve import solve_triangular

if TYPE_CHECKING:
    from claygrad.core import Tensor


def check_qr(A: Tensor, mode: str) -> None:
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    check_fractions("linalg.qr", A)
    check_loop("geqrf_cpu", A)


def qr_shapes(A: Tensor, mode: str) -> list[tuple]:
    *batch, m, n = A.shape
    k = min(m, n) if mode != "complete" else m
    return [((0,) if mode == "r" else (*batch, m, k), A.dtype), ((*batch, k, n), A.dtype)]


@op(strides="columns",
    kernel="linalg.qr", namespace="linalg", method=False, returns=("Q", "R"), check=check_qr, out=EXACT, meta=qr_shapes,
    samples=lambda t: [t.args(t(4, 3)), t.args(t(2, 3, 3)), t.args(t(3, 5)), t.args(t(3, 3), mode="complete"),
                       t.args(t(2, 3, requires_grad=False), mode="r"), t.args(t(0, 3)), t.args(t(3, 0))],
    errors=lambda t: [(t.args(t(3, 3), mode="x"), RuntimeError, "qr received unrecognized mode 'x' but expected one"),
                      (t.args(t(3)), RuntimeError, "linalg.qr: The input tensor A must have at least 2 dimensions.")])
def qr(xp, A: Tensor, mode: str = "reduced"):
    """A = Q R with orthonormal columns in Q and a triangular R. Mode "reduced": Q is m x min(m, n); "complete": m x m.

    "r": R alone; Q is empty then. There is no derivative of "r", nor of "complete" where A has more rows than columns.
    """
    m, n = A.shape[-2:]
    if not A.size:
        k = m if mode == "complete" else min(m, n)
        Q = xp.broadcast_to(xp.eye(m, k, dtype=A.dtype), (*A.shape[:-2], m, k)).copy()
        R = xp.zeros((*A.shape[:-2], k, n), A.dtype)
        return (xp.zeros(0, A.dtype), R) if mode == "r" else (Q, R)
    if mode == "r":
        return xp.zeros(0, A.dtype), _lapack.columns(xp, xp.linalg.qr(A, "r"))
    Q, R = xp.linalg.qr(A, mode)
    return _lapack.columns(xp, Q), _lapack.columns(xp, R)


@qr.rules
def qr_gradient(gs, outs, A_shape: tuple, mode: str) -> tuple[Tensor]:
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "linalg.qr(A, mode='reduced') if you are going to require gradients through linalg.qr.")
    m, n = A_shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    (of_Q, of_R), (Q, R) = gs, outs
    if m >= n:
        return (square_gradient(of_Q, of_R, Q, R),)
    # A = [A1 A2] = Q [R1 R2]: the columns of A2 tell nothing of Q, and R2 = Q^H A2.
    of_R2 = None
    if of_R is not None:
        of_R, of_R2 = of_R[..., :m], of_R[..., m:]
        more = (Q @ R[..., m:]) @ adjoint(of_R2)
        of_Q = more if of_Q is None else of_Q + more
    first = square_gradient(of_Q, of_R, Q, R[..., :m])
    second = first.new_zeros((*A_shape[:-1], n - m)) if of_R2 is None else Q @ of_R2
    return (joined(first, second),)


def joined(first: Tensor, second: Tensor) -> Tensor:
    from claygrad.ops.join import cat
    return cat((first, second), -1)


def square_gradient(of_Q: Tensor | None, of_R: Tensor | None, Q: Tensor, R: Tensor) -> Tensor:
    """For A with at least as many rows as columns: (gQ + Q sym(gR R^H - Q^H gQ)) R^-H, sym from the upper triangle."""
    inner = None if of_R is None else of_R @ adjoint(R)
    if of_Q is not None:
        inner = -(adjoint(Q) @ of_Q) if inner is None else inner - adjoint(Q) @ of_Q
    above = inner.triu(1)
    inner = Q @ (above + above.mH + real(diagonal_of(inner)).diag_embed())
    return solve_triangular(adjoint(R), inner if of_Q is None else inner + of_Q, upper=False, left=False)


@composite(name="qr", returns=("Q", "R"), out=EXACT,
           samples=lambda t: [t.args(t(4, 3)), t.args(t(2, 3, 4)), t.args(t(3, 3), some=False)])
def torch_qr(input: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """A = Q R. Deprecated by PyTorch in favour of linalg.qr: `some` is mode "reduced", else "complete"."""
    warn("torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release."
         "\nThe boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr("
         "A, some)\nshould be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")
    return tuple(qr(input, "reduced" if some else "complete"))


# Reflections

def check_geqrf(input: Tensor) -> None:
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_loop("geqrf_cpu", input)


@op(strides=["columns", None],
    kernel="linalg.geqrf", returns=("a", "tau"), check=check_geqrf,
    meta=lambda input: [(input.shape, input.dtype), ((*input.shape[:-2], min(input.shape[-2:])), input.dtype)],
    samples=lambda t: [t.args(t(4, 3, requires_grad=False)), t.args(t(2, 3, 4, requires_grad=False))],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "torch.geqrf: input must have at least 2 dimensions.")])
def geqrf(xp, input: Tensor):
    """QR as LAPACK leaves it: R on and above the diagonal, below it the reflections that make Q, factors in tau."""
    if not input.size:
        return xp.zeros(input.shape, input.dtype), xp.zeros((*input.shape[:-2], min(input.shape[-2:])), input.dtype)
    a, tau = xp.linalg.qr(input, "raw")
    return _lapack.columns(xp, a.swapaxes(-2, -1)), tau


def reflection_gradients(g: Tensor, c: Tensor, vectors: list[Tensor], factors: list[Tensor]) -> tuple:
    """Gradients of H1 ... Hk c, H = I - t v v^H: of every v and t, and of c."""
    right = [c]                                   # right[-j] is what stands to the right of Hj
    for v, t in zip(reversed(vectors[1:]), reversed(factors[1:])):
        right.append(right[-1] - t * (v @ (adjoint(v) @ right[-1])))
    of_vectors, of_factors = [], []
    for v, t, r in zip(vectors, factors, reversed(right)):
        left, row = adjoint(g) @ v, adjoint(r) @ v
        of_factors.append(-(adjoint(left) @ row))
        of_vectors.append(-(conj(t) * (g @ row) + t * (r @ left)))
        g = g - conj(t) * (v @ adjoint(left))
    return of_vectors, of_factors, g


def reflections(a: Tensor, tau: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The vectors as columns, and their factors, to be multiplied in this order."""
    k = tau.shape[-1]
    eye = a.new_ones(k).diag_embed()
    below = a[..., :k].tril(-1)
    v = below + (eye if a.shape[-2] == k else joined(eye, a.new_zeros((k, a.shape[-2] - k))).mT)
    return ([v[..., i:i + 1] for i in range(k)], [tau[..., i, None, None] for i in range(k)])


def gathered(of_vectors: list[Tensor], of_factors: list[Tensor], a_shape: tuple) -> tuple[Tensor, Tensor]:
    """Gradients of reflections as those of the matrix and the factors that hold them."""
    from claygrad.ops.join import cat
    slope = cat(of_vectors, -1).tril(-1)
    if slope.shape[-1] < a_shape[-1]:
        slope = joined(slope, slope.new_zeros((*slope.shape[:-1], a_shape[-1] - slope.shape[-1])))
    return slope, cat(of_factors, -1).squeeze(-2)


def check_householder(input: Tensor, tau: Tensor) -> None:
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < (tau.shape[-1] if tau.ndim else 1):
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check_reflections(name, input, tau)
    if tau.dtype != input.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.legacy} does not match input dtype {input.dtype.legacy}")
    check_loop("orgqr_cpu", input)


def check_reflections(name: str, input: Tensor, tau: Tensor) -> None:
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                           f"{tau.ndim} and input.ndim is equal to {input.ndim}")
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                           f"{shape_text(tau)[:-1].rpartition(',')[0] + ']' if tau.ndim > 1 else '[]'}")


@op(strides="columns",
    kernel="linalg.householder", namespace="linalg", method=False, check=check_householder,
    meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(4, 3), t(3)), t.args(t(2, 3, 3), t(2, 3)), t.args(t(4, 3), t(2)),
                       t.args(t(3, 0), t(0))],
    errors=lambda t: [(t.args(t(2, 3), t(3)), RuntimeError,
                       "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to")])
def householder_product(xp, input: Tensor, tau: Tensor):
    """The first columns of H1 H2 ... Hk, H = I - tau v v^H, each v below the diagonal of a column (see geqrf)."""
    eye = xp.eye(*input.shape[-2:], dtype=input.dtype)
    return _lapack.reflected(xp, input, tau, xp.broadcast_to(eye, input.shape))


@householder_product.rules
def householder_gradient(g: Tensor, input: Tensor, tau: Tensor) -> tuple:
    m, n = input.shape[-2:]
    if not tau.shape[-1]:
        return None, None
    eye = input.new_ones(n).diag_embed()
    eye = eye if m == n else joined(eye, input.new_zeros((n, m - n))).mT
    of_vectors, of_factors, _ = reflection_gradients(g, eye, *reflections(input, tau))
    return gathered(of_vectors, of_factors, input.shape)


@composite(out=True, samples=lambda t: [t.args(t(4, 3), t(3)), t.args(t(2, 3, 3), t(2, 3))])
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """The same as linalg.householder_product."""
    return householder_product(input, tau)


def check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    name, at = "torch.ormqr", -2 if left else -1
    for word, x in (("input", input), ("other", other)):
        if x.ndim < 2:
            raise RuntimeError(f"{name}: {word} must have at least 2 dimensions.")
    if other.shape[at] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{at}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[at], input.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{at}], input.shape[-1])")
    check_reflections(name, input, tau)
    if other.ndim != input.ndim:
        raise RuntimeError(f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim "
                           f"equal to {other.ndim} and input.ndim is equal to {input.ndim}")
    if other.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
                           f"{list(other.shape[:-2])}")
    for word, x in (("tau", tau), ("other", other)):
        if x.dtype != input.dtype:
            raise RuntimeError(f"{name}: Expected input and {word} to have the same dtype, but input has dtype"
                               f"{input.dtype.legacy} and {word} has dtype {x.dtype.legacy}")
    check_loop("ormqr_cpu", input)


@op(strides="columns",
    kernel="linalg.ormqr", check=check_ormqr, meta=lambda other: other.shape,
    out="torch.ormqr: Expected input and result to have the same dtype, but input has dtype{0.legacy} and result has "
        "dtype {1.legacy}",
    samples=lambda t: [t.args(t(4, 3), t(3), t(4, 2)), t.args(t(2, 3, 3), t(2, 3), t(2, 4, 3), left=False),
                       t.args(t(4, 3), t(3), t(4, 2), transpose=True),
                       t.args(t(4, 3, high=-1), t(3, low=-1, high=1), t(2, 4, low=-1), left=False, transpose=True)],
    errors=lambda t: [(t.args(t(3, 3), t(3), t(3)), RuntimeError,
                       "torch.ormqr: other must have at least 2 dimensions.")])
def ormqr(xp, input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False):
    """Q @ other, or other @ Q, where Q = H1 H2 ... Hk is held by input and tau (see geqrf); `transpose`: with Q^H."""
    return _lapack.reflected(xp, input, tau, other, left, transpose)


@ormqr.rules
def ormqr_gradient(g: Tensor, input: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool) -> tuple:
    if not input.numel():
        return None, None, g
    if not left:                                # c Q = (Q^H c^H)^H
        g, other, transpose = adjoint(g), adjoint(other), not transpose
    vectors, factors = reflections(input, tau)
    if transpose:
        vectors, factors = vectors[::-1], [conj(t) for t in reversed(factors)]
    of_vectors, of_factors, of_other = reflection_gradients(g, other, vectors, factors)
    if transpose:
        of_vectors, of_factors = of_vectors[::-1], [conj(t) for t in reversed(of_factors)]
    return (*gathered(of_vectors, of_factors, input.shape), of_other if left else adjoint(of_other))
