"""Eigenvalues and singular values, with the vectors that belong to them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import host_array, is_wrapper
from claygrad.core.graph.intercept import differentiated
from claygrad.ops import _lapack
from claygrad.ops._linalg import (
    LinAlgError,
    adjoint,
    check_fractions,
    check_loop,
    check_matrix,
    check_square,
    diagonal_of,
    no_loop,
)
from claygrad.ops._registry import composite, conj, op
from claygrad.ops.linalg_solve import solve_ex

if TYPE_CHECKING:
    from claygrad.core import Tensor

ILL_DEFINED = ("{}_backward: The {} in the complex case are specified up to multiplication by e^{{i phi}}. The "
               "specified loss function depends on this {}, {} ill-defined.")


def refuse_phase(name: str, phase: Tensor) -> None:
    """A loss that changes with the phase of a vector has no gradient. `phase` is zero where it does not."""
    if phase.device.type == "meta":
        return
    if is_wrapper(phase):                   # it stands for others, whose numbers cannot be looked at
        return
    found = host_array(phase.detach())
    if found.size and (abs(found) > 1e-2).any():
        words = ("eigenvectors", "quantity", "so it is") if name != "svd" else ("singular vectors", "phase term",
                                                                              "making it")
        raise RuntimeError(ILL_DEFINED.format(name, *words))


def one_of(values: Tensor) -> Tensor:
    """The diagonal of a matrix over pairs of values, as a mask."""
    return values.new_ones(values.shape[-1]).diag_embed() != 0


def spread(values: Tensor) -> Tensor:
    """values[j] - values[i] for each pair, with ones on the diagonal."""
    return (values.unsqueeze(-2) - values.unsqueeze(-1)).masked_fill(one_of(values), 1)


def diagonal_replaced(t: Tensor, values: Tensor | None) -> Tensor:
    t = t.masked_fill(one_of(t), 0)
    return t if values is None else t + values.diag_embed()


# Hermitian matrices

def check_eigh(input: Tensor, UPLO: str) -> None:
    check_square("linalg.eigh", input)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_loop("linalg_eigh_cpu", input)


def by_finite_matrices(xp, function, a, results: tuple):
    """A NumPy function that refuses what is not finite, over a stack; NaN in the place of what it refuses."""
    for at in xp.ndindex(a.shape[:-2]):
        finite = xp.isfinite(a[at]).all()
        found = function(a[at]) if finite else None
        for i, result in enumerate(results):
            result[at] = xp.nan if found is None else found if len(results) == 1 else found[i]
    return results


@op(strides=[None, "columns"],
    kernel="linalg.symmetric", namespace="linalg", method=False, returns=("eigenvalues", "eigenvectors"),
    check=check_eigh, symmetric=True,
    settled=lambda r: (r[0], r[1].abs()),
    meta=lambda input: [(input.shape[:-1], input.dtype.to_real()), (input.shape, input.dtype)],
    samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 3, 3), UPLO="U"), t.args(t(0, 0, dtype="float64"))],
    errors=lambda t: [(t.args(t(2, 3)), RuntimeError,
                       "linalg.eigh: A must be batches of square matrices, but they are 2 by 3 matrices"),
                      (t.args(t(2, 2), UPLO="x"), RuntimeError,
                       "Expected UPLO argument to be 'L' or 'U', but got x")])
def eigh(xp, input: Tensor, UPLO: str = "L"):
    """Eigenvalues of Hermitian matrices in ascending order, and their orthonormal eigenvectors as columns.

    One triangle of a matrix is read. The vectors are determined up to sign, or phase.
    """
    try:
        values, vectors = xp.linalg.eigh(input, UPLO.upper())
    except xp.linalg.LinAlgError:
        values = xp.zeros(input.shape[:-1], input.real.dtype)
        values, vectors = by_finite_matrices(xp, lambda a: xp.linalg.eigh(a, UPLO.upper()), input,
                                             (values, xp.zeros_like(input)))
    return values, _lapack.columns(xp, vectors)


@eigh.rules
def eigh_gradient(gs, outs) -> tuple[Tensor | None]:
    of_values, of_vectors = gs
    L, V = outs
    if of_vectors is None:
        return (None if of_values is None else (V * of_values.unsqueeze(-2)) @ adjoint(V),)
    inner = adjoint(V) @ of_vectors
    if V.is_complex():
        refuse_phase("linalg_eigh", diagonal_of(inner).imag)
    out = V @ (diagonal_replaced(inner / spread(L), of_values) @ adjoint(V))
    return ((out + out.mH) * 0.5,)


@op(kernel="linalg.eigvalsh", name="_eigvalsh", function=False, method=False, check=check_eigh,
    meta=lambda input: (input.shape[:-1], input.dtype.to_real()))
def values_of_hermitian(xp, input: Tensor, UPLO: str):
    try:
        return xp.linalg.eigvalsh(input, UPLO.upper())
    except xp.linalg.LinAlgError:
        return by_finite_matrices(xp, lambda a: xp.linalg.eigvalsh(a, UPLO.upper()), input,
                                  (xp.zeros(input.shape[:-1], input.real.dtype),))[0]


@composite(namespace="linalg", method=False, out="exact", symmetric=True,
           samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 3, 3), UPLO="U")])
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices in ascending order."""
    return eigh(input, UPLO)[0] if needs_vectors(input) else values_of_hermitian(input, UPLO)


