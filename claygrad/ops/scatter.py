"""Gathering and scattering elements along an axis."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import dtype_of_numpy
from claygrad.core.user_warnings import warn
from claygrad.ops._geometry import axis, broadcast, text
from claygrad.ops._indices import add_at, along, as_vectors, check_bounds, legacy, widened
from claygrad.ops._numbers import element
from claygrad.ops._reduced import REDUCTIONS, reduce_at, reduction_gradients, refuse_complex_gradients
from claygrad.ops._registry import composite, constant, op
from claygrad.ops.part import slice_backward

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor


def _check_index(name: str, index) -> None:
    if index.dtype.name not in ("int32", "int64"):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


@op(kernel="gather", half="raw", out="exact", out_alias="refuse", meta=lambda index: index.shape,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((2, 4), 3)), t.args(t(3, 4), -1, t.index((3, 6), 4)),
                       t.args(t(3, 4), 0, t.index((2, 2), 3)), t.args(t(), 0, t.index((), 1)),
                       t.args(t(5), 0, t.index((0,), 5))],
    errors=lambda t: [(t.args(t(3), 0, t.index((2,), 1).add(5)), RuntimeError,
                       "index 5 is out of bounds for dimension 0 with size 3"),
                      (t.args(t(2, 2), 0, t.index((2,), 2)), RuntimeError,
                       "Index tensor must have the same number of dimensions as"),
                      (t.args(t(3), 0, t(2)), RuntimeError, "gather(): Expected dtype int32/int64 for index")])
def gather(xp, input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False):
    """Gathers elements along `dim`: out[i][j] = input[index[i][j]][j] for dim 0.

    `sparse_grad` is accepted; gradients are always dense.
    """
    dim = axis(dim, input.ndim)
    if index.size == 0:
        return xp.empty(index.shape, input.dtype)
    _check_index("gather", index)
    shape = index.shape
    input, index = as_vectors(input, index)
    if index.ndim != input.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for i, (have, want) in enumerate(zip(input.shape, index.shape)):
        if i != dim and want > have:
            raise RuntimeError(f"Size does not match at dimension {i} expected index {text(index.shape)} to be no "
                               f"larger than self {text(input.shape)} apart from dimension {dim}")
    check_bounds(xp, index, dim, input.shape[dim])
    key = [xp.arange(n).reshape((-1,) + (1,) * (index.ndim - i - 1)) for i, n in enumerate(index.shape)]
    key[dim] = index
    out = input[tuple(key)]
    return (out if out.flags.c_contiguous else xp.ascontiguousarray(out)).reshape(shape)
gather.rule(input=lambda g, input_shape, dim, index: g.new_zeros(input_shape).scatter_add_(dim, index, g),
            index=constant)


def _check_scatter(input, dim: int, index, src) -> int:
    """The checks of every scatter, in PyTorch's order."""
    dim = axis(dim, input.ndim)
    if index.size:
        _check_index("scatter", index)
        if src is not None and src.dtype != input.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        if max(index.ndim, 1) != max(input.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
        too_large = any(i != dim and want > have for i, (have, want) in enumerate(zip(input.shape, index.shape)))
        if src is not None:
            for i in range(src.ndim, index.ndim):
                axis(i, src.ndim)
            if max(src.ndim, 1) != max(index.ndim, 1):
                raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
            too_large = too_large or any(want > have for have, want in zip(src.shape, index.shape))
        if too_large:
            size = "" if src is None else f" and to be no larger size than src {text(src.shape)}"
            raise RuntimeError(f"Expected index {text(index.shape)} to be no larger than self {text(input.shape)} "
                               f"apart from dimension {dim}{size}")
    return dim


def _flat_indices(xp, input, dim: int, index, src) -> tuple:
    """Flat indices into a row-major input and the elements of src that go there."""
    input, index = as_vectors(input, index)
    check_bounds(xp, index, dim, input.shape[dim])
    indices = along(xp, input.shape, dim, index)
    if src is None:
        return indices, None
    src = src.reshape(1) if src.ndim == 0 else src
    return indices, src[tuple(slice(n) for n in index.shape)]


def _scatter_name(src: object, value: object, reduce: str | None) -> str:
    return "NotImplemented" if reduce else "ScatterBackward0" if hasattr(src, "shape") else "ScatterBackward1"


@op(kernel="scatter",
    alias="refuse", half="raw", out="exact", inplace=True, node=_scatter_name, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((1, 4), 3), t(1, 4)), t.args(t(3, 4), 1, t.index((3, 2), 4), 2.5),
                       t.args(t(4), 0, t.index((0,), 4), t(0)), t.args(t(), 0, t.index((), 1), t())],
    errors=lambda t: [(t.args(t(3), 0, t.index((2,), 1).add(5), 1.0), RuntimeError,
                       "index 5 is out of bounds for dimension 0 with size 3"),
                      (t.args(t(3), 0, t.index((2,), 3), t(2, dtype="int64")), RuntimeError,
                       "scatter(): Expected self.dtype to be equal"),
                      (t.args(t(2, 2), 0, t.index((2,), 2), 1.0), RuntimeError,
                       "Index tensor must have the same number of dimensions")])
