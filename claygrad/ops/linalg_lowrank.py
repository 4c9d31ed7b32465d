"""A few singular or eigenvalues of a large matrix, found by iteration from random vectors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import float32, wrap
from claygrad.ops._linalg import adjoint
from claygrad.ops._registry import NAMESPACES, composite, op
from claygrad.ops.linalg_qr import qr
from claygrad.ops.linalg_solve import solve_ex
from claygrad.ops.linalg_spectral import diagonal_replaced, spread, svd

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor, dtype


def working_dtype(A: Tensor) -> dtype:
    return A.dtype if A.dtype.name in ("float16", "float32", "float64") else float32


def randoms(*shape: int, like: Tensor, dtype: dtype) -> Tensor:
    return NAMESPACES["torch"]["randn"](*shape, dtype=dtype, device=like.device)


ROUNDS = 5000            # after so many, rounding alone moves the span


def few_singular(A: Tensor, q: int, niter: int, M: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """The decomposition of A - M within the span of few columns, which products with random vectors tell."""
    wide = A.shape[-2] < A.shape[-1]
    if M is not None:
        M = M.broadcast_to(A.shape)
    A, M = (x.mH if wide and x is not None else x for x in (A, M))
    transposed, transposed_M = adjoint(A), None if M is None else adjoint(M)

    def orthonormal(a: Tensor, m: Tensor | None, x: Tensor) -> Tensor:
        return qr(a @ x if m is None else a @ x - m @ x)[0]

    kind = A.dtype if A.is_complex() else working_dtype(A)
    Q = orthonormal(A, M, randoms(A.shape[-1], q, like=A, dtype=kind))
    for _ in range(min(niter, ROUNDS)):
        Q = orthonormal(A, M, orthonormal(transposed, transposed_M, Q))
    back = adjoint(Q)
    U, S, Vh = svd(back @ A if M is None else back @ A - back @ M, False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def product_of(r: tuple) -> tuple:
    """What is determined of a decomposition: the values, and the product."""
    U, S, V = r
    return S, (U * S.unsqueeze(-2)) @ V.mH


@composite(method=False, settled=product_of,
           samples=lambda t: [t.args(t(5, 4), 4), t.args(t(2, 3, 6), 3, 1), t.args(t(5, 4), 4, M=t(1, 4))])
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2,
                M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of A (or A - M), nearly: A = U @ diag(S) @ V.mH. Random: set the seed to repeat it.

    `niter` rounds of multiplying with A and its adjoint make the result sharper.
    """
    return few_singular(A, 6 if q is None else q, 2 if niter is None else niter, M)


