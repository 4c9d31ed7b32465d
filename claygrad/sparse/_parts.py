"""The parts of sparse tensors, and the few steps between a sparse tensor and its values that autograd knows.

All that sparse tensors can do is made of these and of operations on dense values: so it has derivatives of every order.
The gradient of a sparse tensor is that of the tensor which it stands for; hence entries of the same place are added up
(`coalesce`) before their values are taken where a gradient is wanted.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import DTYPES, Function
from claygrad.core import Tensor as TensorType
from claygrad.core.graph.modes import get_grad_enabled
from claygrad.core.sparse_tensor import Parts, parts, sparse_tensor
from claygrad.ops import _formats
from claygrad.ops._registry import NAMESPACES
from claygrad.ops.creation import tensor

if TYPE_CHECKING:
    from claygrad.core import Tensor

TORCH = NAMESPACES["torch"]
COO, CSR, CSC = _formats.sparse_coo, _formats.sparse_csr, _formats.sparse_csc
INT64 = DTYPES["int64"]


def recorded(x: Tensor) -> bool:
    """Whether what is computed of a tensor becomes part of its graph."""
    return bool(x.requires_grad and get_grad_enabled())


def coordinates(of: Parts, shape: tuple[int, ...]) -> Tensor:
    """Where the entries are: a row for each sparse dimension."""
    if of.layout is COO:
        return of.indices[0]
    begins, along = of.indices
    count = shape[0] if of.layout is CSR else shape[1]
    across = TORCH["repeat_interleave"](TORCH["arange"](count), begins[1:].to(INT64) - begins[:-1].to(INT64))
    pair = (across, along.to(INT64)) if of.layout is CSR else (along.to(INT64), across)
    return TORCH["stack"](pair)


def places(indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """One number for each entry, in the order of rows."""
    out = TORCH["zeros"](indices.shape[1], dtype=INT64)
    for row, n in zip(indices, shape, strict=False):
        out = out * n + row
    return out


def from_places(numbers: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The coordinates of places."""
    rows = []
    for n in reversed(shape):
        rows.append(numbers % max(n, 1))
        numbers = numbers.div(max(n, 1), rounding_mode="floor")
    return TORCH["stack"](rows[::-1]) if rows else TORCH["zeros"]((0, numbers.shape[0]), dtype=INT64)


