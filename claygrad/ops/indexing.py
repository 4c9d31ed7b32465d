"""Indexing with tensors: x[i, j], and index_* along one axis."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claygrad.core import dtype_of_numpy, recast_array
from claygrad.core.user_warnings import warn
from claygrad.ops._formats import contiguous_strides, empty_array, empty_array_like, iterated_strides
from claygrad.ops._geometry import axis, broadcast, text, view_strides
from claygrad.ops._indices import add_at, as_vectors, check_bounds, legacy, out_of_bounds, rows, widened
from claygrad.ops._numbers import element
from claygrad.ops._reduced import reduce_at, reduction_gradients, refuse_complex_gradients
from claygrad.ops._registry import constant, op

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


def _expanded(name: str, example: str) -> str:
    """What PyTorch says of a write to a tensor whose elements share memory."""
    return (f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this "
            f"operation. This also applies to advanced indexing e.g. {example}")


# --- several index tensors ----------------------------------------------------------------------------------------
def _as_positions(xp, shape: tuple[int, ...], indices: list) -> list:
    """Index arrays per axis of the indexed tensor, None where an axis is taken whole; masks become positions."""
    out: list = []
    if len(indices) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(indices)})")
    for index in indices:
        if index is None:
            out.append(None)
            continue
        name = index.dtype.name
        if name in ("bool", "uint8"):
            if name == "uint8":
                warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                     "instead.")
            at = len(out)
            for i, n in enumerate(index.shape):
                if at + i >= len(shape) or shape[at + i] != n:
                    raise IndexError(f"The shape of the mask {text(index.shape)} at index {i} does not match the "
                                     f"shape of the indexed tensor {text(shape)} at index {at + i}")
            out.extend(xp.nonzero(index) if index.ndim else (xp.flatnonzero(index),))
        elif name in ("int64", "int32"):
            out.append(index)
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if len(out) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(out)})")
    given = [index.shape for index in out if index is not None]
    try:
        named = xp.broadcast_shapes(*given)
    except ValueError:
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(map(text, given))) from None
    if 0 not in named and any(n == 0 and index is not None for n, index in zip(shape, out)):
        raise IndexError("index is out of bounds for dimension with size 0")
    if 0 in named or 0 in shape:                 # nothing is named: as in PyTorch, no entry is looked at
        return [None if index is None else xp.zeros_like(index) for index in out]
    for dim, index in enumerate(out):
        if index is not None:
            bad = out_of_bounds(xp, index, shape[dim], -shape[dim])
            if bad is not None:
                raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {shape[dim]}")
    return out


def _key(positions: list) -> tuple:
    return tuple(slice(None) if index is None else index for index in positions)


def _in_front(xp, array, key: tuple) -> tuple:
    """The array and the key; indexed axes with whole ones between them are in front, where what they name stands."""
    indexed = [i for i, index in enumerate(key) if not isinstance(index, slice)]
    if indexed[-1] - indexed[0] + 1 == len(indexed):
        return array, key
    return xp.moveaxis(array, indexed, range(len(indexed))), tuple(key[i] for i in indexed)


def _parts(ndim: int, positions: list) -> tuple[list[int], list[int], list[int]]:
    """The axes taken whole before and after the indexed ones, and the indexed ones: what they name stands where they
    stand if they stand together, else in front."""
    indexed = [i for i, index in enumerate(positions) if index is not None]
    whole = [i for i in range(ndim) if i not in indexed]
    together = indexed and indexed[-1] - indexed[0] + 1 == len(indexed)
    before = [i for i in whole if i < indexed[0]] if together else []
    return before, indexed, [i for i in whole if i not in before]


def _result_shape(shape: tuple[int, ...], positions: list) -> tuple[int, ...]:
    before, indexed, after = _parts(len(shape), positions)
    common = broadcast(*(positions[i].shape for i in indexed))
    return (*(shape[i] for i in before), *common, *(shape[i] for i in after))


def _result_strides(xp, input, positions: list, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of input[positions]: those of a loop over the axes taken whole and the index arrays."""
    before, indexed, after = _parts(input.ndim, positions)
    common = shape[len(before):len(shape) - len(after)]
    operands = [(*(input.strides[i] for i in before), *(0,) * len(common), *(input.strides[i] for i in after))]
    wide = (1,) * len(before) + common + (1,) * len(after)
    for i in indexed:
        spread = xp.broadcast_to(positions[i], common)
        strides = view_strides(common, spread.strides, wide) or contiguous_strides(wide)
        operands.append(tuple(0 if one < n else step for one, n, step in zip(wide, shape, strides)))
    return iterated_strides(shape, operands)


