"""Determinants and their logarithms."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import array_of
from claygrad.ops._linalg import adjoint, check_fractions, check_loop, check_square
from claygrad.ops._out import EXACT
from claygrad.ops._registry import composite, conj, op
from claygrad.ops.compare import where
from claygrad.ops.linalg_solve import inv_ex

if TYPE_CHECKING:
    from claygrad.core import Tensor


def check_det(A: Tensor) -> None:
    check_square("linalg.det", A)
    check_fractions("linalg.det", A)
    check_loop("lu_cpu", A)


def square_samples(t) -> list:
    return [t.args(t(3, 3)), t.args(t(2, 2, 3, 3)), t.args(t(1, 1)),
            t.args(t(0, 0, requires_grad=False)), t.args(t(0, 2, 2, requires_grad=False))]


@op(kernel="linalg.det", namespace="linalg", method=False, out=EXACT, check=check_det, meta=lambda A: A.shape[:-2],
    samples=square_samples,
    errors=lambda t: [(t.args(t(2, 3)), RuntimeError,
                       "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices")])
def det(xp, A: Tensor):
    """The determinant of every matrix of a batch. It has a gradient where it is zero, too."""
    return xp.asarray(xp.linalg.det(A), A.dtype, order="C")


def det_gradient(g: Tensor, A: Tensor, out: Tensor) -> Tensor:
    if A.device.type == "meta":
        return of_regular(g, A, out)
    singular = array_of(out) == 0
    if not singular.any():
        return of_regular(g, A, out)
    if singular.all():
        return of_singular(g, A)
    mask = out == 0
    full = A.new_zeros(A.shape).index_put((~mask,), of_regular(g[~mask], A[~mask], out[~mask]))
    return full.index_put((mask,), of_singular(g[mask], A[mask]))


def of_regular(g: Tensor, A: Tensor, out: Tensor) -> Tensor:
    """conj(det) * inv(A)^H. The inverse of A, not that of A^H: it has the factors of det, and their errors cancel."""
    return (g * conj(out)).unsqueeze(-1).unsqueeze(-1) * adjoint(inv_ex(A)[0])


def of_singular(g: Tensor, A: Tensor) -> Tensor:
    """The matrix of cofactors, from the singular values: the product of all but one of them, for each."""
    from claygrad.ops.linalg_spectral import svd
    U, S, Vh = svd(A)
    n = S.shape[-1]
    one = S.new_ones(n).diag_embed() != 0
    others = S.unsqueeze(-2).expand((*S.shape, n)).masked_fill(one, 1).prod(-1)
    scale = g * conj(det(U) * det(Vh))
    return (U * (others * scale.unsqueeze(-1)).unsqueeze(-2)) @ Vh


det.rule(A=det_gradient)


@composite(name="det", samples=square_samples)
def torch_det(input: Tensor) -> Tensor:
    """The determinant of every matrix of a batch; the same as linalg.det."""
    return det(input)


# Sign and logarithm, which do not overflow

def check_slogdet(A: Tensor) -> None:
    check_square("linalg.slogdet", A)
    check_fractions("linalg.slogdet", A, low=True)


@op(kernel="linalg.slogdet", namespace="linalg", method=False, returns=("sign", "logabsdet"), check=check_slogdet,
    out=EXACT,
    meta=lambda A: [(A.shape[:-2], A.dtype), (A.shape[:-2], A.dtype.to_real())], samples=square_samples,
    errors=lambda t: [(t.args(t(2, 2, dtype="int64")), RuntimeError,
                       "linalg.slogdet: Expected a floating point or complex tensor as input. Got Long")])
def slogdet(xp, A: Tensor):
    """The sign (or phase) of the determinant, and the logarithm of its size. sign 0 and -inf for a singular matrix."""
    sign, size = xp.linalg.slogdet(A)
    return xp.asarray(sign, order="C"), xp.asarray(size, order="C")


@slogdet.rules
def slogdet_gradient(gs, A: Tensor, outs) -> tuple[Tensor | None]:
    # d log|det| = Re tr(A^-1 dA), and the phase turns with Im tr(A^-1 dA).
    of_sign, g = gs
    sign = outs[0]
    if of_sign is not None and A.is_complex():
        turn = (conj(of_sign) * sign).imag
        g = -1j * turn if g is None else g - 1j * turn
    if g is None:
        return (None,)
    if g.dtype != A.dtype:
        g = g.to(A.dtype)
    return (g.unsqueeze(-1).unsqueeze(-1) * adjoint(inv_ex(A)[0]),)


@composite(name="slogdet", returns=("sign", "logabsdet"), out=EXACT, samples=square_samples)
def torch_slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """The sign (or phase) of the determinant, and the logarithm of its size; the same as linalg.slogdet."""
    return tuple(slogdet(input))


@composite(samples=lambda t: [t.args(t(3, low=0.5, high=2).diag_embed() + 0.3),
                              t.args(t(2, 4, low=0.5, high=2).diag_embed() - 0.05),
                              t.args(t(3, 3, requires_grad=False)), t.args(t(0, 0))],
           errors=lambda t: [(t.args(t(2, 3)), RuntimeError,
                              "logdet: A must be batches of square matrices, but they are 2 by 3 matrices")])
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN where it is negative, -inf where it is zero."""
    check_square("logdet", input)
    check_fractions("logdet", input, low=True)
    sign, size = slogdet(input)
    if input.is_complex():
        return size + sign.log()
    return where(sign == -1, float("nan"), size)
