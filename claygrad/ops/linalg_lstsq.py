"""Least squares, pseudo-inverses and ranks."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.core import int64
from claygrad.ops import _lapack
from claygrad.ops._geometry import broadcast, text
from claygrad.ops._linalg import LinAlgError, adjoint, check_loop, check_square, is_vector
from claygrad.ops._registry import composite, constant, op
from claygrad.ops.linalg_spectral import decomposed, eigvalsh, svdvals

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

EPSILON = {"float32": 2.0 ** -23, "float64": 2.0 ** -52, "complex64": 2.0 ** -23, "complex128": 2.0 ** -52}


def limits(name: str, input: Tensor, atol, rtol) -> tuple:
    """The absolute and the relative limit below which a singular value counts as zero, numbers or tensors."""
    for word, limit in (("atol", atol), ("rtol", rtol)):
        if isinstance(limit, TensorType) and limit.requires_grad and name == "pinv":
            raise RuntimeError(f"The function 'linalg_pinv' is not differentiable with respect to argument '{word}'. "
                               "This input cannot have requires_grad True.")
        if isinstance(limit, TensorType) and limit.is_complex():
            raise RuntimeError(f"torch.linalg.{name}: {word} tensor of complex type is not supported. Got "
                               f"{limit.dtype.legacy}")
    if rtol is None:
        usual = EPSILON[input.dtype.name] * max(input.shape[-2:])
        if isinstance(atol, TensorType):
            rtol = (atol <= 0).to(input.dtype.to_real()) * usual
        else:
            rtol = 0.0 if atol is not None and atol > 0 else usual
    return 0.0 if atol is None else atol, rtol


# Ranks

@composite(namespace="linalg", name="matrix_rank", method=False, out=True,
           samples=lambda t: [t.args(t(3, 4, requires_grad=False)), t.args(t(2, 3, 3, requires_grad=False), 1.0),
                              t.args(t(3, 3, requires_grad=False), atol=0.5, hermitian=True),
                              t.args(t(3, 3, requires_grad=False), rtol=t(1, low=0, high=1, dtype="float64"))],
           errors=lambda t: [(t.args(t(3)), RuntimeError,
                              "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")])
def matrix_rank(input: Tensor, tol: float | Tensor | None = None, hermitian: bool = False, *,
                atol: float | Tensor | None = None, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values of a matrix are larger than max(atol, rtol * the largest of them).

    By default rtol is the larger size times the precision, 0 where atol is given. `tol` is an old name of atol.
    """
    if input.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if tol is not None:
        atol, rtol = tol, 0.0 if rtol is None else rtol
    if rtol is None:
        refuse_narrow(input)
    atol, rtol = limits("matrix_rank", input, atol, rtol)
    input = input.detach()
    if not input.numel():
        return input.new_zeros(input.shape[:-2], dtype=int64)
    values = eigvalsh(input).abs() if hermitian else svdvals(input)
    return (values > limit_of(values, atol, rtol)).sum(-1)


def refuse_narrow(input: Tensor) -> None:
    if input.dtype.name not in EPSILON:
        raise RuntimeError("This function doesn't handle types other than float and double")


def limit_of(values: Tensor, atol, rtol) -> Tensor:
    atol, rtol = (x.unsqueeze(-1) if isinstance(x, TensorType) else x for x in (atol, rtol))
    relative = values.amax(-1, keepdim=True) * rtol
    return relative.maximum(atol) if isinstance(atol, TensorType) else relative.clamp_min(atol)


# Pseudo-inverses

def check_pinv(input: Tensor, hermitian: bool) -> None:
    if input.ndim < 2 or input.dtype.name not in EPSILON:
        raise RuntimeError(f"linalg.pinv({input.dtype.legacy}{{{text(input.shape)}}}): expected a tensor with 2 or "
                           "more dimensions of float, double, cfloat or cdouble types")
    if hermitian and input.numel():
        check_square("linalg.eigh", input)


def pinv_shape(input: Tensor, atol, rtol) -> tuple[int, ...]:
    batch = broadcast(input.shape[:-2], *(x.shape for x in (atol, rtol) if hasattr(x, "shape")))
    return (*batch, input.shape[-1], input.shape[-2])


@op(kernel="linalg.pinv", strides="columns",
    name="_linalg_pinv", function=False, method=False, node="LinalgPinvBackward0", check=check_pinv, meta=pinv_shape)
def pseudo_inverse(xp, input: Tensor, atol: Tensor | Number, rtol: Tensor | Number, hermitian: bool):
    if not input.size:
        return xp.zeros((*input.shape[:-2], input.shape[-1], input.shape[-2]), input.dtype)
    if hermitian:
        S, V = xp.linalg.eigh(input)
        U, size = V, xp.abs(S)
    else:
        U, S, Vh = decomposed(xp, input, False)
        V, size = Vh.swapaxes(-2, -1).conj(), S
    atol, rtol = (xp.asarray(x)[..., None] for x in (atol, rtol))
    limit = xp.maximum(atol, rtol * size.max(-1, keepdims=True))
    inverse = xp.where(size > limit, 1 / S, 0).astype(S.dtype)
    return _lapack.columns(xp, (V * inverse[..., None, :]) @ U.swapaxes(-2, -1).conj())


