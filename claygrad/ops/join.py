"""Joining tensors: concatenation, stacking, grids and Cartesian products."""
from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops._formats import common_format, contiguous_format, empty_array, strides_for
from claygrad.ops._geometry import axis, text, view_strides
from claygrad.ops._registry import composite, op
from claygrad.ops.fill import zeros
from claygrad.ops.ranges import arange
from claygrad.ops.view import atleast_1d, atleast_2d, atleast_3d, check_tensors

if TYPE_CHECKING:
    from claygrad.core import Tensor


def _is_skipped(shape: tuple[int, ...]) -> bool:
    return len(shape) == 1 and shape[0] == 0        # an empty vector joins anything


def _joined_shape(tensors: list, dim: int) -> tuple[int, ...]:
    """The shape of tensors (or arrays) joined along `dim`, checked."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, tensor in enumerate(tensors):
        if tensor is None:
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got NoneType")
        if tensor.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    kept = [(i, tuple(tensor.shape)) for i, tensor in enumerate(tensors) if not _is_skipped(tensor.shape)]
    if not kept:                                    # along whatever axis
        return (0,)
    first = kept[0][1]
    dim = axis(dim, len(first))
    for i, shape in kept:
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for j, (want, got) in enumerate(zip(first, shape)):
            if want != got and j != dim:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size {want} but "
                                   f"got size {got} for tensor number {i} in the list.")
    return (*first[:dim], sum(shape[dim] for _, shape in kept), *first[dim + 1:])


def _check_out(out: Tensor, result: Tensor) -> None:
    if result.dtype.category > out.dtype.category:
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype.legacy}")


def _joined_plainly(xp, arrays: list, dim: int):
    """The arrays joined where there is nothing to say about empty ones, memory formats or errors; else None."""
    if not arrays or not all(array is not None and array.size for array in arrays) or arrays[0].ndim in (0, 4, 5):
        return None
    try:
        out = xp.concatenate(arrays, dim)
    except ValueError:
        return None
    return out if out.flags.c_contiguous else xp.ascontiguousarray(out)


@op(kernel="joined", method=False, promote="common", half="raw", names=("concat", "concatenate"), meta=_joined_shape,
    check_out=_check_out, out_alias="refuse",
    samples=lambda t: [t.args([t(2, 3), t(1, 3)]), t.args([t(2, 3), t(2, 1), t(2, 2)], -1), t.args([t(0), t(2, 3)]),
                       t.args([t(2), t(3, dtype="int64")])],
    errors=lambda t: [(t.args([]), ValueError, "torch.cat(): expected a non-empty list of Tensors"),
                      (t.args([t(2, 3), t(2, 4)]), RuntimeError,
                       "Sizes of tensors must match except in dimension 0. Expected size 3 but"),
                      (t.args([t(2), t(2, 2)]), RuntimeError,
                       "Tensors must have same number of dimensions: got 1 and 2"),
                      (t.args([t(), t()]), RuntimeError,
                       "zero-dimensional tensor (at position 0) cannot be concatenated")])
def cat(xp, tensors: list[Tensor], dim: int = 0):
    """Concatenates tensors along an existing axis. Empty 1-dim tensors are skipped.

    >>> claygrad.cat([claygrad.zeros(2), claygrad.ones(1)])
    tensor([0., 0., 1.])
    """
    out = _joined_plainly(xp, tensors, dim)
    if out is not None:
        return out
    shape = _joined_shape(tensors, dim)
    arrays = [array for array in tensors if not _is_skipped(array.shape)]
    if not arrays:
        return xp.empty(0, tensors[0].dtype)
    out = empty_array(xp, shape, strides_for(shape, common_format(arrays)), arrays[0].dtype)
    return xp.concatenate(arrays, axis(dim, len(shape)), out=out)


def _uncat(g: Tensor, tensors_shape: tuple, dim: int) -> list:
    out, start = [], 0
    for shape in tensors_shape:
        if _is_skipped(shape):
            out.append(g.new_zeros(0))
        else:
            out.append(g.narrow(dim, start, shape[dim]))
            start += shape[dim]
    return out


cat.rule(tensors=_uncat)


def _stacked_shape(tensors: list, dim: int) -> tuple[int, ...]:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for i, tensor in enumerate(tensors):
        if tensor is None:
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got NoneType")
    first = tuple(tensors[0].shape)
    dim = axis(dim, len(first) + 1)
    for i, tensor in enumerate(tensors):
        if tuple(tensor.shape) != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {text(first)} at entry 0 and "
                               f"{text(tensor.shape)} at entry {i}")
    return (*first[:dim], len(tensors), *first[dim:])


@op(kernel="joined", method=False, promote="common", half="raw", meta=_stacked_shape, check_out=_check_out,
    samples=lambda t: [t.args([t(2, 3), t(2, 3)]), t.args([t(2, 3), t(2, 3)], -1), t.args([t(), t(), t()])],
    errors=lambda t: [(t.args([]), RuntimeError, "stack expects a non-empty TensorList"),
                      (t.args([t(2), t(3)]), RuntimeError,
                       "stack expects each tensor to be equal size, but got [2] at entry 0 and [3]")])
def stack(xp, tensors: list[Tensor], dim: int = 0):
    "Joins tensors of the same shape along a new axis."
    shape = _stacked_shape(tensors, dim)
    dim = axis(dim, len(shape))
    wide = (slice(None),) * dim + (None,)
    parts = [array[wide] for array in tensors]
    form = common_format(tensors) if dim < len(shape) - 1 in (4, 5) else contiguous_format
    if form is contiguous_format:
        return xp.concatenate(parts, dim, out=xp.empty(shape, tensors[0].dtype))
    joined = (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2:])    # along the axis there is, then split
    strides = view_strides(joined, strides_for(joined, form), shape)
    return xp.concatenate(parts, dim, out=empty_array(xp, shape, strides, tensors[0].dtype))
stack.rule(tensors=lambda g, dim: list(g.unbind(dim)))


def _need_some(name: str, tensors: list[Tensor]) -> None:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


def _with_ndim(name: str, ndim: int, tensors: list[Tensor]) -> list[Tensor]:
    _need_some(name, tensors)
    return [(atleast_1d, atleast_2d, atleast_3d)[ndim - 1](tensor) for tensor in tensors]


@composite(native="hstack", method=False, out=True, check_out=_check_out,
           samples=lambda t: [t.args([t(2), t(3)]), t.args([t(2, 1), t(2, 3)]), t.args([t(), t()])],
           errors=lambda t: [(t.args([]), RuntimeError, "hstack expects a non-empty TensorList")])
def hstack(tensors: list[Tensor]) -> Tensor:
    "Concatenates tensors horizontally: along the second axis; vectors along the first."
    tensors = _with_ndim("hstack", 1, tensors)
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@composite(method=False, out=True, check_out=_check_out, names=("row_stack",),
           samples=lambda t: [t.args([t(3), t(3)]), t.args([t(2, 3), t(3)])],
           errors=lambda t: [(t.args([]), RuntimeError, "vstack expects a non-empty TensorList")])
def vstack(tensors: list[Tensor]) -> Tensor:
    "Concatenates tensors vertically: along the first axis; vectors count as rows."
    return cat(_with_ndim("vstack", 2, tensors), 0)


@composite(method=False, out=True, check_out=_check_out,
           samples=lambda t: [t.args([t(3), t(3)]), t.args([t(2, 3), t(2, 3)])],
           errors=lambda t: [(t.args([]), RuntimeError, "dstack expects a non-empty TensorList")])
def dstack(tensors: list[Tensor]) -> Tensor:
    "Concatenates tensors along the third axis."
    return cat(_with_ndim("dstack", 3, tensors), 2)


@composite(method=False, out=True, check_out=_check_out,
           samples=lambda t: [t.args([t(3), t(3)]), t.args([t(3, 2), t(3)]), t.args([t(), t()])],
           errors=lambda t: [(t.args([]), RuntimeError, "column_stack expects a non-empty TensorList")])
def column_stack(tensors: list[Tensor]) -> Tensor:
    "Concatenates tensors horizontally; vectors count as columns."
    _need_some("column_stack", tensors)
    return cat([tensor.reshape(tensor.numel(), 1) if tensor.ndim <= 1 else tensor for tensor in tensors], 1)


def _listed(tensors: tuple) -> tuple:
    """`f(a, b)` and `f([a, b])` alike, checked to be tensors."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    check_tensors(tensors)
    return tensors


