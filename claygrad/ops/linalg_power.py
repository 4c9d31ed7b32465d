"""Powers and the exponential of matrices; matrices of powers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._linalg import adjoint, check_fractions, check_square
from claygrad.ops._out import EXACT
from claygrad.ops._registry import composite, op
from claygrad.ops.join import cat
from claygrad.ops.linalg_solve import inv
from claygrad.ops.matrix import vdot

if TYPE_CHECKING:
    from claygrad.core import Tensor


@composite(namespace="linalg", method=False, out=lambda input, n: "exact" if abs(n) > 1 else True,
           samples=lambda t: [t.args(t(3, 3), 3), t.args(t(2, 3, 3), -2), t.args(t(3, 3), 0), t.args(t(2, 2), 1)],
           errors=lambda t: [(t.args(t(2, 3), 2), RuntimeError,
                              "linalg.matrix_power: A must be batches of square matrices, but they are 2 by 3")])
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th power of every matrix of a batch; of its inverse, where n is negative."""
    check_square("linalg.matrix_power", input)
    if n == 0:
        return input.clone().copy_(input.new_ones(input.shape[-1]).diag_embed())
    if n < 0:
        input, n = inv(input), -n
    if n == 1:
        return input.clone()
    out = None
    while n:                                    # squares of squares, those multiplied of which n is the sum
        if n & 1:
            out = input if out is None else out @ input
        n >>= 1
        if n:
            input = input @ input
    return out


@composite(name="matrix_power", out=lambda input, n: "exact" if abs(n) > 1 else True,
           samples=lambda t: [t.args(t(3, 3), 3), t.args(t(2, 3, 3), -2)])
def torch_matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th power of every matrix of a batch; the same as linalg.matrix_power."""
    return matrix_power(input, n)


# The exponential: Padé's quotient of degree 13, or 7, on a matrix halved often enough, squared as often.

PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
        670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)
SHORT_PADE = (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1)
NEAR = 5.371920351148152            # the 1-norm up to which the one is exact to double precision
SHORT_NEAR = 3.925724783138660      # and the other to single precision


def check_exp(input: Tensor) -> None:
    check_square("linalg.matrix_exp", input)
    check_fractions("linalg.matrix_exp", input)


def exponential(xp, a, coefficients: tuple[int, ...] = PADE, near: float = NEAR):
    n = a.shape[-1]
    eye = xp.eye(n, dtype=a.dtype)
    size = xp.abs(a).sum(-2).max(-1)
    finite = xp.isfinite(size)
    with_care = xp.where(finite, size, 0)
    halvings = xp.ceil(xp.log2(xp.maximum(with_care / near, 1))).astype(int)
    a = a * (0.5 ** halvings).astype(a.real.dtype)[..., None, None]
    b = [xp.asarray(c, a.real.dtype) for c in coefficients]
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye
    even = b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    if len(b) > 8:
        odd += a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2)
        even += a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2)
    odd = a @ odd
    below = even - odd
    if not finite.all():
        below[~finite] = eye
    out = xp.linalg.solve(below, even + odd)
    out[~finite] = xp.nan
    for k in range(int(halvings.max()) if halvings.size else 0):
        again = halvings > k
        out[again] = out[again] @ out[again]
    return out


@op(namespace="linalg", method=False, out=False, check=check_exp, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 2, 2)), t.args(t(1, 1)), t.args(t(0, 0)), t.args(t(0, 3, 3))],
    errors=lambda t: [(t.args(t(2, 3)), RuntimeError,
                       "linalg.matrix_exp: A must be batches of square matrices, but they are 2 by 3 matrices")])
def matrix_exp(xp, input: Tensor):
    """The exponential of every matrix of a batch: the sum of input^k / k! over all k."""
    if not input.size:
        return input.copy()
    if input.shape[-1] == 1:
        return xp.exp(input)
    if input.dtype.name in ("float64", "complex128"):
        return exponential(xp, input)
    # Single precision loses digits in the squares of triangles: computed in double, to as many digits as it has.
    wide = "complex128" if input.dtype.kind == "c" else "float64"
    return exponential(xp, input.astype(wide), SHORT_PADE, SHORT_NEAR).astype(input.dtype)


def exp_gradient(g: Tensor, input: Tensor) -> Tensor:
    """exp([[A^H, g], [0, A^H]]) holds the derivative along g in its upper right."""
    n, transposed = input.shape[-1], adjoint(input)
    rows = cat((transposed, g), -1), cat((transposed.new_zeros(transposed.shape), transposed), -1)
    return matrix_exp(cat(rows, -2))[..., :n, n:]


matrix_exp.rule(input=exp_gradient)


@composite(name="matrix_exp", samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 2, 2))])
def torch_matrix_exp(input: Tensor) -> Tensor:
    """The exponential of every matrix of a batch; the same as linalg.matrix_exp."""
    return matrix_exp(input)


@composite(namespace="linalg", name="vander", method=False,
           samples=lambda t: [t.args(t(3)), t.args(t(2, 3), N=5), t.args(t(3, dtype="int64"))],
           errors=lambda t: [(t.args(t(3), N=1), RuntimeError, "N must be greater than 1.")])
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Matrices of powers: out[..., i, j] = x[..., i]^j, for j < N (default: the length of x)."""
    if x.dtype.name in ("bool", "float16", "bfloat16"):
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got "
                           f"{x.dtype.legacy}")
    x = x.reshape(1) if x.ndim == 0 else x
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand((*x.shape, n - 1)).cumprod(-1)
    return cat((powers.new_ones((*x.shape, 1)), powers), -1)


@composite(native="vecdot", parts=(vdot,), namespace="linalg", name="vecdot", method=False, out=EXACT,
           samples=lambda t: [t.args(t(3), t(3)), t.args(t(2, 3), t(4, 1, 3)), t.args(t(3, 2), t(3, 2), dim=0)])
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products of vectors along an axis, x conjugated: sum(conj(x) * y)."""
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input. Got "
                           f"{x.dtype.legacy}")
    if x.ndim == 1 and y.ndim == 1:
        return x.vdot(y)
    return (x.conj() * y).sum(dim)


@composite(namespace="linalg", name="diagonal", method=False,
           samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 3, 4), offset=1), t.args(t(2, 3, 4), dim1=0, dim2=1)])
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices in the last two axes, as a view."""
    return A.diagonal(offset, dim1, dim2)