def _meta_shape(input: Tensor, indices: list) -> tuple[int, ...]:
    if any(index is not None and index.dtype.name in ("bool", "uint8") for index in indices):
        raise NotImplementedError("index: the shape of the result depends on data, which a meta tensor does not have")
    return _result_shape(tuple(input.shape), indices)


def _meta_strides(input: Tensor, indices: list) -> tuple[int, ...] | None:
    """The same strides without memory: of arrays that only have a shape and strides."""
    def shell(x: Tensor) -> np.ndarray:
        return np.lib.stride_tricks.as_strided(np.empty(1, np.int64), x.shape, [8 * step for step in x.stride()])

    positions = [None if index is None else shell(index) for index in indices]
    positions += [None] * (input.ndim - len(positions))
    if all(p is None for p in positions):
        return None
    shape = _result_shape(tuple(input.shape), indices)
    return tuple(_result_strides(np, shell(input), positions, shape))


@op(strides=lambda input, indices: _meta_strides(input, indices),
    kernel="index", method=False, function=False, half="raw", meta=_meta_shape,
    samples=lambda t: [t.args(t(4, 3), [t.index((2,), 4)]), t.args(t(4, 3), [None, t.index((2, 2), 3)]),
                       t.args(t(4, 3, 2), [t.index((2,), 4), None, t.index((2,), 2)]),
                       t.args(t(4, 3), [t(4, 3, dtype="bool")])])
def index(xp, input: Tensor, indices: list[Tensor | None]):
    "Elements at the positions that index tensors (integers or masks) name together; axes with None are taken whole."
    if not indices:
        raise IndexError("at least one index must be provided")
    positions = _as_positions(xp, input.shape, indices)
    if all(p is None for p in positions):
        return xp.array(input)
    shape = _result_shape(input.shape, positions)
    out = empty_array(xp, shape, _result_strides(xp, input, positions, shape), input.dtype)
    array, key = _in_front(xp, input, _key(positions))
    out[...] = array[key]
    return out
index.rule(input=lambda g, input_shape, indices: index_put(g.new_zeros(input_shape), indices, g, True),
           indices=constant)


def _shares_with_put(input: Tensor, indices: list, values: Tensor, accumulate: bool) -> str:
    """One value under one mask is filled in, and may lie anywhere."""
    kinds = [index.dtype.name for index in indices if index is not None]
    return "ok" if values.numel() == 1 and not accumulate and kinds in (["bool"], ["uint8"]) else "refuse"


@op(strides="like",
    kernel="put", alias=_shares_with_put, half="raw", out=False, inplace=True, meta=lambda input: input.shape,
    overlap=_expanded("index_put_", "tensor[indices] = tensor"),
    samples=lambda t: [t.args(t(4, 3), (t.index((1,), 4),), t(3)), t.args(t(4, 3), (t(4, 3, dtype="bool"),), t()),
                       t.args(t(4, 3), (t.index((5,), 4), t.index((5,), 3)), t(5), accumulate=True)],
    errors=lambda t: [(t.args(t(3), (t.index((1,), 1).add(5),), t()), IndexError,
                       "index 5 is out of bounds for dimension 0 with size 3"),
                      (t.args(t(3), (t.index((2,), 3),), t(3)), RuntimeError,
                       "shape mismatch: value tensor of shape [3] cannot be broad"),
                      (t.args(t(3), (t(2),), t()), IndexError,
                       "tensors used as indices must be long, int, byte or bool tensors"),
                      (t.args(t(3), (t.index((1,), 3),), t(1, dtype="int64")), RuntimeError,
                       "Index put requires the source and dest")])
