"""Making sparse tensors: of indices and values, of dense tensors, and what is asked of them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import DTYPES, default_dtype
from claygrad.core.decorated import decorated
from claygrad.core.sparse_tensor import Parts, parts
from claygrad.ops import _formats
from claygrad.ops._geometry import sizes, text
from claygrad.ops.creation import checked_dtype
from claygrad.sparse._parts import (
    COO,
    CSC,
    CSR,
    INT64,
    NAMES,
    TORCH,
    as_dense_tensor,
    as_layout,
    check_indices,
    empty,
    entries,
    is_sparse,
    places,
    scattered,
    values_at,
    with_values,
)

if TYPE_CHECKING:
    from types import TracebackType

    from claygrad.core import Tensor

BLOCKS = (_formats.sparse_bsr, _formats.sparse_bsc)


class check_sparse_tensor_invariants:
    """Whether indices of new sparse tensors are looked through: as a context, a decorator, or for good (`enable`)."""

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._before: list[bool] = []

    @classmethod
    def is_enabled(cls) -> bool:
        """Whether they are looked through now."""
        return check_sparse_tensor_invariants._enabled

    @classmethod
    def enable(cls) -> None:
        """Look through the indices of all sparse tensors made from now on."""
        check_sparse_tensor_invariants._enabled = True

    @classmethod
    def disable(cls) -> None:
        """Trust the indices that are given."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self._before.append(self.is_enabled())
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        check_sparse_tensor_invariants._enabled = self._before.pop()

    def __call__(self, function: Any) -> Any:
        return decorated(function, lambda: type(self)(self.state))


def _looked_through(check_invariants: bool | None) -> bool:
    return check_sparse_tensor_invariants.is_enabled() if check_invariants is None else bool(check_invariants)


def _place(name: str, device: Any) -> None:
    if device is not None and TORCH["empty"](0, device=device).device.type != "cpu":
        raise NotImplementedError(f"{name}: sparse tensors are kept on the CPU, not on '{device}'")


def _leaf(made: Tensor, requires_grad: bool) -> Tensor:
    return made.detach().requires_grad_() if requires_grad else made


def _numbers(given: Any, dtype: Any) -> Tensor:
    return as_dense_tensor(given, checked_dtype("sparse_coo_tensor", dtype))


def sparse_coo_tensor(indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None) -> Tensor:
    """A sparse tensor of values at coordinates: `indices` has a row for each sparse dimension, a column for each value.

    Further dimensions of `values` are dense ones. `size` is as large as the indices ask for, unless it is given.
    """
    _place("sparse_coo_tensor", device)
    if values is None:                                   # sparse_coo_tensor(size)
        return _leaf(empty(sizes(indices), checked_dtype("sparse_coo_tensor", dtype) or default_dtype()), requires_grad)
    at, entry_values = as_dense_tensor(indices), _numbers(values, dtype)
    if is_sparse(at) or is_sparse(entry_values):
        raise RuntimeError("expected values to be a dense tensor, but got values with layout "
                           f"{NAMES[parts(entry_values if is_sparse(entry_values) else at).layout]}")
    if at.dtype is not INT64:
        at = at.detach().to(INT64) if at.numel() else TORCH["zeros"](tuple(at.shape), dtype=INT64)
    if at.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {text(tuple(at.shape))}")
    if entry_values.ndim == 0:
        entry_values = entry_values.expand(at.shape[1]) if at.shape[1] else entry_values.reshape(1)[:0]
    if at.shape[1] != entry_values.shape[0]:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz from "
                           f"values: {entry_values.shape[0]}")
    shape = _inferred(at, entry_values) if size is None else sizes(size)
    if len(shape) != at.shape[0] + entry_values.ndim - 1:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
                           f"sparse_dim = {at.shape[0]}, dense_dim = {entry_values.ndim - 1}")
    if tuple(shape[at.shape[0]:]) != tuple(entry_values.shape[1:]):
        raise RuntimeError(f"values has incorrect size, expected {text((at.shape[1], *shape[at.shape[0]:]))}, got "
                           f"{text(tuple(entry_values.shape))}")
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {text(shape)}")
    if _looked_through(check_invariants):
        check_indices(at, shape)
        if is_coalesced:
            _check_order(at, shape)
    made = scattered(at.detach(), entry_values, shape, bool(is_coalesced))
    return _leaf(made, requires_grad)


def _inferred(at: Tensor, values: Tensor) -> tuple[int, ...]:
    if not at.shape[1]:
        lead = (0,) * at.shape[0]
    else:
        lowest, highest = at.amin(1).tolist(), at.amax(1).tolist()
        for d, n in enumerate(lowest):
            if n < 0:
                raise RuntimeError(f"found negative index {n} for dim {d}")
        lead = tuple(n + 1 for n in highest)
    return (*lead, *values.shape[1:])