@composite(method=False, samples=lambda t: [t.args(t(2), t(3), indexing="ij"), t.args(t(2), t(3), t(2), indexing="xy")],
           errors=lambda t: [(t.args(t(2), t(3), indexing="ab"), RuntimeError,
                              "torch.meshgrid: indexing must be one of"),
                             (t.args(indexing="ij"), RuntimeError, "meshgrid expects a non-empty TensorList")])
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: vectors expanded over the axes of all others.

    `indexing`: 'ij' has the axes in the order of the vectors, 'xy' exchanges the first two.
    """
    tensors = _listed(tensors)
    if indexing is None:
        warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    _need_some("meshgrid", tensors)
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in tensors:
        if tensor.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}")
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if tensor.device != tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    swapped = indexing == "xy" and len(tensors) > 1
    if swapped:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(tensor.numel() for tensor in tensors)
    grids = [tensor.view((1,) * i + (-1,) + (1,) * (len(shape) - i - 1)).expand(shape) for i,
             tensor in enumerate(tensors)]
    return (grids[1], grids[0], *grids[2:]) if swapped else tuple(grids)


# --- block diagonals, products, combinations ----------------------------------------------------------------------
def _block_shapes(tensors: list) -> list[tuple[int, int]]:
    for i, tensor in enumerate(tensors):
        if tensor.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                               f"{tensor.ndim} dimensions")
    return [(1, 1, *tensor.shape)[-2:] for tensor in tensors]


@op(kernel="blocks", method=False, function=False, promote="common", half="raw", node="BlockDiagBackward0",
    meta=lambda tensors: tuple(map(sum, zip(*_block_shapes(tensors)))), samples=lambda t: [t.args([t(2, 3), t(1)])])
def block_diag_of(xp, tensors: list[Tensor]):
    "The matrices along the diagonal of one, zeros elsewhere."
    shapes = _block_shapes(tensors)
    out = xp.zeros(tuple(map(sum, zip(*shapes))), tensors[0].dtype)
    row = column = 0
    for tensor, (rows, columns) in zip(tensors, shapes):
        out[row:row + rows, column:column + columns] = tensor
        row, column = row + rows, column + columns
    return out


def _unblock(g: Tensor, tensors_shape: tuple) -> list:
    out, row, column = [], 0, 0
    for shape in tensors_shape:
        rows, columns = (1, 1, *shape)[-2:]
        out.append(g.narrow(0, row, rows).narrow(1, column, columns).reshape(shape))
        row, column = row + rows, column + columns
    return out


block_diag_of.rule(tensors=_unblock)


@composite(method=False, samples=lambda t: [t.args(t(2, 3), t(1), t()), t.args(t(2), t(2, 1, dtype="int64"))],
           errors=lambda t: [(t.args(t(2, 3, 4)), RuntimeError,
                              "torch.block_diag: Input tensors must have 2 or fewer dimensions.")])
def block_diag(*tensors: Tensor) -> Tensor:
    "A matrix with the tensors as blocks along its diagonal; vectors count as rows."
    if not tensors:
        return zeros(1, 0)
    check_tensors(tensors)
    return block_diag_of(tensors)


def _need_vector(tensor: Tensor) -> None:
    if tensor.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {text(tensor.shape)}")


@composite(method=False, samples=lambda t: [t.args(t(2), t(3)), t.args(t(3))],
           errors=lambda t: [(t.args(t(2), t(2, 2)), RuntimeError, "Expect a 1D vector, but got shape [2, 2]")])
def cartesian_prod(*tensors: Tensor) -> Tensor:
    "The Cartesian product of vectors: all tuples with one element of each, one tuple per row."
    check_tensors(tensors)
    for tensor in tensors:
        _need_vector(tensor)
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.flatten() for grid in meshgrid(*tensors, indexing="ij")], 1)


@composite(method=False, samples=lambda t: [t.args(t(4)), t.args(t(4), 3), t.args(t(3), 2, True), t.args(t(3), 1)],
           errors=lambda t: [(t.args(t(2, 2)), RuntimeError, "Expect a 1D vector, but got shape [2, 2]"),
                             (t.args(t(3), -1), RuntimeError, "Expect a non-negative number, but got -1")])
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    "All combinations of `r` elements of a vector, one per row; with `with_replacement` elements may repeat."
    _need_vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    indices = meshgrid(*[arange(input.numel(), device=input.device)] * r, indexing="ij")
    selected = indices[0] == indices[0]
    for a, b in pairwise(indices):
        selected = selected & (a <= b if with_replacement else a < b)
    return stack([grid.masked_select(selected) for grid in meshgrid(*[input] * r, indexing="ij")], 1)