@composite(method=False, settled=product_of, samples=lambda t: [t.args(t(5, 4)), t.args(t(2, 3, 6), 3, False)],
           errors=lambda t: [(t.args(t(5, 4), 7), ValueError,
                              "q(=7) must be non-negative integer and not greater than min(m, n)=4")])
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True,
                niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of rows: svd_lowrank of A, from which the mean of its rows is taken where `center`."""
    smallest = min(A.shape[-2:])
    if q is None:
        q = min(6, smallest)
    elif q < 0 or q > smallest:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={smallest}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return few_singular(A - A.mean((-2,), keepdim=True) if center else A, q, niter, None)


# LOBPCG: the best vectors within the span of the present ones, their residuals and their last steps; again and again.

class Search:
    """One run. A tracker sees it after every step, and may set bvars["force_stop"]."""

    def __init__(self, xp, A, B, X, iK, iparams: dict, fparams: dict, bparams: dict, method: str,
                 tracker: Callable | None) -> None:
        self.xp, self.arrays = xp, (A, B, X, iK)
        self.iparams, self.fparams, self.bparams, self.method, self.tracker = iparams, fparams, bparams, method, tracker
        self.ivars = {"istep": 0, "iterations_left": iparams["niter"], "converged_count": 0}
        self.fvars: dict[str, float] = {}
        self.bvars: dict[str, bool] = {}
        self.tvars: dict[str, object] = {}
        self.P = None
        size = xp.linalg.norm(X)
        self.fvars = {"X_norm": float(size), "A_norm": float(xp.linalg.norm(A @ X) / size),
                      "B_norm": float(xp.linalg.norm(self.times_B(X)) / size)}

    def times_B(self, x):
        return x if self.arrays[1] is None else self.arrays[1] @ x

    def orthonormal(self, S):
        """A basis of the columns of S with S^T B S = eye; directions that hardly count are left out."""
        gram = S.T @ self.times_B(S)
        scale = 1 / self.xp.sqrt(self.xp.maximum(self.xp.diagonal(gram), self.xp.finfo(S.dtype).tiny))
        values, vectors = self.xp.linalg.eigh(scale[:, None] * gram * scale)
        keep = values > values[-1] * self.xp.finfo(S.dtype).eps * S.shape[1]
        return S @ (scale[:, None] * vectors[:, keep] / self.xp.sqrt(values[keep]))

    def step(self) -> None:
        xp, (A, _, X, iK) = self.xp, self.arrays
        n = self.iparams["n"]
        S = X if not self.ivars["istep"] else xp.concatenate([X, self.W] + ([] if self.P is None else [self.P]), 1)
        Q = self.orthonormal(self.orthonormal(S))
        values, Z = xp.linalg.eigh(Q.T @ (A @ Q))
        order = slice(-1, -n - 1, -1) if self.bparams["largest"] else slice(n)
        found = Q @ Z[:, order]
        if self.ivars["istep"]:
            self.P = found - X @ (X.T @ self.times_B(found))
        self.E = values[order]
        R = A @ found - self.times_B(found) * self.E
        limit = xp.linalg.norm(found, axis=0) * (self.fvars["A_norm"] + xp.abs(self.E) * self.fvars["B_norm"])
        error = xp.linalg.norm(R, axis=0) / limit
        lazy = error >= self.fparams["tol"]
        self.ivars["converged_count"] = int(lazy.argmax()) if lazy.any() else n
        self.W = R if iK is None else iK @ R
        self.arrays = (*self.arrays[:2], found, iK)
        self.tvars["rerr"] = wrap(error.copy())
        self.R = R
        self.ivars["istep"] += 1
        self.ivars["iterations_left"] -= 1

    @property
    def X(self) -> Tensor:
        return wrap(self.arrays[2].copy())

    def run(self):
        while True:
            self.step()
            if self.tracker is not None:
                self.tracker(self)
            if (self.bvars.get("force_stop") or self.ivars["iterations_left"] == 0
                    or self.ivars["converged_count"] >= self.iparams["k"]):
                return self.E, self.arrays[2]


@op(name="_lobpcg", function=False, method=False, node="LOBPCGAutogradFunctionBackward", meta="data")
def extreme_pairs(xp, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, iparams, fparams, bparams,
                  method: str, tracker):
    *batch, m, k = *A.shape[:-1], iparams["k"]
    E, V = xp.empty((*batch, k), X.dtype), xp.empty((*batch, m, k), X.dtype)
    for i, at in enumerate(xp.ndindex(*batch)):
        here = iparams | {"batch_index": i} if batch else iparams
        found, vectors = Search(xp, A[at], None if B is None else B[at], X[at], iK, here, fparams, bparams, method,
                                tracker).run()
        E[at], V[at] = found[:k], vectors[:, :k]
    return E, V


@extreme_pairs.rules
def pairs_gradient(gs, A: Tensor, B: Tensor | None, outs) -> tuple:
    if B is not None:
        raise ValueError("lobpcg.backward does not support backward with B != I yet.")
    of_E, of_V = gs
    E, V = outs
    if of_V is None:
        return (None if of_E is None else (V * of_E.unsqueeze(-2)) @ V.mT), None, None, None
    inner = V.mT @ of_V
    out = V @ (diagonal_replaced(inner / spread(E), of_E) @ V.mT)
    # Beyond the span of V: dv = (e - A)^-1 dA v for each. On the span itself the matrix is made regular.
    beyond = of_V - V @ inner
    shift = (E.abs().amax(-1) * 2 + 1).unsqueeze(-1).unsqueeze(-1).unsqueeze(-1)
    eye = A.new_ones(A.shape[-1]).diag_embed()
    systems = E.unsqueeze(-1).unsqueeze(-1) * eye + (shift * (V @ V.mT).unsqueeze(-3) - A.unsqueeze(-3))
    solved = solve_ex(systems, beyond.mT.unsqueeze(-1))[0].squeeze(-1)
    return out + solved.mT @ V.mT, None, None, None


@composite(method=False,
           errors=lambda t: [(t.args(t(3, 3), 2), ValueError,
                              "LOBPCG algorithm is not applicable when the number of A rows (=3) is smaller than")])
def lobpcg(A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
           iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
           method: str | None = None, tracker: Callable | None = None, ortho_iparams: dict | None = None,
           ortho_fparams: dict | None = None, ortho_bparams: dict | None = None) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of a symmetric A, or of A v = e B v, and their vectors, by iteration.

    X: where to start (default: n random vectors); iK: an approximate inverse of A; niter: at most so many steps; tol:
    stop when the residuals are below it; tracker: is called with the run after every step.
    Differs from PyTorch: one way of orthogonalising serves both methods, so the ortho_* settings are refused.
    """
    if ortho_iparams or ortho_fparams or ortho_bparams:
        raise NotImplementedError("lobpcg: ortho_iparams, ortho_fparams and ortho_bparams tune a way of "
                                  "orthogonalising that claygrad does not use; leave them out")
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg: method should be 'ortho' or 'basic', but got {method!r}")
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    kind, m = working_dtype(A), A.shape[-1]
    if tol is None:
        tol = {"float32": 1.2e-07, "float64": 2.23e-16}[kind.name] ** 0.5
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the "
                         f"number of requested eigenpairs (={n})")
    if A.requires_grad or (B is not None and B.requires_grad):
        A, B = (A + A.mT) / 2, None if B is None else (B + B.mT) / 2
    X = randoms(*A.shape[:-2], m, n, like=A, dtype=kind) if X is None else X
    if X.shape != (*A.shape[:-1], n):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {(m, n)}")
    return extreme_pairs(A.to(kind), B, X, iK, {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter},
                         {"tol": tol}, {"largest": largest is not False}, method or "ortho", tracker)