# --- steps that autograd knows ------------------------------------------------------------------------------------
class _ValuesOf(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.pattern, ctx.shape = parts(x), tuple(x.shape)
        return ctx.pattern.values.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return with_values(ctx.pattern, ctx.shape, g)


class _WithValues(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, pattern: Parts, shape: tuple[int, ...]) -> Tensor:
        ctx.pattern, ctx.shape = pattern, shape
        return sparse_tensor(Parts(pattern.layout, pattern.indices, values.detach(), pattern.coalesced), shape)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        return values_at(g, ctx.pattern, ctx.shape), None, None


class _Coalesce(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        of, shape = parts(x), tuple(x.shape)
        lead = shape[:of.indices[0].shape[0]]
        check_indices(of.indices[0], lead)
        numbers, where = TORCH["unique"](places(of.indices[0], lead), return_inverse=True)
        return sparse_tensor(Parts(COO, (from_places(numbers, lead),), summed(of.values, where, len(numbers)), True),
                             shape)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


def check_indices(at: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse coordinates outside of a shape."""
    if not at.numel():
        return
    for d, (low, high) in enumerate(zip(at.amin(1).tolist(), at.amax(1).tolist())):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= shape[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but found index "
                               f"{high}")


def summed(values: Tensor, where: Tensor, count: int) -> Tensor:
    """For each of `count` places the sum of the values there."""
    if values.dtype is DTYPES["bool"]:
        return summed(values.to(INT64), where, count) != 0
    return TORCH["zeros"]((count, *values.shape[1:]), dtype=values.dtype).index_add(0, where, values)


def with_values(pattern: Parts, shape: tuple[int, ...], values: Tensor) -> Tensor:
    """A sparse tensor with the indices of another."""
    return _WithValues.apply(values, pattern, tuple(shape))


def scattered(indices: Tensor, values: Tensor, shape: tuple[int, ...], coalesced: bool = False) -> Tensor:
    """A sparse tensor in coordinates."""
    return with_values(Parts(COO, (indices,), values.detach(), coalesced), shape, values)


def coalesced(x: Tensor) -> Tensor:
    """The same tensor with at most one entry for each place, in order."""
    return x if parts(x).coalesced else _Coalesce.apply(x)


def entries(x: Tensor) -> tuple[Parts, Tensor]:
    """The parts of a sparse tensor, and its values as part of its graph."""
    if not recorded(x):
        return parts(x), parts(x).values
    x = coalesced(x)
    return parts(x), _ValuesOf.apply(x)


def values_at(g: Tensor, pattern: Parts, shape: tuple[int, ...]) -> Tensor:
    """The elements of a tensor, dense or sparse, at the entries of a pattern."""
    if not is_sparse(g):
        return g[tuple(coordinates(pattern, shape))]
    of, values = entries(coalesced(in_coordinates(g)) if parts(g).layout is COO else g)
    if len(of.indices) == len(pattern.indices) and all(a is b for a, b in zip(of.indices, pattern.indices)):
        return values
    mine, theirs = coordinates(pattern, shape), coordinates(of, shape)
    lead, common = shape[:mine.shape[0]], min(mine.shape[0], theirs.shape[0])
    if mine.shape[0] != theirs.shape[0]:                 # other dimensions are kept as indices: through a dense one
        return dense(g)[tuple(mine)] if common else dense(g)
    order = TORCH["argsort"](places(theirs, lead)) if of.layout is CSC else None
    numbers = places(theirs, lead) if order is None else places(theirs, lead)[order]
    if not len(numbers):
        return TORCH["zeros"]((mine.shape[1], *values.shape[1:]), dtype=values.dtype)
    wanted = places(mine, lead)
    at = TORCH["searchsorted"](numbers, wanted).clamp(max=len(numbers) - 1)
    found = numbers[at] == wanted
    out = (values if order is None else values[order])[at]
    return TORCH["where"](found.reshape((-1,) + (1,) * (out.ndim - 1)), out, TORCH["zeros"]((), dtype=out.dtype))


# --- from one layout to another ------------------------------------------------------------------------------------
def is_sparse(x: Any) -> bool:
    """Whether an object is a sparse tensor of any layout."""
    return isinstance(x, TensorType) and parts(x) is not None


def in_coordinates(x: Tensor) -> Tensor:
    """The same tensor in coordinates."""
    of = parts(x)
    if of.layout is COO:
        return x
    of, values = entries(x)
    indices = coordinates(of, tuple(x.shape))
    if of.layout is CSC:
        order = TORCH["argsort"](places(indices, tuple(x.shape)), stable=True)
        indices, values = indices[:, order], values[order]
    return scattered(indices, values, tuple(x.shape), True)


def compressed(x: Tensor, layout: Any) -> Tensor:
    """The same matrix compressed by rows or by columns."""
    if parts(x).layout is layout:
        return x
    if x.ndim != 2 or (parts(x).layout is COO and parts(x).indices[0].shape[0] != 2):
        raise RuntimeError(f"Only tensors with two sparse dimensions can be converted to the {NAMES[layout]} layout. "
                           f"self has {x.ndim - (parts(x).values.ndim - 1)} sparse dimensions\n"
                           "  claygrad keeps matrices alone in that layout; batches and blocks of dense values stay "
                           "in coordinates.")
    of, values = entries(coalesced(in_coordinates(x)))
    rows, columns = of.indices[0]
    if layout is CSC:
        order = TORCH["argsort"](columns * x.shape[0] + rows, stable=True)
        rows, columns, values = columns[order], rows[order], values[order]
    check_indices(of.indices[0], tuple(x.shape))
    begins = TORCH["searchsorted"](rows.contiguous(), TORCH["arange"](x.shape[0 if layout is CSR else 1] + 1))
    return with_values(Parts(layout, (begins, columns.contiguous()), values.detach(), True), tuple(x.shape), values)


NAMES = {COO: "Sparse", CSR: "SparseCsr", CSC: "SparseCsc"}


def as_layout(x: Tensor, layout: Any) -> Tensor:
    """The same tensor in another sparse layout."""
    return in_coordinates(x) if layout is COO else compressed(x, layout)


def dense(x: Tensor) -> Tensor:
    """The same tensor with all its zeros."""
    of, values = entries(x)
    indices = coordinates(of, tuple(x.shape))
    if not indices.shape[0]:
        return values.sum(0).to(values.dtype)
    out = TORCH["zeros"](tuple(x.shape), dtype=x.dtype)
    if x.dtype is DTYPES["bool"]:
        return out.to(INT64).index_put(tuple(indices), values.to(INT64), accumulate=True) != 0
    return out.index_put(tuple(indices), values, accumulate=True)


def empty(shape: tuple[int, ...], dtype: Any, layout: Any = COO, sparse_dims: int | None = None) -> Tensor:
    """A sparse tensor without entries."""
    lead = len(shape) if sparse_dims is None else sparse_dims
    values = TORCH["zeros"]((0, *shape[lead:]), dtype=dtype)
    if layout is COO:
        indices: tuple[Tensor, ...] = (TORCH["zeros"]((lead, 0), dtype=INT64),)
    else:
        indices = (TORCH["zeros"](shape[0 if layout is CSR else 1] + 1, dtype=INT64), TORCH["zeros"](0, dtype=INT64))
    return sparse_tensor(Parts(layout, indices, values, True), shape)


def as_dense_tensor(given: Any, dtype: Any = None) -> Tensor:
    """Indices or values as a tensor: itself if it is one."""
    if isinstance(given, TensorType):
        return given if dtype is None else given.to(dtype)
    return tensor(given, dtype=dtype)