def index_put(xp, input: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False):
    """A copy with `values` at the positions that index tensors name together: out[indices] = values.

    Where positions repeat the last value wins; with `accumulate` all are added to what is there.
    """
    filled = values.size == 1 and not accumulate and len(indices) <= input.ndim
    masks = [i.dtype.name for i in indices if i is not None]
    if filled and masks == ["uint8"]:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    if filled and masks == ["bool"] and values.dtype != input.dtype:         # one value under one mask is a number
        number = (recast_array(values, "complex64") if values.dtype.names else values).reshape(()).item()
        values = xp.asarray(element(number, dtype_of_numpy(input.dtype)))
    positions = _as_positions(xp, input.shape, indices)
    key = _key(positions)
    wide = accumulate and input.dtype.name in ("float16", "bfloat16")
    out = xp.array(input, xp.float32) if wide else empty_array_like(xp, input)
    if not wide:
        out[...] = input
    target = _result_shape(input.shape, positions)
    try:
        values = xp.broadcast_to(values, target)
    except ValueError:
        raise RuntimeError(f"shape mismatch: value tensor of shape {text(values.shape)} cannot be broadcast to "
                           f"indexing result of shape {text(target)}") from None
    if values.dtype != input.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {legacy(input)} for the "
                           f"destination and {legacy(values)} for the source.")
    written, key = _in_front(xp, out, key) if any(p is not None for p in positions) else (out, key)
    if not accumulate:
        written[key] = values
    elif out.dtype == bool:
        xp.logical_or.at(written, key, values)
    else:
        xp.add.at(written, key, values)
    return out.astype(input.dtype, copy=False)
index_put.rule(input=lambda g, indices, accumulate: g if accumulate else index_put(g, indices, g.new_zeros(())),
               indices=constant, values=lambda g, indices: index(g, indices))


# --- one index tensor along an axis -------------------------------------------------------------------------------
def _selected_shape(input: Tensor, dim: int, index: Tensor) -> tuple[int, ...]:
    dim, shape = axis(dim, input.ndim), tuple(input.shape)
    return (*shape[:dim], index.numel(), *shape[dim + 1:]) if shape else ()


def _check_selected(out: Tensor, result: Tensor) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError("index_select(): self and result must have the same scalar type")


@op(kernel="index_select", half="raw", meta=_selected_shape, check_out=_check_selected,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((5,), 3)), t.args(t(3, 4), -1, t.index((2,), 4)),
                       t.args(t(), 0, t.index((1,), 1)),
                       t.args(t(3, 4), 1, t.index((0,), 4))],
    errors=lambda t: [(t.args(t(3), 0, t.index((1,), 1).add(5)), IndexError, "index out of range in self"),
                      (t.args(t(3), 0, t.index((1, 1), 3)), IndexError,
                       "index_select(): Index is supposed to be a vector"),
                      (t.args(t(3), 0, t(1)), RuntimeError, "index_select(): Expected dtype int32 or int64 for index")])
def index_select(xp, input: Tensor, dim: int, index: Tensor):
    "A copy of the entries `index` along `dim`, in the order of the indices."
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if input.ndim == 0 and index.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
    if index.dtype.name not in ("int32", "int64"):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    dim, shape = axis(dim, input.ndim), input.shape
    input, index = as_vectors(input, index)
    wrong = out_of_bounds(xp, index, input.shape[dim])
    if wrong is not None and not input.size and len(shape) > 1:
        if not input.shape[dim]:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={input.shape[dim]}")
    if wrong is not None:
        raise IndexError("index out of range in self")
    out = xp.take(input, index, dim)
    return out if shape else out.reshape(())
index_select.rule(input=lambda g, input_shape, dim, index:
                  g.new_zeros(input_shape).index_add(dim, index, g), index=constant)


def _check_rows(name: str, input, dim: int, index, source) -> int:
    """The checks that index_add and index_reduce share."""
    dim = axis(dim, input.ndim)
    if index.dtype.name not in ("int32", "int64"):
        raise RuntimeError(f"{name}_(): Expected dtype int32/int64 for index but got: {legacy(index)}")
    if index.ndim > 1:
        raise IndexError(f"{name}_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
                         f"{legacy(index)} and size: {text(index.shape)}")
    if source.dtype != input.dtype:
        raise RuntimeError(f"{name}_(): self ({legacy(input)}) and source ({legacy(source)}) must have the same "
                           "scalar type")
    rows_given = source.shape[dim] if dim < source.ndim else 1
    if rows_given != index.size:
        if not source.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        raise RuntimeError(f"{name}_(): Number of indices ({index.size}) should be equal to source.size(dim): "
                           f"({rows_given}), for dim: {dim}")
    have, want = ([n for i, n in enumerate(array.shape) if i != dim] for array in (source, input))
    if input.ndim != source.ndim or have != want:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {text(input.shape)} source.shape = {text(source.shape)}")
    return dim