def needs_vectors(input: Tensor) -> bool:
    """The derivatives of values need vectors, which are dear to compute for nothing."""
    return differentiated(input)


# Any square matrix. The results are complex.

def check_eig(input: Tensor) -> None:
    square_and_finite("linalg.eig", input)


def square_and_finite(name: str, input: Tensor) -> None:
    check_square(name, input)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"Unknown Complex ScalarType for {input.dtype.legacy}")
    if input.is_floating_point() and input.dtype.itemsize == 2 and input.numel():
        no_loop("linalg_eig_out_cpu", input)


def refuse_infinite(xp, a, name: str) -> None:
    if not xp.isfinite(a).all():
        raise RuntimeError(f"torch.{name}: input tensor should not contain infs or NaNs.")


def of_any_matrix(xp, name: str, a) -> tuple:
    """What NumPy's function of this name finds, complex. Real matrices go to the loop behind it, by which float32 stays
    what it is; a matrix on which that failed is left to the function, which knows what to say."""
    loops = getattr(xp.linalg, "_umath_linalg", None)
    if loops is not None and a.dtype.kind == "f":
        found = getattr(loops, name)(a)
        found = found if isinstance(found, tuple) else (found,)
        if not xp.isnan(found[0]).any():
            return found
    found, kind = getattr(xp.linalg, name)(a), xp.result_type(a.dtype, "complex64")
    return tuple(x.astype(kind) for x in (found if isinstance(found, tuple) else (found,)))


@op(namespace="linalg", method=False, returns=("eigenvalues", "eigenvectors"), check=check_eig,
    settled=lambda r: (r[0].abs().sort()[0], (r[1] * r[0].unsqueeze(-2)) @ r[1].inverse()),
    meta=lambda input: [(input.shape[:-1], input.dtype.to_complex()), (input.shape, input.dtype.to_complex())],
    samples=lambda t: [t.args(t(3, 3, requires_grad=False)), t.args(t(2, 3, 3, requires_grad=False)), t.args(t(0, 0))],
    errors=lambda t: [(t.args(t(2, 3)), RuntimeError,
                       "linalg.eig: A must be batches of square matrices, but they are 2 by 3 matrices")])
def eig(xp, input: Tensor):
    """Eigenvalues in no order, and eigenvectors of length 1 as columns; both complex.

    The vectors are determined up to phase: a loss that depends on it has no gradient, and backward says so.
    """
    refuse_infinite(xp, input, "linalg.eig")
    values, vectors = of_any_matrix(xp, "eig", input)
    return values, _lapack.columns(xp, vectors)


@eig.rules
def eig_gradient(gs, outs) -> tuple[Tensor | None]:
    of_values, of_vectors = gs
    L, V = outs
    if of_vectors is None:
        if of_values is None:
            return (None,)
        inner = of_values.unsqueeze(-1) * adjoint(V)
    else:
        inner = adjoint(V) @ of_vectors
        along = diagonal_of(inner)
        refuse_phase("linalg_eig", along.imag)
        inner = (inner - adjoint(V) @ (V * along.real.unsqueeze(-2))) / conj(spread(L))
        inner = diagonal_replaced(inner, of_values) @ adjoint(V)
    return (solve_ex(adjoint(V), inner)[0],)


@op(name="_eigvals", function=False, method=False, check=lambda input: square_and_finite("linalg.eigvals", input),
    meta=lambda input: (input.shape[:-1], input.dtype.to_complex()))
def values_alone(xp, input: Tensor):
    refuse_infinite(xp, input, "linalg.eigvals")
    return of_any_matrix(xp, "eigvals", input)[0]