def scatter(xp, input: Tensor, dim: int, index: Tensor, src: Tensor | Number | None = None, *,
            value: Number | None = None,
            reduce: str | None = None):
    """A copy of the input with elements replaced along `dim`: out[index[i][j]][j] = src[i][j] for dim 0. `src` may be a
    number.

    Where indices repeat the last element wins. `reduce`: 'add' or 'multiply' instead of replacing (no gradient).
    """
    if src is None:
        src = value
    elif value is not None:
        raise TypeError("scatter() received an invalid combination of arguments: src and value")
    array = src if hasattr(src, "shape") else None
    if array is None and not isinstance(src, (int, float, complex)):
        raise TypeError("scatter() received an invalid combination of arguments - got (int, Tensor, "
                        f"{type(src).__name__}), but expected one of:\n * (int dim, Tensor index, Tensor src)\n * "
                        "(int dim, Tensor index, Number value)\n")
    dim = _check_scatter(input, dim, index, array)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if reduce and array is not None:
        warn("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a "
             "future PyTorch release. Use torch.scatter_reduce instead for more reduction "
             "options.")
    out = widened(xp, input) if reduce else xp.array(input, order="C")
    if index.size == 0:
        return out.astype(input.dtype, copy=False)
    indices, array = _flat_indices(xp, input, dim, index, array)
    values = xp.full(indices.shape, element(src, dtype_of_numpy(input.dtype)), out.dtype) if array is None else array
    if reduce is None:
        out.reshape(-1)[indices] = values
    elif reduce == "add":
        add_at(xp, out, indices, values)
    else:
        reduce_at(xp, "prod", out, indices, values)
    return out.astype(input.dtype, copy=False)


def _no_derivative(reduce: str | None) -> None:
    if reduce is not None:
        raise RuntimeError("derivative for aten::scatter is not implemented\n  scatter(reduce=...) cannot be "
                           "differentiated; scatter_reduce can.")


def _scattered_input(g: Tensor, dim: int, index: Tensor, reduce: str | None) -> Tensor:
    _no_derivative(reduce)
    return g.scatter(dim, index, 0)


def _scattered_src(g: Tensor, dim: int, index: Tensor, src_shape: tuple[int, ...], reduce: str | None) -> Tensor:
    _no_derivative(reduce)
    return filled_to(g.gather(dim, index), src_shape)


