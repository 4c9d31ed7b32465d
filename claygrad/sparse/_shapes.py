"""Parts of sparse tensors, joined and turned ones, copies; and what is asked of a tensor's layout."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import UPCALLS, parse_device, promote_types, refuse_unwritable
from claygrad.core.sparse_tensor import Parts, parts, replace
from claygrad.ops._formats import preserve_format, strided
from claygrad.ops._geometry import sizes, text
from claygrad.ops.creation import checked_dtype
from claygrad.sparse._make import copied, sparse_mask, to_sparse
from claygrad.sparse._parts import (
    COO,
    CSC,
    CSR,
    INT64,
    NAMES,
    TORCH,
    as_layout,
    coalesced,
    empty,
    entries,
    in_coordinates,
    is_sparse,
    scattered,
    with_values,
)
from claygrad.sparse._table import TABLE, operation, refusal

if TYPE_CHECKING:
    from claygrad.core import Tensor


def _axis(d: int, ndim: int) -> int:
    if not -max(ndim, 1) <= d < max(ndim, 1):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], "
                         f"but got {d})")
    return d + ndim if d < 0 else d


# --- turned ----------------------------------------------------------------------------------------------------------
@operation("transpose", "swapaxes", "swapdims")
def transposed(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """With two dimensions exchanged; a matrix by rows becomes one by columns."""
    order = list(range(x.ndim))
    a, b = _axis(dim0, x.ndim), _axis(dim1, x.ndim)
    if order:
        order[a], order[b] = order[b], order[a]
    return permuted(x, tuple(order))


@operation("permute")
def permuted(x: Tensor, dims: Any) -> Tensor:
    """With the dimensions in another order; sparse and dense ones stay among themselves."""
    order = tuple(_axis(d, x.ndim) for d in sizes(dims))
    if len(order) != x.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
                           f"the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not equal to len(dims) "
                           f"= {len(order)}")
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    of, values = entries(x)
    shape = tuple(x.shape[d] for d in order)
    if order == tuple(range(x.ndim)):
        return with_values(of, shape, values)
    if of.layout is not COO:
        turned = CSC if of.layout is CSR else CSR
        return with_values(Parts(turned, of.indices, of.values, True), shape, values)
    lead = of.indices[0].shape[0]
    if any((d < lead) != (i < lead) for i, d in enumerate(order)):
        raise RuntimeError("transpose: sparse and dense dimensions cannot be exchanged with one another, but got the "
                           f"order {text(order)} for {lead} sparse dimensions")
    values = values.permute(0, *[d - lead + 1 for d in order[lead:]]) if order[lead:] != tuple(range(lead, x.ndim)) \
        else values
    at = of.indices[0][list(order[:lead])]
    return scattered(at, values, shape, of.coalesced and order[:lead] == tuple(range(lead)))


@operation("t", "T", "mT", "H", "mH", "adjoint", "numpy_T")
def turned(x: Tensor) -> Tensor:
    """A matrix by its other diagonal."""
    if x.ndim > 2:
        raise RuntimeError("t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                           f"{x.sparse_dim()} sparse and {x.dense_dim()} dense dimensions")
    return transposed(x, 0, 1) if x.ndim == 2 else x


@operation("conj")
def conj(x: Tensor) -> Tensor:
    """The tensor itself, which has no imaginary part."""
    if x.dtype.is_complex:
        raise refusal("conj", [x])
    return x


def _entries(x: Tensor, change: Any, shape: tuple[int, ...]) -> Tensor:
    """The same places with changed entries."""
    if parts(x).layout is not COO:
        raise refusal(change.__name__, [x])
    of, values = entries(x)
    return scattered(of.indices[0], change(values), shape, of.coalesced)


@operation("real")
def real(x: Tensor) -> Tensor:
    """The real parts of the entries."""
    return _entries(x, TORCH["real"], tuple(x.shape)) if x.dtype.is_complex else x


@operation("imag")
def imag(x: Tensor) -> Tensor:
    """The imaginary parts of the entries."""
    return _entries(x, TORCH["imag"], tuple(x.shape))


@operation("view_as_real")
def view_as_real(x: Tensor) -> Tensor:
    """Complex entries as pairs of numbers, along a further dense dimension."""
    return _entries(x, TORCH["view_as_real"], (*x.shape, 2))


@operation("view_as_complex")
def view_as_complex(x: Tensor) -> Tensor:
    """Pairs of numbers along the last dimension, a dense one, as complex entries."""
    if parts(x).layout is COO and (x.shape[-1] != 2 or x.dense_dim() == 0):
        raise RuntimeError("view_as_complex_sparse is only supported for sparse tensors with the last dim == 2 and "
                           "dense_dim > 0.")
    return _entries(x, TORCH["view_as_complex"], tuple(x.shape[:-1]))


# --- pieces ----------------------------------------------------------------------------------------------------------
def _within(index: int, n: int, d: int) -> int:
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {d} with size {n}")
    return index + n if index < 0 else index


@operation("select")
def select(x: Tensor, dim: int, index: int) -> Tensor:
    """One slice of a dimension: sparse while a sparse dimension is left."""
    x = in_coordinates(x)
    axis = _axis(dim, x.ndim)
    number = _within(index, x.shape[axis], axis)
    of, values = entries(coalesced(x))
    lead = of.indices[0].shape[0]
    shape = tuple(n for d, n in enumerate(x.shape) if d != axis)
    if axis >= lead:
        return scattered(of.indices[0], values.select(axis - lead + 1, number), shape, True)
    here = of.indices[0][axis] == number
    if lead == 1:
        return values[here].sum(0).to(x.dtype)
    kept = [d for d in range(lead) if d != axis]
    return scattered(of.indices[0][kept][:, here], values[here], shape, True)


@operation("unbind")
def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All slices of a dimension."""
    return tuple(select(x, dim, i) for i in range(x.shape[_axis(dim, x.ndim)]))