@composite(namespace="linalg", method=False, out=True, settled=lambda r: r.abs().sort()[0],
           samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 3, 3)), t.args(t(0, 0))])
def eigvals(input: Tensor) -> Tensor:
    """Eigenvalues in no order, complex."""
    return eig(input)[0] if needs_vectors(input) else values_alone(input)


# Singular values: A = U diag(S) Vh

def check_svd(A: Tensor, driver: str | None) -> None:
    check_matrix("linalg.svd", A)
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
                           "cuSOLVER backend.")
    check_fractions("linalg.svd", A)
    check_loop("linalg_svd_cpu", A)


def decomposed(xp, a, full: bool, vectors: bool = True):
    """U (by columns), singular values and Vh; the values alone without `vectors`."""
    infinite = xp.isinf(a).any((-2, -1)) & ~xp.isnan(a).any((-2, -1))
    if infinite.any():                                       # LAPACK's iteration may not end
        return of_infinite(xp, a, full, vectors, infinite)
    try:
        if vectors:
            U, S, Vh = xp.linalg.svd(a, full)
            return _lapack.columns(xp, U), S, Vh
        return xp.linalg.svd(a, full, vectors)
    except xp.linalg.LinAlgError:
        finite = xp.isfinite(a).all((-2, -1)).reshape(-1)
        place = f"(Batch element {int(finite.argmin())}): " if a.ndim > 2 else ""
        raise LinAlgError(f"linalg.svd: {place}The algorithm failed to converge because the input matrix contained "
                          "non-finite values." if not finite.all() else
                          f"linalg.svd: {place}The algorithm failed to converge because the input matrix is "
                          "ill-conditioned or has too many repeated singular values.") from None


def of_infinite(xp, a, full: bool, vectors: bool, infinite):
    """`decomposed` where some matrices hold an infinity: their values are NaN, their vectors those of a reversed unit
    matrix."""
    out = decomposed(xp, xp.where(infinite[..., None, None], 0, a).astype(a.dtype), full, vectors)
    U, S, Vh = out if vectors else (None, out, None)
    S = xp.where(infinite[..., None], xp.nan, S).astype(S.dtype)
    if not vectors:
        return S
    flipped = [xp.eye(x.shape[-2], x.shape[-1], dtype=x.dtype)[..., ::-1] for x in (U, Vh)]
    U, Vh = (xp.where(infinite[..., None, None], unit, x) for unit, x in zip(flipped, (U, Vh)))
    return _lapack.columns(xp, U), S, Vh


def svd_shapes(A: Tensor, full_matrices: bool) -> list[tuple]:
    *batch, m, n = A.shape
    k = min(m, n)
    return [((*batch, m, m if full_matrices else k), A.dtype), ((*batch, k), A.dtype.to_real()),
            ((*batch, n if full_matrices else k, n), A.dtype)]


@op(strides=lambda A: ["columns" if A.numel() else None, None, None],
    kernel="linalg.singular", namespace="linalg", method=False, returns=("U", "S", "Vh"), check=check_svd,
    meta=svd_shapes,
    settled=lambda r: (r[0].abs(), r[1], r[2].abs()),
    samples=lambda t: [t.args(t(4, 3), False), t.args(t(2, 2, 3), False), t.args(t(3, 3)), t.args(t(3, 0)),
                       t.args(t(3, 2, requires_grad=False))],
    errors=lambda t: [(t.args(t(2)), RuntimeError, "linalg.svd: The input tensor A must have at least 2 dimensions."),
                      (t.args(t(2, 2) * float("nan")), RuntimeError,
                       "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite")])
def svd(xp, A: Tensor, full_matrices: bool = True, *, driver: str | None = None):
    """A = U @ diag(S) @ Vh, with orthonormal U and Vh, and S in descending order.

    `full_matrices`: U and Vh are square; without, they have min(m, n) columns and rows. The vectors are determined up
    to sign, or phase; those that belong to no singular value get no gradient.
    """
    m, n = A.shape[-2:]
    if not A.size:
        k = min(m, n)
        shapes = [(*A.shape[:-2], *rest) for rest in ((m, m if full_matrices else k), (n if full_matrices else k, n))]
        U, Vh = (xp.broadcast_to(xp.eye(*shape[-2:], dtype=A.dtype), shape).copy() for shape in shapes)
        return U, xp.zeros((*A.shape[:-2], k), A.real.dtype), Vh
    return decomposed(xp, A, full_matrices)