def filled_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`g` as the first part of zeros of `shape`: the elements of src beyond the index were not used."""
    if g.ndim != len(shape):                    # an index without elements may have any rank
        return g.new_zeros(shape) if g.numel() == 0 else g.reshape(shape)
    for i, (have, want) in enumerate(zip(g.shape, shape)):
        if have != want:
            g = slice_backward(g, (*g.shape[:i], want, *g.shape[i + 1:]), i, 0, have, 1)
    return g


scatter.rule(input=_scattered_input, index=constant, src=_scattered_src)


@op(kernel="scatter_add", alias="refuse", half="added", out="exact", inplace=True, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((5, 4), 3), t(5, 4)), t.args(t(3, 4), 1, t.index((2, 3), 4), t(2, 3)),
                       t.args(t(), 0, t.index((), 1), t())],
    errors=lambda t: [(t.args(t(3), 0, t.index((2,), 1).add(5), t(2)), RuntimeError,
                       "index 5 is out of bounds for dimension 0 with size 3")])
def scatter_add(xp, input: Tensor, dim: int, index: Tensor, src: Tensor):
    """A copy of the input to which elements of `src` are added at indices along `dim`: out[index[i][j]][j] += src[i][j]
    for dim 0.

    Indices may repeat.
    """
    dim = _check_scatter(input, dim, index, src)
    out = widened(xp, input)
    if index.size:
        add_at(xp, out, *_flat_indices(xp, input, dim, index, src))
    return out.astype(input.dtype, copy=False)
scatter_add.rule(input=lambda g: g, index=constant,
                 src=lambda g, dim, index, src_shape: filled_to(g.gather(dim, index), src_shape))


@op(kernel="scatter_reduce", alias="refuse", half="added", out="exact", inplace=True, meta=lambda input: input.shape,
    check=lambda input, src, reduce:
    refuse_complex_gradients("scatter_reduce", input, src) if reduce not in ("amax", "amin") else None,
    samples=lambda t: [t.args(t(3, 4), 0, t.index((5, 4), 3), t(5, 4), reduce) for reduce in REDUCTIONS]
    + [t.args(t(3, 4), 1, t.index((3, 2), 4), t(3, 2), reduce, include_self=False) for reduce in REDUCTIONS],
    errors=lambda t: [(t.args(t(3), 0, t.index((2,), 3), t(2), "add"), RuntimeError,
                       "reduce argument must be either sum, prod, mean, amax or amin, got add")])
def scatter_reduce(xp, input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True):
    """As `scatter`, with all elements that meet in a place reduced by 'sum', 'prod', 'mean', 'amax' or 'amin'.

    `include_self`: whether the element that was there takes part.
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    dim = _check_scatter(input, dim, index, src)
    if (input.dtype.kind == "c" and reduce in ("amax", "amin")) or (input.dtype.kind == "b" and reduce == "mean"):
        raise NotImplementedError(f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for "
                                  f"'{legacy(input)}'")
    out = widened(xp, input)
    if index.size:
        reduce_at(xp, reduce, out, *_flat_indices(xp, input, dim, index, src), include_self)
    return out.astype(input.dtype, copy=False)


@scatter_reduce.rules(constant=("index",))
def _scatter_reduce_gradients(g, out, input, dim, index, src, reduce, include_self):
    kept = src
    for i, n in enumerate(index.shape):                  # only this part of src took part
        kept = kept.narrow(i, 0, n) if n != kept.shape[i] else kept
    for_input, for_src = reduction_gradients(
        "scatter_reduce", "src", g, out, input, kept, reduce, include_self, pick=lambda x: x.gather(dim, index),
        add=lambda x, values: x.scatter_add(dim, index, values), clear=lambda x: x.scatter(dim, index, 0),
        again=lambda x, values: x.scatter_reduce(dim, index, values, reduce, include_self=include_self))
    return for_input, None, filled_to(for_src, src.shape)


@composite(native="take_along", out="exact", samples=lambda t: [t.args(t(3, 4), t.index((3, 2), 4), 1),
                                           t.args(t(3, 4), t.index((1, 4), 3), 0),
                                       t.args(t(3, 4), t.index((5,), 12))],
           errors=lambda t: [(t.args(t(3, 4), t.index((3,), 4), 1), RuntimeError,
                              "torch.take_along_dim(): input and indices should have"),
                             (t.args(t(3), t(2, dtype="float32"), 0), RuntimeError,
                              "torch.take_along_dim(): dtype of indices should be Long but got Float")])
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Gathers elements along `dim`, with input and indices broadcast against each other; without `dim`, of the
    flattened tensor."""
    if indices.dtype.name != "int64":
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy}")
    if dim is None:
        index = indices.view(-1)
        return gather(input.view(-1), 0, index.where(index >= 0, index + input.numel()))
    if input.ndim != indices.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    dim = axis(dim, input.ndim)
    rest = [tuple(1 if i == dim else n for i, n in enumerate(tensor.shape)) for tensor in (input, indices)]
    common = broadcast(*rest)

    def expanded(tensor):
        return tensor.expand(*common[:dim], tensor.shape[dim], *common[dim + 1:])

    index = expanded(indices)
    return gather(expanded(input), dim, index.where(index >= 0, index + input.shape[dim]))