def _check_order(at: Tensor, shape: tuple[int, ...]) -> None:
    numbers = places(at, shape)
    if bool((numbers[1:] <= numbers[:-1]).any()):
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def _compressed(name: str, layout: Any, begins: Any, along: Any, values: Any, size: Any, dtype: Any, device: Any,
                requires_grad: bool, check_invariants: bool | None) -> Tensor:
    _place(name, device)
    first, second, entry_values = as_dense_tensor(begins), as_dense_tensor(along), _numbers(values, dtype)
    words = ("crow_indices", "col_indices", "rows") if layout is CSR else ("ccol_indices", "row_indices", "columns")
    if first.ndim != 1 or second.ndim != 1 or entry_values.ndim != 1:
        raise NotImplementedError(f"{name}: claygrad keeps matrices of numbers in this layout, no batches and no "
                                  f"blocks; got {words[0]} of {first.ndim} dimensions and values of "
                                  f"{entry_values.ndim}")
    for given in (first, second):
        if given.dtype.name not in ("int32", "int64"):
            raise RuntimeError(f"{words[0]} and {words[1]} must be an int32 or int64 type, but got "
                               f"{given.dtype.legacy}")
    if first.dtype is not second.dtype:
        raise RuntimeError(f"{words[0]} and {words[1]} must have the same dtype, but got {first.dtype.legacy} and "
                           f"{second.dtype.legacy}, respectively")
    if size is None:
        across, wide = len(first) - 1, (int(second.max()) + 1 if len(second) else 0)
        shape: tuple[int, ...] = (across, wide) if layout is CSR else (wide, across)
    else:
        shape = sizes(size)
    if len(shape) != 2:
        raise RuntimeError(f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (=0 + 2 + "
                           f"0) but got {len(shape)}")
    _check_compressed(first, second, entry_values, shape[0 if layout is CSR else 1],
                      shape[1 if layout is CSR else 0], words, _looked_through(check_invariants))
    made = with_values(Parts(layout, (first.detach(), second.detach()), entry_values.detach(), True), shape,
                       entry_values)
    return _leaf(made, requires_grad)


def _check_compressed(first: Tensor, second: Tensor, values: Tensor, across: int, wide: int,
                      words: tuple[str, str, str], thorough: bool) -> None:
    """What must hold for the matrix to be read at all is always looked at; what PyTorch checks, if asked."""
    if len(first) != across + 1:
        raise RuntimeError(f"{words[0]}.shape[-1] must be equal to the number of {words[2]} + 1 (={across + 1}), but "
                           f"got {len(first)}")
    if len(second) != len(values):
        raise RuntimeError(f"number of specified elements ({len(values)}) and {words[1]}.shape[-1] ({len(second)}) "
                           "must be equal")
    steps = first[1:] - first[:-1]
    if int(first[0]) != 0:
        raise RuntimeError(f"`{words[0]}[..., 0] == 0` is not satisfied.")
    if int(first[-1]) != len(second):
        raise RuntimeError(f"`{words[0]}[..., -1] == nnz` is not satisfied.")
    if bool((steps < 0).any()) or bool((steps > wide).any()):
        raise RuntimeError(f"`0 <= {words[0]}[..., 1:] - {words[0]}[..., :-1] <= {words[2]}` is not satisfied.")
    if len(second) and (int(second.min()) < 0 or int(second.max()) >= wide):
        raise RuntimeError(f"`0 <= {words[1]} < {'ncols' if words[2] == 'rows' else 'nrows'}` is not satisfied.")
    if thorough and len(second) > 1:
        starts = TORCH["zeros"](len(second) + 1, dtype=DTYPES["bool"]).index_fill(0, first.to(INT64), True)[1:-1]
        if bool(((second[1:] <= second[:-1]) & ~starts).any()):
            raise RuntimeError(f"`{words[1]}[..., {words[0]}[..., i - 1]:{words[0]}[..., i]] for all i = 1, ..., "
                               "across are sorted and distinct along the last dimension values` is not satisfied.")


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None) -> Tensor:
    """A matrix by rows: row i has `values` and their columns from crow_indices[i] to crow_indices[i + 1]."""
    return _compressed("sparse_csr_tensor", CSR, crow_indices, col_indices, values, size, dtype, device, requires_grad,
                       check_invariants)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None) -> Tensor:
    """A matrix by columns: column i has `values` and their rows from ccol_indices[i] to ccol_indices[i + 1]."""
    return _compressed("sparse_csc_tensor", CSC, ccol_indices, row_indices, values, size, dtype, device, requires_grad,
                       check_invariants)


def no_blocks(name: str) -> NotImplementedError:
    """The refusal of the layouts that keep blocks."""
    return NotImplementedError(f"{name}: claygrad has no sparse tensors of blocks\n"
                               "  instead: sparse_coo_tensor or sparse_csr_tensor")


def sparse_bsr_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """Refused: blocks by rows."""
    raise no_blocks("sparse_bsr_tensor")


