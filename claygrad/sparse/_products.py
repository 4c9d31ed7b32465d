"""Products of sparse matrices with dense and sparse ones."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core.sparse_tensor import parts
from claygrad.ops._geometry import text
from claygrad.ops._registry import NAMESPACES
from claygrad.sparse._arithmetic import add
from claygrad.sparse._parts import (
    COO,
    CSC,
    CSR,
    INT64,
    NAMES,
    TORCH,
    as_layout,
    coalesced,
    compressed,
    coordinates,
    entries,
    from_places,
    in_coordinates,
    is_sparse,
    places,
    scattered,
    summed,
    with_values,
)
from claygrad.sparse._shapes import transposed
from claygrad.sparse._table import operation, refusal

if TYPE_CHECKING:
    from claygrad.core import Tensor

_BAGS = ("float32", "float64")        # dtypes that the loops of embedding_bag take


def _by_rows(begins: Tensor, columns: Tensor, values: Tensor, b: Tensor) -> Tensor:
    """A matrix by rows times a dense one: each row is a weighted bag of rows of b."""
    if values.dtype.name in _BAGS and len(columns) and b.shape[1]:
        return NAMESPACES["nn.functional"]["embedding_bag"](
            columns.to(INT64), b, begins[:-1].to(INT64), mode="sum", per_sample_weights=values)
    steps = begins[1:] - begins[:-1]
    rows = TORCH["repeat_interleave"](TORCH["arange"](len(steps)), steps)
    return summed(values.unsqueeze(1) * b[columns.to(INT64)], rows, len(steps))


def _times_dense(a: Tensor, b: Tensor) -> Tensor:
    if b.ndim != 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-b.ndim}, {b.ndim - 1}], but got 1)")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"addmm: expected mat1 and mat2 to have the same dtype, but got: {a.dtype.c_name} != "
                           f"{b.dtype.c_name}")
    of, values = entries(compressed(a, CSR))
    begins, columns = of.indices
    return _by_rows(begins, columns, values, b)


def _times_sparse(a: Tensor, b: Tensor) -> Tensor:
    """Every entry of a meets the entries of b in the row that its column names."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")
    (first, x), (second, y) = entries(coalesced(in_coordinates(a))), entries(compressed(b, CSR))
    begins, columns = (i.to(INT64) for i in second.indices)
    rows, middle = first.indices[0]
    counts = (begins[1:] - begins[:-1])[middle]
    mine = TORCH["repeat_interleave"](TORCH["arange"](len(counts)), counts)
    before = counts.cumsum(0) - counts
    theirs = TORCH["arange"](len(mine)) - before[mine] + begins[middle[mine]]
    shape = (a.shape[0], b.shape[1])
    numbers, where = TORCH["unique"](places(TORCH["stack"]((rows[mine], columns[theirs])), shape), return_inverse=True)
    return scattered(from_places(numbers, shape), summed(x[mine] * y[theirs], where, len(numbers)), shape, True)


def _check_matrices(a: Tensor, b: Tensor) -> None:
    for x in (a, b):
        if is_sparse(x) and (x.ndim != 2 or parts(x).values.ndim != 1):
            raise RuntimeError(f"addmm: expected a matrix of numbers, but a sparse tensor of shape "
                               f"{text(tuple(x.shape))} has {x.sparse_dim()} sparse and {x.dense_dim()} dense "
                               "dimensions")


@operation("mm")
def mm(a: Tensor, b: Tensor) -> Tensor:
    """Sparse times dense gives dense; sparse times sparse gives sparse."""
    _check_matrices(a, b)
    if is_sparse(a) and is_sparse(b):
        layout = parts(a).layout
        return as_layout(_times_sparse(a, b), CSR if layout is CSC else layout)
    if is_sparse(a):
        return _times_dense(a, b)
    if a.ndim != 2:
        raise RuntimeError("mat1 must be a matrix")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")
    return _times_dense(transposed(b, 0, 1), a.t()).t()


@operation("mv")
def mv(a: Tensor, vec: Tensor) -> Tensor:
    """A sparse matrix times a dense vector."""
    if is_sparse(vec) or vec.ndim != 1:
        raise refusal("mv", [a, vec])
    if a.ndim != 2 or a.shape[1] != vec.shape[0]:
        raise RuntimeError(f"mv: expected self.size(-1) == vec.size(-1), but got {text(tuple(a.shape))} and "
                           f"{text(tuple(vec.shape))}")
    return mm(a, vec.unsqueeze(1)).squeeze(1)