def svd_gradient(of_U: Tensor | None, of_S: Tensor | None, of_Vh: Tensor | None, U: Tensor, S: Tensor,
                 Vh: Tensor) -> Tensor | None:
    """Of the decomposition with k = min(m, n) columns and rows."""
    k, m, n = S.shape[-1], U.shape[-2], Vh.shape[-1]
    if of_U is None and of_Vh is None:
        if of_S is None:
            return None
        return U @ (of_S.unsqueeze(-1) * Vh) if m >= n else (U * of_S.unsqueeze(-2)) @ Vh
    squares = spread(S) * (S.unsqueeze(-2) + S.unsqueeze(-1)).masked_fill(one_of(S), 1)
    inner = turn_U = turn_V = None
    if of_U is not None:
        turn_U = adjoint(U) @ of_U
        turn_U = turn_U - turn_U.mH
        inner = (turn_U / squares) * S.unsqueeze(-2)
    if of_Vh is not None:
        turn_V = Vh @ adjoint(of_Vh)
        turn_V = turn_V - turn_V.mH
        more = S.unsqueeze(-1) * (turn_V / squares)
        inner = more if inner is None else inner + more
    if U.is_complex():
        phases = [diagonal_of(turn).imag for turn in (turn_U, turn_V) if turn is not None]
        refuse_phase("svd", phases[0] if len(phases) == 1 else phases[0] + phases[1])
        # The phases of a pair of vectors turn together: only the difference counts, taken from U.
        inner = inner + (diagonal_of(turn_U) / (S * 2)).diag_embed() if turn_U is not None else inner
    inner = diagonal_added(inner, of_S)
    if m > k and of_U is not None:
        scaled = of_U / S.unsqueeze(-2)
        out = (U @ inner + scaled - U @ (adjoint(U) @ scaled)) @ Vh
    else:
        out = U @ (inner @ Vh)
    if n > k and of_Vh is not None:
        scaled = of_Vh / S.unsqueeze(-1)
        out = out + U @ (scaled - (scaled @ adjoint(Vh)) @ Vh)
    return out


def diagonal_added(t: Tensor, values: Tensor | None) -> Tensor:
    return t if values is None else t + values.diag_embed()


@svd.rules
def svd_rules(gs, outs) -> tuple[Tensor | None]:
    of_U, of_S, of_Vh = gs
    U, S, Vh = outs
    k = S.shape[-1]
    if U.shape[-1] > k:
        U, of_U = U[..., :k], None if of_U is None else of_U[..., :k]
    if Vh.shape[-2] > k:
        Vh, of_Vh = Vh[..., :k, :], None if of_Vh is None else of_Vh[..., :k, :]
    return (svd_gradient(of_U, of_S, of_Vh, U, S, Vh),)


@op(kernel="linalg.svdvals", name="_svdvals", function=False, method=False, check=check_svd,
    meta=lambda A: ((*A.shape[:-2], min(A.shape[-2:])), A.dtype.to_real()))
def singular_values(xp, A: Tensor, driver: str | None):
    if not A.size:
        return xp.zeros((*A.shape[:-2], min(A.shape[-2:])), A.real.dtype)
    return decomposed(xp, A, False, False)


@composite(namespace="linalg", method=False, out="exact",
           samples=lambda t: [t.args(t(4, 3)), t.args(t(2, 2, 3)), t.args(t(3, 0))])
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values in descending order."""
    return svd(A, False, driver=driver)[1] if needs_vectors(A) else singular_values(A, driver)


@composite(name="svd", returns=("U", "S", "V"), out=True, settled=lambda r: (r[0].abs(), r[1], r[2].abs()),
           samples=lambda t: [t.args(t(4, 3)), t.args(t(2, 2, 3)), t.args(t(3, 3), some=False)],
           errors=lambda t: [(t.args(t(2)), RuntimeError,
                              "linalg.svd: input should have at least 2 dimensions, but has 1 dimensions instead")])
def torch_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """A = U @ diag(S) @ V.mH. Without `compute_uv`, U and V are zeros. `some`: without the vectors beyond S."""
    if input.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions "
                           "instead")
    if not compute_uv:
        m, n = input.shape[-2:]
        S = svdvals(input)
        return input.new_zeros((*input.shape[:-2], m, m)), S, input.new_zeros((*input.shape[:-2], n, n))
    U, S, Vh = svd(input, not some)
    return U, S, Vh.mH


