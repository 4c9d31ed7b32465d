"""Sums, products, quotients and powers of sparse tensors, element by element; sums over dimensions; softmax."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import DTYPES, result_type
from claygrad.core.graph.function import Function
from claygrad.core.sparse_tensor import Parts, parts
from claygrad.ops._geometry import text
from claygrad.sparse._parts import (
    COO,
    TORCH,
    as_layout,
    coalesced,
    coordinates,
    dense,
    entries,
    from_places,
    in_coordinates,
    is_sparse,
    places,
    scattered,
    summed,
    with_values,
)
from claygrad.sparse._table import operation, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor


def _same_shape(name: str, a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise RuntimeError(f"{name}: expected sizes of 'self' and 'other' to match, but {text(tuple(a.shape))} != "
                           f"{text(tuple(b.shape))}")


def _joined(a: Tensor, b: Tensor, alpha: Any) -> Tensor:
    """The sum of two sparse tensors in coordinates."""
    kind = result_type(a, b)
    (first, x), (second, y) = entries(a), entries(b)
    if first.indices[0].shape[0] != second.indices[0].shape[0]:
        raise RuntimeError("add: expected 'self' and 'other' to have same number of sparse dimensions, but got "
                           f"{first.indices[0].shape[0]} and {second.indices[0].shape[0]}")
    x, y = x.to(kind), y.to(kind) if alpha == 1 else y.to(kind) * alpha
    shape, whole = tuple(a.shape), first.coalesced and second.coalesced
    if first.indices[0] is second.indices[0]:
        return with_values(Parts(COO, first.indices, first.values, whole), shape, x + y)
    at = TORCH["cat"]((first.indices[0], second.indices[0]), 1)
    values = TORCH["cat"]((x, y))
    if not whole:
        return scattered(at, values, shape)
    lead = shape[:at.shape[0]]
    numbers, where = TORCH["unique"](places(at, lead), return_inverse=True)
    return scattered(from_places(numbers, lead), summed(values, where, len(numbers)), shape, True)


@operation("add")
def add(a: Any, b: Any, alpha: Any = 1) -> Tensor:
    """Sparse and sparse gives sparse, dense and sparse gives dense."""
    if is_sparse(a) and is_sparse(b):
        _same_shape("add", a, b)
        one, other = parts(a).layout, parts(b).layout
        if one is not other:
            raise refusal("add", [a, b])
        return as_layout(_joined(in_coordinates(a), in_coordinates(b), alpha), one)
    if is_sparse(a):
        if parts(a).layout is COO or not hasattr(b, "ndim"):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return add(b if alpha == 1 else b * alpha, a)
    if not hasattr(a, "ndim"):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    kind = result_type(a, b)
    if parts(b).layout is COO and a.ndim == 0 and b.ndim:
        raise RuntimeError("add: expected 'self' and 'other' to have same size, but self has size [] while other has "
                           f"size {text(tuple(b.shape))}")
    _same_shape("add", a, b)
    of, values = entries(b)
    values = values.to(kind) if alpha == 1 else values.to(kind) * alpha
    at = tuple(coordinates(of, tuple(b.shape)))
    return a.to(kind).index_put(at, values, accumulate=True) if at else a.to(kind) + values.sum(0)


@operation("sub")
def sub(a: Any, b: Any, alpha: Any = 1) -> Tensor:
    """The sum with the negative."""
    return add(a, b, -alpha)


def _factor(x: Tensor, other: Any, combine: Callable[[Tensor, Any], Tensor]) -> Tensor:
    """A sparse tensor whose values are combined with a number or with the elements of a dense tensor."""
    of, values = entries(x)
    if hasattr(other, "ndim") and other.ndim:
        shape = tuple(TORCH["broadcast_shapes"](x.shape, other.shape))
        if shape != tuple(x.shape):
            raise RuntimeError("mul(sparse, dense): the sparse tensor would have to be broadcast, from "
                               f"{text(tuple(x.shape))} to {text(shape)}")
        other = other.expand(shape)[tuple(coordinates(of, shape))]
    return with_values(of, tuple(x.shape), combine(values, other))


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The product of two sparse tensors: entries where both have one."""
    _same_shape("mul", a, b)
    flag, shape = parts(a).coalesced and parts(b).coalesced, tuple(a.shape)
    (first, x), (second, y) = entries(coalesced(a)), entries(coalesced(b))
    lead = shape[:first.indices[0].shape[0]]
    if first.indices[0].shape[0] != second.indices[0].shape[0]:
        raise RuntimeError("mul(sparse, sparse): the tensors keep different dimensions as indices")
    mine, theirs = places(first.indices[0], lead), places(second.indices[0], lead)
    if len(mine) and len(theirs):
        at = TORCH["searchsorted"](theirs, mine).clamp(max=len(theirs) - 1)
        both = theirs[at] == mine
    else:
        at = both = TORCH["zeros"](len(mine), dtype=DTYPES["bool"])
        at = at.to(DTYPES["int64"])
    return scattered(first.indices[0][:, both], x[both] * y[at[both]], shape, bool(flag))


@operation("mul")
def mul(a: Any, b: Any) -> Tensor:
    """By a number, a dense tensor that broadcasts to the sparse one, or a sparse tensor."""
    if is_sparse(a) and is_sparse(b):
        one = parts(a).layout
        return as_layout(_product(in_coordinates(a), in_coordinates(b)), one)
    x, other = (a, b) if is_sparse(a) else (b, a)
    return _factor(x, other, lambda values, by: values * by)


