"""Norms of matrices, of vectors or matrices alike, and the condition of a matrix."""
from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._linalg import check_fractions, check_matrix, check_square
from claygrad.ops._out import EXACT
from claygrad.ops._registry import composite
from claygrad.ops._words import refuse_gradient
from claygrad.ops.linalg_solve import inv, inv_ex
from claygrad.ops.linalg_spectral import svdvals
from claygrad.ops.moments import check_norm_dtype, vector_norm

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, dtype

    ints = int | tuple[int, ...] | list[int]


def number_text(number: Number) -> str:
    """A number as PyTorch prints it: 3, inf, 0.5."""
    return f"{number:g}" if isinstance(number, float) else str(number)


def two_axes(input: Tensor, dim: ints) -> tuple[int, int]:
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    rows, columns = (axis_of(d, input.ndim) for d in dims)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return rows, columns


def singular_values_over(input: Tensor, axes: tuple[int, int]) -> Tensor:
    """Singular values of matrices that lie in any two axes, along a new last axis."""
    rest = [i for i in range(input.ndim) if i not in axes]
    return svdvals(input if axes == (input.ndim - 2, input.ndim - 1) else input.permute((*rest, *axes)))


def largest(t: Tensor, axis: int, keepdim: bool) -> Tensor:
    """The largest along an axis; of nothing, 0."""
    return t.amax(axis, keepdim) if t.shape[axis] else t.sum(axis, keepdim)


def axes_back(t: Tensor, axes: tuple[int, int], keepdim: bool) -> Tensor:
    """What was reduced over two axes, with these as axes of one element where they are kept."""
    if not keepdim:
        return t
    n = t.ndim + 2
    order = [*(i for i in range(n) if i not in axes), *axes]
    return t.unsqueeze(-1).unsqueeze(-1).permute([order.index(i) for i in range(n)])


@composite(native="matrix_norm", parts=(vector_norm,), namespace="linalg", method=False, out=EXACT,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(2, 3, 4), "nuc", keepdim=True), t.args(t(2, 3, 4), 2, (0, 1)),
                              t.args(t(3, 4), -2), t.args(t(2, 3, 4), 1, (0, 2), True), t.args(t(3, 4), -inf)],
           errors=lambda t: [(t.args(t(3, 3), "x"), RuntimeError, "linalg.matrix_norm: Order x not supported."),
                             (t.args(t(3, 3), 3), RuntimeError, "linalg.matrix_norm: Order 3 not supported."),
                             (t.args(t(2, 3, 3), 1, (0,)), RuntimeError,
                              "linalg.matrix_norm: dim must be a 2-tuple. Got 0")])
def matrix_norm(input: Tensor, ord: Number | str = "fro", dim: ints = (-2, -1), keepdim: bool = False, *,
                dtype: dtype | None = None) -> Tensor:
    """The norm of matrices. "fro": of all elements; "nuc": the sum of singular values; 2: the largest of them.

    1: the largest sum of a column, inf: of a row. -1, -2, -inf: the smallest instead.
    """
    refuse_gradient("linalg_matrix_norm", "ord", ord)
    check_matrix("linalg.matrix_norm", input)
    check_fractions("linalg.matrix_norm", input, low=ord in ("nuc", 2, -2))
    if ord not in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord if isinstance(ord, str) else number_text(ord)} not "
                           "supported.")
    axes = two_axes(input, dim)
    check_norm_dtype("linalg.matrix_norm", input, dtype)
    if ord == "fro":
        return vector_norm(input, 2, axes, keepdim, dtype=dtype)
    if dtype is not None:
        input = input.to(dtype)
    if ord == "nuc":
        return axes_back(singular_values_over(input, axes).sum(-1), axes, keepdim)
    if ord in (2, -2):
        values = singular_values_over(input, axes)
        return axes_back(largest(values, -1, False) if ord > 0 else values.amin(-1), axes, keepdim)
    summed, other = axes if ord in (1, -1) else axes[::-1]
    if not keepdim and summed < other:
        other -= 1
    sums = vector_norm(input, 1, summed, keepdim)
    return largest(sums, other, keepdim) if ord > 0 else sums.amin(other, keepdim)


@composite(namespace="linalg", name="norm", method=False, out=EXACT,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 1), t.args(t(2, 3, 4), 3, 1), t.args(t(5), inf),
                              t.args(t(2, 3, 4), "nuc", (1, 2), True), t.args(t(2, 3, 4), dim=(0, 1))],
           errors=lambda t: [(t.args(t(2, 3, 4), 2), RuntimeError,
                              "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D.")])
def linalg_norm(input: Tensor, ord: Number | str | None = None, dim: ints | None = None, keepdim: bool = False, *,
                dtype: dtype | None = None) -> Tensor:
    """The norm of vectors (one axis in `dim`) or matrices (two). Without `ord`, the 2-norm of all elements."""
    refuse_gradient("linalg_norm", "ord", ord)
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and input.ndim not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{input.ndim}D.")
    if ord is None:
        return vector_norm(input, 2, dims, keepdim, dtype=dtype)
    if isinstance(ord, str) or (input.ndim == 2 if dims is None else len(dims) == 2):
        return matrix_norm(input, ord, tuple(range(input.ndim)) if dims is None else dims, keepdim, dtype=dtype)
    return vector_norm(input, ord, dims, keepdim, dtype=dtype)


# The condition: how much a solution may change with the matrix

def refuse_order(p: Number | str) -> None:
    if p not in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p if isinstance(p, str) else number_text(p)}")


@composite(namespace="linalg", method=False, out=True,
           samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 3, 3), 1), t.args(t(3, 4), -2), t.args(t(3, 3), "fro"),
                              t.args(t(3, 3), "nuc"), t.args(t(3, 3), inf)],
           errors=lambda t: [(t.args(t(3, 3), "x"), RuntimeError, "linalg.cond got an invalid norm type: x"),
                             (t.args(t(2, 3), 1), RuntimeError, "linalg.cond(ord=1): A must be batches of square")])
def cond(input: Tensor, p: Number | str | None = None) -> Tensor:
    """The condition number norm(input, p) * norm(inv(input), p). By default p = 2, the ratio of singular values.

    It is infinite for a singular matrix.
    """
    refuse_gradient("linalg_cond", "p", p)
    if input.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    p = 2 if p is None else p
    if isinstance(p, str):
        check_square(f"linalg.cond(ord={p})", input)
    refuse_order(p)
    if not isinstance(p, str) and abs(p) != 2:
        check_square(f"linalg.cond(ord={number_text(p)})", input)
    if not input.numel():
        kind = input.dtype.to_real() if input.is_complex() else input.dtype
        return input.new_zeros(input.shape[:-2], dtype=kind)
    if p in (2, -2):
        values = svdvals(input)
        first, last = values[..., :1], values[..., -1:]
        return (first / last if p > 0 else last / first).squeeze(-1)
    if p == "nuc":
        return svdvals(input).sum(-1) * svdvals(inv(input)).sum(-1)
    inverse = inv_ex(input)[0]
    size = matrix_norm(input, p) * matrix_norm(inverse, p)
    return size.nan_to_num(inf, inf, -inf)