def pinv_gradient(g: Tensor, A: Tensor, P: Tensor) -> Tensor:
    """dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P, transposed to give the gradient."""
    m, n = A.shape[-2:]
    transposed, back = adjoint(P), adjoint(g)
    if m <= n:
        K = back @ P
        across = K @ transposed
        return -adjoint(P @ K) + across - (A @ P) @ across + (transposed @ P) @ (back - K @ A)
    K = P @ back
    across = transposed @ K
    return -adjoint(K @ P) + (back - A @ K) @ P @ transposed + across - (across @ P) @ A


pseudo_inverse.rule(input=lambda g, input, out: pinv_gradient(g, input, out), atol=constant, rtol=constant)


@composite(namespace="linalg", method=False, out=True,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(2, 4, 3)), t.args(t(3, 4), rtol=1e-3),
                              t.args(t(3, 0)), t.args(t(3, 3, requires_grad=False), 0.5)],
           errors=lambda t: [(t.args(t(3)), RuntimeError, "linalg.pinv("),
                             (t.args(t(3, 3, dtype="int64")), RuntimeError, "linalg.pinv(Long{[3, 3]}): expected a")])
def pinv(input: Tensor, rcond: float | Tensor | None = None, hermitian: bool = False, *,
         atol: float | Tensor | None = None, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverse of Moore and Penrose: singular values up to max(atol, rtol * the largest) count as zeros.

    `hermitian`: the matrix is, and its eigenvalues serve. `rcond` is an old name of rtol. The derivative holds where
    the rank does not change.
    """
    check_pinv(input, False)
    if rcond is not None:
        rtol, atol = rcond, 0.0 if atol is None else atol
    atol, rtol = limits("pinv", input, atol, rtol)
    return pseudo_inverse(input, atol, rtol, hermitian)


@composite(samples=lambda t: [t.args(t(3, 4)), t.args(t(2, 4, 3), 1e-3)])
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse of Moore and Penrose; see linalg.pinv."""
    return pinv(input, rcond)


# Least squares

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def check_lstsq(input: Tensor, b: Tensor, rcond: float | None, driver: str | None) -> None:
    name = "torch.linalg.lstsq"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if rcond is None:
        refuse_narrow(input)
    if input.dtype != b.dtype:
        raise RuntimeError(f"{name}: Expected input and other to have the same dtype, but got input's dtype "
                           f"{input.dtype.legacy} and other's dtype {b.dtype.legacy}")
    if input.ndim - b.ndim not in (0, 1):
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                           "other.dim()) <= 1")
    vector = right_side_is_vector(input.shape, b.shape)
    if vector and input.shape[-2] != b.shape[-1]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-1)")
    if not vector and input.shape[-2] != b.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-2)")
    if driver is not None and driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    broadcast(input.shape[:-2], b.shape[:-1] if vector else b.shape[:-2])
    check_loop("linalg_lstsq_cpu", input)