@operation("index_select")
def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Slices of a dimension, in the order of their numbers."""
    if is_sparse(index) or not is_sparse(x) or parts(x).layout is not COO:
        raise refusal("index_select", [x, index])
    axis = _axis(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.name not in ("int32", "int64"):
        raise IndexError("index_select(): Expected dtype int32/int64 for index but got: " + index.dtype.c_name)
    wanted = index.reshape(-1).to(INT64)
    n = x.shape[axis]
    for one in (int(wanted.min()), int(wanted.max())) if len(wanted) else ():
        if not -n <= one < n:
            raise IndexError(f"index_select(): index contains {one} that is out of range for tensor of size "
                             f"{text(tuple(x.shape))} at dimension {axis}")
    wanted = TORCH["where"](wanted < 0, wanted + n, wanted)
    of, values = entries(x)
    lead = of.indices[0].shape[0]
    shape = tuple(len(wanted) if d == axis else m for d, m in enumerate(x.shape))
    if axis >= lead:
        return scattered(of.indices[0], values.index_select(axis - lead + 1, wanted), shape, of.coalesced)
    row = of.indices[0][axis]
    order = TORCH["argsort"](row, stable=True)
    counts = TORCH["bincount"](row, minlength=n)
    before = (counts.cumsum(0) - counts)[wanted]
    counts = counts[wanted]
    target = TORCH["repeat_interleave"](TORCH["arange"](len(wanted)), counts)
    offset = TORCH["arange"](len(target)) - (counts.cumsum(0) - counts)[target]
    taken = order[before[target] + offset]
    at = of.indices[0][:, taken].clone()
    at[axis] = target
    return scattered(at, values[taken], shape)


@operation("narrow_copy")
def narrow_copy(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A stretch of a dimension."""
    if parts(x).layout is not COO:
        raise refusal("narrow_copy", [x])
    axis = _axis(dim, x.ndim)
    start = start + x.shape[axis] if start < 0 else start
    if length < 0 or not 0 <= start <= x.shape[axis] - length:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
                           f"{x.shape[axis]}).")
    of, values = entries(x)
    lead = of.indices[0].shape[0]
    shape = tuple(length if d == axis else n for d, n in enumerate(x.shape))
    if axis >= lead:
        return scattered(of.indices[0], values.narrow_copy(axis - lead + 1, start, length), shape, of.coalesced)
    here = (of.indices[0][axis] >= start) & (of.indices[0][axis] < start + length)
    at = of.indices[0][:, here].clone()
    at[axis] -= start
    return scattered(at, values[here], shape, of.coalesced)


def getitem(x: Tensor, key: Any) -> Tensor:
    """x[i], x[i, j] and x[None] of a sparse tensor; slices and lists of numbers are refused, as in PyTorch."""
    for one in key if isinstance(key, tuple) else (key,):
        if one is None:
            x = unsqueeze(x, 0)
        elif isinstance(one, int) and not isinstance(one, bool):
            x = select(x, 0, one) if is_sparse(x) else x[one]
        elif isinstance(one, slice):
            raise refusal("as_strided", [x])
        elif one is Ellipsis:
            raise refusal("alias", [x])
        else:
            raise refusal("index.Tensor", [x])
        if isinstance(key, tuple) and len(key) > 1:
            if one is None:
                raise refusal("index.Tensor", [x])
            return getitem(x, key[1:]) if is_sparse(x) else x[key[1:]]
    return x


UPCALLS["sparse[]"] = getitem