def _check_divisor(a: Any, b: Any) -> None:
    if is_sparse(b) or not is_sparse(a):
        raise RuntimeError("Sparse division requires a dense divisor" if is_sparse(a) else
                           "div: a dense tensor cannot be divided by a sparse one")
    if hasattr(b, "ndim") and b.ndim:
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{text(tuple(b.shape))} for divisor)")


@operation("div")
def div(a: Any, b: Any, rounding_mode: str | None = None) -> Tensor:
    """By a number or a dense tensor without dimensions."""
    _check_divisor(a, b)
    return _factor(a if rounding_mode is None else coalesced(a), b,
                   lambda values, by: TORCH["div"](values, by, rounding_mode=rounding_mode))


@operation("floor_divide")
def floor_divide(a: Any, b: Any) -> Tensor:
    """The quotient, rounded down."""
    return div(a, b, "floor")


@operation("pow")
def power(x: Any, exponent: Any) -> Tensor:
    """To a power that is a number, not 0."""
    if not is_sparse(x) or hasattr(exponent, "ndim"):
        raise refusal("pow", [x, exponent])
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    of, values = entries(coalesced(x))
    return with_values(of, tuple(x.shape), values ** exponent)


# --- over dimensions -------------------------------------------------------------------------------------------------
@operation("sum")
def total(x: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The sum of all elements, or over dimensions: sparse while a sparse dimension is left."""
    of, values = entries(x)
    if dim is None or dim == () or (not keepdim and sorted(dim) == list(range(x.ndim))):
        return values.sum(dtype=dtype)
    if of.layout is not COO:
        if not keepdim:
            raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
        return as_layout(total(in_coordinates(x), dim, True, dtype), of.layout)
    lead = of.indices[0].shape[0]
    apart = [d - lead + 1 for d in dim if d >= lead]
    if dtype is None and not (values.dtype.is_floating_point or values.dtype.is_complex):
        dtype = DTYPES["int64"]
    values = values.to(dtype) if dtype is not None else values
    values = values.sum(apart, keepdim=keepdim) if apart else values
    kept = [d for d in range(lead) if d not in dim]
    shape = tuple(1 if d in dim else n for d, n in enumerate(x.shape) if keepdim or d not in dim)
    if not kept and not keepdim:
        return values.sum(0)
    if keepdim:
        at = of.indices[0].clone()
        at[[d for d in dim if d < lead]] = 0
    else:
        at = of.indices[0][kept]
    return coalesced(scattered(at, values, shape))


@operation("any")
def any_nonzero(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether an element is not zero."""
    if dim is not None:
        raise refusal("any.dim", [x])
    return coalesced(in_coordinates(x))._values().any()


@operation("norm")
def norm(x: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The norm of all elements."""
    given = [] if dim is None else [dim] if isinstance(dim, int) else dim
    whole = not given or sorted(d + x.ndim if d < 0 else d for d in given) == list(range(x.ndim))
    if not whole:
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
                           "contain all dimensions of the input")
    _of, values = entries(coalesced(in_coordinates(x)))
    return values.reshape(-1).norm(2 if p in ("fro", None) else p, dtype=dtype)


def softmax(x: Tensor, dim: int, dtype: Any = None, log: bool = False) -> Tensor:
    """Softmax (or its logarithm) over a dimension, where absent entries count as minus infinity."""
    if not is_sparse(x):
        raise RuntimeError("softmax: expected a sparse tensor, got one that is dense")
    layout = parts(x).layout
    if layout is not COO:
        raise refusal("_sparse_softmax", [x])
    axis = dim + x.ndim if dim < 0 else dim
    if not 0 <= axis < max(x.ndim, 1):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got "
                         f"{dim})")
    of, values = entries(coalesced(x))
    values = values if dtype is None else values.to(dtype)
    lead, shape = of.indices[0].shape[0], tuple(x.shape)
    if axis >= lead:
        name = "log_softmax" if log else "softmax"
        return with_values(of, shape, TORCH[name](values, axis - lead + 1))
    others = [d for d in range(lead) if d != axis]
    numbers, group = TORCH["unique"](places(of.indices[0][others], tuple(shape[d] for d in others)),
                                     return_inverse=True)
    highest = TORCH["full"]((len(numbers), *values.shape[1:]), -float("inf"), dtype=values.dtype)
    highest = highest.index_reduce(0, group, values.detach(), "amax")
    shifted = values - highest[group]
    sums = summed(shifted.exp(), group, len(numbers))
    return with_values(of, shape, shifted - sums.log()[group] if log else shifted.exp() / sums[group])


@operation("to_dense")
def to_dense(x: Tensor, dtype: Any = None, masked_grad: bool | None = None) -> Tensor:
    """The same tensor with all its zeros."""
    if dtype is not None:
        raise RuntimeError(f"dtype argument is not supported by sparse_{'' if x.is_sparse else 'csr_'}to_dense")
    return dense(x) if masked_grad is None or masked_grad else _Unmasked.apply(x)


class _Unmasked(Function):
    """The same tensor with all its zeros, each of which has a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.layout, ctx.lead = x.layout, x.sparse_dim()
        return dense(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g.to_sparse(ctx.lead) if ctx.layout is COO else g.to_sparse(layout=ctx.layout)