@operation("addmm")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    if is_sparse(input) and not is_sparse(mat2):
        raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout "
                           f"{NAMES[parts(input).layout]}")
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if is_sparse(product) and not is_sparse(input):
        return add(input if beta == 1 else input * beta, product)
    if beta == 0:
        return product
    scaled = input if beta == 1 else input * beta
    return add(scaled, product) if is_sparse(scaled) else scaled + product


@operation("bmm")
def bmm(a: Tensor, b: Tensor) -> Tensor:
    """A batch of sparse matrices times one of dense matrices: as one matrix with the batch along its diagonal."""
    if not is_sparse(a) or is_sparse(b):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense" if is_sparse(a) else
                           "bmm_sparse: Tensor 'self' must be sparse")
    if parts(a).layout is not COO or a.ndim != 3 or b.ndim != 3 or parts(a).values.ndim != 1:
        raise refusal("bmm", [a, b])
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' and 'mat2' sizes do not fit: {text(tuple(a.shape))} and "
                           f"{text(tuple(b.shape))}")
    of, values = entries(a)
    batch, rows, columns = of.indices[0]
    at = TORCH["stack"]((batch * a.shape[1] + rows, batch * a.shape[2] + columns))
    block = scattered(at, values, (a.shape[0] * a.shape[1], a.shape[0] * a.shape[2]), of.coalesced)
    return _times_dense(block, b.reshape(-1, b.shape[2])).reshape(a.shape[0], a.shape[1], b.shape[2])


@operation("matmul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Of matrices, a matrix and a vector, and batches."""
    dims = (a.ndim, b.ndim)
    if dims == (2, 2):
        return mm(a, b)
    if dims == (2, 1):
        return mv(a, b)
    if dims == (1, 2) and not is_sparse(a):
        return mv(transposed(b, 0, 1), a)
    if dims == (3, 3):
        return bmm(a, b)
    if a.ndim > 2 and b.ndim == 2 and not is_sparse(a):
        return mm(a.reshape(-1, a.shape[-1]), b).reshape((*a.shape[:-1], b.shape[1]))
    raise refusal("matmul", [a, b])


@operation("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T, and the bias added."""
    turned = transposed(weight, 0, 1) if is_sparse(weight) else weight.t()
    out = matmul(input, turned)
    return out if bias is None else out + bias


@operation("smm")
def smm(a: Tensor, b: Tensor) -> Tensor:
    """The product with a dense matrix, as a sparse tensor."""
    if not is_sparse(a):
        raise refusal("sspaddmm", [b])
    made = mm(in_coordinates(a), b)
    rows = TORCH["unique"](coordinates(parts(a), tuple(a.shape))[0])
    wide = b.shape[1]
    at = TORCH["stack"]((TORCH["repeat_interleave"](rows, wide), TORCH["arange"](wide).repeat(len(rows))))
    return scattered(at, made[tuple(at)], tuple(made.shape))


@operation("sspaddmm")
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), sparse, with the entries of both one after the other."""
    product = smm(mat1, mat2)
    (first, x), (second, y) = entries(input), entries(product)
    return scattered(TORCH["cat"]((first.indices[0], second.indices[0]), 1),
                     TORCH["cat"]((x * beta, y * alpha)), tuple(input.shape))


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix, with the rows that are not zero as entries."""
    made = mm(in_coordinates(mat1), mat2)
    rows = TORCH["unique"](coordinates(parts(mat1), tuple(mat1.shape))[0])
    return scattered(rows.unsqueeze(0), made[rows], tuple(made.shape), True)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) at the entries of `input`, a matrix by rows."""
    if not is_sparse(input) or parts(input).layout is not CSR:
        raise RuntimeError("sampled_addmm: Expected input to have sparse csr layout, but got "
                           f"{NAMES[parts(input).layout] if is_sparse(input) else 'Strided'}")
    of, values = entries(input)
    rows, columns = coordinates(of, tuple(input.shape))
    product = (mat1[rows] * mat2.t()[columns]).sum(-1)
    return with_values(of, tuple(input.shape), values * beta + product * alpha)


def reduced_mm(a: Tensor, b: Tensor, reduce: str) -> Tensor:
    """The product where the terms of a sum are averaged, or the largest or smallest taken."""
    if not is_sparse(a) or parts(a).layout is not CSR:
        raise RuntimeError("sparse.mm(): a reduction is of a matrix in sparse csr layout")
    if reduce == "sum":
        return mm(a, b)
    if reduce not in ("mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}.")
    of, values = entries(a)
    rows, columns = coordinates(of, tuple(a.shape))
    terms = values.unsqueeze(1) * b[columns]
    out = TORCH["zeros"]((a.shape[0], b.shape[1]), dtype=terms.dtype)
    return out.index_reduce(0, rows, terms, reduce, include_self=False)