# --- joined ----------------------------------------------------------------------------------------------------------
@operation("unsqueeze")
def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """With a further dimension of one."""
    if parts(x).layout is not COO:
        raise RuntimeError(f"Sparse {parts(x).layout.name[7:].upper()} tensors do not have strides")
    axis = _axis(dim, x.ndim + 1)
    of, values = entries(x)
    lead = of.indices[0].shape[0]
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    if axis > lead:
        return scattered(of.indices[0], values.unsqueeze(axis - lead + 1), shape, of.coalesced)
    blank = TORCH["zeros"]((1, of.indices[0].shape[1]), dtype=INT64)
    return scattered(TORCH["cat"]((of.indices[0][:axis], blank, of.indices[0][axis:])), values, shape, of.coalesced)


@operation("cat")
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """One after the other along a dimension."""
    for i, x in enumerate(tensors):
        if not is_sparse(x):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {i}.")
        if parts(x).layout is not COO:
            raise refusal("cat", [x])
    first = tensors[0]
    axis, lead = _axis(dim, first.ndim), parts(first).indices[0].shape[0]
    kind = first.dtype
    for i, x in enumerate(tensors):
        if x.ndim != first.ndim or any(a != b for d, (a, b) in enumerate(zip(x.shape, first.shape)) if d != axis):
            raise RuntimeError(f"All tensors must have the same shape: {text(tuple(first.shape))} (except in the "
                               f"concatenating dimension), but found shape: {text(tuple(x.shape))} at position {i}.")
        if parts(x).indices[0].shape[0] != lead:
            raise RuntimeError(f"All tensors must have the same sparse_dim and dense_dim: {lead}, "
                               f"{first.ndim - lead}, but tensor at position {i} has {x.sparse_dim()}, "
                               f"{x.dense_dim()}.")
        kind = promote_types(kind, x.dtype)
    before, found, values = 0, [], []
    total = sum(x.shape[axis] for x in tensors)
    for x in tensors:
        of, own = entries(x)
        at = of.indices[0]
        own = own.to(kind)
        if axis < lead:
            at = at.clone()
            at[axis] += before
        else:
            room = [0] * (2 * (own.ndim - 1))
            place = 2 * (own.ndim - 2 - (axis - lead))
            room[place], room[place + 1] = before, total - before - x.shape[axis]
            own = TORCH["constant_pad_nd"](own, room)
        before += x.shape[axis]
        found.append(at)
        values.append(own)
    shape = tuple(total if d == axis else n for d, n in enumerate(first.shape))
    return scattered(TORCH["cat"](found, 1), TORCH["cat"](values), shape)


@operation("stack")
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Side by side along a new dimension."""
    return cat([unsqueeze(x, dim) if is_sparse(x) else x for x in tensors], dim)        # which refuses dense ones


# --- copies ----------------------------------------------------------------------------------------------------------
@operation("clone")
def clone(x: Tensor, memory_format: Any = None) -> Tensor:
    """A copy with indices and values of its own."""
    return copied(x)


@operation("contiguous")
def contiguous(x: Tensor, memory_format: Any = None) -> Tensor:
    """Refused: there are no strides."""
    raise RuntimeError("unsupported memory format option Contiguous")


@operation("to_copy")
def to_copy(x: Tensor, dtype: Any, memory_format: Any = None) -> Tensor:
    """A copy of another dtype."""
    of, values = entries(x)
    return with_values(of, tuple(x.shape), values.to(dtype, copy=True))


@operation("copy_")
def copy_(x: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Take over the entries of another sparse tensor."""
    if is_sparse(x) != is_sparse(src) or parts(x).layout is not parts(src).layout:
        kinds = [f"{'sparse.' if is_sparse(y) else ''}{y.dtype.legacy}Tensor" for y in (x, src)]
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"torch.{kinds[0]} and src type = torch.{kinds[1]}")
    if x.shape != src.shape and parts(x).layout is not COO:
        raise RuntimeError(f"copy_: sizes {text(tuple(x.shape))} and {text(tuple(src.shape))} differ")
    return replace(x, copied(src).to(x.dtype))


@operation("zero_")
def zero_(x: Tensor) -> Tensor:
    """Without entries."""
    refuse_unwritable(x, x.requires_grad)
    return replace(x, empty(tuple(x.shape), x.dtype, parts(x).layout, _lead(x)))


def _lead(x: Tensor) -> int:
    return parts(x).indices[0].shape[0] if parts(x).layout is COO else 2


@operation("zeros_like", "empty_like")
def zeros_like(x: Tensor, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
               requires_grad: bool = False, memory_format: Any = None) -> Tensor:
    """A tensor of the same shape and layout without entries."""
    kind = x.dtype if dtype is None else dtype
    if memory_format not in (None, preserve_format) and layout is not strided:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if layout is strided:
        return TORCH["zeros"](tuple(x.shape), dtype=kind, device=device, requires_grad=requires_grad)
    if device is not None and parse_device(device).type != "cpu":
        raise NotImplementedError(f"zeros_like: sparse tensors are kept on the CPU, not on '{device}'")
    made = empty(tuple(x.shape), kind, layout or parts(x).layout, _lead(x))
    return made.requires_grad_() if requires_grad else made