def sparse_bsc_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """Refused: blocks by columns."""
    raise no_blocks("sparse_bsc_tensor")


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *,
                             layout: Any = None, **options: Any) -> Tensor:
    """A matrix by rows or by columns, as `layout` says."""
    if layout in BLOCKS:
        raise no_blocks("sparse_compressed_tensor")
    if layout not in (CSR, CSC):
        raise RuntimeError("expected sparse compressed tensor layout but got "
                           f"{'Strided' if layout is None else layout}")
    make = sparse_csr_tensor if layout is CSR else sparse_csc_tensor
    return make(compressed_indices, plain_indices, values, size, **options)


def unchecked_coo(indices: Tensor, values: Tensor, size: Any, **options: Any) -> Tensor:
    """`sparse_coo_tensor` under PyTorch's private name; the indices are not looked through."""
    return sparse_coo_tensor(indices, values, size, check_invariants=False, **options)


# --- of dense tensors ----------------------------------------------------------------------------------------------
def from_dense(x: Tensor, layout: Any, sparse_dims: int | None = None) -> Tensor:
    """A dense tensor as a sparse one."""
    lead = x.ndim if sparse_dims is None else sparse_dims
    if not 0 < lead <= x.ndim and not (x.ndim == 0 and lead == 0):
        raise RuntimeError(f"sparse_dim must be in [{min(1, x.ndim)}, {x.ndim}] when it is not None, got {lead}")
    there = x.detach() != 0
    if lead < x.ndim:
        there = there.flatten(lead).any(-1)
    if x.ndim == 0:
        there = there.reshape(1)
        at = TORCH["zeros"]((0, int(there.sum())), dtype=INT64)
        made = scattered(at, x.reshape(1)[there], (), True)
    else:
        at = TORCH["nonzero"](there).t().contiguous()
        made = scattered(at, x[tuple(at)], tuple(x.shape), True)
    return as_layout(made, layout)


def to_sparse(x: Tensor, *args: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Tensor:
    """`Tensor.to_sparse`: of a number of sparse dimensions, or in a layout."""
    first = args[0] if args else None
    if isinstance(first, _formats.layout):
        layout, first = first, None
    if len(args) > 1 or (first is not None and not isinstance(first, int)):
        raise TypeError(f"to_sparse() takes a number of sparse dimensions or a layout, not {args}")
    if layout in BLOCKS or blocksize is not None:
        raise no_blocks("to_sparse")
    if dense_dim:
        raise NotImplementedError("to_sparse: matrices by rows or columns have no dense dimensions in claygrad")
    if layout is _formats.strided:
        return x.to_dense()
    if is_sparse(x):
        if first is not None and first != x.sparse_dim():
            name = NAMES[parts(x).layout]
            raise RuntimeError(f"to_sparse: conversion from {name} to Sparse with sparse_dim argument "
                               "!=self.sparse_dim() is not supported")
        return as_layout(x, layout or COO)
    return from_dense(x, layout or COO, first)


def sparse_mask(x: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor where a sparse one has entries."""
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask: expected the mask to be sparse")
    if tuple(x.shape) != tuple(mask.shape):
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {text(tuple(x.shape))} but "
                           f"mask has size {text(tuple(mask.shape))}")
    of = parts(mask)
    return with_values(of, tuple(x.shape), values_at(x, of, tuple(x.shape)))


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A matrix with rows of `diagonals` on the diagonals that `offsets` count from the main one."""
    rows = diagonals if diagonals.ndim == 2 else diagonals.reshape(1, -1)
    kinds = offsets.reshape(-1)
    size = sizes(shape)
    if len(size) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {len(size)}d")
    if rows.shape[0] != len(kinds):
        raise RuntimeError(f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({len(kinds)})")
    if len(set(kinds.tolist())) != len(kinds):
        raise RuntimeError("Offset tensor contains duplicate values")
    found, values = [], []
    for row, offset in zip(rows, kinds.tolist()):
        first, last = max(offset, 0), min(size[1], size[0] + offset, rows.shape[1])
        columns = TORCH["arange"](first, max(first, last))
        found.append(TORCH["stack"]((columns - offset, columns)))
        values.append(row[first:max(first, last)])
    made = scattered(TORCH["cat"](found, 1), TORCH["cat"](values), size)
    return made if layout is None or layout is COO else as_layout(made, layout)


def copied(x: Tensor) -> Tensor:
    """A sparse tensor with indices and values of its own."""
    of, values = entries(x)
    return with_values(Parts(of.layout, tuple(i.clone() for i in of.indices), of.values, of.coalesced),
                       tuple(x.shape), values.clone())


def rebuilt(layout: Any, described: tuple) -> Tensor:
    """A sparse tensor of a pickle or of a file of PyTorch's."""
    if layout is COO:
        indices, values, size, *flag = described
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=bool(flag and flag[0]))
    if layout in (CSR, CSC):
        first, second, values, size = described
        return sparse_compressed_tensor(first, second, values, size, layout=layout, check_invariants=True)
    raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")


def described(x: Tensor) -> tuple[Any, tuple]:
    """What `rebuilt` takes."""
    of = parts(x)
    flag = (bool(of.coalesced),) if of.layout is COO else ()
    return of.layout, (*of.indices, of.values, x.shape, *flag)