def right_side_is_vector(input_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> bool:
    return len(input_shape) - len(b_shape) == 1 or (len(b_shape) == 1 and is_vector(input_shape, b_shape))


def by_factors(xp, Q, R, b, tall: bool):
    """From Q R, the matrix if it is tall, its adjoint if it is wide."""
    if tall:
        return _lapack.triangular(xp, R, Q.swapaxes(-2, -1).conj() @ b, True)
    return Q @ _lapack.triangular(xp, R.swapaxes(-2, -1).conj(), b, False)


LARGE = 64              # rows or columns from which on LAPACK's own exchange of columns beats singular values


def with_exchanges(xp, a, b, rcond: float):
    """The solution and the rank by QR with columns exchanged, for few large matrices; or None."""
    m, n = a.shape[-2:]
    solve = _lapack.routine("gelsy", a) if a.dtype.kind == "f" and min(m, n) >= LARGE else None
    if solve is None or not (xp.isfinite(a).all() and xp.isfinite(b).all()):
        return None
    k, rows, work = b.shape[-1], max(m, n), _lapack.columns(xp, a)
    x = xp.zeros((*a.shape[:-2], k, rows), a.dtype).swapaxes(-2, -1)
    x[..., :m, :] = b
    rank, limit = xp.zeros(a.shape[:-2], "int64"), xp.array([rcond], a.dtype)
    found, scratch = xp.zeros(1, solve.integers), xp.empty(64 * (2 * rows + 2 * k + 4), a.dtype)
    for i, (matrix, right) in enumerate(zip(_lapack.stack(work), _lapack.stack(x))):
        exchanged = xp.zeros(n, solve.integers)
        if solve(m, n, k, matrix, m, right, rows, exchanged, limit, found, scratch, scratch.size):
            return None
        rank.reshape(-1)[i] = found[0]
    return x[..., :n, :], rank


def least_squares(xp, a, b, rcond: float, driver: str):
    """Solution, rank and singular values of stacks of matrices."""
    m, n = a.shape[-2:]
    if driver == "gels":                        # full rank is taken for granted
        Q, R = xp.linalg.qr(a if m >= n else a.swapaxes(-2, -1).conj())
        zero = xp.diagonal(R, 0, -2, -1) == 0
        if zero.any():
            at = int(zero.any(-1).reshape(-1).argmax())
            place = f"(Batch element {at}): " if a.ndim > 2 else ""
            first = int(zero.reshape((-1, zero.shape[-1]))[at].argmax()) + 1
            raise LinAlgError(f"torch.linalg.lstsq: {place}The least squares solution could not be computed because "
                              f"the input matrix does not have full rank (error code: {first}).")
        return by_factors(xp, Q, R, b, m >= n), None, None
    if driver == "gelsy":
        out = with_exchanges(xp, a, b, rcond)
        if out is not None:
            return *out, None
    U, S, Vh = decomposed(xp, a, False)
    largest = S[..., :1]
    counts = rcond * largest < S
    inverse = xp.where(counts, 1 / S, 0).astype(S.dtype)
    x = Vh.swapaxes(-2, -1).conj() @ (inverse[..., None] * (U.swapaxes(-2, -1).conj() @ b))
    return x, counts.sum(-1), S


@op(kernel="linalg.least", namespace="linalg", method=False,
    returns=("solution", "residuals", "rank", "singular_values"), differentiable=(0, 1), check=check_lstsq, meta="data",
    samples=lambda t: [t.args(t(6, 2), t(6, 3)), t.args(t(2, 5, 2), t(2, 5)), t.args(t(6, 2), t(6, 3), driver="gelsd"),
                       t.args(t(2, 2, 6), t(2, 2, 3), driver="gels"), t.args(t(6, 2), t(6), 0.01, driver="gelss")],
    errors=lambda t: [(t.args(t(3, 3), t(3, 3), driver="x"), RuntimeError,
                       "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"),
                      (t.args(t(3), t(3)), RuntimeError,
                       "torch.linalg.lstsq: input must have at least 2 dimensions.")])
def lstsq(xp, input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None):
    """X with the least |input @ X - b|, and of those the smallest; residuals, rank and singular values beside it.

    What a driver of LAPACK does not compute is empty: residuals are those of all but "gelsy", where a matrix has more
    rows than columns and full rank; "gels" takes full rank for granted; singular values are of "gelsd" and "gelss".
    """
    driver = driver or "gelsy"
    m, n = input.shape[-2:]
    rcond = EPSILON[input.dtype.name] * max(m, n) if rcond is None else rcond
    vector = right_side_is_vector(input.shape, b.shape)
    b = b[..., None] if vector else b
    batch, a, real = input.shape[:-2], input, input.real.dtype
    if batch != b.shape[:-2]:
        batch = broadcast(batch, b.shape[:-2])
        a, b = xp.broadcast_to(input, (*batch, m, n)), xp.broadcast_to(b, (*batch, *b.shape[-2:]))
    if a.size:
        x, rank, values = least_squares(xp, a, b, rcond, driver)
    else:
        x, rank = xp.zeros((*batch, n, b.shape[-1]), b.dtype), xp.zeros(batch, "int64")
        values = xp.zeros((*batch, min(m, n)), real)
    residuals = xp.zeros(0, real)
    if m > n and driver != "gelsy" and (driver == "gels" or (rank == n).all()):
        gap = a @ x - b if a.size else b
        residuals = (gap.real ** 2 + gap.imag ** 2 if gap.dtype.kind == "c" else gap * gap).sum(-2)
    return (x[..., 0] if vector else x, residuals,
            xp.zeros(0, "int64") if driver == "gels" else xp.asarray(rank, "int64"),
            values if driver in ("gelsd", "gelss") else xp.zeros(0, real))


@lstsq.rules
def lstsq_gradient(gs, input: Tensor, b: Tensor, outs, needs: tuple[bool, bool]) -> tuple:
    g, of_residuals = gs[:2]
    vector = right_side_is_vector(input.shape, b.shape)
    b = b.unsqueeze(-1) if vector else b
    of_input = of_b = None
    if g is not None:
        g = g.unsqueeze(-1) if vector else g
        P = pinv(input)
        of_input = pinv_gradient(g @ adjoint(b), input, P) if needs[0] else None
        of_b = adjoint(P) @ g if needs[1] else None
    if of_residuals is not None and of_residuals.numel():
        # The residual is orthogonal to all columns, so what changes in the solution does not count.
        x = outs[0].unsqueeze(-1) if vector else outs[0]
        slope = (input @ x - b) * (of_residuals * 2).unsqueeze(-2)
        if needs[0]:
            of_input = slope @ adjoint(x) if of_input is None else of_input + slope @ adjoint(x)
        if needs[1]:
            of_b = -slope if of_b is None else of_b - slope
    return of_input, of_b.squeeze(-1) if vector and of_b is not None else of_b