@operation("new_zeros", "new_empty")
def new_zeros(x: Tensor, size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              layout: Any = None, pin_memory: bool = False) -> Tensor:
    """A sparse tensor of another shape without entries."""
    made = empty(sizes(size), checked_dtype("new_zeros", dtype) or x.dtype)
    return made.requires_grad_() if requires_grad else made


# --- layouts -----------------------------------------------------------------------------------------------------
TABLE["to_sparse"] = to_sparse
TABLE["sparse_mask"] = sparse_mask
TABLE["layout"] = lambda x: parts(x).layout
TABLE["is_sparse_csr"] = lambda x: parts(x).layout is CSR
TABLE["sparse_dim"] = _lead
TABLE["dense_dim"] = lambda x: x.ndim - _lead(x)
TABLE["_nnz"] = lambda x: parts(x).values.shape[0]
TABLE["to_sparse_csr"] = lambda x, dense_dim=None: as_layout(x, CSR)
TABLE["to_sparse_csc"] = lambda x, dense_dim=None: as_layout(x, CSC)


def _of(name: str, kind: str, layouts: tuple[Any, ...], answer: Any) -> None:
    def ask(x: Tensor) -> Any:
        if parts(x).layout not in layouts:
            raise RuntimeError(f"{name} expected {kind} tensor layout but got {NAMES[parts(x).layout]}")
        return answer(x)
    TABLE[name] = ask


def _if_coalesced(name: str, answer: Any) -> Any:
    def ask(x: Tensor) -> Any:
        if not parts(x).coalesced:
            raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
        return answer(x)
    return ask


_of("is_coalesced", "sparse coordinate", (COO,), lambda x: bool(parts(x).coalesced))
_of("coalesce", "sparse coordinate", (COO,), coalesced)
_of("indices", "sparse coordinate", (COO,), _if_coalesced("indices", lambda x: parts(x).indices[0]))
_of("values", "sparse", (COO, CSR, CSC), _if_coalesced("values", lambda x: entries(x)[1]))
_of("crow_indices", "sparse row compressed", (CSR,), lambda x: parts(x).indices[0])
_of("col_indices", "sparse row compressed", (CSR,), lambda x: parts(x).indices[1])
_of("ccol_indices", "sparse column compressed", (CSC,), lambda x: parts(x).indices[0])
_of("row_indices", "sparse column compressed", (CSC,), lambda x: parts(x).indices[1])


def _private(name: str, answer: Any) -> None:
    def ask(x: Tensor) -> Any:
        if parts(x).layout is not COO:
            raise refusal(name, [x])
        return answer(x)
    TABLE[name] = ask


_private("_indices", lambda x: parts(x).indices[0])
_private("_values", lambda x: parts(x).values)
_private("_dimI", _lead)
_private("_dimV", lambda x: x.ndim - _lead(x))


@operation("_coalesced_")
def set_coalesced(x: Tensor, coalesced: bool) -> Tensor:
    """Say whether the entries are in order and each of its own place."""
    of = parts(x)
    return replace(x, with_values(Parts(of.layout, of.indices, of.values, coalesced), tuple(x.shape), of.values))


@operation("sparse_resize_")
def sparse_resize_(x: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Another shape for the same entries."""
    shape, of = sizes(size), parts(x)
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
                           f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    if of.values.shape[0] and (sparse_dim != _lead(x) or shape[sparse_dim:] != tuple(of.values.shape[1:])
                               or any(a < b for a, b in zip(shape, x.shape))):
        raise RuntimeError("changing the number of sparse dimensions, dense sizes, or shrinking the size of sparse "
                           "dimensions on a non-empty sparse tensor is not supported")
    if not of.values.shape[0]:
        return replace(x, empty(shape, x.dtype, COO, sparse_dim))
    return replace(x, with_values(of, shape, of.values))


@operation("sparse_resize_and_clear_")
def sparse_resize_and_clear_(x: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Another shape, and no entries."""
    shape = sizes(size)
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
                           f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    return replace(x, empty(shape, x.dtype, COO, sparse_dim))


@operation("resize_as_sparse_", "resize_as_")
def resize_as_sparse_(x: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """The shape of another sparse tensor."""
    if not is_sparse(x) or not is_sparse(the_template):
        raise RuntimeError("resize_as_sparse_: self and other must be sparse")
    return x if x.shape == the_template.shape else sparse_resize_(
        x, tuple(the_template.shape), _lead(the_template), the_template.ndim - _lead(the_template))