@op(kernel="index_add", alias="refuse", half="added", out="exact", inplace=True, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((5,), 3), t(5, 4)),
                       t.args(t(3, 4), 1, t.index((2,), 4), t(3, 2), alpha=2.5),
                       t.args(t(), 0, t.index((1,), 1), t())],
    errors=lambda t: [(t.args(t(3, 2), 0, t.index((1,), 1).add(5), t(1, 2)), RuntimeError,
                       "index 5 is out of bounds for dimension 0 with size 3"),
                      (t.args(t(3), 0, t.index((2,), 3), t(1)), RuntimeError,
                       "index_add_(): Number of indices (2) should be equal"),
                      (t.args(t(3, dtype="float32"), 0, t.index((1,), 3), t(1, dtype="int64")), RuntimeError,
                       "index_add_(): self (Float) and source (Long)")])
def index_add(xp, input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1):
    "A copy of the input in which alpha * source[i] is added to entry index[i] along `dim`. Indices may repeat."
    dim = _check_rows("index_add", input, dim, index, source)
    wide, index = as_vectors(input, index)
    if wide.ndim == 1 and out_of_bounds(xp, index, len(wide)) is not None:
        raise IndexError("index out of range in self")
    check_bounds(xp, index, dim, wide.shape[dim])
    out = widened(xp, input)
    if alpha != 1:
        source = source.astype(out.dtype) * xp.asarray(alpha).astype(out.dtype)
    add_at(xp, out, rows(xp, wide.shape, dim, index), source)
    return out.astype(input.dtype, copy=False)
index_add.rule(input=lambda g: g, index=constant,
               source=lambda g, dim, index, source_shape, alpha:
               (g if alpha == 1 else g * alpha).index_select(dim, index).reshape(source_shape))


@op(kernel="index_copy", alias="refuse", half="raw", out="exact", inplace=True, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((1,), 3), t(1, 4)), t.args(t(3, 4), 1, t.index((1,), 4), t(3, 1)),
                       t.args(t(), 0, t.index((1,), 1), t())],
    errors=lambda t: [(t.args(t(3), 0, t.index((1,), 1).add(5), t(1)), IndexError,
                       "index_copy_(): index 5 is out of bounds for dimension 0"),
                      (t.args(t(3), 0, t.index((2,), 3), t(1)), IndexError,
                       "index_copy_(): Number of indices (2) should be equal to"),
                      (t.args(t(3), 0, t.index((1,), 3), t(1, dtype="int64")), RuntimeError,
                       "index_copy_(): self and source expected")])
def index_copy(xp, input: Tensor, dim: int, index: Tensor, source: Tensor):
    "A copy of the input in which entry index[i] along `dim` is replaced by source[i]."
    dim = axis(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.ndim and input.ndim and source.ndim != input.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their dimensionality must "
                         f"match. Source dimensionality ({source.ndim}), destination dimensionality ({input.ndim})")
    if index.dtype.name != "int64":
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {legacy(index)}")
    if source.dtype != input.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{legacy(input)} and (source) {legacy(source)}")
    have, want = (array.shape[:dim] + array.shape[dim + 1:] for array in (source, input))
    if have != want:
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
                           f"shape: {' '.join(map(str, want))} at dimension {dim} and source slice shape: "
                           f"{' '.join(map(str, have))} at dimension 0.")
    if source.ndim and source.shape[dim] != index.size:
        raise IndexError(f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
                         f"({source.shape[dim]})")
    out = xp.array(input, order="C")
    wide, index = as_vectors(out, index)
    check_bounds(xp, index, dim, wide.shape[dim], IndexError, "index_copy_(): ")
    wide[(slice(None),) * dim + (index,)] = source
    return out
index_copy.rule(input=lambda g, dim, index: g.index_fill(dim, index, 0), index=constant,
                source=lambda g, dim, index, source_shape: g.index_select(dim, index).reshape(source_shape))


@op(strides="like",
    kernel="index_fill", alias="refuse", half="raw", out=False, inplace=True, meta=lambda input: input.shape,
    overlap=_expanded("index_fill_", "tensor[mask] = scalar"),
    node=lambda value: "IndexFillBackward1" if hasattr(value, "shape") else "IndexFillBackward0",
    samples=lambda t: [t.args(t(3, 4), 0, t.index((2,), 3), 2.5), t.args(t(3, 4), 1, t.index((2,), 4), t()),
                       t.args(t(), 0, t.index((1,), 1), 1.0)],
    errors=lambda t: [(t.args(t(3), 0, t.index((1,), 1).add(5), 1.0), IndexError,
                       "index 5 is out of bounds for dimension 0 with size 3"),
                      (t.args(t(3), 0, t.index((1,), 3), t(2)), RuntimeError,
                       "index_fill_ only supports a 0-dimensional value tensor"),
                      (t.args(t(3), 0, t(1), 1.0), IndexError, "index_fill_(): Expected dtype int64 for index.")])
def index_fill(xp, input: Tensor, dim: int, index: Tensor, value: Tensor | Number):
    "A copy of the input in which the entries `index` along `dim` are filled with one value."
    if index.dtype.name != "int64":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if hasattr(value, "shape"):
        if value.ndim:
            raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value.ndim} dimension(s).")
        value = value.item()
    if isinstance(value, complex) and input.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    dim = axis(dim, input.ndim)
    out = empty_array_like(xp, input)
    out[...] = input
    wide, index = as_vectors(out, index)
    n = wide.shape[dim]
    bad = out_of_bounds(xp, index, n, -n)
    if bad is not None:
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {n}")
    wide[(slice(None),) * dim + (index,)] = element(value, dtype_of_numpy(input.dtype))
    return out
index_fill.rule(input=lambda g, dim, index: g.index_fill(dim, index, 0), index=constant,
                value=lambda g, dim, index: g.index_select(dim, _wrapped(g, dim, index).unique()).sum())


def _wrapped(g: Tensor, dim: int, index: Tensor) -> Tensor:
    """`index_fill` counts from the end too, `index_select` does not."""
    n = g.shape[dim] if g.ndim else 1
    return index % n if n else index


_KINDS = ("prod", "mean", "amax", "amin")
_EXTREMA = {"amax": "maximum_cpu", "amin": "minimum_cpu"}


@op(kernel="index_reduce", alias="refuse", half="added", out="exact", inplace=True, meta=lambda input: input.shape,
    check=lambda input, source, reduce, include_self:
    refuse_complex_gradients("index_reduce", input, source) if include_self and reduce not in _EXTREMA else None,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((5,), 3), t(5, 4), reduce) for reduce in _KINDS]
    + [t.args(t(3, 4), 1, t.index((2,), 4), t(3, 2), reduce, include_self=False) for reduce in _KINDS],
    errors=lambda t: [(t.args(t(3), 0, t.index((1,), 3), t(1), "sum"), RuntimeError,
                       "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got sum."),
                      (t.args(t(3), 0, t.index((1,), 1).add(5), t(1), "prod"), IndexError,
                       "index out of range in self")])
def index_reduce(xp, input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True):
    """A copy with entries of `source` reduced into entries `index` along `dim` by 'prod', 'mean', 'amax' or 'amin'.

    `include_self`: whether the entry that was there takes part.
    """
    if reduce not in _KINDS:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = _check_rows("index_reduce", input, dim, index, source)
    wide, index = as_vectors(input, index)
    if out_of_bounds(xp, index, wide.shape[dim]) is not None:
        raise IndexError("index out of range in self")
    loop = None
    if input.dtype.kind in "bc" and not include_self:
        loop = "index_reduce_func_exclude_input_init"
    elif input.dtype.kind == "c":
        loop = _EXTREMA.get(reduce)
    elif input.dtype.kind == "b" and reduce == "mean":
        loop = "div_floor_cpu"
    if loop:
        raise NotImplementedError(f"\"{loop}\" not implemented for '{legacy(input)}'")
    out = widened(xp, input)
    reduce_at(xp, reduce, out, rows(xp, wide.shape, dim, index), source, include_self)
    return out.astype(input.dtype, copy=False)


@index_reduce.rules(constant=("index",))
def _index_reduce_gradients(g, out, input, dim, index, source, reduce, include_self):
    for_input, for_source = reduction_gradients(
        "index_reduce", "source", g, out, input, source, reduce, include_self,
        pick=lambda x: x.index_select(dim, index),
        add=lambda x, values: x.index_add(dim, index, values), clear=lambda x: x.index_fill(dim, index, 0),
        again=lambda x, values: x.index_reduce(dim, index, values, reduce, include_self=include_self))
    return for_input, None, for_source
